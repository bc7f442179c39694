#include "lib/prove/stage_runner.h"

#include <algorithm>

#include "lib/execute/execution.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_sample.h"
#include "lib/validate/truncate_loops.h"

namespace tgc {

std::map<int64_t, int64_t> memory_sizes(UOp ast) {
  constexpr int64_t kMostElements = 4096;
  std::map<int64_t, int64_t> out;
  for (UOp u : toposort(ast))
    if (u.is(Op::DEFINE_GLOBAL) && u.arg().is_int() && u.dtype().size() > 0)
      out[u.arg().small_int()] = std::min(kMostElements, u.dtype().size() * u.dtype().base().count());
  return out;
}

std::string StageRunner::difference(UOp graph) {
  constexpr double kWork = 4e6;  // limit for the UOps that REF evaluates
  constexpr size_t kMostStored = 256;  // elements of each array
  if (inputs_.empty()) {
    auto kernel = Executable::for_ref(ast_);
    inputs_ =
        std::move(input_arrays(kernel.value_or_throw().buffers(), {}, "", input_distribution(ast_)).value_or_throw());
  }
  Graph scratch(ast_.graph().settings());
  Stored stored =
      std::move(stored_in_ref(truncate_loops(scratch, graph, kWork), inputs_, {}, kMostStored).value_or_throw());
  Arrays expected = std::move(values_at(ast_, inputs_, {}, stored.places).value_or_throw());
  auto arrays = std::move(compare_outputs(ast_, stored.values, expected).value_or_throw());
  auto wrong = std::ranges::find_if_not(arrays, &Comparison::passed);
  if (wrong == arrays.end()) return "";
  const std::string text = wrong->text();
  return wrong->name + " " + text.substr(0, text.find('\n'));
}

}  // namespace tgc
