#include "lib/bisect/failing_kernel.h"

#include <algorithm>

#include "lib/support/pytext.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

// Limits for the UOps that REF evaluates for one kernel; kMaxRepeatedRefWork if an earlier kernel with the same AST was
// right.
constexpr double kMaxRefWork = 2e7, kMaxRepeatedRefWork = 1e6;

}  // namespace

void FailingKernelFinder::keep_kernel(const ScheduledKernelRun& step) {
  std::string name = step.name.empty() ? "not compiled" : ansistrip(step.name);
  InputGraph in{.graph = std::make_unique<Graph>(step.ast.graph().settings()), .info = {.name = name}};
  in.root = copy_into(*in.graph, step.ast);
  current_kernel_.emplace(
      FailingKernel{std::move(in), {copy_arrays(step.before), {}, {}}, step.variables, step.kernel_number});
}

void FailingKernelFinder::begin_kernel(const ScheduledKernelRun& step) {
  keep_kernel(step);
  is_running_ = true;
}

// Computes what the kernel should store. Returns false if REF finds a kernel fault in the AST. Throws Failure if REF
// cannot run the AST.
bool FailingKernelFinder::compute_expected_values(const ScheduledKernelRun& step, ArraySample& out) {
  double work = correct_asts_.contains(step.ast) ? kMaxRepeatedRefWork : kMaxRefWork;
  auto sample = make_reference_sample(step.ast, step.before, step.variables, work);
  if (!sample && !sample.diag().is_kernel_fault) throw Failure(sample.diag());
  if (sample) return out = std::move(*sample), true;
  kernel_fault_ = "kernel " + std::to_string(step.kernel_number) + " of the schedule: " + sample.diag().text();
  return false;
}

void FailingKernelFinder::end_kernel(const ScheduledKernelRun& step) {
  session_.report_progress("comparing kernel " + std::to_string(step.kernel_number + 1) + " with REF");
  is_running_ = false;
  num_compared_++;
  ArraySample sample;
  if (!compute_expected_values(step, sample)) throw Failure(kernel_fault_);
  Arrays actual;
  for (const NamedArray& v : sample.values) {
    const Array* all = find_array(step.after, v.name);
    if (!all) throw Failure("kernel " + std::to_string(step.kernel_number) + " stores no " + v.name);
    actual.push_back(
        {v.name, sample.flat_indices.empty() ? all->copy() : elements_at(*all, sample.flat_indices[v.name])});
  }
  const ReferenceRunner ref(step.before, step.variables);
  const Recheck recheck = sample.flat_indices.empty() ? Recheck::Always : Recheck::Never;
  auto compared = std::move(ref.compare_arrays(step.ast, actual, sample.values, {}, recheck).value_or_throw());
  if (std::ranges::all_of(compared, &Comparison::has_passed)) {
    correct_asts_.insert(step.ast);
    BisectCounts counts;
    counts.update_element_counts(compared);
    element_counts_.add_element_counts(counts);
    return;
  }
  keep_kernel(step);
  current_kernel_->arrays.expected = std::move(sample.values),
  current_kernel_->arrays.known_elements = std::move(sample.flat_indices);
  has_found_kernel_ = true;
  throw Failure("a failing kernel was found");
}

void FailingKernelFinder::keep_unfinished_kernel() {
  if (!is_running_) return;
  FailingKernel& k = *current_kernel_;
  ArraySample sample;
  ScheduledKernelRun step{
      k.graph.info.name, k.kernel_number, k.graph.root, k.variables, copy_arrays(k.arrays.inputs), {}};
  auto done = catch_failures([&] { return compute_expected_values(step, sample); });
  has_found_kernel_ = done && *done;
  if (has_found_kernel_)
    k.arrays.expected = std::move(sample.values), k.arrays.known_elements = std::move(sample.flat_indices);
}

}  // namespace tgc
