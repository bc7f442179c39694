// Loops and lanes over ranges, as both lowerings open them. Inside: for ref/ alone.
#pragma once
#include <span>
#include <vector>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

inline constexpr int64_t kEnoughLanes = 512;  // more ranges are not taken as lanes once there are so many

// As many lanes as `lanes` times the iterations of a RANGE or a SPECIAL can be; 1 << 20 stands for all that are more.
int64_t lanes_times(int64_t lanes, UOp range);
int64_t most_iterations(UOp range);

// Loops over ranges, each in the one before. What is set to Values in a loop is forgotten where it closes.
class Loops {
 public:
  Loops(Builder& builder, Values& values) : builder_(builder), values_(values) {}
  void open(UOp range);
  void close();

 private:
  Builder& builder_;
  Values& values_;
  std::vector<bool> masked_;  // those in which lanes may end earlier than others
};

// Opens lanes over RANGEs and SPECIALs, the last one running fastest, and sets their values;
// `group` as in Builder::open_lanes.
void open_lanes(Builder& builder, Values& values, std::span<const UOp> axes, int64_t group);

}  // namespace tgc::ref
