#include "lib/runtime/ref/workgroups.h"

#include <algorithm>

#include "lib/uop/render.h"

namespace tgc::ref {
namespace {

bool is_local(UOp special) { return special.arg().text().starts_with("l"); }

int64_t most_of(UOp u) {
  Const most = u.src(0).vmax();
  return most.is_integral() ? most.as_int().to_int64().value_or(INT32_MAX) : INT32_MAX;
}

}  // namespace

int64_t workgroup_size(std::span<const UOp> specials) {
  int64_t size = 1;
  for (UOp s : specials) {
    if (!is_local(s)) continue;
    if (!s.src(0).is_const()) cannot_run(s, "the size of a workgroup is not constant");
    size *= most_of(s);
  }
  return size;
}

void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges) {
  std::vector<UOp> order;
  auto add = [&](bool local) {
    size_t first = order.size();
    for (UOp s : specials)
      if (is_local(s) == local) order.push_back(s);
    std::sort(order.begin() + int64_t(first), order.end(), [](UOp a, UOp b) { return a.arg().text() > b.arg().text(); });
  };
  add(false);
  order.insert(order.end(), ranges.begin(), ranges.end());
  add(true);

  std::vector<Builder::LaneAxis> axes;
  int64_t most = 1;
  for (UOp u : order) {
    axes.push_back({values.size_register(u), u.is(Op::RANGE) ? "r" + range_str(u) : std::string(u.arg().text())});
    most = std::min<int64_t>(most * std::min<int64_t>(most_of(u), 1 << 20), 1 << 20);
  }
  auto registers = builder.open_lanes(axes, workgroup_size(specials), most);
  for (size_t i = 0; i < order.size(); i++) values.set(order[i], {{.reg = builder.cast(registers[i], type_of(order[i].dtype()))}});
}

}  // namespace tgc::ref
