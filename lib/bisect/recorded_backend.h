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
      : session_(session), in_(in), options_(options), report_(report), comparer_(comparer) {}

  // Returns a verdict if the recorded source computes something else than the AST, or does not compile:
  //   Compiler  on this computer's CPU: the source is right without optional passes, or with the other compiler
  //   Device    on another device: a second run with the same inputs does not give a wrong result again
  //   Renderer  otherwise
  // Returns nullopt if the source is right, or if it cannot be run here; reason() then says why it cannot.
  std::optional<Verdict> check();
  // Returns the outcome of the source for the inputs of `t`.
  StageResult outcome(const RecordedTrial& t);

  bool has_compared() const { return has_compared_; }
  const std::string& reason() const { return reason_; }
  const RecordedTrial* failing() const { return failing_; }

 private:
  bool prepare();
  StageResult run(const RecordedTrial& t);
  Verdict culprit_of(const RecordedTrial& t);
  void check_compiler(const RecordedTrial& t, Verdict& out);

  const Session& session_;
  InputGraph& in_;
  const RunOptions& options_;
  BisectReport& report_;
  StageComparer& comparer_;
  bool is_prepared_ = false, has_compared_ = false;
  std::optional<Placement> place_;
  std::optional<Executable> source_;
  std::optional<Verdict> invalid_;  // the verdict if the source does not compile
  std::string reason_ = "the record has none";  // why the source was not run
  const RecordedTrial* failing_ = nullptr;
};

}  // namespace tgc
