#include "lib/conformance/conform.h"

#include "lib/compilation/selection.h"
#include "lib/compilation/stage_rows.h"
#include "lib/conformance/conform_questions.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/source.h"
#include "lib/live/answerer.h"
#include "lib/run/run_kernel.h"
#include "lib/support/json_writer.h"
#include "lib/support/line_diff.h"
#include "lib/text/input_file.h"
#include "lib/text/json_scan.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

Diag no_order(const std::string& file) {
  return {.message = "a graph without the order of its nodes", .file = file,
          .expected = "a listing of print_uops, or JSON with a \"list\""};
}

Result<GraphFile> read(Graph& graph, const std::string& text, const std::string& file) {
  ReadReport report{.take_malformed = true};
  return read_graph(graph, detect_kind(text), text, file, &report);
}

std::string without_last_lines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// The letters of a graph: as they came where they are pyrender's, else written.
Result<std::string> letters(const std::string& text, const std::string& file) {
  if (detect_kind(text) == InputKind::Pyrender && !has_header(text)) return without_last_lines(text);
  Graph graph;
  auto root = read(graph, text, file);
  if (!root) return root.diag();
  auto written = graph.is_foreign() ? write_graph(Format::Pyrender, root->root) : pyrender(root->root);
  if (written && written->ends_with('\n')) written->pop_back();
  return written;
}

// The listing of a linear list: as it came where it is one and `as_it_came`, else written.
Result<std::string> listing(const std::string& text, const std::string& file, bool as_it_came) {
  if (as_it_came && detect_kind(text) == InputKind::Uops && !has_header(text)) return without_last_lines(text);
  Graph graph;
  auto read_list = read(graph, text, file);
  if (!read_list) return read_list.diag();
  if (read_list->list.empty()) return no_order(file);
  return without_last_lines(print_uops(read_list->list));
}

// The program that answers, and whether it is worth asking.
class Port {
 public:
  Port(const Session& session, const ConformPlan& plan)
      : program_(plan.command, plan.seconds, [&session] { return session.cancelled(); }) {}

  // The line that it answers. An error is what it did instead.
  Result<std::string> ask(const std::string& question) {
    auto line = program_.ask(question);
    if (!line) count(line.diag());
    return line;
  }
  // It answered, and so that it can be understood.
  void understood() { in_a_row_ = 0, answered_ = true; }
  // Its line is no answer: whether the next one will belong to its question is not known.
  void misunderstood(const Diag& diag) { program_.fail(), count(diag); }

  // Why it is not asked any more: it fails again and again, or at the end has not answered once. Empty: it is.
  std::string given_up(bool at_end = false) const {
    if (in_a_row_ < (answered_ ? kFailuresInARow : at_end ? 1 : kFailuresAtFirst)) return {};
    return answered_ ? "the command failed " + std::to_string(in_a_row_) + " times in a row, last so: " + last_
                     : "the command answers nothing: " + last_;
  }

 private:
  static constexpr int kFailuresInARow = 10, kFailuresAtFirst = 3;

  void count(const Diag& failure) {
    last_ = failure.text();
    last_.erase(std::min(last_.find('\n'), last_.size()));
    in_a_row_++;
  }

  LastingAnswerer program_;
  int in_a_row_ = 0;  // failures
  bool answered_ = false;
  std::string last_;  // failure
};

class Judge {
 public:
  Judge(const Session& session, const ConformPlan& plan, Port& port, ConformReport& out)
      : session_(session), plan_(plan), port_(port), out_(out), row_(find_row(plan.stage)) {}

  Status ask_all(const std::string& spec) {
    InputName name = InputName::parse(spec);
    auto reader = GoldenReader::open(name.file);
    if (!reader) return reader.diag();
    bool found = name.id.empty();
    while (out_.ended.empty()) {
      auto record = reader->next();
      if (!record) return record.diag();
      if (!*record) break;
      if (session_.cancelled()) return out_.ended = "cancelled", Unit{};
      if (!name.id.empty() && (*record)->id != name.id) continue;
      found = true;
      for (const Question& q : questions_of(**record, reader->header(), plan_.as == ConformAs::Text)) {
        if (!is_wanted(q.stage)) continue;
        if (auto status = ask(**record, reader->header(), q, name.file); !status) return status;
        if (out_.ended.empty()) out_.ended = port_.given_up();
        if (!out_.ended.empty()) break;
      }
    }
    if (reader->cut()) session_.warn(*reader->cut());
    if (!found) return Diag{.message = "no record '" + name.id + "'", .file = name.shown()};
    return Unit{};
  }

