#include "lib/bisect/failing_kernel.h"

#include <algorithm>

#include "lib/support/pytext.h"
#include "lib/uop/copy.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

// Evaluations of UOps that REF does for one kernel; for one whose like was right before: layers come often.
constexpr double kWork = 2e7, kWorkAgain = 1e6;

}  // namespace

void KernelWatch::keep(const KernelStep& step) {
  std::string name = step.name.empty() ? "not compiled" : ansistrip(step.name);
  kernel_.emplace(InputGraph{.graph = std::make_unique<Graph>(step.ast.graph().settings()), .info = {.name = name}});
  kernel_->root = copy_into(*kernel_->graph, step.ast);
  given_ = {copy_of(step.before), {}, {}};
  variables_ = step.variables, number_ = step.number;
}

void KernelWatch::begins(const KernelStep& step) {
  keep(step);
  runs_ = true;
}

// What the kernel should store; false: it cannot be right.
bool KernelWatch::expect(const KernelStep& step, Sample& out) {
  double work = right_.contains(step.ast) ? kWorkAgain : kWork;
  auto sample = reference_sample(step.ast, step.before, step.variables, work);
  if (!sample && !sample.diag().convicts) throw Failure(sample.diag());
  if (sample) return out = std::move(*sample), true;
  itself_ = "kernel " + std::to_string(step.number) + ", as it was scheduled: " + sample.diag().text();
  return false;
}

void KernelWatch::see(const KernelStep& step) {
  session_.progress("comparing kernel " + std::to_string(step.number + 1) + " with REF");
  runs_ = false;
  seen_++;
  Sample sample;
  if (!expect(step, sample)) throw Failure(itself_);
  Arrays actual;
  for (const NamedArray& v : sample.values) {
    const Array* all = find_array(step.after, v.name);
    if (!all) throw Failure("kernel " + std::to_string(step.number) + " stores no " + v.name);
    actual.push_back({v.name, sample.places.empty() ? all->copy() : elements_of(*all, sample.places[v.name])});
  }
  const Recheck recheck = sample.places.empty() ? Recheck::Always : Recheck::Never;
  auto arrays = std::move(ReferenceRunner(step.before, step.variables)
                              .compare(step.ast, actual, sample.values, {}, recheck).value_or_throw());
  if (std::ranges::all_of(arrays, &Comparison::passed)) {
    right_.insert(step.ast);
    return;
  }
  keep(step);
  given_.expected = std::move(sample.values), given_.places = std::move(sample.places);
  found_ = true;
  throw Failure("a kernel differs");
}

bool KernelWatch::take_last() {
  if (!runs_) return false;
  Sample sample;
  KernelStep step{kernel_->info.name, number_, kernel_->root, variables_, copy_of(given_.inputs), {}};
  auto done = catch_failures([&] { return expect(step, sample); });  // an error: REF cannot run it, either
  if (!done || !*done) return false;
  given_.expected = std::move(sample.values), given_.places = std::move(sample.places);
  return found_ = true;
}

}  // namespace tgc
