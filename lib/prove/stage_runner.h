// Runs the graphs of stages in REF: samples of a stage whose rewrites have no values to compare.
#pragma once
#include <map>
#include <string>

#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

class StageRunner {
 public:
  explicit StageRunner(UOp ast) : ast_(ast) {}
  // Returns how the elements that the graph stores differ from those of the kernel's AST; "": they are the same. Loops
  // are shortened. Throws Failure if REF cannot run it.
  std::string difference(UOp graph);

 private:
  UOp ast_;
  Arrays inputs_;
};

// Returns the number of elements for each DEFINE_GLOBAL of a kernel when REF evaluates sides. Large memories are small
// ones, as offsets are taken modulo the size.
std::map<int64_t, int64_t> memory_sizes(UOp ast);

}  // namespace tgc
