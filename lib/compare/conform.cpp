#include "lib/compare/conform.h"

#include "lib/compare/replay.h"
#include "lib/compilation/compilation.h"
#include "lib/compilation/input_graph.h"
#include "lib/compilation/selection.h"
#include "lib/compilation/stage_rows.h"
#include "lib/diff/renames.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/live/tinygrad_process.h"
#include "lib/records/input_file.h"
#include "lib/records/recorded_stages.h"
#include "lib/run/run.h"
#include "lib/support/counted.h"
#include "lib/support/lines.h"
#include "lib/text/json_scan.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"

namespace tgc {

namespace {

Diag missing_order_error(const std::string& file) {
  return {.message = "a graph without the order of its nodes", .file = file,
          .expected = "a listing of print_uops, or JSON with a \"list\""};
}

// `producer` is the release of a text that names none.
Result<GraphFile> read_any_graph(Graph& graph, std::string_view text, const std::string& file,
                                 std::string_view producer) {
  GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer};
  return read_graph(graph, detect_input_kind(text), text, file, &report);
}

std::string without_trailing_newlines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

// Returns the graph in `text` as pyrender text; if `text` is pyrender text without a header, keeps its lines.
Result<std::string> pyrender_text(std::string_view text, const std::string& file, std::string_view producer) {
  if (detect_input_kind(text) == InputKind::Pyrender && !has_header(text)) return without_trailing_newlines(text);
  Graph graph;
  auto root = read_any_graph(graph, text, file, producer);
  return root ? pyrender(root->root) : Result<std::string>(root.diag());
}

// Returns the linear list in `text` in the format of print_uops. With `keep_listing`, keeps the lines of a `text` that
// has this format already, without a header.
Result<std::string> listing_text(std::string_view text, const std::string& file, bool keep_listing,
                                 std::string_view producer) {
  if (keep_listing && detect_input_kind(text) == InputKind::Uops && !has_header(text))
    return without_trailing_newlines(text);
  Graph graph;
  auto read_list = read_any_graph(graph, text, file, producer);
  if (!read_list) return read_list.diag();
  if (read_list->list.empty()) return missing_order_error(file);
  return without_trailing_newlines(print_uops(read_list->list));
}

// Runs the port's command, and counts the failures since the last valid answer.
class PortClient {
 public:
  PortClient(const Session& session, const ConformPlan& plan)
      : program_(plan.command, plan.limit_seconds, session.cancel_check()) {}

  Result<std::string> ask(const std::string& question) {
    auto line = program_.ask_question(question);
    if (!line) count_failure(line.diag());
    return line;
  }
  // To be called after a valid answer.
  void note_valid_answer() { failures_in_a_row_ = 0, has_answered_ = true; }
  // To be called after an invalid answer. Restarts the process, because the next line that it writes may not belong to
  // the next question.
  void note_invalid_answer(const Diag& diag) { program_.stop_process(), count_failure(diag); }

  // Returns why the run must end: too many failures in a row. Before the first valid answer, fewer are too many.
  // Returns "" if it need not end. `at_end`: this was the last question.
  std::string stop_reason(bool at_end = false) const {
    if (failures_in_a_row_ < (has_answered_ ? kFailuresInARow : at_end ? 1 : kFailuresAtFirst)) return {};
    if (!has_answered_) return "the command answers nothing: " + last_failure_;
    return "the command failed " + std::to_string(failures_in_a_row_) + " times in a row, last so: " + last_failure_;
  }

 private:
  static constexpr int kFailuresInARow = 10, kFailuresAtFirst = 3;

  void count_failure(const Diag& failure) {
    last_failure_ = failure.text();
    last_failure_.erase(std::min(last_failure_.find('\n'), last_failure_.size()));
    failures_in_a_row_++;
  }

  AnswerProcess program_;
  int failures_in_a_row_ = 0;
  bool has_answered_ = false;
  std::string last_failure_;
};

class ConformRun {
 public:
  ConformRun(const Session& session, const ConformPlan& plan, PortClient& port, ConformReport& out)
      : session_(session), plan_(plan), port_(port), report_(out), stage_row_(find_stage_row(plan.stage)) {}

