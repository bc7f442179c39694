// Replays one golden record and compares what was asked for with what tinygrad made, to the letter.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/settings.h"
#include "lib/text/golden.h"

namespace tgc {

// What is compared. The names are those of stages, outputs and pseudo-stages.
struct CheckPlan {
  std::set<std::string, std::less<>> wanted;
  bool isolated = false;  // each stage starts from tinygrad's graph of the stage before
  bool traced = false;    // with an observer attached, so that every rewrite is done one by one
  bool explain = false;   // make the differences, for --show
  bool color = false;     // in them
};

// The plan of a list for --stages; empty: everything the records hold. An unknown name is an error.
Result<CheckPlan> make_check_plan(std::string_view stages);

enum class CheckVerdict : uint8_t { Same, Different, Error, Skipped };

struct CheckItem {
  std::string name;  // of the stage
  CheckVerdict verdict;
};

struct RecordReport {
  std::string id, target;
  std::vector<CheckItem> items;  // in the order of the record; of `text` one per text
  std::string first;             // the first stage that is not as tinygrad's, empty when all that was asked for is
  std::string explanation;       // of that stage, when the plan says so
  std::string skipped;           // why tgc cannot replay the record at all, empty when it can

  bool identical() const { return first.empty() && skipped.empty(); }
  bool compared() const;  // whether anything was: all that was asked for may be missing in the record, or skipped
};

// `settings` are those that the record was made under: its file's and its own.
RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan);

}  // namespace tgc
