// Runs the source that tinygrad recorded for a kernel on its device, and compares it with the kernel's AST.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/bisect/stage_comparer.h"
#include "lib/execute/placement.h"

namespace tgc {

class RecordedBackend {
 public:
  RecordedBackend(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                  StageComparer& comparer)
      : session_(session), input_graph_(in), options_(options), report_(report), comparer_(comparer) {}

  // Returns a verdict if the recorded source computes something else than the AST, or is not valid:
  //   Compiler  on this computer's CPU: the source is right without optional passes, or with the other compiler
  //   Device    on another device: a second run with the same inputs does not give a wrong result again
  //   Renderer  otherwise
  // Returns nullopt if the source is right, or if it cannot be run here; not_run_reason() then says why it cannot.
  std::optional<Verdict> check_source();
  StageResult source_outcome(const RecordedTrial& t);

  bool has_compared_source() const { return has_compared_trial_; }
  const std::string& not_run_reason() const { return not_run_reason_; }
  const RecordedTrial* failing_trial() const { return failing_trial_; }

 private:
  bool prepare_source();
  StageResult run_source(const RecordedTrial& t);
  Verdict verdict_of_trial(const RecordedTrial& t);
  void check_compiler(const RecordedTrial& t, Verdict& out);

  const Session& session_;
  InputGraph& input_graph_;
  const RunOptions& options_;
  BisectReport& report_;
  StageComparer& comparer_;
  bool is_source_prepared_ = false, has_compared_trial_ = false;
  std::optional<Placement> placement_;
  std::optional<Executable> source_executable_;
  std::optional<Verdict> invalid_verdict_;
  std::string not_run_reason_ = "the record has none";
  const RecordedTrial* failing_trial_ = nullptr;
};

}  // namespace tgc