  Status ask_about_records(const std::string& spec) {
    InputName name = InputName::parse(spec);
    auto records = NamedRecordReader::open(name);
    if (!records) return records.diag();
    const GoldenReader& file = records->reader();
    producer_ = file.header().producer;
    bool found = name.id.empty();
    for (GoldenLine line; report_.end_reason.empty();) {
      auto more = records->next_line(line);
      if (!more) return more.diag();
      if (!*more) break;
      if (session_.is_cancelled()) return report_.end_reason = "cancelled", Unit{};
      found = true;
      auto record = parse_golden_record(line, file.path());
      if (!record) return record.diag();
      if (plan_.comparison == ConformComparison::Values && is_runtime_kernel(*record, producer_)) {
        num_runtime_kernels_++;  // it cannot be run alone
        continue;
      }
      for (const StageQuestion& q :
           questions_of_record(*record, file.header(), plan_.comparison == ConformComparison::Text)) {
        if (!is_selected_stage(q.stage)) continue;
        if (auto status = ask_stage_question(*record, file.header(), q, name.file); !status) return status;
        if (report_.end_reason.empty()) report_.end_reason = port_.stop_reason();
        if (!report_.end_reason.empty()) break;
      }
    }
    if (file.truncation_error()) session_.send_warning(*file.truncation_error());
    if (num_runtime_kernels_)
      session_.report_note(count_text(num_runtime_kernels_, "kernel") + " of tinygrad's runtime skipped");
    if (!found) return Diag{.message = "no record '" + name.id + "'", .file = name.display_name()};
    return Unit{};
  }

  Status check_stage_name() const {
    if (!report_.answers.empty() || plan_.stage.empty() || recorded_stages_.empty()) return Unit{};
    const bool is_text = plan_.comparison == ConformComparison::Text;
    if (!is_text && is_name_of_choice(plan_.stage, {.name = "source", .alias = {}, .slug = "source"}))
      return Diag{.message = "a source is compared as text only", .expected = "--as=text"};
    std::vector<std::string_view> names(recorded_stages_.begin(), recorded_stages_.end());
    return unknown_word_error("stage", plan_.stage, names, "a stage of the records");
  }

 private:
  bool is_selected_stage(const std::string& stage) {
    recorded_stages_.insert(stage);
    const NameChoice choice{.name = stage, .alias = {}, .slug = slug_of_stage(stage)};
    return plan_.stage.empty() || is_name_of_choice(plan_.stage, choice) || (stage_row_ && stage_row_->name == stage);
  }

  ConformCounts& counts_of_stage(const std::string& stage) {
    for (auto& [name, counts] : report_.stage_counts)
      if (name == stage) return counts;
    return report_.stage_counts.emplace_back(stage, ConformCounts()).second;
  }

  Result<std::string> question_json(const GoldenRecord& r, const GoldenHeader& header, const StageQuestion& q,
                                    const std::string& file) const {
    Graph graph;
    auto input = read_any_graph(graph, q.before_text, file, producer_);
    if (!input) return input.diag();
    CompileQuestion out{.id = r.id, .target = r.target, .stage = q.stage};
    out.graph_json =
        input->list.empty() ? graph_to_json(input->root, input->info) : list_to_json(input->list, input->info);
    for (auto& setting : settings_of(header, r)) out.settings.emplace_back(setting);
    return out.json();
  }

  Status ask_stage_question(const GoldenRecord& r, const GoldenHeader& header, const StageQuestion& q,
                            const std::string& file) {
    auto asked = question_json(r, header, q, file + "#" + r.id);
    if (!asked) return asked.diag();
    std::string difference;
    AnswerVerdict verdict = ask_for_verdict(r, q, *asked, file, difference);
    if (session_.is_cancelled()) return report_.end_reason = "cancelled", Unit{};
    ConformCounts& counts = counts_of_stage(q.stage);
    counts.count_of_verdict(verdict)++;
    report_.answers.push_back({r.id, r.target, q.stage, verdict, file, r.line});
    if (plan_.keeps_differences) report_.answers.back().difference = difference;
    if (verdict == AnswerVerdict::Different || verdict == AnswerVerdict::Error) {
      std::string where = record_label(r.id, r.target);
      if (counts.first_wrong_record.empty()) counts.first_wrong_record = where;
      const bool is_of_interest = plan_.baseline.empty() || plan_.baseline.contains(report_.answers.back().key());
      if (is_of_interest && report_.shown_differences.size() < plan_.max_differences)
        report_.shown_differences.push_back("--- " + where + ": " + q.stage + "\n" + difference);
    }
    if (!is_conforming(verdict) && verdict != AnswerVerdict::NotSupported) num_failures_++;
    session_.report_progress(std::to_string(report_.answers.size()) + " questions, " + std::to_string(num_failures_) +
                             " that do not conform; at " + r.id);
    return Unit{};
  }

