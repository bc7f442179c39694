#include "lib/compare/replay.h"

#include <algorithm>
#include <set>

#include "lib/compilation/stage_selection.h"
#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/read_graph.h"
#include "lib/records/recorded_stages.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/ordered_pool.h"
#include "lib/text/formats.h"

namespace tgc {

namespace {

class NativeRecordChecker : public RecordChecker {
 public:
  Result<CheckPlan> make_plan(std::string_view stages) const override { return make_check_plan(stages); }
  Status check_header(const GoldenHeader& header, const CheckPlan& plan) const override {
    if (release_of(header.producer) == Release::v0_12 || !compiles(plan)) return Unit{};
    Diag diag = foreign_graph_error(header.producer, "");
    diag.expected = "--live=PYTHON with that tinygrad, or --stages=text";
    return diag;
  }
  Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                             const CheckPlan& plan) const override {
    auto settings = settings_of_recording(settings_of(header, record));
    if (!settings && compiles(plan)) return settings.diag();
    return catch_failures(
        [&] { return check_record(record, settings ? *settings : Settings(), plan, header.producer); });
  }

 private:
  static bool compiles(const CheckPlan& plan) {
    return plan.wanted_stages != std::set<std::string, std::less<>>{"text"};
  }
};

// Returns nullopt if the plan does not select the record.
Result<std::optional<RecordReport>> check_line(const RecordChecker& checker, const GoldenLine& line,
                                               const std::string& file, const GoldenHeader& header,
                                               const ReplayPlan& plan) {
  auto record = parse_golden_record(line, file);
  if (!record) return record.diag();
  bool passes = plan.record_filter.empty();  // tensor records have no target
  for (const std::string* text : {&record->id, &record->target, &record->device})
    passes |= text->find(plan.record_filter) != text->npos;
  if (!passes) return std::optional<RecordReport>();
  auto report = checker.check(header, *record, plan.check_plan);
  if (!report) return report.diag();
  report->line = line.line_number;
  return std::optional(std::move(*report));
}

class LiveRecordChecker : public RecordChecker {
 public:
  explicit LiveRecordChecker(const Session& session) : session_(session) {}
  // Accepts any name, because only a recording names its stages, except the pseudo-stages, which need no tinygrad. An
  // empty list means `all`.
  Result<CheckPlan> make_plan(std::string_view stages) const override;
  // Compiles the AST of `record` in the session's live pipeline, for the record's target and with its settings, and
  // compares the results that `plan` selects. Reads graphs before comparing them, so that their format does not matter.
  // Fails if the pipeline gives no answer.
  Result<RecordReport> check(const GoldenHeader& header, const GoldenRecord& record,
                             const CheckPlan& plan) const override;

 private:
  const Session& session_;
};

}  // namespace

std::unique_ptr<RecordChecker> make_record_checker(const Session& session) {
  if (session.tinygrad_pool) return std::make_unique<LiveRecordChecker>(session);
  return std::make_unique<NativeRecordChecker>();
}

Result<Settings> settings_of_recording(const GoldenSettings& recorded) {
  Settings settings;
  for (auto& [key, value] : recorded)
    if (auto status = settings.set_value(key, value); !status) return status.diag();
  return settings;
}

Result<InputGraph> load_recorded_graph(const GoldenSettings& recorded, InputKind kind, std::string_view text,
                                       const std::string& name) {
  auto settings = settings_of_recording(recorded);
  return settings ? load_graph_text(*settings, kind, text, name) : settings.diag();
}

Status replay(const Session& session, const std::string& spec, const ReplayPlan& plan,
              const ReportCallback& on_report) {
  InputName name = InputName::parse(spec);
  if (name.id.empty()) name.id = plan.id;
  auto records = NamedRecordReader::open(name);
  if (!records) return records.diag();
  const GoldenReader& file = records->reader();
  const auto checker = make_record_checker(session);
  if (auto status = checker->check_header(file.header(), plan.check_plan); !status) {
    Diag diag = status.diag();
    diag.file = name.display_name();
    return diag;
  }
  bool found = name.id.empty();
  OrderedPool pool(session.num_jobs);
  for (GoldenLine line;; line = {}) {
    auto more = records->next_line(line);
    if (!more) return more.diag();
    if (session.is_cancelled()) return Diag{"cancelled"};
    if (!*more) break;
    if (!plan.shard.has_item(line.line_number)) continue;
    found = true;
    auto check = [&, line = std::move(line)] { return check_line(*checker, line, name.file, file.header(), plan); };
    auto done = [&](std::optional<RecordReport>&& report) {
      if (report) on_report(name.file, *report);
    };
    if (!pool.submit_task(std::move(check), done)) break;
  }
  if (auto status = pool.finish_tasks(); !status) return status;
  if (file.truncation_error()) session.send_warning(*file.truncation_error());
  if (!found && plan.record_filter.empty())
    return Diag{.message = "no record has the id '" + name.id + "'", .file = name.display_name()};
  return Unit{};
}

