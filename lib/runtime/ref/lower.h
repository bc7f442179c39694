#pragma once
#include <span>
#include <vector>

#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/ranges.h"
#include "lib/runtime/ref/values.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// Throw Failure if REF cannot run a node. Most messages name the node.
RefCode lower_graph(UOp sink, bool count_evaluations);
RefCode lower_list(std::span<const UOp> list, bool count_evaluations);

inline constexpr int64_t kEnoughLanes = 512;

// multiply_lane_count(): `lanes` times the maximum number of iterations of a RANGE or SPECIAL, up to a fixed limit.
// max_num_iterations(): this maximum, or INT32_MAX if it is not a 64-bit integer.
int64_t multiply_lane_count(int64_t lanes, UOp range);
int64_t max_num_iterations(UOp range);

// end_loop() undoes every LoweredValues::set_value() since begin_loop().
class LoopBuilder {
 public:
  LoopBuilder(RefBuilder& builder, LoweredValues& values) : builder_(builder), lowered_values_(values) {}
  void begin_loop(UOp range);
  void end_loop();

 private:
  RefBuilder& builder_;
  LoweredValues& lowered_values_;
  std::vector<bool> is_loop_masked_;  // for each open loop, whether its bound differs between lanes
};

// Turns RANGEs and SPECIALs into lanes, where the last node varies fastest. `group`: see RefBuilder::begin_lanes.
void begin_lanes(RefBuilder& builder, LoweredValues& values, std::span<const UOp> axes, int64_t group);

struct LoopLevel {
  std::vector<UOp> ranges;
  bool is_lane_level = false;
};

// Decides which ranges of a graph become lanes, so that many lanes execute each instruction.
class LanePlan {
 public:
  explicit LanePlan(const KernelRanges& ranges) : kernel_ranges_(ranges) {}
  // Call it before the other functions, after values.find_value_uses(nodes).
  void find_register_uses(std::span<const UOp> nodes, const LoweredValues& values);

  // Plans the loop nest for `ranges` around `body` when no lanes are open. Thread ranges (LOCAL, WARP, GROUP_REDUCE)
  // become lanes, and so do the innermost other parallel ranges that share no registers, until there are kEnoughLanes
  // lanes. A range whose size depends on another of `ranges` stays a loop. Without thread ranges, there are no lanes if
  // there would be only one, or few and a reduction inside has more iterations. An atomic add in `body` prevents lanes.
  std::vector<LoopLevel> plan_levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // Plans the loop nest of a reduction whose results take one element each per iteration. The iterations become lanes
  // if there are at least 8, no range's size depends on another one of `ranges`, the ranges inside the outermost one
  // have fewer than kEnoughLanes iterations, and `body` has neither WMMA nor STORE. The elements are still combined one
  // after the other.
  std::vector<LoopLevel> plan_reduce_levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // Returns the DEFINE_REGs that `body` uses and that are used outside, too, if `ranges` contains thread ranges: each
  // thread needs its own copy, which starts with the value from outside.
  std::vector<UOp> thread_registers(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;

 private:
  bool has_private_registers(UOp range, const std::vector<UOp>& body) const;
  // The DEFINE_REGs that `body` uses and whose value several iterations of `ranges` share.
  std::vector<UOp> shared_registers(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  bool has_larger_reduce(const std::vector<UOp>& body, int64_t than) const;

  struct RegisterUses {
    UOp define_node;
    RangeSet common_ranges;  // ranges that contain all loads and stores of the DEFINE_REG
    std::vector<UOp> use_nodes;
  };
  const KernelRanges& kernel_ranges_;
  std::vector<RegisterUses> register_uses_;
};

std::vector<LoopLevel> loop_levels_of(const std::vector<UOp>& ranges);

// Returns the product of the "lidx" SPECIALs' sizes. Throws Failure if one is not constant or the product is too large.
int64_t workgroup_size(std::span<const UOp> specials);

// Turns the SPECIALs and `ranges` into lanes. The first local index varies fastest.
void begin_workgroups(RefBuilder& builder, LoweredValues& values, std::span<const UOp> specials,
                      std::span<const UOp> ranges);

}  // namespace tgc::ref
