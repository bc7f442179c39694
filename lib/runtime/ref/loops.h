// Emits loops over RANGEs, and turns RANGEs and SPECIALs into lanes that run side by side. Internal to ref/.
#pragma once
#include <span>
#include <vector>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

inline constexpr int64_t kEnoughLanes = 512;  // no further ranges become lanes once there are this many lanes

// Returns `lanes` times the maximum number of iterations of a RANGE or SPECIAL, but at most 1 << 20.
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
  std::vector<bool> masked_;  // for each open loop: true if its bound differs between lanes
};

// Turns RANGEs and SPECIALs into lanes, where the last node varies fastest, and sets the values of these nodes. `group`
// is the group size for Builder::open_lanes.
void open_lanes(Builder& builder, Values& values, std::span<const UOp> axes, int64_t group);

}  // namespace tgc::ref