void ReplaySummary::Counts::count_verdict(CheckVerdict v) {
  using enum CheckVerdict;
  (v == Same ? num_same : v == Different ? num_different : v == Error ? num_errors : num_skipped)++;
}

CiReport make_empty_check_report() {
  static constexpr CiRule kRules[] = {{"stage-differs", "A stage's result is not what was recorded."},
                                      {"stage-fails", "A stage has no result, although one was recorded."}};
  return CiReport("check", kRules);
}

CiCase make_ci_case(const std::string& file, const RecordReport& report) {
  CiCase out{.name = record_label(report.id, report.target), .file = file,
             .line = report.line};
  if (!report.first_difference.empty()) {
    auto item = std::ranges::find(report.items, report.first_difference, &CheckItem::name);
    const bool fails = item != report.items.end() && item->verdict == CheckVerdict::Error;
    out.verdict = fails ? CiVerdict::Error : CiVerdict::Failed;
    out.rule = fails ? "stage-fails" : "stage-differs";
    out.message = "'" + report.first_difference + (fails ? "' fails" : "' is not what was recorded");
    out.details_text = report.explanation;
  } else if (!report.skip_reason.empty() || !report.is_compared()) {
    out.verdict = CiVerdict::Skipped;
    out.message = report.skip_reason.empty() ? "nothing was compared" : report.skip_reason;
  }
  return out;
}

void ReplaySummary::add_report(const RecordReport& report) {
  num_records_++;
  num_compared_ += report.is_compared();
  bool error = false;
  for (const CheckItem& item : report.items) {
    stage_counts_[item.name].count_verdict(item.verdict);
    error |= item.verdict == CheckVerdict::Error;
  }
  num_errors_ += error;
  if (report.is_identical()) num_identical_++;
  else if (report.first_difference.empty()) num_skipped_++, skip_reasons_[report.skip_reason]++;
  else first_differences_[report.first_difference]++;
}

Status ReplaySummary::check_compared(bool is_filtered) const {
  if (num_compared_) return Unit{};
  if (num_skipped_ && num_skipped_ == num_records_)
    return Diag{.message = "nothing was compared: tgc can replay none of the records"};
  if (num_records_) return Diag{.message = "nothing was compared", .expected = "stages that the records have"};
  return Diag{.message = "nothing was compared: no record was chosen",
              .expected = is_filtered ? "a --filter of ids or targets" : "golden files with records"};
}

std::string ReplaySummary::text() const {
  std::string out = count_text(num_records_, "record") + ", " + std::to_string(num_identical_) + " identical";
  out += num_skipped_ ? ", " + std::to_string(num_skipped_) + " skipped\n" : "\n";
  size_t width = 5;
  for (auto& [name, c] : stage_counts_.items()) width = std::max(width, name.size());
  auto row = [&](const std::string& name, const std::string& a, const std::string& b, const std::string& c,
                 const std::string& d) {
    out += formatted("  %-*s %9s %9s %9s %9s\n", int(width), name.c_str(), a.c_str(), b.c_str(), c.c_str(), d.c_str());
  };
  auto number = [](size_t n) { return n ? std::to_string(n) : std::string("-"); };
  if (!stage_counts_.items().empty()) row("stage", "same", "different", "error", "skipped");
  for (auto& [name, c] : stage_counts_.items())
    row(name, number(c.num_same), number(c.num_different), number(c.num_errors), number(c.num_skipped));
  for (auto& [name, n] : first_differences_.items())
    out += "first divergence at " + name + ": " + std::to_string(n) + "\n";
  for (auto& [why, n] : skip_reasons_.items()) out += "skipped: " + std::to_string(n) + ": " + why + "\n";
  return out;
}

std::string ReplaySummary::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", num_records_).member("identical", num_identical_).member("errors", num_errors_);
    json.key("stages").object([&] {
      for (auto& [name, c] : stage_counts_.items())
        json.key(name).object([&] {
          json.member("same", c.num_same).member("different", c.num_different);
          json.member("error", c.num_errors).member("skipped", c.num_skipped);
        });
    });
    json.member("first_divergence", first_differences_.items());
    if (!num_skipped_) return;
    json.member("skipped", skip_reasons_.items());
  }) + "\n";
}

