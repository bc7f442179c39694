#include "lib/compare/record_check.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "lib/compare/resume_check.h"
#include "lib/compilation/compilation.h"
#include "lib/compilation/schedule_text.h"
#include "lib/compilation/selection.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/recorded_stages.h"
#include "lib/records/round_trip.h"
#include "lib/spec/spec.h"
#include "lib/support/lines.h"
#include "lib/target/target.h"
#include "lib/text/graph_json.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"
#include "lib/uop/wellformed.h"
#include "passes/pipeline.h"

namespace tgc {

namespace {

// Returns one key per line of the text: a hash of the line, in which each name is replaced by the key of the line that
// defines the name. Lines with equal keys build equal nodes.
std::vector<uint64_t> graph_line_keys(std::string_view text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto is_word = [&](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; };
  std::unordered_map<std::string_view, uint64_t> names;
  std::vector<uint64_t> keys;
  for (std::string_view line : lines_of(text)) {
    if (line.substr(0, 4) == "def ") names.clear();
    size_t indent = line.find_first_not_of(' '), equals = line.find(" = ");
    std::string_view defined = equals == line.npos ? std::string_view() : line.substr(indent, equals - indent);
    uint64_t key = 0;
    auto mix = [&](uint64_t v) { key = (key ^ v) * 0x9E3779B97F4A7C15ull, key ^= key >> 29; };
    for (size_t i = defined.empty() ? 0 : equals; i < line.size();) {
      size_t end = i + 1;
      if (is_word(line[i]))
        while (end < line.size() && is_word(line[end])) end++;
      std::string_view word = line.substr(i, end - i);
      auto known = word[0] == 'c' ? names.find(word) : names.end();
      if (known != names.end()) mix(known->second);
      else mix(std::hash<std::string_view>()(word));
      i = end;
    }
    if (!defined.empty()) names[defined] = key;
    keys.push_back(key);
  }
  return keys;
}

// kRecordOutputs: the outputs of a kernel, besides graphs, that a record may have. The constants below it are further
// names in CheckPlan::wanted_stages.
constexpr std::string_view kRecordOutputs[] = {"linear", "source", "program"};
constexpr std::string_view kKernels = "kernels", kText = "text", kForms = "forms", kSpec = "spec", kGraphs = "graphs",
                           kResume = "resume";

class RecordCheck {
 public:
  RecordCheck(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan, std::string_view producer)
      : record_(record), stages_(record), settings_(settings), plan_(plan), producer_(producer) {}

  RecordReport run() {
    report_.id = record_.id;
    report_.target = record_.target.empty() ? record_.device : record_.target;
    if (plan_.wanted_stages.contains(kText) || plan_.wanted_stages.contains(kForms)) check_texts();
    bool compiles = compares_beyond_text() || plan_.wanted_stages.contains(kResume);
    if (compiles) report_.skip_reason = reason_not_to_replay();
    if (compares_beyond_text() && report_.skip_reason.empty()) check_pipeline();
    if (plan_.wanted_stages.contains(kResume) && report_.skip_reason.empty()) check_resuming();
    return std::move(report_);
  }

 private:
  bool is_selected(std::string_view name) const {
    return plan_.wanted_stages.contains(name) || (plan_.wanted_stages.contains(kGraphs) && !is_output(name));
  }
  static bool is_output(std::string_view name) {
    return std::ranges::count(kRecordOutputs, name) > 0 || name == kKernels || name == kText || name == kForms ||
           name == kSpec || name == kResume;
  }

