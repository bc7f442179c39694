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

// kRecordOutputs: the outputs of a kernel, besides graphs, that a record may have. The others are further names in
// CheckPlan::wanted_stages.
constexpr std::string_view kRecordOutputs[] = {"linear", "source", "program"};
constexpr std::string_view kKernels = "kernels", kText = "text", kForms = "forms", kSpec = "spec", kGraphs = "graphs",
                           kResume = "resume";

class RecordCheck {
 public:
  RecordCheck(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan, std::string_view producer)
      : r_(record), stages_(record), settings_(settings), plan_(plan), producer_(producer) {}

  RecordReport run() {
    report_.id = r_.id;
    report_.target = r_.target.empty() ? r_.device : r_.target;
    if (plan_.wanted_stages.contains(kText) || plan_.wanted_stages.contains(kForms)) check_texts();
    bool compiles = any_beyond_text() || plan_.wanted_stages.contains(kResume);
    if (compiles) report_.skip_reason = why_not_to_replay();
    if (any_beyond_text() && report_.skip_reason.empty()) check_pipeline();
    if (plan_.wanted_stages.contains(kResume) && report_.skip_reason.empty()) check_that_it_resumes();
    return std::move(report_);
  }

 private:
  bool wanted(std::string_view name) const {
    return plan_.wanted_stages.contains(name) || (plan_.wanted_stages.contains(kGraphs) && !is_output(name));
  }
  static bool is_output(std::string_view name) {
    return std::ranges::count(kRecordOutputs, name) > 0 || name == kKernels || name == kText || name == kForms ||
           name == kSpec || name == kResume;
  }

  void settle(std::string_view name, CheckVerdict verdict) { report_.items.push_back({std::string(name), verdict}); }
  void diverge(std::string_view name, const std::string& explanation = {}) {
    if (!report_.first_difference.empty()) return;
    report_.first_difference = name;
    report_.explanation = explanation;
  }
  void failed(std::string_view name, const Diag& diag) {
    if (wanted(name)) settle(name, CheckVerdict::Error);
    diverge(name, "  " + diag.text() + "\n");
  }
  void skipped(std::string_view name, const std::string& why) {
    if (!wanted(name)) return;
    settle(name, CheckVerdict::Skipped);
    diverge(name, "  not compared: " + why + "\n");
  }
  void compare(std::string_view name, std::string_view ours, std::string_view theirs, bool graph) {
    if (ours == theirs) return settle(name, CheckVerdict::Same);
    settle(name, CheckVerdict::Different);
    diverge(name, plan_.explains_difference && report_.first_difference.empty() ? difference(ours, theirs, graph)
                                                                                : std::string());
  }
  std::string difference(std::string_view ours, std::string_view theirs, bool graph) const {
    LineDiffOptions options{.uses_color = plan_.uses_color};
    if (graph) options.old_keys = graph_line_keys(theirs), options.new_keys = graph_line_keys(ours);
    std::string diff = line_diff(theirs, ours, options);
    // with equal keys, the texts differ only in names of nodes: compare the lines as they are
    if (diff.empty()) diff = line_diff(theirs, ours, {.uses_color = plan_.uses_color});
    return "  - tinygrad  + tgc\n" + diff;
  }