namespace {

constexpr std::string_view kGraphs = "graphs", kAll = "all", kKernels = "kernels";
constexpr std::string_view kOutputs[] = {"linear", "source", "program"};
constexpr std::string_view kWithoutTinygrad[] = {"text", "forms", "spec", "resume"};

// Numbers the buffers in a pyrender text by their first use ("new0"), except buffers whose number is in `known`,
// because tinygrad numbers new buffers after all earlier ones of the program. With `learns`, adds all numbers to
// `known` instead.
std::string with_numbered_buffers(const std::string& text, std::set<std::string>& known, bool learns) {
  constexpr std::string_view kBuffer = "UOp.new_buffer(";
  std::string out;
  std::map<std::string, std::string> numbers;
  size_t at = 0;
  for (size_t begin; (begin = text.find(kBuffer, at)) != text.npos;) {
    size_t end = begin + kBuffer.size();
    for (int depth = 1; end < text.size() && depth; end++) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    const size_t comma = text.rfind(' ', end) + 1;
    const std::string number = text.substr(comma, end - 1 - comma);
    if (learns) known.insert(number);
    out.append(text, at, comma - at);
    if (known.contains(number)) out += number;
    else out += numbers.try_emplace(number, "new" + std::to_string(numbers.size())).first->second;
    at = end - 1;
  }
  return out.append(text, at);
}

class LiveCheck {
 public:
  LiveCheck(const GoldenHeader& header, const GoldenRecord& recorded, const GoldenRecord& made, const CheckPlan& plan)
      : golden_record_(recorded), live_record_(made), plan_(plan) {
    graph_.set_release(release_of(header.producer));
    producer_ = header.producer;
  }

  RecordReport run() {
    report_.id = golden_record_.id;
    report_.target = golden_record_.target.empty() ? golden_record_.device : golden_record_.target;
    if (bool(golden_record_.error) != bool(live_record_.error)) {
      report_.items.push_back({"refusal", CheckVerdict::Error});
      note_difference("refusal", "  recorded: " + golden_record_.error.value_or("compiled") + "\n  live: " +
                             live_record_.error.value_or("compiled") + "\n");
      return std::move(report_);
    }
    std::map<std::string, size_t> seen;  // by name: number of stages so far
    const RecordedStageTexts theirs(golden_record_), ours(live_record_);
    for (const RecordedStage& s : theirs)
      if (s.kind != RecordedStage::Kind::Ast) check_stage(s, find_stage(ours, s.name, seen[s.name]++));
      else if (s.text && golden_record_.target.empty()) learn_buffer_numbers(s);
    return std::move(report_);
  }

 private:
  bool is_selected(const RecordedStage& s) const {
    using enum RecordedStage::Kind;
    if (plan_.wanted_stages.contains(kAll)) return true;
    const std::string_view group = s.kind == Stage ? kGraphs : s.kind == Kernel ? kKernels : std::string_view(s.name);
    const std::string slug = slug_of_stage(s.name);
    return plan_.wanted_stages.contains(group) || plan_.wanted_stages.contains(s.name) ||
           plan_.wanted_stages.contains(slug);
  }

  // Returns stage number `index`, from 0, of the stages with this name; null if there is none.
  static const RecordedStage* find_stage(const RecordedStageTexts& stages, std::string_view name, size_t index) {
    for (const RecordedStage& s : stages)
      if (s.name == name && index-- == 0) return &s;
    return nullptr;
  }

  void learn_buffer_numbers(const RecordedStage& ast) {
    auto root = read_root(golden_record_, ast);
    auto text = root ? write_graph(GraphFormat::Pyrender, *root) : Result<std::string>(root.diag());
    if (text) with_numbered_buffers(*text, known_buffer_numbers_, true);
  }
  void note_difference(const std::string& name, const std::string& explanation) {
    if (report_.first_difference.empty()) report_.first_difference = name, report_.explanation = explanation;
  }
  void add_verdict(const std::string& name, CheckVerdict verdict, const std::string& explanation) {
    report_.items.push_back({name, verdict});
    if (verdict != CheckVerdict::Same) note_difference(name, explanation);
  }