  void add_verdict(std::string_view name, CheckVerdict verdict) {
    report_.items.push_back({std::string(name), verdict});
  }
  void note_difference(std::string_view name, const std::string& explanation = {}) {
    if (!report_.first_difference.empty()) return;
    report_.first_difference = name;
    report_.explanation = explanation;
  }
  void note_failure(std::string_view name, const Diag& diag) {
    if (is_selected(name)) add_verdict(name, CheckVerdict::Error);
    note_difference(name, "  " + diag.text() + "\n");
  }
  void note_skip(std::string_view name, const std::string& why) {
    if (!is_selected(name)) return;
    add_verdict(name, CheckVerdict::Skipped);
    note_difference(name, "  not compared: " + why + "\n");
  }
  void compare_texts(std::string_view name, std::string_view ours, std::string_view theirs, bool graph) {
    if (ours == theirs) return add_verdict(name, CheckVerdict::Same);
    add_verdict(name, CheckVerdict::Different);
    note_difference(name, plan_.explains_difference && report_.first_difference.empty()
                              ? difference_text(ours, theirs, graph)
                              : std::string());
  }
  std::string difference_text(std::string_view ours, std::string_view theirs, bool graph) const {
    LineDiffOptions options{.uses_color = plan_.uses_color};
    if (graph) options.old_keys = graph_line_keys(theirs), options.new_keys = graph_line_keys(ours);
    std::string diff = line_diff(theirs, ours, options);
    // with equal keys, the texts differ only in names of nodes: compare the lines as they are
    if (diff.empty()) diff = line_diff(theirs, ours, {.uses_color = plan_.uses_color});
    return "  - tinygrad  + tgc\n" + diff;
  }

  // ---- the pseudo-stages `text` and `forms`: reading and writing a recorded text, with `forms` in all formats, must
  // not change it
  void check_texts() {
    for (const RecordedStage& s : stages_) {
      if (!s.is_graph() || !s.text || s.is_unchanged) continue;
      if (detect_input_kind(*s.text) != InputKind::Json) {
        check_text(s.name, *s.text, s.pyrender.value_or(*s.text));
        continue;
      }
      check_json_graph(s.name, *s.text);
      if (s.pyrender) check_pyrender_text(s.name, *s.text, *s.pyrender);
    }
    if (record_.linear && plan_.wanted_stages.contains(kText)) check_listing(*record_.linear);
  }
  // "text": the graph in `text` must be written as `printed`, tinygrad's own text, which may omit facts. "forms":
  // writing and reading it in all formats must give `text` again.
  void check_text(const std::string& what, std::string_view text, std::string_view printed) {
    Graph graph(settings_);
    GraphReadReport report{.producer = producer_};
    auto read = read_graph(graph, InputKind::Pyrender, text, record_.id + " (" + what + ")", &report);
    Result<UOp> root = read ? Result<UOp>(read->root) : Result<UOp>(read.diag());
    if (plan_.wanted_stages.contains(kText)) {
      auto written = root ? pyrender(*root) : Result<std::string>(root.diag());
      if (!written) note_failure(kText, written.diag());
      else compare_texts(kText, *written, printed, true);
    }
    if (plan_.wanted_stages.contains(kForms)) {
      auto written = root ? round_trip_all_formats(*root) : Result<std::string>(root.diag());
      if (!written) note_failure(kForms, written.diag());
      else compare_texts(kForms, *written, text, true);
    }
  }
  void check_json_graph(const std::string& what, std::string_view json) {
    if (!plan_.wanted_stages.contains(kText)) return;
    Graph graph(settings_);
    auto read = graph_from_json(graph, json, record_.id + " (" + what + ")");
    if (!read) return note_failure(kText, read.diag());
    compare_texts(kText, graph_to_json(read->root, read->info), json, false);
  }
  // Compares tgc's pyrender text of the graph `json` with tinygrad's, `printed`, and checks that reading `printed`
  // gives the graph.
  void check_pyrender_text(const std::string& what, std::string_view json, std::string_view printed) {
    if (!plan_.wanted_stages.contains(kText)) return;
    Graph graph(settings_), second(settings_);
    GraphReadReport report{.accepts_malformed_graphs = true};
    std::string name = record_.id + " (" + what + ", as printed)";
    auto nodes = read_graph(graph, InputKind::Json, json, name, &report);
    if (!nodes) return note_failure(kText, nodes.diag());
    auto written = pyrender(nodes->root);
    compare_texts("letters", written ? *written : written.diag().text(), printed, true);
    GraphReadReport printed_report{.accepts_malformed_graphs = true, .producer = nodes->info.producer};
    auto read = read_graph(second, InputKind::Pyrender, printed, name, &printed_report);
    std::string trouble = read ? reread_difference(nodes->root, read->root) : read.diag().text();
    add_verdict("letters read", trouble.empty() ? CheckVerdict::Same : CheckVerdict::Different);
    if (!trouble.empty()) note_difference("letters read", "  " + what + ": " + trouble + "\n");
  }
  // Describes the first difference between `graph` and `read`, which was read from the pyrender text of `graph`; "" if
  // they are equal.
  static std::string reread_difference(UOp graph, UOp read) {
    auto difference = first_difference(graph, read);
    if (!difference) return {};
    std::string out = difference->text + " when it is read";
    auto placed = pyrender_with_node_lines(graph), reread = pyrender_with_node_lines(read);
    if (!placed || !reread) return out;
    auto holds = [&](auto& line) {
      return std::ranges::count(toposort(line.first), difference->node) > 0;  // the line contains the differing node
    };
    if (auto line = std::ranges::find_if(placed->node_lines, holds); line != placed->node_lines.end())
      out += "\n    line " + std::to_string(line->second + 1) + ": " +
             std::string(lines_of(placed->text).at(line->second));
    if (placed->text == reread->text) out += "\n    tinygrad prints both graphs alike";
    return out;
  }
  Result<std::string> round_trip_all_formats(UOp root) const {
    Graph second(settings_), third(settings_);
    auto from_json = graph_from_json(second, graph_to_json(root), record_.id + " (JSON)");
    if (!from_json) return from_json.diag();
    auto from_repr = read_repr(third, repr(from_json->root), record_.id + " (repr)");
    if (!from_repr) return from_repr.diag();
    return pyrender(*from_repr);
  }
  void check_listing(const std::string& text) {
    Graph graph(settings_);
    // a listing shows a constant source by its value, not by its line
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer_};
    auto listing = read_graph(graph, InputKind::Uops, text, record_.id + " (linear)", &report);
    if (!listing) return note_failure(kText, listing.diag());
    compare_texts(kText, print_uops(listing->list), text, false);
  }

