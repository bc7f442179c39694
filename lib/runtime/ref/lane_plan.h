// Decides which ranges of a graph become lanes. REF is fast when many lanes execute each instruction. Internal to ref/.
#pragma once
#include <vector>

#include "lib/runtime/ref/ranges.h"
#include "lib/runtime/ref/values.h"

namespace tgc::ref {

// One level of a loop nest: a loop over one range, or several ranges that become lanes together.
struct Level {
  std::vector<UOp> ranges;
  bool lanes = false;
};

class LanePlan {
 public:
  explicit LanePlan(const Ranges& ranges) : ranges_(ranges) {}
  // Records the loads and stores of each DEFINE_REG. Call it before the other functions, after values.scan(nodes).
  void find_register_uses(std::span<const UOp> nodes, const Values& values);

  // Plans the loop nest for `ranges` around `body` when no lanes are open. Thread ranges (LOCAL, WARP, GROUP_REDUCE)
  // become lanes, and so do the innermost other parallel ranges until there are kEnoughLanes lanes. Without thread
  // ranges, there are no lanes if they would be fewer than 32 and a reduction inside has more iterations.
  std::vector<Level> levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // Plans the loop nest of a reduction that reads one element per iteration: its iterations become lanes, but their
  // elements are still combined one after the other.
  std::vector<Level> levels_of_reduce(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // If `ranges` contains thread ranges, returns the DEFINE_REGs that `body` uses and that are set outside of `ranges`.
  // Each thread needs its own copy, which starts with the value from outside.
  std::vector<UOp> registers_of_threads(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;

 private:
  bool keeps_registers(UOp range, const std::vector<UOp>& body) const;
  // Returns the DEFINE_REGs that `body` uses and whose value several iterations of `ranges` share.
  std::vector<UOp> registers_across(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  bool has_larger_reduce(const std::vector<UOp>& body, int64_t than) const;

  struct RegisterUses {
    UOp define;
    RangeSet common;  // the ranges that contain all loads and stores of the DEFINE_REG
    std::vector<UOp> uses;
  };
  const Ranges& ranges_;
  std::vector<RegisterUses> registers_;  // one per DEFINE_REG
};

std::vector<Level> loops_over(const std::vector<UOp>& ranges);

}  // namespace tgc::ref
