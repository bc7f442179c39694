// Runs the graphs of stages in REF: samples of a stage whose rewrites have no values to compare.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

class StageRunner {
 public:
  explicit StageRunner(UOp ast) : ast_(ast) {}
  // Compares what a stage's graphs store with what the kernel's AST stores. Returns "" if `result` stores the same, or
  // differs as `input` does; else how it differs, if `input` stores the same; nullopt if REF cannot tell.
  std::optional<std::string> difference(UOp input, UOp result);

 private:
  std::string difference(UOp graph);
  std::string difference_of_all(UOp graph);

  UOp ast_;
  Arrays inputs_;
  std::map<std::string, int64_t> variables_;
  Arrays expected_;  // all that the AST stores, if it is small
};

// Returns the number of elements for each DEFINE_GLOBAL of a kernel when REF evaluates sides. Large memories are small
// ones, as offsets are taken modulo the size.
std::map<int64_t, int64_t> memory_sizes(UOp ast);

}  // namespace tgc
