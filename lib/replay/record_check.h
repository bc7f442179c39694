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
  bool isolated = false;  // run each stage on tinygrad's graph of the stage before it
  bool traced = false;    // attach an observer, so that no shortcut replaces the rules
  bool explain = false;   // fill RecordReport::explanation for the first difference
  bool color = false;     // color the explanation
};

// Parses the list of --stages. Empty: all graph stages and outputs. Errors: an unknown name.
Result<CheckPlan> make_check_plan(std::string_view stages);

enum class CheckVerdict : uint8_t { Same, Different, Error, Skipped };

struct CheckItem {
  std::string name;  // the stage
  CheckVerdict verdict;
};

struct RecordReport {
  std::string id, target;
  std::vector<CheckItem> items;  // stages and outputs in the order of the record; the item `text` exists once per text
  std::string first;             // the first stage that differs from tinygrad's; empty: none differs
  std::string explanation;       // how that stage differs, if the plan asks for it
  std::string skipped;           // why tgc cannot replay the record; empty: it can

  bool identical() const { return first.empty() && skipped.empty(); }
  // Returns whether anything was compared: a record may hold none of the texts that the plan asks for.
  bool compared() const;
};

// Replays `record`. `settings`: the settings that it was recorded under, from the file's header and the record itself.
RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan);

}  // namespace tgc