  // ---- the pseudo-stage `spec`: the AST and each graph that tgc made must satisfy tinygrad's spec for its kind of
  // graph. Other recorded graphs cannot be checked, because their texts omit dtypes of REDUCE and LOAD.
  void check_spec(std::string_view what, std::span<const UOp> nodes, Spec spec) {
    if (!plan_.wanted_stages.contains(kSpec)) return;
    auto violation = verify(nodes, spec);
    auto malformed = first_malformed_node(nodes);
    add_verdict(kSpec, violation || malformed ? CheckVerdict::Different : CheckVerdict::Same);
    if (malformed && !violation) note_difference(kSpec, "  " + std::string(what) + ": " + malformed->message + "\n");
    if (violation)
      note_difference(kSpec, "  " + std::string(what) + ": no well-formed " + std::string(name_of(spec)) +
                      " graph: " + violation->text() + "\n");
  }
  void check_spec(std::string_view what, UOp root, Spec spec) {
    if (plan_.wanted_stages.contains(kSpec)) check_spec(what, toposort(root), spec);
  }

  // ---- the pseudo-stage `resume`: see check_resume()
  void check_resuming() {
    ResumeReport resumed = check_resume([&]() -> Result<Compilation> {
      auto in = load_graph_text(settings_, InputKind::Pyrender, record_.ast, record_.id + " (ast)");
      if (!in) return in.diag();
      in->is_tensor_graph = !is_kernel();
      in->info.name = record_.id, in->info.target = record_.target;
      return Compilation::begin(std::move(*in), {.target = record_.target});
    });
    for (size_t i = 0; i < resumed.num_same; i++) add_verdict(kResume, CheckVerdict::Same);
    if (resumed.passed()) return;
    add_verdict(kResume, CheckVerdict::Different);
    note_difference(kResume, "  after '" + resumed.failed_stage + "', " + resumed.difference + "\n");
  }