  // Sends the question `q`, whose JSON is `asked`. Sets `difference` to the difference or the error.
  AnswerVerdict ask_for_verdict(const GoldenRecord& r, const StageQuestion& q, const std::string& asked,
                                const std::string& file, std::string& difference) {
    auto error = [&](const std::string& what) { return difference = what + "\n", AnswerVerdict::Error; };
    auto line = port_.ask(asked);
    if (!line) return error(line.diag().text());
    auto answer =
        catch_failures([&] { return read_answer(*line, q.expected_kind == StageQuestion::ExpectedKind::Source); });
    if (!answer) return port_.note_invalid_answer(answer.diag()), error(answer.diag().text());
    port_.note_valid_answer();
    if (!answer->error.empty()) return error("error: " + answer->error);
    if (answer->produced_text.empty()) return AnswerVerdict::NotSupported;
    auto compared = compare_answer(r, q, answer->produced_text, file);
    if (!compared) return error(compared.diag().text());
    difference = *compared;
    if (!difference.empty()) return AnswerVerdict::Different;
    if (plan_.comparison != ConformComparison::Values || q.expected_kind != StageQuestion::ExpectedKind::Graph ||
        !have_same_structure(q.before_text, answer->produced_text, file))
      return AnswerVerdict::Same;
    if (have_same_structure(q.before_text, q.expected_json.empty() ? q.expected_text : q.expected_json, file))
      return AnswerVerdict::Unchanged;
    difference = "the answer is the question's graph, which tinygrad changes in this stage\n";
    return AnswerVerdict::Different;
  }

  bool have_same_structure(std::string_view a, std::string_view b, const std::string& file) const {
    Graph graph;
    auto sides = read_graph_pair(graph, {a, file, producer_}, {b, "the answer", producer_});
    return sides && diff_graphs(sides->first, sides->second).is_same;
  }

  struct PortAnswer {
    std::string produced_text;   // the graph, list or source in the answer
    std::string error;  // if it and `produced_text` are empty, the port does not support the stage
  };
  PortAnswer read_answer(const std::string& line, bool of_source) const {
    const std::string_view wanted = of_source ? "source" : "graph";
    PortAnswer out;
    bool known = false;
    JsonScanner in(line, "the answer", 1);
    if (in.peek_type() == JsonScanner::Type::String) {
      if (std::string word = in.string(); word != "not supported")
        in.throw_error(0, "the answer '" + word + "'", "\"not supported\"");
      in.expect_end();
      return out;
    }
    in.object([&](std::string_view key) {
      const size_t at = in.position();
      known |= key == wanted || key == "error";
      if (key == "error") out.error = in.string();
      else if (key == "not_supported") known |= in.read_boolean();
      else if (key == "id" || key == "stage" || key == "target" || key == "settings") in.skip_any();
      else if (key != wanted)
        in.throw_error(at, "an answer with the unknown field '" + std::string(key) + "'",
                       "'" + std::string(wanted) + "', 'not_supported' or 'error'");
      else if (of_source || in.peek_type() == JsonScanner::Type::String) out.produced_text = in.string();
      else
        out.produced_text = plan_.graph_map.empty() ? std::string(in.skip_any())
                                           : plan_.graph_map.to_tgc_json(in.skip_any()).value_or_throw();
    });
    in.expect_end();
    if (!known)
      in.throw_error(0, "an answer that says nothing",
                     "{\"" + std::string(wanted) + R"(":...}, {"not_supported":true} or {"error":"..."})");
    const bool is_own_json =
        out.produced_text.starts_with("{") && out.produced_text.find("\"tgc-graph\"") == out.produced_text.npos;
    if (!of_source && is_own_json && !plan_.graph_map.empty())
      out.produced_text = plan_.graph_map.to_tgc_json(out.produced_text).value_or_throw();
    return out;
  }