  // The stages that the records have, when none is the one that was asked for.
  Status check_stage() const {
    if (!out_.answers.empty() || plan_.stage.empty() || met_.empty()) return Unit{};
    std::vector<std::string_view> names(met_.begin(), met_.end());
    return unknown_name("stage", plan_.stage, names, "a stage of the records");
  }

 private:
  bool is_wanted(const std::string& stage) {
    met_.insert(stage);
    return plan_.stage.empty() || names_choice(plan_.stage, {.name = stage, .alias = {}, .slug = {}}) ||
           (row_ && row_->name == stage);
  }

  ConformCounts& counts_of(const std::string& stage) {
    for (auto& [name, counts] : out_.stages)
      if (name == stage) return counts;
    return out_.stages.emplace_back(stage, ConformCounts()).second;
  }

  // {"id":..,"stage":..,"target":..,"settings":{..},"graph":{..}}
  Result<std::string> question(const GoldenRecord& r, const GoldenHeader& header, const Question& q,
                               const std::string& file) const {
    Graph graph;
    auto input = read(graph, q.before, file);
    if (!input) return input.diag();
    std::string text, nodes = input->list.empty() ? graph_to_json(input->root, input->info)
                                                  : list_to_json(input->list, input->info);
    std::erase(nodes, '\n');
    JsonWriter json(text);
    json.object([&] {
      json.member("id", r.id).member("stage", q.stage).member("target", r.target);
      json.key("settings").object([&] {
        for (auto& [key, value] : settings_of(header, r)) json.member(key, value);
      });
      json.key("graph").raw(nodes);
    });
    return text;
  }

  Status ask(const GoldenRecord& r, const GoldenHeader& header, const Question& q, const std::string& file) {
    auto asked = question(r, header, q, file + "#" + r.id);
    if (!asked) return asked.diag();
    std::string difference;
    AnswerVerdict verdict = compare_answer(r, q, *asked, file, difference);
    if (session_.cancelled()) return out_.ended = "cancelled", Unit{};
    ConformCounts& counts = counts_of(q.stage);
    counts.of(verdict)++;
    out_.answers.push_back({r.id, r.target, q.stage, verdict});
    if (verdict == AnswerVerdict::Different || verdict == AnswerVerdict::Error) {
      std::string where = r.target.empty() ? r.id : r.id + " (" + r.target + ")";
      if (counts.first.empty()) counts.first = where;
      if (out_.shown.size() < plan_.show) out_.shown.push_back("--- " + where + ": " + q.stage + "\n" + difference);
    }
    if (verdict != AnswerVerdict::Same && verdict != AnswerVerdict::NotSupported) failures_++;
    session_.progress(std::to_string(out_.answers.size()) + " questions, " + std::to_string(failures_) +
                      " that do not conform; at " + r.id);
    return Unit{};
  }

  // `difference`: what differs or went wrong, for people.
  AnswerVerdict compare_answer(const GoldenRecord& r, const Question& q, const std::string& asked, const std::string& file,
                      std::string& difference) {
    auto error = [&](const std::string& what) { return difference = what + "\n", AnswerVerdict::Error; };
    auto line = port_.ask(asked);
    if (!line) return error(line.diag().text());
    auto answer = catch_failures([&] { return read_answer(*line, q.kind == Question::After::Source); });
    if (!answer) return port_.misunderstood(answer.diag()), error(answer.diag().text());
    port_.understood();
    if (!answer->error.empty()) return error("error: " + answer->error);
    if (answer->made.empty()) return AnswerVerdict::NotSupported;
    auto compared = compare(r, q, answer->made, file);
    if (!compared) return error(compared.diag().text());
    difference = *compared;
    return difference.empty() ? AnswerVerdict::Same : AnswerVerdict::Different;
  }