  // ---- compiling the graph of the record
  bool is_kernel() const { return !record_.target.empty(); }

  // Begins a compilation of `text`, the recorded graph after the stage `after` (null: the AST). `what` names the text
  // in error messages.
  Status begin_compile(std::string_view text, const StageRow* after, std::string_view what) {
    compilation_.reset();
    auto in = load_graph_text(settings_, InputKind::Pyrender, text, record_.id + " (" + std::string(what) + ")");
    if (!in) return in.diag();
    in->is_tensor_graph = !is_kernel();
    if (after) in->info.stage = after->name;
    if (!should_optimize_) should_optimize_ = in->root.tag().is_none();
    auto begun = Compilation::begin(
        std::move(*in), {.target = record_.target, .should_optimize = after ? should_optimize_ : std::nullopt});
    if (!begun) return begun.diag();
    if (plan_.traces_rewrites) set_observer(begun->graph(), &observer_);
    compilation_.emplace(std::move(*begun));
    has_recorded_text_ = after != nullptr;
    return Unit{};
  }
  void restart_compilation(std::string_view what) {
    if (auto status = begin_compile(last_recorded_text_,
                                    last_recorded_text_ == record_.ast ? nullptr : last_recorded_stage_, what);
        !status)
      stop_compilation(status.diag().text());
  }

  void stop_compilation(std::string why) {
    compilation_.reset();
    stop_reason_ = std::move(why);
  }

  std::string reason_not_to_replay() const {
    if (is_kernel() && is_runtime_kernel(record_, "")) return "a kernel of tinygrad's runtime";
    if (detect_input_kind(record_.ast) == InputKind::Json)
      return "its graphs are recorded as nodes (--walk, --rewrites, --letters, --viz): compare it with tgc diff, or "
             "record it without these";
    if (is_kernel() && !parse_recorded_target(record_.target, settings_))
      return "tgc has no renderer for " + record_.target;
    if (!is_kernel() && record_.ast.find("Ops.CUSTOM_KERNEL") != record_.ast.npos)
      return "a CUSTOM_KERNEL is made by a Python function, which only tinygrad can call";
    return "";
  }

  void check_pipeline() {
    last_recorded_text_ = record_.ast;
    if (auto status = begin_compile(record_.ast, nullptr, "ast"); !status) {
      auto is_stage = [](const RecordedStage& s) { return s.kind == RecordedStage::Kind::Stage; };
      const bool refused_by_tinygrad_at_once = record_.error && std::ranges::none_of(stages_, is_stage);
      if (refused_by_tinygrad_at_once) return add_verdict("ast", CheckVerdict::Same);
      auto malformed = load_graph_text(settings_, InputKind::Pyrender, record_.ast, record_.id, true);
      if (!malformed || !plan_.wanted_stages.contains(kSpec)) return note_failure("ast", status.diag());
      return check_spec("ast", malformed->root, is_kernel() ? Spec::Kernel : Spec::Tensor);
    }
    check_spec("ast", compilation_->input_graph().root, is_kernel() ? Spec::Kernel : Spec::Tensor);
    for (const RecordedStage& s : stages_) {
      if (s.kind != RecordedStage::Kind::Stage) continue;
      if (!needs_stages_from(s.name)) return;
      check_stage(s);
    }
    if (record_.error) return check_refusal();
    if (is_kernel()) check_outputs();
    else if (is_selected(kKernels) || plan_.wanted_stages.contains(kSpec)) check_schedule();
  }

