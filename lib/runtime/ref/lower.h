// Lowers UOps to REF's code: loops, lanes and workgroups. Internal to ref/.
#pragma once
#include <span>
#include <vector>

#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/ranges.h"
#include "lib/runtime/ref/values.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// lower_graph and lower_list throw Failure, which names the node, if REF cannot run a node.
RefCode lower_graph(UOp sink, bool count_evaluations);                  // defined in graph.cpp
RefCode lower_list(std::span<const UOp> list, bool count_evaluations);  // defined in list.cpp

// ---- loops over RANGEs, and RANGEs and SPECIALs as lanes that run side by side

inline constexpr int64_t kEnoughLanes = 512;  // no further ranges become lanes once there are this many lanes

// multiply_lane_count() returns `lanes` times the maximum number of iterations of a RANGE or SPECIAL, up to a fixed
// limit; most_iterations() returns that maximum, or INT32_MAX if the maximum is not a 64-bit integer.
int64_t multiply_lane_count(int64_t lanes, UOp range);
int64_t most_iterations(UOp range);

// A stack of loops over ranges. close_loop() undoes the changes that the loop's code made to the Values.
class Loops {
 public:
  Loops(Builder& builder, Values& values) : builder_(builder), values_(values) {}
  void open_loop(UOp range);
  void close_loop();

 private:
  Builder& builder_;
  Values& values_;
  std::vector<bool> is_loop_masked_;  // for each open loop: true if its bound differs between lanes
};

// Turns RANGEs and SPECIALs into lanes, where the last node varies fastest, and sets the values of these nodes. `group`
// is the group size for Builder::open_lanes.
void open_lanes(Builder& builder, Values& values, std::span<const UOp> axes, int64_t group);

// ---- the ranges of a graph that become lanes

// One level of a loop nest: a loop over one range, or several ranges that become lanes together.
struct Level {
  std::vector<UOp> ranges;
  bool is_lanes = false;
};

// Decides which ranges of a graph become lanes. REF is fast when many lanes execute each instruction.
class LanePlan {
 public:
  explicit LanePlan(const KernelRanges& ranges) : ranges_(ranges) {}
  // Records the loads and stores of each DEFINE_REG. Call it before the other functions, after
  // values.find_value_uses(nodes).
  void find_register_uses(std::span<const UOp> nodes, const Values& values);

  // Plans the loop nest for `ranges` around `body` when no lanes are open. Thread ranges (LOCAL, WARP, GROUP_REDUCE)
  // become lanes, and so do the innermost other parallel ranges that share no registers, until there are kEnoughLanes
  // lanes. A range whose size depends on another of `ranges` stays a loop. Without thread ranges, there are no lanes if
  // there would be only one, or few and a reduction inside has more iterations. An atomic add in `body` prevents lanes.
  std::vector<Level> levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // Plans the loop nest of a reduction that reads one element per iteration. The iterations become lanes if they are
  // not few, no size depends on another of the ranges, those within the outermost range have fewer than kEnoughLanes
  // iterations, and `body` has neither WMMA nor STORE. Their elements are still combined one after the other.
  std::vector<Level> levels_of_reduce(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // If `ranges` contains thread ranges, returns the DEFINE_REGs that `body` uses and that are used outside, too. Each
  // thread needs its own copy, which starts with the value from outside.
  std::vector<UOp> registers_of_threads(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;

 private:
  bool keeps_registers(UOp range, const std::vector<UOp>& body) const;
  // Returns the DEFINE_REGs that `body` uses and whose value several iterations of `ranges` share.
  std::vector<UOp> registers_across(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  bool has_larger_reduce(const std::vector<UOp>& body, int64_t than) const;

  struct RegisterUses {
    UOp define_node;
    RangeSet common_ranges;  // the ranges that contain all loads and stores of the DEFINE_REG
    std::vector<UOp> use_nodes;
  };
  const KernelRanges& ranges_;
  std::vector<RegisterUses> registers_;  // one per DEFINE_REG
};

std::vector<Level> loops_over(const std::vector<UOp>& ranges);

// ---- the lanes of kernels with workgroups

// Returns the threads per workgroup: the product of the "lidx" SPECIALs' sizes. Throws Failure if one is not constant
// or the product is too large.
int64_t workgroup_size(std::span<const UOp> specials);

// Turns the SPECIALs and `ranges` into lanes and sets the values of these nodes. The first local index varies fastest.
void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges);

}  // namespace tgc::ref
