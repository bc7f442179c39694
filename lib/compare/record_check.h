// Checks a golden record: runs the native pipeline on its AST, and compares the results with the recorded texts.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/golden.h"
#include "lib/support/settings.h"

namespace tgc {

// What to compare: names of stages, outputs and pseudo-stages (see make_check_plan).
struct CheckPlan {
  std::set<std::string, std::less<>> wanted;
  bool isolated = false;  // run each stage on tinygrad's result of the previous stage, not on tgc's
  bool traced = false;    // attach a rewrite observer, which disables fast paths that bypass rules
  bool explain = false;   // explain the first difference in RecordReport::explanation
  bool color = false;     // use terminal colors in the explanation
};

// Parses the list of --stages. An empty list means all graph stages and all outputs. Fails for an unknown name.
Result<CheckPlan> make_check_plan(std::string_view stages);

enum class CheckVerdict : uint8_t { Same, Different, Error, Skipped };

struct CheckItem {
  std::string name;  // name of the stage or output
  CheckVerdict verdict;
};

struct RecordReport {
  std::string id, target;
  uint32_t line = 0;             // 1-based number of the record's line in its file; 0: unknown
  std::vector<CheckItem> items;  // results in the order of the record; `text` has one item per recorded text
  std::string first;             // the first stage that differs from tinygrad's; empty: none
  std::string explanation;       // how `first` differs, if CheckPlan::explain is set
  std::string skipped;           // why tgc cannot replay the record; empty: it can

  bool identical() const { return first.empty() && skipped.empty(); }
  // Returns whether anything was compared. False if the record has none of the texts that the plan selects.
  bool compared() const;
};

// Checks `record`. `settings` are those of the recording, from the header of the file and from the record. `producer`
// is the header's; empty for 0.12.0.
RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan,
                          std::string_view producer = {});

// Compares records with what one pipeline makes of their ASTs: tgc's own, or a live one (replay.h).
class RecordChecker {
 public:
  virtual ~RecordChecker() = default;
  // Parses the list of --stages. Fails for an unknown name.
  virtual Result<CheckPlan> plan(std::string_view stages) const = 0;
  // Fails if the pipeline compiles no records of a file with this header, which `plan` needs.
  virtual Status accepts(const GoldenHeader&, const CheckPlan&) const { return Unit{}; }
  virtual Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                                     const CheckPlan& plan) const = 0;
};

}  // namespace tgc