  // ---- the pseudo-stages `text` and `forms`: reading and writing a recorded text, in all formats, must not change it
  void check_texts() {
    for (const RecordedStage& s : stages_) {
      if (!s.is_graph() || !s.text || s.is_unchanged) continue;
      if (detect_input_kind(*s.text) != InputKind::Json) {
        check_text(s.name, *s.text, s.pyrender.value_or(*s.text));
        continue;
      }
      check_nodes(s.name, *s.text);
      if (s.pyrender) check_letters(s.name, *s.text, *s.pyrender);
    }
    if (r_.linear && plan_.wanted_stages.contains(kText)) check_listing(*r_.linear);
  }
  // "text": the graph in `text` must be written as `printed`, tinygrad's own text, which may omit facts. "forms":
  // writing and reading it in all formats must give `text` again.
  void check_text(const std::string& what, std::string_view text, std::string_view printed) {
    Graph graph(settings_);
    GraphReadReport report{.producer = producer_};
    auto read = read_graph(graph, InputKind::Pyrender, text, r_.id + " (" + what + ")", &report);
    Result<UOp> root = read ? Result<UOp>(read->root) : Result<UOp>(read.diag());
    if (plan_.wanted_stages.contains(kText)) {
      auto written = root ? pyrender(*root) : Result<std::string>(root.diag());
      if (!written) failed(kText, written.diag());
      else compare(kText, *written, printed, true);
    }
    if (plan_.wanted_stages.contains(kForms)) {
      auto written = root ? through_all_forms(*root) : Result<std::string>(root.diag());
      if (!written) failed(kForms, written.diag());
      else compare(kForms, *written, text, true);
    }
  }
  void check_nodes(const std::string& what, std::string_view json) {
    if (!plan_.wanted_stages.contains(kText)) return;
    Graph graph(settings_);
    auto read = graph_from_json(graph, json, r_.id + " (" + what + ")");
    if (!read) return failed(kText, read.diag());
    compare(kText, graph_to_json(read->root, read->info), json, false);
  }
  // Compares tgc's pyrender text of the graph `json` with tinygrad's, `letters`, and checks that reading `letters`
  // gives the graph.
  void check_letters(const std::string& what, std::string_view json, std::string_view letters) {
    if (!plan_.wanted_stages.contains(kText)) return;
    Graph graph(settings_), second(settings_);
    GraphReadReport report{.accepts_malformed_graphs = true};
    std::string name = r_.id + " (" + what + ", as printed)";
    auto nodes = read_graph(graph, InputKind::Json, json, name, &report);
    if (!nodes) return failed(kText, nodes.diag());
    auto written = pyrender(nodes->root);
    compare("letters", written ? *written : written.diag().text(), letters, true);
    GraphReadReport of_letters{.accepts_malformed_graphs = true, .producer = nodes->info.producer};
    auto read = read_graph(second, InputKind::Pyrender, letters, name, &of_letters);
    std::string trouble = read ? difference_of_reading(nodes->root, read->root) : read.diag().text();
    settle("letters read", trouble.empty() ? CheckVerdict::Same : CheckVerdict::Different);
    if (!trouble.empty()) diverge("letters read", "  " + what + ": " + trouble + "\n");
  }
  // Describes the first difference between `graph` and `read`, which was read from the pyrender text of `graph`; "" if
  // they are equal.
  static std::string difference_of_reading(UOp graph, UOp read) {
    auto difference = first_difference(graph, read);
    if (!difference) return {};
    std::string out = difference->text + " when it is read";
    auto placed = pyrender_with_places(graph), reread = pyrender_with_places(read);
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
  Result<std::string> through_all_forms(UOp root) const {
    Graph second(settings_), third(settings_);
    auto from_json = graph_from_json(second, graph_to_json(root), r_.id + " (JSON)");
    if (!from_json) return from_json.diag();
    auto from_repr = read_repr(third, repr(from_json->root), r_.id + " (repr)");
    if (!from_repr) return from_repr.diag();
    return pyrender(*from_repr);
  }
  void check_listing(const std::string& text) {
    Graph graph(settings_);
    // a listing shows a constant source by its value, not by its line
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer_};
    auto listing = read_graph(graph, InputKind::Uops, text, r_.id + " (linear)", &report);
    if (!listing) return failed(kText, listing.diag());
    compare(kText, print_uops(listing->list), text, false);
  }

  // ---- the pseudo-stage `spec`: the AST and each graph that tgc made must satisfy tinygrad's spec for its kind of
  // graph. Other recorded graphs cannot be checked, because their texts omit dtypes of REDUCE and LOAD.
  void check_spec(std::string_view what, std::span<const UOp> nodes, Spec spec) {
    if (!plan_.wanted_stages.contains(kSpec)) return;
    auto violation = verify(nodes, spec);
    auto malformed = first_malformed_node(nodes);
    settle(kSpec, violation || malformed ? CheckVerdict::Different : CheckVerdict::Same);
    if (malformed && !violation) diverge(kSpec, "  " + std::string(what) + ": " + malformed->message + "\n");
    if (violation)
      diverge(kSpec, "  " + std::string(what) + ": no well-formed " + std::string(name_of(spec)) +
              " graph: " + violation->text() + "\n");
  }
  void check_spec(std::string_view what, UOp root, Spec spec) {
    if (plan_.wanted_stages.contains(kSpec)) check_spec(what, toposort(root), spec);
  }

  // ---- the pseudo-stage `resume`: see check_resume()
  void check_that_it_resumes() {
    ResumeReport resumed = check_resume([&]() -> Result<Compilation> {
      auto in = load_graph_text(settings_, InputKind::Pyrender, r_.ast, r_.id + " (ast)");
      if (!in) return in.diag();
      in->is_tensor_graph = !is_kernel();
      in->info.name = r_.id, in->info.target = r_.target;
      return Compilation::begin(std::move(*in), {.target = r_.target});
    });
    for (size_t i = 0; i < resumed.num_same; i++) settle(kResume, CheckVerdict::Same);
    if (resumed.passed()) return;
    settle(kResume, CheckVerdict::Different);
    diverge(kResume, "  after '" + resumed.failed_stage + "', " + resumed.difference + "\n");
  }

