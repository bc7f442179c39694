// Checks a golden record of any release against a live pipeline: does this machine's tinygrad still make the same?
#pragma once
#include "lib/driver/session.h"
#include "lib/replay/record_check.h"

namespace tgc {

// Parses the list of --stages for check_live: names of stages of any release, the outputs, `graphs`, or `all`. An empty
// list means all. Fails for a pseudo-stage that needs no tinygrad.
Result<CheckPlan> make_live_check_plan(std::string_view stages);

// Compiles the AST of `record` in the session's live pipeline, for the record's target and with its settings, and
// compares the graph after each recorded stage, the listing, the source and the launch facts. Graphs are compared as
// nodes, so that a recording of texts can be compared with one of nodes. Fails only if the pipeline is not there or the
// session is cancelled.
Result<RecordReport> check_live(const Session& session, const GoldenHeader& header,
                                std::shared_ptr<const GoldenRecord> record, const CheckPlan& plan);

}  // namespace tgc