  bool compares_beyond_text() const {
    for (const std::string& name : plan_.wanted_stages)
      if (name != kText && name != kForms && name != kResume) return true;
    return false;
  }
  // Returns false if the plan compares neither the stage `name` nor anything after it.
  bool needs_stages_from(std::string_view name) const {
    if (plan_.wanted_stages.contains(kSpec) || (!is_kernel() && is_selected(kKernels))) return true;
    bool reached = false;
    for (const RecordedStage& s : stages_) {
      reached |= s.name == name;
      if (reached && s.kind == RecordedStage::Kind::Stage && is_selected(s.name)) return true;
    }
    if (std::ranges::any_of(kRecordOutputs, [&](std::string_view o) { return is_selected(o); })) return true;
    return record_.error.has_value() && plan_.wanted_stages.contains(kGraphs);
  }

  void check_stage(const RecordedStage& s) {
    const StageRow* row = find_stage_row(s.name);
    if (!plan_.isolates_stages || is_selected(s.name)) run_stage(s, row);
    if (!s.text) return;
    last_recorded_text_ = *s.text;
    if (row) last_recorded_stage_ = row;
  }

  void run_stage(const RecordedStage& s, const StageRow* row) {
    if (plan_.isolates_stages) restart_compilation("before " + s.name);
    if (!row) stop_compilation("tgc has no stage '" + s.name + "'");
    if (!compilation_) return note_skip(s.name, stop_reason_);
    UOp before = compilation_->current_graph();
    if (!is_selected(s.name)) has_recorded_text_ = false;
    // Runs *row, and the stages before it that the record does not have because they change nothing.
    if (auto status = compilation_->run_through_stage(*row); !status) {
      note_failure(s.name, status.diag());
      return stop_compilation("the stage '" + s.name + "' failed");
    }
    check_spec(s.name, compilation_->current_graph(), Spec::Full);
    if (is_selected(s.name)) compare_graph(s, before);
  }

  void compare_graph(const RecordedStage& s, UOp before) {
    if (s.is_unchanged && compilation_->current_graph() == before && has_recorded_text_)
      return add_verdict(s.name, CheckVerdict::Same);
    if (!s.text) return;
    auto ours = pyrender(compilation_->current_graph());
    if (!ours) return note_failure(s.name, ours.diag());
    has_recorded_text_ = *ours == *s.text;
    compare_texts(s.name, *ours, *s.text, true);
  }

  // tinygrad failed on this graph: tgc must also fail, after the last recorded stage.
  void check_refusal() {
    if (plan_.isolates_stages && is_kernel()) restart_compilation("before the refusal");
    else if (plan_.isolates_stages)  // a schedule needs the state of all stages
      if (auto status = begin_compile(record_.ast, nullptr, "before the refusal"); !status)
        stop_compilation(status.diag().text());
    // An earlier failure, which the report has already, or a graph that cannot be loaded has ended the compilation.
    if (!compilation_) return plan_.isolates_stages ? note_skip("refusal", stop_reason_) : void();
    while (const StageRow* row = compilation_->next_row()) {
      std::string_view name = row->kind == StageRow::Kind::Schedule ? kKernels : row->name;
      if (!compilation_->run_step()) return add_verdict(name, CheckVerdict::Same);
      if (row->output && !compilation_->row_output(*row)) return add_verdict(name, CheckVerdict::Same);
    }
    add_verdict("refusal", CheckVerdict::Different);
    note_difference("refusal", std::string("  tinygrad refuses this ") + (is_kernel() ? "kernel" : "graph") + ": " +
                                   *record_.error + "\n");
  }