  void check_stage(const RecordedStage& recorded, const RecordedStage* made) {
    if (!is_selected(recorded)) return;
    const std::string name = recorded.kind == RecordedStage::Kind::Kernel ? std::string(kKernels) : recorded.name;
    if (!recorded.text && !full_text(golden_record_, recorded)) return;
    if (!made) return add_verdict(name, CheckVerdict::Different, "  this tinygrad does not make it\n");
    if (!recorded.is_graph()) {
      const bool same = recorded.text == made->text;
      return add_verdict(name, same ? CheckVerdict::Same : CheckVerdict::Different,
                         same ? "" : difference_text(*recorded.text, made->text.value_or("")));
    }
    auto theirs = read_root(golden_record_, recorded), ours = read_root(live_record_, *made);
    if (!theirs || !ours)
      return add_verdict(name, CheckVerdict::Error, "  " + (theirs ? ours : theirs).diag().text() + "\n");
    if (*theirs == *ours) return add_verdict(name, CheckVerdict::Same, "");
    auto their_text = write_graph(GraphFormat::Pyrender, *theirs), our_text = write_graph(GraphFormat::Pyrender, *ours);
    if (!their_text || !our_text) return add_verdict(name, CheckVerdict::Different, "  tgc cannot print the graphs\n");
    if (golden_record_.target.empty())
      for (std::string* text : {&*their_text, &*our_text})
        *text = with_numbered_buffers(*text, known_buffer_numbers_, false);
    const bool same = *their_text == *our_text;  // readers may add facts to one of the graphs
    add_verdict(name, same ? CheckVerdict::Same : CheckVerdict::Different,
                same ? "" : difference_text(*their_text, *our_text));
  }

  std::string difference_text(std::string_view theirs, std::string_view ours) const {
    if (!plan_.explains_difference || !report_.first_difference.empty()) return {};
    return "  - recorded  + live\n" + line_diff(theirs, ours, {.uses_color = plan_.uses_color});
  }

  // Returns the text from which the graph after a stage can be read; nullopt if this is RecordedStage::text.
  static std::optional<std::string_view> full_text(const GoldenRecord& record, const RecordedStage& s) {
    if (s.kind != RecordedStage::Kind::Stage) return {};
    std::optional<std::string_view> out;
    for (const GoldenStage& stage : record.stages)
      if (stage.name == s.name && stage.full_text) out = *stage.full_text;
    return out;
  }

  // All graphs are in one Graph, in which equal nodes are the same node.
  Result<UOp> read_root(const GoldenRecord& record, const RecordedStage& s) {
    auto text = full_text(record, s);
    if (!text) text = s.text;
    if (!text) return Diag{"tinygrad could not print the graph"};
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer_};
    auto read = read_graph(graph_, detect_input_kind(*text), *text, record.id + " (" + s.name + ")", &report);
    if (!read) return read.diag();
    // Compare only the graph of a PROGRAM: its list and source are compared separately.
    return read->root.is(Op::PROGRAM) && read->root.num_src() > 0 ? read->root.src(0) : read->root;
  }

  const GoldenRecord &golden_record_, &live_record_;
  const CheckPlan& plan_;
  std::string producer_;
  std::set<std::string> known_buffer_numbers_;  // of the AST of a tensor graph
  Graph graph_;
  RecordReport report_;
};

}  // namespace

Result<CheckPlan> LiveRecordChecker::make_plan(std::string_view stages) const {
  CheckPlan plan;
  for (size_t at = 0; at <= stages.size();) {
    const size_t end = std::min(stages.find(',', at), stages.size());
    const std::string word(stages.substr(at, end - at));
    if (std::ranges::count(kWithoutTinygrad, word))
      return Diag{.message = "'" + word + "' compares with no tinygrad", .expected = "`tgc check` without --live"};
    plan.wanted_stages.insert(word.empty() ? std::string(kAll) : word);
    at = end + 1;
  }
  return plan;
}

Result<RecordReport> LiveRecordChecker::check(const GoldenHeader& header, const GoldenRecord& record,
                                              const CheckPlan& plan) const {
  return catch_failures([&] {
    RecordReport skipped{.id = record.id, .target = record.target};
    if (is_runtime_kernel(record, header.producer)) {
      skipped.skip_reason = "a kernel of tinygrad's runtime";
      return skipped;
    }
    const std::string& text = record.ast_full ? *record.ast_full : record.ast;
    auto in = load_graph_text({}, detect_input_kind(text), text, record.id);
    if (!in) {
      skipped.items.push_back({"ast", CheckVerdict::Error});
      skipped.first_difference = "ast", skipped.explanation = "  " + in.diag().text() + "\n";
      return skipped;
    }
    in->info.name = record.id, in->info.target = record.target, in->info.settings = settings_of(header, record);
    in->info.stage.clear(), in->is_tensor_graph = record.target.empty();
    const GoldenRecord made = session_.compiler()->record_of_input(*in).value_or_throw();
    return LiveCheck(header, record, made, plan).run();
  });
}

}  // namespace tgc
