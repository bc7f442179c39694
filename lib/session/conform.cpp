#include "lib/session/conform.h"

#include <filesystem>

#include "lib/inspect/run_diff.h"
#include "lib/session/answerer.h"
#include "lib/session/source.h"
#include "lib/session/trial.h"
#include "lib/support/json_writer.h"
#include "lib/support/line_diff.h"
#include "lib/support/write_file.h"
#include "lib/text/input_file.h"
#include "lib/text/json_scan.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// A stage of a record: the graph before it and after it, as they were recorded.
struct Question {
  std::string stage;
  const std::string *before, *after;
};

std::vector<Question> questions_of(const GoldenRecord& r) {
  std::vector<Question> out;
  const std::string* before = &r.ast;
  for (const GoldenStage& s : r.stages) {
    const std::string* after = s.same ? before : s.ir ? &*s.ir : nullptr;
    if (before && after) out.push_back({s.name, before, after});
    before = after;
  }
  return out;
}

Result<GraphFile> read(Graph& graph, const std::string& text, const std::string& file) {
  ReadReport report{.take_malformed = true};
  return read_graph(graph, detect_kind(text), text, file, &report);
}

// The letters of a graph: as they came where they are pyrender's, else written.
Result<std::string> letters(const std::string& text, const std::string& file) {
  if (detect_kind(text) == InputKind::Pyrender && !has_header(text)) {
    std::string plain = text;
    while (plain.ends_with('\n')) plain.pop_back();
    return plain;
  }
  Graph graph;
  auto root = read(graph, text, file);
  if (!root) return root.diag();
  auto written = graph.is_foreign() ? write_graph(Format::Pyrender, root->root) : pyrender(root->root);
  if (written && written->ends_with('\n')) written->pop_back();
  return written;
}

class Judge {
 public:
  Judge(const Session& session, const ConformPlan& plan, Answerer& port, ConformReport& out)
      : session_(session), plan_(plan), port_(port), out_(out) {}

  Status ask_all(const std::string& spec) {
    InputName name = InputName::parse(spec);
    auto reader = GoldenReader::open(name.file);
    if (!reader) return reader.diag();
    for (;;) {
      auto record = reader->next();
      if (!record) return record.diag();
      if (!*record) return Unit{};
      if (session_.cancelled()) return Diag{"cancelled"};
      const std::string& wanted = name.id.empty() ? plan_.id : name.id;
      if (!wanted.empty() && (*record)->id != wanted) continue;
      for (const Question& q : questions_of(**record))
        if (plan_.stage.empty() || plan_.stage == q.stage)
          if (auto status = ask(**record, reader->header(), q, name.file); !status) return status;
    }
  }

 private:
  ConformCounts& counts_of(const std::string& stage) {
    for (auto& [name, counts] : out_.stages)
      if (name == stage) return counts;
    return out_.stages.emplace_back(stage, ConformCounts()).second;
  }

  // {"id":..,"stage":..,"target":..,"settings":{..},"graph":{..}}
  Result<std::string> question(const GoldenRecord& r, const GoldenHeader& header, const Question& q,
                               const std::string& file) const {
    Graph graph;
    auto input = read(graph, *q.before, file);
    if (!input) return input.diag();
    std::string text, nodes = graph_to_json(input->root, input->info);
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
    auto line = port_.ask(*asked, plan_.seconds);
    if (!line) {
      Diag diag = line.diag();
      diag.message += ", asked of '" + q.stage + "' of " + r.id;
      return diag;
    }
    ConformCounts& counts = counts_of(q.stage);
    auto answer = catch_failures([&] { return read_answer(*line); });
    if (!answer) return counts.errors++, show(r, q, answer.diag().text() + "\n"), Unit{};
    if (!answer->error.empty()) return counts.errors++, show(r, q, "error: " + answer->error + "\n"), Unit{};
    if (answer->graph.empty()) return counts.not_supported++, Unit{};
    auto difference = compare(r, q, answer->graph, file);
    if (!difference) return counts.errors++, show(r, q, difference.diag().text() + "\n"), Unit{};
    if (difference->empty()) return counts.same++, out_.same.insert(r.id + " " + r.target + " " + q.stage), Unit{};
    counts.different++;
    show(r, q, *difference);
    return Unit{};
  }

  struct Answer {
    std::string graph, error;  // both empty: not supported
  };
  Answer read_answer(const std::string& line) const {
    Answer out;
    bool known = false;
    JsonScanner in(line, "the answer", 1);
    if (in.peek() == JsonScanner::Type::String) {
      if (std::string word = in.string(); word != "not supported")
        in.fail(0, "the answer '" + word + "'", "\"not supported\"");
      return out;
    }
    in.object([&](std::string_view key) {
      known |= key == "graph" || key == "error" || key == "not_supported";
      if (key == "error") out.error = in.string();
      else if (key != "graph") in.skip();
      else if (in.peek() == JsonScanner::Type::String) out.graph = in.string();
      else out.graph = plan_.map.empty() ? std::string(in.skip()) : plan_.map.to_tgc(in.skip()).value_or_throw();
    });
    if (!known)
      in.fail(0, "an answer that says nothing", R"({"graph":...}, {"not_supported":true} or {"error":"..."})");
    if (!plan_.map.empty() && out.graph.starts_with("{") && out.graph.find("\"tgc-graph\"") == out.graph.npos)
      out.graph = plan_.map.to_tgc(out.graph).value_or_throw();
    return out;
  }

