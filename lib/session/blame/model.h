// Models and tensor graphs: which of their kernels is to blame, if it is one.
#pragma once
#include "lib/session/blame/failing_run.h"
#include "lib/session/model_trial.h"

namespace tgc {

// Watches a run of many kernels, and keeps the first that makes something else of its arrays than its AST does in REF:
// of a large one at some places (lib/execute/sampled.h).
class KernelWatch {
 public:
  explicit KernelWatch(const Session& session) : session_(session) {}

  // Throws Failure when it has found one: the run may end.
  void see(const KernelStep& step);

  bool found() const { return kernel_.has_value(); }
  size_t seen() const { return seen_; }
  // The one that was found.
  Loaded& kernel() { return *kernel_; }
  const GivenRun& given() const { return given_; }
  const VariableValues& variables() const { return variables_; }
  size_t number() const { return number_; }

 private:
  const Session& session_;
  std::optional<Loaded> kernel_;
  GivenRun given_;
  VariableValues variables_;
  size_t seen_ = 0, number_ = 0;
};

}  // namespace tgc
