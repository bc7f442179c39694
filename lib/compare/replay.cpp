#include "lib/compare/replay.h"

#include <algorithm>

#include "lib/compare/live_check.h"
#include "lib/driver/named_records.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"

namespace tgc {
namespace {

class NativeRecordChecker : public RecordChecker {
 public:
  Result<CheckPlan> plan(std::string_view stages) const override { return make_check_plan(stages); }
  Status accepts(const GoldenHeader& header, const CheckPlan& plan) const override {
    if (release_of(header.producer) == Release::v0_12 || !compiles(plan)) return Unit{};
    Diag diag = foreign_graph_error(header.producer, "");
    diag.expected = "--live=PYTHON with that tinygrad, or --stages=text";
    return diag;
  }
  Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                             const CheckPlan& plan) const override {
    auto settings = settings_from(settings_of(header, record));
    if (!settings && compiles(plan)) return settings.diag();
    return catch_failures(
        [&] { return check_record(record, settings ? *settings : Settings(), plan, header.producer); });
  }

 private:
  static bool compiles(const CheckPlan& plan) { return plan.wanted != std::set<std::string, std::less<>>{"text"}; }
};

// Checks the record on the line `line`. Returns nullopt if the plan does not select the record.
Result<std::optional<RecordReport>> check_line(const RecordChecker& checker, const GoldenLine& line,
                                               const std::string& file, const GoldenHeader& header,
                                               const ReplayPlan& plan) {
  auto record = parse_golden_record(line, file);
  if (!record) return record.diag();
  bool passes = plan.filter.empty();  // the filter may also match the device of a tensor record, which has no target
  for (const std::string* text : {&record->id, &record->target, &record->device})
    passes |= text->find(plan.filter) != text->npos;
  if (!passes) return std::optional<RecordReport>();
  auto report = checker.check(header, *record, plan.check);
  if (!report) return report.diag();
  report->line = line.line;
  return std::optional(std::move(*report));
}

}  // namespace

std::unique_ptr<RecordChecker> checker_of(const Session& session) {
  if (session.live) return std::make_unique<LiveRecordChecker>(session);
  return std::make_unique<NativeRecordChecker>();
}

Result<Settings> settings_from(const GoldenSettings& recorded) {
  Settings settings;
  for (auto& [key, value] : recorded)
    if (auto status = settings.set(key, value); !status) return status.diag();
  return settings;
}

Result<InputGraph> load_recorded(const GoldenSettings& recorded, InputKind kind, std::string_view text,
                                 const std::string& name) {
  auto settings = settings_from(recorded);
  return settings ? load_text(*settings, kind, text, name) : settings.diag();
}

Status replay(const Session& session, const std::string& spec, const ReplayPlan& plan, const OnReport& on_report) {
  InputName name = InputName::parse(spec);
  if (name.id.empty()) name.id = plan.id;
  auto records = NamedRecords::open(name);
  if (!records) return records.diag();
  const GoldenReader& file = records->file();
  const auto checker = checker_of(session);
  if (auto status = checker->accepts(file.header(), plan.check); !status) {
    Diag diag = status.diag();
    diag.file = name.shown();
    return diag;
  }
  bool found = name.id.empty();
  OrderedPool pool(session.jobs);
  for (GoldenLine line;; line = {}) {
    auto more = records->next_line(line);
    if (!more) return more.diag();
    if (session.cancelled()) return Diag{"cancelled"};
    if (!*more) break;
    if (!plan.shard.has(line.line)) continue;
    found = true;
    auto check = [&, line = std::move(line)] { return check_line(*checker, line, name.file, file.header(), plan); };
    auto done = [&](std::optional<RecordReport>&& report) {
      if (report) on_report(name.file, *report);
    };
    if (!pool.submit(std::move(check), done)) break;
  }
  if (auto status = pool.finish(); !status) return status;
  if (file.cut()) session.warn(*file.cut());
  if (!found && plan.filter.empty())
    return Diag{.message = "no record has the id '" + name.id + "'", .file = name.shown()};
  return Unit{};
}

void ReplaySummary::Counts::add(CheckVerdict v) {
  using enum CheckVerdict;
  (v == Same ? same : v == Different ? different : v == Error ? error : skipped)++;
}

CiReport check_ci_report() {
  static constexpr CiRule kRules[] = {{"stage-differs", "A stage's result is not what was recorded."},
                                      {"stage-fails", "A stage has no result, although one was recorded."}};
  return CiReport("check", kRules);
}

CiCase ci_case(const std::string& file, const RecordReport& report) {
  CiCase out{.name = shown_record(report.id, report.target), .file = file,
             .line = report.line};
  if (!report.first.empty()) {
    auto item = std::ranges::find(report.items, report.first, &CheckItem::name);
    const bool fails = item != report.items.end() && item->verdict == CheckVerdict::Error;
    out.verdict = fails ? CiVerdict::Error : CiVerdict::Failed;
    out.rule = fails ? "stage-fails" : "stage-differs";
    out.message = "'" + report.first + (fails ? "' fails" : "' is not what was recorded");
    out.details = report.explanation;
  } else if (!report.skipped.empty() || !report.compared()) {
    out.verdict = CiVerdict::Skipped;
    out.message = report.skipped.empty() ? "nothing was compared" : report.skipped;
  }
  return out;
}

void ReplaySummary::add(const RecordReport& report) {
  records_++;
  compared_ += report.compared();
  bool error = false;
  for (const CheckItem& item : report.items) {
    counts_[item.name].add(item.verdict);
    error |= item.verdict == CheckVerdict::Error;
  }
  errors_ += error;
  if (report.identical()) identical_++;
  else if (report.first.empty()) skipped_++, why_skipped_[report.skipped]++;
  else first_[report.first]++;
}

std::string ReplaySummary::text() const {
  std::string out = counted(records_, "record") + ", " + std::to_string(identical_) + " identical";
  out += skipped_ ? ", " + std::to_string(skipped_) + " skipped\n" : "\n";
  size_t width = 5;
  for (auto& [name, c] : counts_.items()) width = std::max(width, name.size());
  auto row = [&](const std::string& name, const std::string& a, const std::string& b, const std::string& c,
                 const std::string& d) {
    out += formatted("  %-*s %9s %9s %9s %9s\n", int(width), name.c_str(), a.c_str(), b.c_str(), c.c_str(), d.c_str());
  };
  auto number = [](size_t n) { return n ? std::to_string(n) : std::string("-"); };
  if (!counts_.items().empty()) row("stage", "same", "different", "error", "skipped");
  for (auto& [name, c] : counts_.items())
    row(name, number(c.same), number(c.different), number(c.error), number(c.skipped));
  for (auto& [name, n] : first_.items()) out += "first divergence at " + name + ": " + std::to_string(n) + "\n";
  for (auto& [why, n] : why_skipped_.items()) out += "skipped: " + std::to_string(n) + ": " + why + "\n";
  return out;
}

std::string ReplaySummary::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", records_).member("identical", identical_).member("errors", errors_);
    json.key("stages").object([&] {
      for (auto& [name, c] : counts_.items())
        json.key(name).object([&] {
          json.member("same", c.same).member("different", c.different);
          json.member("error", c.error).member("skipped", c.skipped);
        });
    });
    json.member("first_divergence", first_.items());
    if (!skipped_) return;
    json.member("skipped", why_skipped_.items());
  }) + "\n";
}

}  // namespace tgc