  // What differs, for people; empty: nothing.
  Result<std::string> compare(const GoldenRecord& r, const Question& q, const std::string& answer,
                              const std::string& file) {
    if (plan_.as == ConformAs::Values) return compare_values(r, q, answer, file);
    if (plan_.as == ConformAs::Text) {
      auto wanted = letters(*q.after, file), got = letters(answer, "the answer");
      if (!wanted || !got) return !wanted ? wanted.diag() : got.diag();
      return *wanted == *got ? std::string() : line_diff(*wanted, *got);
    }
    return catch_failures([&]() -> std::string {
      Graph graph;
      auto sides = read_alike(graph, *q.after, file, answer, "the answer").value_or_throw();
      GraphDiff diff = diff_graphs(sides.first, sides.second);
      return diff.same ? "" : to_text(diff, plan_.style);
    });
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
    loaded->info.name = r.id, loaded->info.target = r.target, loaded->info.stage = q.stage;
    TrialReport report =
        run_trial(session_, *loaded, {.input = file + "#" + r.id, .device = "REF", .reference = file + "#" + r.id});
    if (!report.error.empty()) return Diag{report.error};
    return report.passed() ? std::string() : report.text(1, plan_.style.color);
  }

  void show(const GoldenRecord& r, const Question& q, const std::string& text) {
    if (out_.shown.size() < plan_.show)
      out_.shown.push_back("--- " + r.id + " (" + r.target + "): " + q.stage + "\n" + text);
  }

  const Session& session_;
  const ConformPlan& plan_;
  Answerer& port_;
  ConformReport& out_;
};

}  // namespace

Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens,
                              const ConformPlan& plan) {
  auto port = Answerer::start(plan.command);
  if (!port) return port.diag();
  ConformReport out;
  for (const std::string& spec : goldens)
    if (auto status = Judge(session, plan, *port, out).ask_all(spec); !status) return status.diag();
  return out;
}

// ---- the report

ConformCounts ConformReport::total() const {
  ConformCounts out;
  for (auto& [stage, c] : stages) {
    out.same += c.same, out.different += c.different;
    out.not_supported += c.not_supported, out.errors += c.errors;
  }
  return out;
}

Status ConformReport::hold_to(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    std::string text = "# what conforms: record, target, stage\n";
    for (const std::string& line : same) text += line + "\n";
    return write_file(file, text);
  }
  auto text = read_file(file);
  if (!text) return text.diag();
  for (size_t at = 0; at < text->size();) {
    size_t end = std::min(text->find('\n', at), text->size());
    std::string line = text->substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line[0] != '#' && !same.contains(line)) worse.push_back(line);
  }
  return Unit{};
}

std::string ConformReport::text() const {
  std::string out;
  for (const std::string& s : shown) out += s;
  auto cell = [](std::string_view text, size_t width) {
    return std::string(text.size() < width ? width - text.size() : 0, ' ') + std::string(text);
  };
  auto row = [&](std::string name, const ConformCounts& c) {
    auto number = [&](size_t n) { return cell(n ? std::to_string(n) : "-", 10); };
    name.resize(std::max<size_t>(name.size(), 36), ' ');
    out += "  " + name + number(c.same) + number(c.different) +
           cell(c.not_supported ? std::to_string(c.not_supported) : "-", 12) + number(c.errors) + "\n";
  };
  out += "  stage" + std::string(31, ' ') + cell("same", 10) + cell("different", 10) + cell("unsupported", 12) +
         cell("error", 10) + "\n";
  for (auto& [stage, c] : stages) row(stage, c);
  ConformCounts all = total();
  row("all", all);
  size_t judged = all.same + all.different + all.errors;
  if (judged) out += std::to_string(all.same) + " of " + std::to_string(judged) + " conform\n";
  for (const std::string& w : worse) out += "worse than the baseline: " + w + "\n";
  return out;
}

std::string ConformReport::json() const {
  std::string out;
  JsonWriter json(out);
  auto counts = [&](const ConformCounts& c) {
    json.member("same", c.same).member("different", c.different).member("not_supported", c.not_supported);
    json.member("error", c.errors);
  };
  json.object([&] {
    ConformCounts all = total();
    json.member("questions", all.asked());
    counts(all);
    json.key("stages").object([&] {
      for (auto& [stage, c] : stages) json.key(stage).object([&] { counts(c); });
    });
    json.member("shown", shown).member("worse", worse);
  });
  return out + "\n";
}

}  // namespace tgc
