// Replays golden records, several at a time, and adds up what came of them.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/driver/shard.h"
#include "lib/replay/record_check.h"

namespace tgc {

struct ReplayPlan {
  CheckPlan check;
  std::string id;      // only the record of that id; beside the #ID of an INPUT
  std::string filter;  // only records whose id, target or device contains this
  Shard shard = {};    // of the records, by their lines in the file
};

// Calls `on_report` with the report of every record of `spec` (FILE or FILE#ID) that the plan wants, in the order of
// the file, one call at a time. Errors: a file or a record that cannot be read; an id that no record has; cancelled.
using OnReport = std::function<void(const std::string& file, const RecordReport& report)>;
Status replay(const Session& session, const std::string& spec, const ReplayPlan& plan, const OnReport& on_report);

// Settings of a record alone: what tinygrad did under them does not depend on the environment here. Errors: a value
// that a setting cannot have.
Result<Settings> settings_from(const GoldenSettings& recorded);
// A text read under such settings; `name` stands for its file in messages. Errors: as above, and what reading it says.
Result<InputGraph> load_under(const GoldenSettings& recorded, InputKind kind, std::string_view text,
                          const std::string& name);

// Values by name, in the order the names first came.
template <class T>
class Tally {
 public:
  T& operator[](const std::string& name) {
    auto [it, is_new] = index_.emplace(name, items_.size());
    if (is_new) items_.emplace_back(name, T());
    return items_[it->second].second;
  }
  const std::vector<std::pair<std::string, T>>& items() const { return items_; }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, T>> items_;
};

// The counts of `tgc check`.
class ReplaySummary {
 public:
  void add(const RecordReport& report);

  size_t records() const { return records_; }
  size_t identical() const { return identical_; }
  size_t skipped() const { return skipped_; }  // that tgc cannot replay at all
  // Whether anything was compared: if not, nothing is known, whatever the counts say.
  bool compared() const { return compared_ > 0; }
  std::string text() const;  // a table
  std::string json() const;  // {"records":N,"identical":M,"errors":E,"stages":{...},"first_divergence":{...}}

 private:
  struct Counts {
    size_t same = 0, different = 0, error = 0, skipped = 0;
    void add(CheckVerdict v);
  };
  size_t records_ = 0, identical_ = 0, errors_ = 0, compared_ = 0, skipped_ = 0;
  Tally<Counts> counts_;
  Tally<size_t> first_, why_skipped_;
};

}  // namespace tgc