  struct Answer {
    std::string made, error;  // the graph, list or source; both empty: not supported
  };
  Answer read_answer(const std::string& line, bool of_source) const {
    const std::string_view wanted = of_source ? "source" : "graph";
    Answer out;
    bool known = false;
    JsonScanner in(line, "the answer", 1);
    if (in.peek() == JsonScanner::Type::String) {
      if (std::string word = in.string(); word != "not supported")
        in.fail(0, "the answer '" + word + "'", "\"not supported\"");
      in.end();
      return out;
    }
    in.object([&](std::string_view key) {
      known |= key == wanted || key == "error" || key == "not_supported";
      if (key == "error") out.error = in.string();
      else if (key != wanted) in.skip();
      else if (of_source || in.peek() == JsonScanner::Type::String) out.made = in.string();
      else out.made = plan_.map.empty() ? std::string(in.skip()) : plan_.map.to_tgc(in.skip()).value_or_throw();
    });
    in.end();
    if (!known)
      in.fail(0, "an answer that says nothing",
              "{\"" + std::string(wanted) + R"(":...}, {"not_supported":true} or {"error":"..."})");
    const bool is_own_json = out.made.starts_with("{") && out.made.find("\"tgc-graph\"") == out.made.npos;
    if (!of_source && is_own_json && !plan_.map.empty())
      out.made = plan_.map.to_tgc(out.made).value_or_throw();
    return out;
  }

  // What differs, for people; empty: nothing.
  Result<std::string> compare(const GoldenRecord& r, const Question& q, const std::string& answer,
                              const std::string& file) {
    const bool to_the_letter = plan_.as == ConformAs::Text;
    auto texts = [&](const auto& of) -> Result<std::string> {
      Result<std::string> wanted = of(*q.after, file), got = of(answer, "the answer");
      if (!wanted || !got) return !wanted ? wanted.diag() : got.diag();
      return *wanted == *got ? std::string() : line_diff(*wanted, *got);
    };
    if (q.kind == Question::After::Source)
      return texts([](const std::string& text, const std::string&) { return Result(without_last_lines(text)); });
    if (plan_.as == ConformAs::Values) return compare_values(r, q, answer, file);
    if (q.kind == Question::After::List)
      return texts([&](const std::string& text, const std::string& of) { return listing(text, of, to_the_letter); });
    auto difference = to_the_letter ? texts(letters) : Result(std::string());
    if (!difference || !difference->empty() || (to_the_letter && q.all.empty())) return difference;
    // letters leave dtypes out: what is the same to the letter may be another graph
    return catch_failures([&]() -> std::string {
      Graph graph;
      auto sides = read_alike(graph, q.all.empty() ? *q.after : q.all, file, answer, "the answer").value_or_throw();
      GraphDiff diff = diff_graphs(sides.first, sides.second);
      return diff.same ? "" : to_text(diff, plan_.style);
    });
  }

  // Of each variable of a kernel, so that as much as there is of an array is looked at.
  static VariableValues largest_values(const std::string& ast, const std::string& file) {
    VariableValues out;
    Graph graph;
    if (auto root = read(graph, ast, file))
      for (UOp u : toposort(root->root))
        if (u.is(Op::DEFINE_VAR)) out[std::string(u.arg()[0].text())] = u.vmax().as_int().low64();
    return out;
  }

  // Runs the answer in REF, and the record's own graph on the same arrays.
  Result<std::string> compare_values(const GoldenRecord& r, const Question& q, const std::string& answer,
                                     const std::string& file) {
    if (r.target.empty())
      return Diag{.message = "a tensor graph has no values before it is scheduled", .expected = "--as=structure"};
    Settings settings;
    auto loaded = load_text(settings, detect_kind(answer), answer, "the answer", true);
    if (!loaded) return loaded.diag();
    if (loaded->graph->is_foreign()) return made_elsewhere(loaded->info.producer, "the answer");
    if (q.kind == Question::After::List && loaded->list.empty()) return no_order("the answer");
    loaded->info.name = r.id, loaded->info.target = r.target, loaded->info.stage = q.stage;
    RunReport report = run_kernel(session_, *loaded,
                                  {.input = {.name = file + "#" + r.id, .variables = largest_values(r.ast, file)},
                                   .device = {.name = "REF"},
                                   .compare = {.reference = file + "#" + r.id},
                                   .output = {.keep_failures = false}});
    if (report.kernel_fault) return report.error + "\n";  // the answer is at fault: the reference runs
    if (!report.error.empty()) return Diag{report.error};
    return report.passed() ? std::string() : report.text(1, plan_.style.color);
  }

  const Session& session_;
  const ConformPlan& plan_;
  Port& port_;
  ConformReport& out_;
  const StageRow* row_;  // of the stage that is asked for, where it is one of 0.12.0's
  std::set<std::string> met_;  // stages of the records
  size_t failures_ = 0;
};

}  // namespace

Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens,
                              const ConformPlan& plan) {
  ConformReport out;
  Port port(session, plan);
  Judge judge(session, plan, port, out);
  for (const std::string& spec : goldens)
    if (auto status = judge.ask_all(spec); !status) return status.diag();
  if (auto status = judge.check_stage(); !status) return status.diag();
  if (out.ended.empty()) out.ended = port.given_up(true);
  return out;
}

}  // namespace tgc
