// Checks the golden records of files in parallel, and counts the results.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/compare/record_check.h"
#include "lib/driver/failure_collector.h"
#include "lib/driver/session.h"
#include "lib/support/ci_report.h"

namespace tgc {

// Returns the checker for the session's pipeline, native or live. The session must outlive the checker.
std::unique_ptr<RecordChecker> make_record_checker(const Session& session);

struct ReplayPlan {
  CheckPlan check_plan;
  std::string id;             // of the only record to check; empty: all. An #ID in the INPUT takes precedence
  std::string record_filter;  // check only records with this text in their id, target or device
  Shard shard = {};           // by line number
};

using ReportCallback = std::function<void(const std::string& file, const RecordReport& report)>;

// Calls `on_report` with the report of each record of `spec` (FILE or FILE#ID) that the plan selects, in file order and
// one at a time. Fails if the file or a record cannot be read or checked, or if the session is cancelled. Without
// ReplayPlan::record_filter, also fails if no record has the id.
Status replay(const Session& session, const std::string& spec, const ReplayPlan& plan, const ReportCallback& on_report);

// Returns tinygrad's default settings with the recorded values, without the environment. Fails for an invalid value.
Result<Settings> settings_of_recording(const GoldenSettings& recorded);
// `name` is the file name in messages. Fails for an invalid setting or text.
Result<InputGraph> load_recorded_graph(const GoldenSettings& recorded, InputKind kind, std::string_view text,
                                       const std::string& name);

CiReport make_empty_check_report();
CiCase make_ci_case(const std::string& file, const RecordReport& report);

// A map that iterates over its keys in the order of insertion.
template <class T>
class InsertionOrderedMap {
 public:
  T& operator[](const std::string& name) {
    auto [it, is_new] = item_indices_.emplace(name, items_.size());
    if (is_new) items_.emplace_back(name, T());
    return items_[it->second].second;
  }
  const std::vector<std::pair<std::string, T>>& items() const { return items_; }

 private:
  std::map<std::string, size_t> item_indices_;
  std::vector<std::pair<std::string, T>> items_;
};

class ReplaySummary {
 public:
  void add_report(const RecordReport& report);

  size_t num_records() const { return num_records_; }
  size_t num_identical() const { return num_identical_; }
  // Fails if nothing was compared. `is_filtered`: ReplayPlan::record_filter was set.
  Status check_compared(bool is_filtered) const;
  bool are_all_identical() const { return num_identical_ + num_skipped_ == num_records_; }
  std::string text() const;
  std::string json() const;

 private:
  struct Counts {
    size_t num_same = 0, num_different = 0, num_errors = 0, num_skipped = 0;
    void count_verdict(CheckVerdict v);
  };
  size_t num_records_ = 0, num_identical_ = 0, num_errors_ = 0, num_compared_ = 0, num_skipped_ = 0;
  InsertionOrderedMap<Counts> stage_counts_;
  InsertionOrderedMap<size_t> first_differences_, skip_reasons_;
};

}  // namespace tgc