  // ---- compiling the graph of the record
  bool is_kernel() const { return !r_.target.empty(); }

  // Begins a compilation of `text`, the recorded graph after the stage `after` (null: the AST). `what` names the text
  // in error messages.
  Status begin(std::string_view text, const StageRow* after, std::string_view what) {
    c_.reset();
    auto in = load_graph_text(settings_, InputKind::Pyrender, text, r_.id + " (" + std::string(what) + ")");
    if (!in) return in.diag();
    in->is_tensor_graph = !is_kernel();
    if (after) in->info.stage = after->name;
    if (!optimize_) optimize_ = in->root.tag().is_none();
    auto begun =
        Compilation::begin(std::move(*in), {.target = r_.target, .should_optimize = after ? optimize_ : std::nullopt});
    if (!begun) return begun.diag();
    if (plan_.traces_rewrites) set_observer(begun->graph(), &observer_);
    c_.emplace(std::move(*begun));
    as_expected_ = after != nullptr;
    return Unit{};
  }
  void restart(std::string_view what) {
    if (auto status = begin(text_, text_ == r_.ast ? nullptr : after_, what); !status) stop(status.diag().text());
  }

  void stop(std::string why) {
    c_.reset();
    why_stopped_ = std::move(why);
  }

  std::string why_not_to_replay() const {
    if (is_kernel() && is_runtime_kernel(r_, "")) return "a kernel of tinygrad's runtime";
    if (detect_input_kind(r_.ast) == InputKind::Json)
      return "its graphs are recorded as nodes (--walk, --rewrites, --letters, --viz): compare it with tgc diff, or "
             "record it without these";
    if (is_kernel() && !parse_recorded_target(r_.target, settings_)) return "tgc has no renderer for " + r_.target;
    if (!is_kernel() && r_.ast.find("Ops.CUSTOM_KERNEL") != r_.ast.npos)
      return "a CUSTOM_KERNEL is made by a Python function, which only tinygrad can call";
    return "";
  }

  void check_pipeline() {
    text_ = r_.ast;
    if (auto status = begin(r_.ast, nullptr, "ast"); !status) {
      auto is_stage = [](const RecordedStage& s) { return s.kind == RecordedStage::Kind::Stage; };
      const bool refused_by_tinygrad_at_once = r_.error && std::ranges::none_of(stages_, is_stage);
      if (refused_by_tinygrad_at_once) return settle("ast", CheckVerdict::Same);
      auto malformed = load_graph_text(settings_, InputKind::Pyrender, r_.ast, r_.id, true);
      if (!malformed || !plan_.wanted_stages.contains(kSpec)) return failed("ast", status.diag());
      return check_spec("ast", malformed->root, is_kernel() ? Spec::Kernel : Spec::Tensor);
    }
    check_spec("ast", c_->input_graph().root, is_kernel() ? Spec::Kernel : Spec::Tensor);
    for (const RecordedStage& s : stages_) {
      if (s.kind != RecordedStage::Kind::Stage) continue;
      if (!more_wanted(s.name)) return;
      check_stage(s);
    }
    if (r_.error) return check_refusal();
    if (is_kernel()) check_outputs();
    else if (wanted(kKernels) || plan_.wanted_stages.contains(kSpec)) check_schedule();
  }

  bool any_beyond_text() const {
    for (const std::string& name : plan_.wanted_stages)
      if (name != kText && name != kForms && name != kResume) return true;
    return false;
  }
  // Returns false if the plan compares neither the stage `name` nor anything after it.
  bool more_wanted(std::string_view name) const {
    if (plan_.wanted_stages.contains(kSpec) || (!is_kernel() && wanted(kKernels))) return true;
    bool reached = false;
    for (const RecordedStage& s : stages_) {
      reached |= s.name == name;
      if (reached && s.kind == RecordedStage::Kind::Stage && wanted(s.name)) return true;
    }
    if (std::ranges::any_of(kRecordOutputs, [&](std::string_view o) { return wanted(o); })) return true;
    return r_.error.has_value() && plan_.wanted_stages.contains(kGraphs);
  }

  void check_stage(const RecordedStage& s) {
    const StageRow* row = find_stage_row(s.name);
    if (!plan_.isolates_stages || wanted(s.name)) run_stage(s, row);
    if (!s.text) return;
    text_ = *s.text;
    if (row) after_ = row;
  }

  void run_stage(const RecordedStage& s, const StageRow* row) {
    if (plan_.isolates_stages) restart("before " + s.name);
    if (!row) stop("tgc has no stage '" + s.name + "'");
    if (!c_) return skipped(s.name, why_stopped_);
    UOp before = c_->current_graph();
    if (!wanted(s.name)) as_expected_ = false;
    // Runs *row, and the stages before it that the record does not have because they change nothing.
    if (auto status = c_->run_through_stage(*row); !status) {
      failed(s.name, status.diag());
      return stop("the stage '" + s.name + "' failed");
    }
    check_spec(s.name, c_->current_graph(), Spec::Full);
    if (wanted(s.name)) compare_graph(s, before);
  }

