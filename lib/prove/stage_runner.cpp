#include "lib/prove/stage_runner.h"

#include <algorithm>

#include "lib/execute/execution.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_runner.h"
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

namespace {

constexpr double kWork = 4e6;  // limit for the UOps that REF evaluates in one run

// Describes the first element that differs. The arrays hold the elements at `places`, or all.
std::string first_difference(const std::vector<Comparison>& arrays,
                             const std::map<std::string, std::vector<int64_t>>& places = {}) {
  auto wrong = std::ranges::find_if_not(arrays, &Comparison::passed);
  if (wrong == arrays.end()) return "";
  const ElementDifference& e = *wrong->first;
  auto at = places.find(wrong->name);
  const int64_t index = at == places.end() ? e.index : at->second.at(size_t(e.index));
  return wrong->name + "[" + std::to_string(index) + "] = " + e.actual + ", not " + e.expected + "; " +
         std::to_string(wrong->different) + " of " + std::to_string(wrong->size) + " elements differ";
}

}  // namespace

std::optional<std::string> StageRunner::difference(UOp input, UOp result) {
  if (!result || !result.is(Op::SINK)) return std::nullopt;
  // An access that is out of bounds is a difference, too.
  auto of = [&](UOp graph) -> std::optional<std::string> {
    auto found = catch_failures([&] { return difference(graph); });
    if (found) return *found;
    return found.diag().kernel_fault ? std::optional(found.diag().message) : std::nullopt;
  };
  auto out = of(result);
  if (!out || out->empty()) return out;
  const auto earlier = input && input.is(Op::SINK) ? of(input) : std::nullopt;
  if (earlier == out) return "";  // the stage keeps the values that an earlier stage made wrong
  return earlier == "" ? out : std::nullopt;
}

std::string StageRunner::difference(UOp graph) {
  constexpr size_t kMostStored = 256;  // elements of each array
  if (inputs_.empty()) {
    auto kernel = Executable::for_ref(ast_);
    inputs_ =
        std::move(input_arrays(kernel.value_or_throw().buffers(), {}, "", input_distribution(ast_)).value_or_throw());
    for (UOp u : toposort(ast_))
      if (u.is(Op::DEFINE_VAR)) variables_[std::string(u.arg()[0].text())] = u.vmax().to_int().low64();
  }
  if (work_of(ast_) <= kWork && work_of(graph) <= kWork) return difference_of_all(graph);
  std::string difference;
  for (bool at_end : {false, true}) {  // the first iterations of the loops, and the last ones
    Graph scratch(ast_.graph().settings());
    const UOp shorter = truncate_loops(scratch, graph, kWork, at_end);
    Result<Stored> stored = stored_in_ref(shorter, inputs_, variables_, kMostStored);
    if (!stored && at_end && !stored.diag().kernel_fault) break;
    Arrays expected = std::move(values_at(ast_, inputs_, variables_, stored.value_or_throw().places).value_or_throw());
    difference = first_difference(compare_outputs(ast_, stored->values, expected).value_or_throw(), stored->places);
    if (!difference.empty()) break;
  }
  return difference;
}

std::string StageRunner::difference_of_all(UOp graph) {
  ReferenceRunner ref(inputs_, variables_);
  if (expected_.empty()) expected_ = std::move(ref.run(ast_).value_or_throw().outputs);
  const Arrays stored = std::move(ref.run(graph).value_or_throw().outputs);
  return first_difference(ref.compare(ast_, stored, expected_).value_or_throw());
}

}  // namespace tgc
