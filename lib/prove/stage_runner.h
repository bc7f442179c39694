// Runs the graphs of stages in REF: samples of a stage whose rewrites have no values to compare.
#pragma once
#include <map>

#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

class StageRunner {
 public:
  explicit StageRunner(UOp ast) : ast_(ast) {}
  // Returns whether the graph stores the same elements as the kernel's AST. Loops are shortened. Throws Failure if REF
  // cannot run it.
  bool stores_the_same(UOp graph);

 private:
  UOp ast_;
  Arrays inputs_;
};

// Returns the number of elements for each DEFINE_GLOBAL of a kernel when REF evaluates sides. Large memories are small
// ones, as offsets are taken modulo the size.
std::map<int64_t, int64_t> memory_sizes(UOp ast);

}  // namespace tgc
