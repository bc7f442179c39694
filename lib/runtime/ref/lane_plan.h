// Which ranges of a graph become lanes: REF is fast where many lanes do the same. Inside: for ref/ alone.
#pragma once
#include <vector>

#include "lib/runtime/ref/ranges.h"
#include "lib/runtime/ref/values.h"

namespace tgc::ref {

// A loop over one range, or a group of ranges that become lanes.
struct Level {
  std::vector<UOp> ranges;
  bool lanes = false;
};

class LanePlan {
 public:
  explicit LanePlan(const Ranges& ranges) : ranges_(ranges) {}
  // Before anything is planned; `values` has scanned the nodes.
  void find_register_uses(std::span<const UOp> nodes, const Values& values);

  // How the ranges around `body` are nested, outermost first, where no lanes are open yet: threads become lanes, and
  // the innermost of the other parallel ones, as many as it takes; none when a reduction inside has more to offer.
  std::vector<Level> levels(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // How those of a reduction are, of one element each: its elements become lanes,
  // which are combined one after the other all the same.
  std::vector<Level> levels_of_reduce(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  // Where `ranges` are threads: the registers that `body` uses and that were set outside of them. Each thread has its
  // own, which begins as it was there.
  std::vector<UOp> registers_of_threads(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;

 private:
  bool keeps_registers(UOp range, const std::vector<UOp>& body) const;
  // The registers that `body` uses and that do not have a value of their own for each iteration of all of `ranges`.
  std::vector<UOp> registers_across(const std::vector<UOp>& ranges, const std::vector<UOp>& body) const;
  bool has_larger_reduce(const std::vector<UOp>& body, int64_t than) const;

  struct RegisterUses {
    UOp define;
    RangeSet common;  // the ranges that all its loads and stores lie in
    std::vector<UOp> uses;
  };
  const Ranges& ranges_;
  std::vector<RegisterUses> registers_;  // of each DEFINE_REG
};

std::vector<Level> loops_over(const std::vector<UOp>& ranges);

}  // namespace tgc::ref
