// Finds the first kernel of a model or tensor graph that is miscompiled.
#pragma once
#include <unordered_set>

#include "lib/bisect/failure_repro.h"
#include "lib/run/run.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

struct FailingKernel {
  InputGraph graph;
  KernelArrays arrays;
  VariableValues variables;
  size_t kernel_number;
};

// Observes a run of many kernels, and keeps the first kernel that ends the run, or that stores other values than its
// AST does in REF.
class FailingKernelFinder {
 public:
  explicit FailingKernelFinder(const Session& session) : session_(session) {}

  void begin_kernel(const ScheduledKernelRun& step);
  // Compares what the kernel stored. Throws Failure, to end the run, if the stored values are wrong or cannot be
  // compared.
  void end_kernel(const ScheduledKernelRun& step);
  // Call after a run that ended early. The kernel that was running is the failing one, if REF can run its AST.
  void keep_unfinished_kernel();

  // null if none has been found so far
  FailingKernel* found_kernel() { return has_found_kernel_ ? &*current_kernel_ : nullptr; }
  // Returns the error of the first kernel whose AST itself fails in REF (a kernel fault); else "".
  const std::string& kernel_fault() const { return kernel_fault_; }
  size_t num_compared() const { return num_compared_; }
  // Returns counts of the elements (of a large kernel, of a sample) that the right kernels stored: all, and those that
  // were not compared.
  const BisectCounts& element_counts() const { return element_counts_; }

 private:
  void keep_kernel(const ScheduledKernelRun& step);
  bool compute_expected_values(const ScheduledKernelRun& step, ArraySample& sample);

  const Session& session_;
  std::unordered_set<UOp> correct_asts_;
  bool has_found_kernel_ = false, is_running_ = false;
  std::optional<FailingKernel> current_kernel_;
  std::string kernel_fault_;
  size_t num_compared_ = 0;
  BisectCounts element_counts_;
};

}  // namespace tgc
