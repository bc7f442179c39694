#include "passes/kernel/optimizer/optimizer.h"

#include <algorithm>

namespace tgc {
namespace {

constexpr AxisTypeSet kUpcasts{AxisType::UPCAST, AxisType::UNROLL};
constexpr AxisTypeSet kLocals{AxisType::WARP, AxisType::LOCAL, AxisType::GROUP_REDUCE};

void add_actions(std::vector<Opt>& out, OptOps op, std::initializer_list<int64_t> amounts, int64_t axes) {
  for (int64_t amount : amounts)
    for (int64_t axis = 0; axis < axes; axis++) out.push_back({op, axis, amount});
}

bool is_same_opt(const Opt& a, const Opt& b) { return a.op == b.op && a.axis == b.axis && a.arg == b.arg; }

// Returns true if the action's amount is the size of the whole axis and `actions` has the same action with amount 0.
bool repeats_full_axis_action(const Scheduler& kernel, const Opt& action, size_t axis, std::span<const Opt> actions) {
  Sint size = kernel.full_shape()[axis];
  if (!size.is_int() || !action.arg.is_integral() || size.as_int() != action.arg.as_int()) return false;
  return std::ranges::any_of(actions,
                             [&](const Opt& a) { return is_same_opt(a, {action.op, action.axis, int64_t(0)}); });
}

Int product_of_sizes(const Scheduler& kernel, AxisTypeSet types) {
  Int out = 1;
  for (size_t i : kernel.axes_of(types)) out *= kernel.full_shape()[i].vmax();
  return out;
}

bool is_within_limits(const Scheduler& kernel, const ActionLimits& limits) {
  Int of_core = 1;
  if (const TensorCore* tc = kernel.tensor_core())
    of_core = Int(tc->dims[0] * tc->dims[1] * tc->dims[2] / tc->threads);
  return floor_div(product_of_sizes(kernel, kUpcasts), of_core) <= Int(limits.upcast_max) &&
         product_of_sizes(kernel, kLocals) <= Int(limits.local_max);
}

std::optional<Scheduler> try_action(const Scheduler& kernel, const Opt& action, std::span<const Opt> actions) {
  try {
    if (action.axis && action.op != OptOps::TC)
      if (repeats_full_axis_action(kernel, action, size_t(kernel.real_axis(action)), actions)) return std::nullopt;
    Scheduler out = kernel.copy();
    out.apply_opt(action);
    return out;
  } catch (const KernelOptError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Opt> search_actions(Graph& graph, const ActionLimits& limits) {
  std::vector<Opt> out;
  add_actions(out, OptOps::UPCAST, {0, 2, 3, 4, 5, 7}, 8);
  add_actions(out, OptOps::UNROLL, {0, 4, 7}, 5);
  add_actions(out, OptOps::LOCAL, {2, 3, 4, 8, 13, 16, 29}, 6);
  add_actions(out, OptOps::GROUPTOP, {13, 16, 28, 29, 32, 49, 64, 256}, 3);
  add_actions(out, OptOps::GROUP, {0, 4, 8, 16}, 3);
  if (limits.should_include_padto) add_actions(out, OptOps::PADTO, {32}, 7);
  out.push_back({OptOps::LOCAL, 0, int64_t(32)});
  out.push_back({OptOps::LOCAL, 6, int64_t(2)});
  auto tensor_core = [&](int64_t axis, int64_t tc_opt) {
    out.push_back({OptOps::TC, axis, graph.tuple({int64_t(-1), tc_opt, limits.tc})});
  };
  tensor_core(0, 0);
  for (int64_t axis = 0; axis < 9; axis++) tensor_core(axis, limits.tc_opt);
  for (int64_t axis = 0; axis < 5; axis++)
    for (int64_t other = axis + 1; other < 5; other++) out.push_back({OptOps::SWAP, axis, other});
  add_actions(out, OptOps::THREAD, {2, 3, 4, 5, 8, 12, 16, 24, 32, 64}, 3);
  if (limits.should_include_nolocals) out.push_back({OptOps::NOLOCALS});
  return out;
}

std::vector<Scheduler> kernel_actions(const Scheduler& kernel, std::span<const Opt> actions,
                                      const ActionLimits& limits) {
  std::vector<Scheduler> out;
  for (const Opt& action : actions)
    if (auto made = try_action(kernel, action, actions); made && is_within_limits(*made, limits))
      out.push_back(std::move(*made));
  return out;
}

}  // namespace tgc