  // ---- comparing the outputs of a kernel: linear list, source, program
  void check_outputs() {
    if (plan_.isolates_stages) restart_compilation("the outputs");
    if (compilation_ && plan_.wanted_stages.contains(kSpec) && compilation_->list())
      check_spec("linear", *compilation_->list(), Spec::Program);
    for (std::string_view name : kRecordOutputs) {
      if (!is_selected(name)) continue;
      const RecordedStage* recorded = stages_.find_stage(name);
      auto expected = recorded ? recorded->text : std::nullopt;
      if (!expected && !(name == "source" && record_.source_error)) continue;
      if (!compilation_) note_skip(name, stop_reason_);
      else check_output(name, expected);
    }
  }
  void check_output(std::string_view name, std::optional<std::string_view> expected) {
    auto ours = compilation_->row_output(get_stage_row(name));
    if (expected && ours) return compare_texts(name, *ours, *expected, false);
    if (expected) return note_failure(name, ours.diag());
    add_verdict(name, ours ? CheckVerdict::Different : CheckVerdict::Same);
    if (ours) note_difference(name, "  tinygrad refuses to render it: " + *record_.source_error + "\n");
  }

  // ---- comparing the schedule of a tensor graph: its kernels in the order of execution
  void check_schedule() {
    if (plan_.isolates_stages)
      if (auto status = begin_compile(record_.ast, nullptr, "kernels"); !status) stop_compilation(status.diag().text());
    if (!compilation_) return note_skip(kKernels, stop_reason_);
    auto& schedule = compilation_->schedule();
    if (!schedule) return note_failure(kKernels, schedule.diag());
    for (size_t i = 0; i < schedule->items.size(); i++)
      if (UOp ast = schedule->items[i].ast; ast.is(Op::SINK))
        check_spec("kernel " + std::to_string(i), ast, Spec::Kernel);
    if (!is_selected(kKernels)) return;
    auto ours = golden_kernels(*schedule);
    if (!ours) return note_failure(kKernels, ours.diag());
    std::map<std::string, int64_t> values(schedule->var_vals.begin(), schedule->var_vals.end());
    compare_texts(kKernels, kernels_text(*ours, values), kernels_text(record_.kernels, record_.var_vals), false);
  }

  const GoldenRecord& record_;
  const RecordedStageTexts stages_;
  const Settings& settings_;
  const CheckPlan& plan_;
  const std::string_view producer_;
  RecordReport report_;
  RewriteObserver observer_;  // for --traced; must outlive compilation_
  std::optional<Compilation> compilation_;  // unset after a failure, which stop_reason_ describes
  std::string stop_reason_;
  const StageRow* last_recorded_stage_ = nullptr;  // the last of tgc's stages so far that has a recorded text
  std::string_view last_recorded_text_;  // the last recorded text so far, of the AST or of a graph after a stage
  // whether the optimizer chooses opts for the AST; set by the first begin_compile()
  std::optional<bool> should_optimize_;
  bool has_recorded_text_ = false;  // tgc's current graph is known to have the text `last_recorded_text_`
};

}  // namespace

Result<CheckPlan> make_check_plan(std::string_view stages) {
  CheckPlan plan;
  if (stages.empty()) {
    plan.wanted_stages = {std::string(kGraphs), "linear", "source", "program", std::string(kKernels)};
    return plan;
  }
  std::vector<NameChoice> choices = choices_of_rows([](const StageRow& row) {
    return row.is_graph_stage() || std::ranges::find(kRecordOutputs, row.name) != std::end(kRecordOutputs);
  });
  for (std::string_view pseudo : {kKernels, kText, kForms, kSpec, kGraphs, kResume, std::string_view("all")})
    choices.push_back({pseudo, "", "", false});
  auto selected = select_stages(stages, choices);
  if (!selected) return selected.diag();
  for (std::string_view name : *selected) {
    if (name == "all")
      plan.wanted_stages.insert({std::string(kGraphs), "linear", "source", "program", std::string(kKernels),
                                 std::string(kText), std::string(kForms), std::string(kSpec)});
    else plan.wanted_stages.emplace(name);
  }
  return plan;
}

bool RecordReport::is_compared() const {
  return std::ranges::any_of(items, [](const CheckItem& item) { return item.verdict != CheckVerdict::Skipped; });
}

RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan,
                          std::string_view producer) {
  return RecordCheck(record, settings, plan, producer).run();
}

}  // namespace tgc
