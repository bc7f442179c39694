#include "lib/diff/ci_cases.h"

#include "lib/support/counted.h"

namespace tgc {

CiReport diff_ci_report() {
  static constexpr CiRule kRules[] = {
      {"graph-differs", "Two graphs differ in structure."},
      {"kernel-differs", "A kernel or schedule differs after a stage."},
      {"kernel-missing", "Only one of the recordings has the kernel or schedule."},
  };
  return CiReport("diff", kRules);
}

CiCase ci_case(const std::string& name, const std::string& file, const GraphDiff& diff) {
  CiCase out{.name = name, .file = file};
  if (diff.same) return out;
  out.verdict = CiVerdict::Failed, out.rule = "graph-differs";
  out.message = counted(diff.changes.size(), "change"), out.details = to_text(diff);
  return out;
}

CiCase ci_case(const Run& run, const std::string& file, const RunDiff& diff) {
  CiCase out{.name = run.id + (run.target.empty() ? "" : " (" + run.target + ")"), .file = file};
  if (diff.same) return out;
  out.verdict = CiVerdict::Failed, out.rule = "kernel-differs";
  out.message = "'" + diff.stage + "' differs";
  if (!diff.blame.empty() && !diff.blame[0].rule.empty()) out.message += ", by the rule " + diff.blame[0].rule;
  out.details = to_text(diff);
  return out;
}

}  // namespace tgc
