// Models and tensor graphs: which of their kernels is to blame, if it is one.
#pragma once
#include <unordered_set>

#include "lib/bisect/failure_repro.h"
#include "lib/run/run_model.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

// Watches a run of many kernels, and keeps the first that makes something else of its arrays than its AST does in REF:
// of a large one at some places (lib/validate/reference_sample.h). One that dies, or is not compiled, is the one that began last.
class KernelWatch {
 public:
  explicit KernelWatch(const Session& session) : session_(session) {}

  void begins(const KernelStep& step);
  // Throws Failure when it has found one: the run may end.
  void see(const KernelStep& step);
  // After a run that ended early: the kernel that had begun is the one that is found. Whether there is such a one.
  bool take_last();

  bool found() const { return found_; }
  // Of a kernel that cannot be right however it is compiled, for REF finds that its AST reads beside its arrays: what
  // it does. Else empty.
  const std::string& itself() const { return itself_; }
  size_t seen() const { return seen_; }
  // The one that was found.
  InputGraph& kernel() { return *kernel_; }
  const GivenRun& given() const { return given_; }
  const VariableValues& variables() const { return variables_; }
  size_t number() const { return number_; }

 private:
  const Session& session_;
  void keep(const KernelStep& step);
  bool expect(const KernelStep& step, Sample& sample);

  std::unordered_set<UOp> right_;  // kernels that were compared, and were right
  bool found_ = false, runs_ = false;
  std::string itself_;
  std::optional<InputGraph> kernel_;  // that runs, or was found
  GivenRun given_;
  VariableValues variables_;
  size_t seen_ = 0, number_ = 0;
};

}  // namespace tgc