  void compare_graph(const RecordedStage& s, UOp before) {
    if (s.is_unchanged && c_->current_graph() == before && as_expected_) return settle(s.name, CheckVerdict::Same);
    if (!s.text) return;
    auto ours = pyrender(c_->current_graph());
    if (!ours) return failed(s.name, ours.diag());
    as_expected_ = *ours == *s.text;
    compare(s.name, *ours, *s.text, true);
  }

  // tinygrad failed on this graph: tgc must also fail, after the last recorded stage.
  void check_refusal() {
    if (plan_.isolates_stages && is_kernel()) restart("before the refusal");
    else if (plan_.isolates_stages)  // a schedule needs the state of all stages
      if (auto status = begin(r_.ast, nullptr, "before the refusal"); !status) stop(status.diag().text());
    // An earlier failure, which the report has already, or a graph that cannot be loaded has ended the compilation.
    if (!c_) return plan_.isolates_stages ? skipped("refusal", why_stopped_) : void();
    while (const StageRow* row = c_->next_row()) {
      std::string_view name = row->kind == StageRow::Kind::Schedule ? kKernels : row->name;
      if (!c_->run_step()) return settle(name, CheckVerdict::Same);
      if (row->output && !c_->row_output(*row)) return settle(name, CheckVerdict::Same);
    }
    settle("refusal", CheckVerdict::Different);
    diverge("refusal",
            std::string("  tinygrad refuses this ") + (is_kernel() ? "kernel" : "graph") + ": " + *r_.error + "\n");
  }

  // ---- comparing the outputs of a kernel: linear list, source, program
  void check_outputs() {
    if (plan_.isolates_stages) restart("the outputs");
    if (c_ && plan_.wanted_stages.contains(kSpec) && c_->list()) check_spec("linear", *c_->list(), Spec::Program);
    for (std::string_view name : kRecordOutputs) {
      if (!wanted(name)) continue;
      const RecordedStage* recorded = stages_.find_stage(name);
      auto expected = recorded ? recorded->text : std::nullopt;
      if (!expected && !(name == "source" && r_.source_error)) continue;
      if (!c_) skipped(name, why_stopped_);
      else check_output(name, expected);
    }
  }
  void check_output(std::string_view name, std::optional<std::string_view> expected) {
    auto ours = c_->row_output(get_stage_row(name));
    if (expected && ours) return compare(name, *ours, *expected, false);
    if (expected) return failed(name, ours.diag());
    settle(name, ours ? CheckVerdict::Different : CheckVerdict::Same);
    if (ours) diverge(name, "  tinygrad refuses to render it: " + *r_.source_error + "\n");
  }

  // ---- comparing the schedule of a tensor graph: its kernels in the order of execution
  void check_schedule() {
    if (plan_.isolates_stages)
      if (auto status = begin(r_.ast, nullptr, "kernels"); !status) stop(status.diag().text());
    if (!c_) return skipped(kKernels, why_stopped_);
    auto& schedule = c_->schedule();
    if (!schedule) return failed(kKernels, schedule.diag());
    for (size_t i = 0; i < schedule->items.size(); i++)
      if (UOp ast = schedule->items[i].ast; ast.is(Op::SINK))
        check_spec("kernel " + std::to_string(i), ast, Spec::Kernel);
    if (!wanted(kKernels)) return;
    auto ours = golden_kernels(*schedule);
    if (!ours) return failed(kKernels, ours.diag());
    std::map<std::string, int64_t> values(schedule->var_vals.begin(), schedule->var_vals.end());
    compare(kKernels, kernels_text(*ours, values), kernels_text(r_.kernels, r_.var_vals), false);
  }

  const GoldenRecord& r_;
  const RecordedStageTexts stages_;
  const Settings& settings_;
  const CheckPlan& plan_;
  const std::string_view producer_;
  RecordReport report_;
  RewriteObserver observer_;  // for --traced; must outlive c_
  std::optional<Compilation> c_;  // unset after a failure, which why_stopped_ describes
  std::string why_stopped_;
  const StageRow* after_ = nullptr;  // the last of tgc's stages so far that has a recorded text
  std::string_view text_;  // the last recorded text so far, of the AST or of a graph after a stage
  std::optional<bool> optimize_;  // whether the optimizer chooses opts for the AST; set by the first begin()
  bool as_expected_ = false;  // tgc's current graph is known to have the text `text_`
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
