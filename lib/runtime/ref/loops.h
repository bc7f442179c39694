// Opens loops and lanes over ranges, for lower_graph and lower_list. Internal to ref/.
#pragma once
#include <span>
#include <vector>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

inline constexpr int64_t kEnoughLanes = 512;  // stop turning ranges into lanes at this many

// `lanes` times the maximum number of iterations of a RANGE or SPECIAL, capped at 1 << 20.
int64_t lanes_times(int64_t lanes, UOp range);
int64_t most_iterations(UOp range);

// A stack of loops over ranges. close() restores the Values that were set inside the loop.
class Loops {
 public:
  Loops(Builder& builder, Values& values) : builder_(builder), values_(values) {}
  void open(UOp range);
  void close();

 private:
  Builder& builder_;
  Values& values_;
  std::vector<bool> masked_;  // true for loops whose bound differs between lanes
};

// Opens lanes over RANGEs and SPECIALs, the last one varying fastest, and sets their values; `group` as in
// Builder::open_lanes.
void open_lanes(Builder& builder, Values& values, std::span<const UOp> axes, int64_t group);

}  // namespace tgc::ref