  // Returns "" if there is no difference.
  Result<std::string> compare_answer(const GoldenRecord& r, const StageQuestion& q, const std::string& answer,
                                     const std::string& file) {
    const bool compares_text = plan_.comparison == ConformComparison::Text;
    auto texts = [&](const auto& of) -> Result<std::string> {
      Result<std::string> wanted = of(q.expected_text, file), got = of(answer, "the answer");
      if (!wanted || !got) return !wanted ? wanted.diag() : got.diag();
      if (*wanted == *got) return std::string();
      // Ignore the number in a name such as E_4n1: it counts kernels of a program, which the port does not see.
      return line_diff(remove_name_counters(*wanted), remove_name_counters(*got));
    };
    if (q.expected_kind == StageQuestion::ExpectedKind::Source)
      return texts([](std::string_view text, const std::string&) { return Result(without_trailing_newlines(text)); });
    if (plan_.comparison == ConformComparison::Values) return compare_values(r, q, answer, file);
    if (q.expected_kind == StageQuestion::ExpectedKind::List)
      return texts([&](auto text, auto& of) { return listing_text(text, of, compares_text, producer_); });
    auto pyrendered = [&](auto text, auto& of) { return pyrender_text(text, of, producer_); };
    auto difference = compares_text ? texts(pyrendered) : Result(std::string());
    if (!difference || !difference->empty() || (compares_text && q.expected_json.empty())) return difference;
    // Accept tinygrad's own text, although it omits facts that q.expected_json has.
    if (compares_text && detect_input_kind(q.expected_json) != InputKind::Json && answer == q.expected_text)
      return std::string();
    // pyrender omits some dtypes, so that different graphs may have the same text
    return catch_failures([&]() -> std::string {
      Graph graph;
      const std::string_view expected = q.expected_json.empty() ? q.expected_text : q.expected_json;
      auto sides =
          read_graph_pair(graph, {expected, file, producer_}, {answer, "the answer", producer_}).value_or_throw();
      GraphDiff diff = diff_graphs(sides.first, sides.second);
      return diff.is_same ? "" : diff_as_text(diff, plan_.diff_style);
    });
  }

  static VariableValues largest_variable_values(UOp ast) {
    VariableValues out;
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_VAR)) out[std::string(u.arg()[0].text())] = u.vmax().as_int().low_64_bits();
    return out;
  }

  Result<InputGraph> load_kernel(const Session& imports, std::string_view text, const std::string& file,
                                 const std::string& stage = "") const {
    auto in = load_graph_text(Settings(), detect_input_kind(text), text, file, true, producer_);
    if (!in) return in;
    in->info.stage = stage;
    auto imported = imports.compiler()->import_kernel(std::move(*in));
    if (imported && import_facts_of_input(*imported).import_error)
      return *import_facts_of_input(*imported).import_error;
    return imported;
  }

  // Runs the answer and the record's AST in REF on the same inputs, and compares their outputs.
  Result<std::string> compare_values(const GoldenRecord& r, const StageQuestion& q, const std::string& answer,
                                     const std::string& file) {
    if (r.target.empty())
      return Diag{.message = "a tensor graph has no values before it is scheduled", .expected = "--as=structure"};
    Session imports = session_;
    imports.overrides.imports_kernels = true;
    auto loaded = load_kernel(imports, answer, "the answer", q.stage),
         ast = load_kernel(imports, r.ast_full.value_or(r.ast), file);
    if (!loaded || !ast) return !loaded ? loaded.diag() : ast.diag();
    // fail if the answer is a graph instead of a list: the importer would make a list of the graph
    if (q.expected_kind == StageQuestion::ExpectedKind::List)
      if (auto order = listing_text(answer, "the answer", false, producer_); !order) return order.diag();
    loaded->info.name = r.id, loaded->info.target = target_of_record(*loaded, r.target);
    RunReport report =
        run_kernel(imports, *loaded,
                   {.input = {.name = file + "#" + r.id, .variables = largest_variable_values(ast->root)},
                    .device = {.name = "REF"},
                    .compare = {.reference_device = file + "#" + r.id}});
    if (report.is_kernel_fault) return report.error + "\n";  // the answer is at fault, because the record's AST runs
    if (!report.error.empty()) return Diag{report.error};
    report.repeat_command.clear();  // `tgc run` does not have the answer
    return report.is_passed() ? std::string() : report.text(1, plan_.diff_style.uses_color);
  }

  const Session& session_;
  size_t num_runtime_kernels_ = 0;
  const ConformPlan& plan_;
  PortClient& port_;
  ConformReport& report_;
  std::string producer_;  // of the records of the current file
  const StageRow* stage_row_;  // of plan.stage; null if tgc's own pipeline has no such stage
  std::set<std::string> recorded_stages_;
  size_t num_failures_ = 0;
};

}  // namespace

