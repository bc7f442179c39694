#include "lib/runtime/ref/workgroups.h"

#include <algorithm>

#include "lib/runtime/ref/loops.h"

namespace tgc::ref {
namespace {

bool is_local(UOp special) { return special.arg().text().starts_with("l"); }

}  // namespace

int64_t workgroup_size(std::span<const UOp> specials) {
  int64_t size = 1;
  for (UOp s : specials) {
    if (!is_local(s)) continue;
    if (!s.src(0).is_const()) cannot_run(s, "the size of a workgroup is not constant");
    if (lanes_times(size, s) != Int(size) * Int(most_iterations(s))) cannot_run(s, "the workgroup is too large");
    size = lanes_times(size, s);
  }
  return size;
}

void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges) {
  std::vector<UOp> order;
  auto add = [&](bool local) {
    size_t first = order.size();
    for (UOp s : specials)
      if (is_local(s) == local) order.push_back(s);
    std::sort(order.begin() + int64_t(first), order.end(),
              [](UOp a, UOp b) { return a.arg().text() > b.arg().text(); });
  };
  add(false);
  order.insert(order.end(), ranges.begin(), ranges.end());
  add(true);
  open_lanes(builder, values, order, workgroup_size(specials));
}

}  // namespace tgc::ref
