// Checks a golden record of any release against a live pipeline: does this machine's tinygrad still make the same?
#pragma once
#include "lib/compare/record_check.h"
#include "lib/driver/session.h"

namespace tgc {

class LiveRecordChecker : public RecordChecker {
 public:
  explicit LiveRecordChecker(const Session& session) : session_(session) {}
  // Accepts names of stages of any release, the outputs, `graphs`, and `all`. An empty list means all. Fails for a
  // pseudo-stage that needs no tinygrad.
  Result<CheckPlan> plan(std::string_view stages) const override;
  // Compiles the AST of `record` in the session's live pipeline, for the record's target and with its settings, and
  // compares the graph after each recorded stage, the listing, the source and the launch facts. Graphs are compared as
  // nodes, so that a recording of texts can be compared with one of nodes. Fails only if the pipeline is not there or
  // the session is cancelled.
  Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                             const CheckPlan& plan) const override;

 private:
  const Session& session_;
};

}  // namespace tgc
