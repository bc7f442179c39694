// Replays one golden record: runs the native pipeline on its AST and compares the results with the recorded texts.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/settings.h"
#include "lib/text/golden.h"

namespace tgc {

// The comparisons to make, by the names of stages, outputs and pseudo-stages (see make_check_plan).
struct CheckPlan {
  std::set<std::string, std::less<>> wanted;
  bool isolated = false;  // run each stage on tinygrad's result of the previous stage instead of tgc's
  bool traced = false;    // attach a rewrite observer, which disables shortcuts (faster code in place of rules)
  bool explain = false;   // fill RecordReport::explanation for the first difference
  bool color = false;     // color the explanation
};

// Parses the list of --stages; an empty list means all graph stages and outputs. Errors: an unknown name.
Result<CheckPlan> make_check_plan(std::string_view stages);

enum class CheckVerdict : uint8_t { Same, Different, Error, Skipped };

struct CheckItem {
  std::string name;  // the stage
  CheckVerdict verdict;
};

struct RecordReport {
  std::string id, target;
  std::vector<CheckItem> items;  // compared stages and outputs in the record's order; one item `text` per recorded text
  std::string first;             // the first stage that differs from tinygrad's; empty: none differs
  std::string explanation;       // how that stage differs, if the plan asks for it
  std::string skipped;           // why tgc cannot replay the record; empty: it can

  bool identical() const { return first.empty() && skipped.empty(); }
  // Returns false if nothing was compared, because the record holds none of the texts that the plan selects.
  bool compared() const;
};

// Replays `record`. `settings`: the settings that it was recorded under, from the file's header and the record itself.
RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan);

}  // namespace tgc
