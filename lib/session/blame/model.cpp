#include "lib/session/blame/model.h"

#include <algorithm>

#include "lib/execute/sampled.h"
#include "lib/session/judge.h"
#include "lib/support/pytext.h"
#include "lib/uop/copy.h"

namespace tgc {
namespace {

constexpr double kWork = 2e7;  // evaluations of UOps that REF does for one kernel

}  // namespace

void KernelWatch::see(const KernelStep& step) {
  session_.progress("comparing kernel " + std::to_string(step.number + 1) + " with REF");
  seen_++;
  Sample sample = std::move(sampled(step.ast, step.before, step.variables, kWork).value_or_throw());
  Arrays actual;
  for (const NamedArray& v : sample.values) {
    const Array* all = find_array(step.after, v.name);
    if (!all) throw Failure("kernel " + std::to_string(step.number) + " stores no " + v.name);
    actual.push_back({v.name, sample.places.empty() ? all->copy() : elements_of(*all, sample.places[v.name])});
  }
  auto allowed = [&](const Array& e) { return tolerance_for({}, step.ast, e); };
  JudgedKernel judged{sample.places.empty() ? step.ast : UOp(), step.before, step.variables, {.in_process = true}};
  auto arrays = std::move(judge(judged, actual, sample.values, allowed).value_or_throw());
  if (std::ranges::all_of(arrays, &Comparison::passed)) return;
  kernel_.emplace(
      Loaded{.graph = std::make_unique<Graph>(step.ast.graph().settings()), .info = {.name = ansistrip(step.name)}});
  kernel_->root = copy_into(*kernel_->graph, step.ast);
  given_ = {copy_of(step.before), std::move(sample.values), std::move(sample.places)};
  variables_ = step.variables, number_ = step.number;
  throw Failure("a kernel differs");
}

}  // namespace tgc
