#include "lib/runtime/ref/loops.h"

#include <algorithm>

#include "lib/uop/render.h"

namespace tgc::ref {
namespace {

std::string name_of_axis(UOp u) { return u.is(Op::RANGE) ? "r" + range_str(u) : std::string(u.arg().text()); }

}  // namespace

int64_t most_iterations(UOp range) {
  Const most = range.src(0).vmax();
  return most.is_integral() ? most.as_int().to_int64().value_or(INT32_MAX) : INT32_MAX;
}

int64_t lanes_times(int64_t lanes, UOp range) {
  constexpr int64_t kMost = 1 << 20;
  return std::min(lanes * std::clamp(most_iterations(range), int64_t(0), kMost), kMost);
}

void Loops::open(UOp range) {
  Reg size = values_.size_register(range), bound = builder_.max_lane(size);
  Reg counter = builder_.open_loop(bound, name_of_axis(range));
  values_.enter();
  values_.set(range, {{.reg = builder_.cast(counter, type_of(range.dtype()))}});
  masked_.push_back(bound != size);
  if (masked_.back()) builder_.push_mask(builder_.binary(Opc::Lt, counter, size));
}

void Loops::close() {
  values_.leave();
  if (masked_.back()) builder_.pop_mask();
  masked_.pop_back();
  builder_.close_loop();
}

void open_lanes(Builder& builder, Values& values, std::span<const UOp> axes, int64_t group) {
  std::vector<Builder::LaneAxis> extents;
  int64_t most = 1;
  for (UOp u : axes) {
    extents.push_back({values.size_register(u), name_of_axis(u)});
    most = lanes_times(most, u);
  }
  auto registers = builder.open_lanes(extents, group, most);
  for (size_t i = 0; i < axes.size(); i++)
    values.set(axes[i], {{.reg = builder.cast(registers[i], type_of(axes[i].dtype()))}});
}

}  // namespace tgc::ref
