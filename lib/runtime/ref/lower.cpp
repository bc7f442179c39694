#include "lib/runtime/ref/lower.h"

#include <algorithm>

#include "lib/uop/render.h"
#include "lib/uop/uop.h"

namespace tgc::ref {

namespace {

std::string axis_name(UOp u) { return u.is(Op::RANGE) ? "r" + range_str(u) : std::string(u.arg().text()); }

}  // namespace

int64_t max_num_iterations(UOp range) {
  Const most = range.src(0).vmax();
  return most.is_integral() ? most.as_int().to_int64().value_or(INT32_MAX) : INT32_MAX;
}

int64_t multiply_lane_count(int64_t lanes, UOp range) {
  constexpr int64_t kMost = 1 << 20;
  return std::min(lanes * std::clamp(max_num_iterations(range), int64_t(0), kMost), kMost);
}

void LoopBuilder::begin_loop(UOp range) {
  Reg size = lowered_values_.size_register(range), bound = builder_.max_over_lanes(size);
  Reg counter = builder_.begin_loop(bound, axis_name(range));
  lowered_values_.enter_scope();
  lowered_values_.set_value(range, {{.reg = builder_.cast(counter, ref_type_of(range.dtype()))}});
  is_loop_masked_.push_back(bound != size);
  if (is_loop_masked_.back()) builder_.push_mask(builder_.emit_binary(Opcode::Lt, counter, size));
}

void LoopBuilder::end_loop() {
  lowered_values_.leave_scope();
  if (is_loop_masked_.back()) builder_.pop_mask();
  is_loop_masked_.pop_back();
  builder_.end_loop();
}

void begin_lanes(RefBuilder& builder, LoweredValues& values, std::span<const UOp> axes, int64_t group) {
  std::vector<RefBuilder::LaneAxis> extents;
  int64_t most = 1;
  for (UOp u : axes) {
    extents.push_back({values.size_register(u), axis_name(u)});
    most = multiply_lane_count(most, u);
  }
  auto registers = builder.begin_lanes(extents, group, most);
  for (size_t i = 0; i < axes.size(); i++)
    values.set_value(axes[i], {{.reg = builder.cast(registers[i], ref_type_of(axes[i].dtype()))}});
}

namespace {

bool is_parallel_axis(AxisType type) {
  return type != AxisType::REDUCE && type != AxisType::UNROLL && type != AxisType::OUTER &&
         type != AxisType::PLACEHOLDER;
}

// Returns true for axes of the threads of a workgroup. Each thread has its own registers.
bool is_thread_axis(AxisType type) {
  return type == AxisType::LOCAL || type == AxisType::WARP || type == AxisType::GROUP_REDUCE;
}

}  // namespace

std::vector<LoopLevel> loop_levels_of(const std::vector<UOp>& ranges) {
  std::vector<LoopLevel> out;
  for (UOp r : ranges) out.push_back({{r}, false});
  return out;
}

void LanePlan::find_register_uses(std::span<const UOp> nodes, const LoweredValues& values) {
  for (UOp u : nodes) {
    bool loads = u.is(Op::LOAD) || (u.is(Op::INDEX) && values.is_loaded(u));
    if (!loads && !u.is(Op::STORE)) continue;
    UOp define = base_define(u.is(Op::INDEX) ? u : u.src(0));
    if (!define || !define.is(Op::DEFINE_REG)) continue;
    auto it =
        std::find_if(register_uses_.begin(), register_uses_.end(), [&](auto& r) { return r.define_node == define; });
    if (it == register_uses_.end()) register_uses_.push_back({define, kernel_ranges_.ranges_around(u), {u}});
    else it->common_ranges.keep_common_ranges(kernel_ranges_.ranges_around(u)), it->use_nodes.push_back(u);
  }
}

std::vector<LoopLevel> LanePlan::plan_levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const {
  std::vector<UOp> lanes, warps, outer_loops, inner_loops;
  auto put = [](std::vector<UOp>& to, UOp r) { to.insert(to.begin(), r); };
  RangeSet set = kernel_ranges_.set_of(ranges);
  int64_t total = 1;
  bool threads = false;
  if (std::ranges::any_of(body, is_atomic_add)) return loop_levels_of(ranges);
  for (size_t i = ranges.size(); i-- > 0;) {
    UOp r = ranges[i];
    AxisType type = axis_type(r);
    bool can = is_parallel_axis(type) && !kernel_ranges_.ranges_around(r.src(0)).intersects(set) &&
               (is_thread_axis(type) || has_private_registers(r, body));
    if (!can || (total >= kEnoughLanes && !is_thread_axis(type))) {
      put(can ? outer_loops : inner_loops, r);
      continue;
    }
    put(type == AxisType::WARP ? warps : lanes, r);
    threads |= is_thread_axis(type);
    total = multiply_lane_count(total, r);
  }
  if (!threads && (total < 2 || (total < 32 && has_larger_reduce(body, total)))) return loop_levels_of(ranges);
  lanes.insert(lanes.end(), warps.begin(), warps.end());  // the lanes of a warp must be adjacent
  std::vector<LoopLevel> out = loop_levels_of(outer_loops);
  out.push_back({lanes, true});
  for (UOp r : inner_loops) out.push_back({{r}, false});
  return out;
}

std::vector<UOp> LanePlan::shared_registers(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const {
  const RangeSet set = kernel_ranges_.set_of(ranges);
  std::vector<UOp> out;
  for (const RegisterUses& r : register_uses_)
    if (!set.is_within(r.common_ranges) &&
        std::ranges::any_of(r.use_nodes, [&](UOp u) { return kernel_ranges_.is_in_body(body, u); }))
      out.push_back(r.define_node);
  return out;
}

std::vector<UOp> LanePlan::thread_registers(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const {
  auto of_thread = [](UOp r) { return is_thread_axis(axis_type(r)); };
  return std::ranges::any_of(ranges, of_thread) ? shared_registers(ranges, body) : std::vector<UOp>();
}

bool LanePlan::has_private_registers(UOp range, const std::vector<UOp>& body) const {
  return shared_registers({range}, body).empty();
}

bool LanePlan::has_larger_reduce(const std::vector<UOp>& body, int64_t than) const {
  return std::any_of(body.begin(), body.end(), [&](UOp u) {
    if (!u.is(Op::REDUCE) || u.num_src() < 2) return false;
    int64_t size = 1;
    for (UOp r : kernel_ranges_.ranges_ended_by(u)) size = multiply_lane_count(size, r);
    return size > than;
  });
}

std::vector<LoopLevel> LanePlan::plan_reduce_levels(const std::vector<UOp>& ranges,
                                                    const std::vector<UOp>& body) const {
  if (std::any_of(body.begin(), body.end(), [](UOp u) { return u.in({Op::WMMA, Op::STORE}); }))
    return loop_levels_of(ranges);
  RangeSet set = kernel_ranges_.set_of(ranges);
  int64_t total = 1;
  size_t first = ranges.size();
  while (first > 0 && total < kEnoughLanes && !kernel_ranges_.ranges_around(ranges[first - 1].src(0)).intersects(set))
    total = multiply_lane_count(total, ranges[--first]);
  if (first != 0 || total < 8) return loop_levels_of(ranges);
  return {{ranges, true}};
}

namespace {

bool is_local_special(UOp special) { return special.arg().text().starts_with("l"); }

}  // namespace

int64_t workgroup_size(std::span<const UOp> specials) {
  int64_t size = 1;
  for (UOp s : specials) {
    if (!is_local_special(s)) continue;
    if (!s.src(0).is_const()) throw_cannot_run(s, "the size of a workgroup is not constant");
    if (multiply_lane_count(size, s) != Int(size) * Int(max_num_iterations(s)))
      throw_cannot_run(s, "the workgroup is too large");
    size = multiply_lane_count(size, s);
  }
  return size;
}

void begin_workgroups(RefBuilder& builder, LoweredValues& values, std::span<const UOp> specials,
                      std::span<const UOp> ranges) {
  std::vector<UOp> order;
  auto add = [&](bool local) {
    size_t first = order.size();
    for (UOp s : specials)
      if (is_local_special(s) == local) order.push_back(s);
    std::sort(order.begin() + int64_t(first), order.end(),
              [](UOp a, UOp b) { return a.arg().text() > b.arg().text(); });
  };
  add(false);
  order.insert(order.end(), ranges.begin(), ranges.end());
  add(true);
  begin_lanes(builder, values, order, workgroup_size(specials));
}

}  // namespace tgc::ref
