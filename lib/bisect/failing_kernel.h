// Finds the first kernel of a model or tensor graph that is miscompiled.
#pragma once
#include <unordered_set>

#include "lib/bisect/failure_repro.h"
#include "lib/run/run.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

struct FailingKernel {
  InputGraph graph;     // a copy of the kernel's AST
  KernelArrays arrays;  // the arrays before the kernel ran, and those that it should have stored
  VariableValues variables;
  size_t kernel_number;  // index of the kernel in the schedule
};

// Observes a run of many kernels, and keeps the first kernel that ends the run, or that stores other values than its
// AST does in REF. For large kernels, compares only a sample of the stored elements
// (lib/validate/reference_sample.h).
class FailingKernelFinder {
 public:
  explicit FailingKernelFinder(const Session& session) : session_(session) {}

  void begin_kernel(const KernelStep& step);
  // Compares what the kernel stored. Throws Failure, to end the run, if the stored values are wrong, if the AST itself
  // fails in REF, or if the values cannot be compared.
  void end_kernel(const KernelStep& step);
  // Call after a run that ended early. The kernel that was running is the failing one, if REF can run its AST.
  void blame_unfinished_kernel();

  FailingKernel* found_kernel() { return has_found_ ? &*kernel_ : nullptr; }  // null if none has been found so far
  // Returns the error of the first kernel whose AST itself, before any rewrite, fails in REF (a kernel fault); else "".
  const std::string& kernel_fault() const { return kernel_fault_; }
  size_t num_compared() const { return num_compared_; }  // number of kernels that were compared with REF
  // Returns the numbers of elements that the right kernels stored, and of those that were not compared.
  const BisectCounts& elements() const { return elements_; }

 private:
  void keep_kernel(const KernelStep& step);
  bool compute_expected(const KernelStep& step, Sample& sample);

  const Session& session_;
  // the ASTs of kernels that stored the right values; of a later kernel with the same AST, fewer elements are compared
  std::unordered_set<UOp> right_asts_;
  bool has_found_ = false, is_running_ = false;
  std::optional<FailingKernel> kernel_;  // the kernel that is running or, if has_found_, the failing kernel
  std::string kernel_fault_;
  size_t num_compared_ = 0;
  BisectCounts elements_;
};

}  // namespace tgc
