// Cases of CI reports (lib/support/ci_report.h) for differences of graphs and runs.
#pragma once
#include "lib/diff/run_diff.h"
#include "lib/support/ci_report.h"

namespace tgc {

CiReport diff_ci_report();  // returns an empty report of `tgc diff`

// Return the case of one comparison. `file` is the place of a failure.
CiCase ci_case(const std::string& name, const std::string& file, const GraphDiff& diff);
CiCase ci_case(const Run& run, const std::string& file, const RunDiff& diff);

}  // namespace tgc
