// Checks golden records: compiles a record's AST again, and compares the results with the recorded texts.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/golden.h"
#include "lib/support/settings.h"

namespace tgc {

struct CheckPlan {
  std::set<std::string, std::less<>> wanted_stages;  // names of --stages; `graphs`: all stages that make a graph
  bool isolates_stages = false;  // run each stage on tinygrad's result of the previous stage instead of tgc's
  bool traces_rewrites = false;  // attach a rewrite observer; it disables fast paths that bypass rules
  bool explains_difference = false;
  bool uses_color = false;
};

// Parses the list of --stages. An empty list selects all graph stages and outputs, without the pseudo-stages `text`,
// `forms`, `spec` and `resume`. Fails for an unknown name.
Result<CheckPlan> make_check_plan(std::string_view stages);

// Error: tgc fails in this stage and tinygrad did not, or tgc cannot compare the results; with a live pipeline, also:
// only one of the two tinygrads refuses the graph. Skipped: the stage was not run, such as after a failure.
enum class CheckVerdict : uint8_t { Same, Different, Error, Skipped };

struct CheckItem {
  std::string name;  // of the stage or output
  CheckVerdict verdict;
};

struct RecordReport {
  std::string id, target;
  uint32_t line = 0;             // of the record in its file, from 1; 0 if unknown
  std::vector<CheckItem> items;  // in the order of comparison; several may have the same name, such as `text`
  // the first stage or output that differs from tinygrad's, or that has no result; empty if there is none
  std::string first_difference;
  std::string explanation;  // the error or, with CheckPlan::explains_difference, how `first_difference` differs
  std::string skip_reason;  // why tgc does not compile the record; empty if it does, or need not

  bool is_identical() const { return first_difference.empty() && skip_reason.empty(); }
  // Returns true if at least one item was compared, and not skipped.
  bool is_compared() const;
};

// `settings` are those of the recording, from the header of the file and from the record. `producer` is the header's;
// may be empty for 0.12.0.
RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan,
                          std::string_view producer = {});

// Compares records with the results of compiling their ASTs again, by tgc's own pipeline or by a live one (replay.h).
class RecordChecker {
 public:
  virtual ~RecordChecker() = default;
  // Parses the list of --stages. Fails for a name that this pipeline cannot compare; a live pipeline accepts unknown
  // names, because only the recording names its stages.
  virtual Result<CheckPlan> make_plan(std::string_view stages) const = 0;
  // Fails if the pipeline cannot check records of a file with this header by `plan`.
  virtual Status check_header(const GoldenHeader&, const CheckPlan&) const { return Unit{}; }
  virtual Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                                     const CheckPlan& plan) const = 0;
};

}  // namespace tgc