Result<ConformReport> run_conformance(const Session& session, const std::vector<std::string>& goldens,
                                      const ConformPlan& plan) {
  ConformReport out;
  PortClient port(session, plan);
  ConformRun run(session, plan, port, out);
  for (const std::string& spec : goldens)
    if (auto status = run.ask_about_records(spec); !status) return status.diag();
  if (auto status = run.check_stage_name(); !status) return status.diag();
  if (out.end_reason.empty()) out.end_reason = port.stop_reason(true);
  return out;
}

namespace {

// Compiles the AST of a record by the native pipeline, to get facts that the recorded texts omit. Stops at the first
// stage that fails, is unknown, or has a graph that does not print like the recorded one.
class NativeCompilation {
 public:
  NativeCompilation(const GoldenRecord& r, const GoldenHeader& header) {
    if (detect_input_kind(r.ast) != InputKind::Pyrender) return;
    auto settings = settings_of_recording(settings_of(header, r));
    if (!settings) return;
    auto in = load_graph_text(*settings, InputKind::Pyrender, r.ast, r.id, false, header.producer);
    if (!in) return;
    in->is_tensor_graph = r.target.empty();
    auto begun = Compilation::begin(std::move(*in), {.target = r.target});
    if (begun) compilation_.emplace(std::move(*begun));
  }

  // Returns "" if the compilation has stopped.
  std::string graph_json_after(const std::string& stage, std::string_view recorded) {
    const StageRow* row = find_stage_row(stage);
    if (!compilation_ || !row || !compilation_->run_through_stage(*row)) return compilation_.reset(), "";
    auto text = pyrender(compilation_->current_graph());
    if (!text || *text != recorded) return compilation_.reset(), "";
    return graph_to_json(compilation_->current_graph(), {});
  }
  std::string list_json(const std::string& recorded) {
    if (!compilation_ || !compilation_->list() || print_uops(*compilation_->list()) != recorded) return recorded;
    return list_to_json(*compilation_->list(), {});
  }

 private:
  std::optional<Compilation> compilation_;  // unset once the compilation has stopped
};

}  // namespace

std::vector<StageQuestion> questions_of_record(const GoldenRecord& r, const GoldenHeader& header, bool with_source) {
  NativeCompilation native(r, header);
  std::vector<StageQuestion> out;
  std::string before = r.ast_full.value_or(r.ast);
  std::optional<std::string_view> recorded = before;  // graph before the stage; nullopt if tinygrad could not print it
  for (const RecordedStage& s : RecordedStageTexts(r)) {
    if (s.kind != RecordedStage::Kind::Stage) continue;
    std::string all = s.text ? native.graph_json_after(s.name, *s.text) : "";
    const bool loses_facts = s.pyrender && detect_input_kind(*s.text) != InputKind::Json;
    if (loses_facts) all = *s.text;
    if (recorded && s.text) out.push_back({s.name, before, loses_facts ? *s.pyrender : *s.text});
    // Not for tensor graphs: a port may number unique constants differently, and only JSON has these numbers.
    if (recorded && s.text && !r.target.empty()) out.back().expected_json = all;
    if (s.text) before = all.empty() ? std::string(*s.text) : std::move(all);
    recorded = s.text;
  }
  if (!r.linear) return out;
  if (recorded) out.push_back({"linear", before, *r.linear, StageQuestion::ExpectedKind::List});
  if (r.source && with_source)
    out.push_back({"source", native.list_json(*r.linear), *r.source, StageQuestion::ExpectedKind::Source});
  return out;
}

}  // namespace tgc
