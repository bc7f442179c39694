// tgc diff A B: compare two graphs, or two runs stage by stage.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/inspect/run_diff.h"
#include "lib/session/source.h"
#include "lib/text/input_file.h"
#include "lib/text/json_scan.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

struct CompareOptions {
  std::string a, b, ignore, stage;
  bool json = false, quiet = false;
  size_t max = 40;
};

// What one side is: a graph, or runs.
struct Side {
  bool is_graph = false;
  std::string text, file;
  std::vector<Run> runs;
};

Result<Side> open_side(const std::string& spec) {
  std::error_code error;
  Side side;
  if (std::filesystem::is_directory(spec, error)) {
    auto runs = runs_of_folder(spec);
    if (!runs) return runs.diag();
    side.runs = std::move(*runs);
    return side;
  }
  auto [file, id] = InputName::parse(spec);
  auto lines = LineReader::open(file);
  if (!lines) return lines.diag();
  std::string first;
  auto more = (*lines)->next(first);
  if (!more) return more.diag();
  side.file = input_name(file);
  if (detect_kind(first) != InputKind::Golden) {
    side.is_graph = true;
    side.text = first + "\n";
    if (auto status = (*lines)->rest(side.text); !status) return status.diag();
    return side;
  }
  auto records = GoldenReader::from(std::move(*lines), {first, 1}, side.file);
  if (!records) return records.diag();
  GoldenLine line;
  for (;;) {
    auto next = records->next_line(line);
    if (!next) return next.diag();
    if (!*next) {
      if (records->cut()) warn(*records->cut());
      break;
    }
    if (!id.empty() && line.text.find(id) == std::string::npos) continue;  // spares the parsing
    auto record = parse_golden_record(line, side.file);
    if (!record) return record.diag();
    if (!id.empty() && record->id != id) continue;
    side.runs.push_back(run_of(*record, records->header(), side.file + "#" + record->id));
  }
  if (side.runs.empty())
    return Diag{.message = id.empty() ? "no records" : "no record '" + id + "'", .file = side.file};
  return side;
}

// One stage of a run as a graph, for a run against a graph.
Result<Side> as_graph(Side side, const std::string& stage, const std::string& target) {
  if (side.is_graph) return side;
  if (side.runs.size() > 1 && !target.empty())
    std::erase_if(side.runs, [&](const Run& r) { return r.target != target; });
  if (side.runs.size() != 1)
    return Diag{.message = "a graph is compared with one of " + std::to_string(side.runs.size()) + " records",
                .expected = "FILE#ID"};
  for (const RunText& t : side.runs[0].texts)
    if (t.stage == stage) return Side{true, t.text, side.runs[0].file, {}};
  return Diag{.message = "record '" + side.runs[0].id + "' has no stage '" + stage + "'"};
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : o_(options), style_{use_color(1), options.max} {}

  int run() {
    auto options = DiffOptions::ignoring(o_.ignore);
    if (!options) return trouble(options.diag());
    options_ = *options;
    auto a = open_side(o_.a), b = open_side(o_.b);
    if (!a || !b) return trouble(!a ? a.diag() : b.diag());
    if (!a->is_graph && !b->is_graph && o_.stage.empty()) return runs(*a, *b);
    auto stage = stage_of_runs(*a, *b);
    if (!stage) return trouble(stage.diag());
    stage_ = *stage;
    if (!o_.quiet && !o_.json && a->is_graph != b->is_graph)
      std::fprintf(stderr, "tgc: note: compared with '%s' of %s\n", stage_.c_str(),
                   (a->is_graph ? o_.b : o_.a).c_str());
    a = as_graph(*a, stage_, target_), b = as_graph(*b, stage_, target_);
    if (!a || !b) return trouble(!a ? a.diag() : b.diag());
    return graphs(*a, *b);
  }

 private:
  // The stage at which a run is compared: that of --stage, else what the graph on the other side says; its target too.
  Result<std::string> stage_of_runs(const Side& a, const Side& b) {
    std::string word = o_.stage, file;
    for (const Side* side : {&a, &b}) {
      if (!side->is_graph) continue;
      Graph graph;
      auto read = read_graph(graph, detect_kind(side->text), side->text, side->file);
      if (!read) return read.diag();
      target_ = read->info.target;
      if (word.empty()) word = read->info.stage, file = side->file;
    }
    const StageRow* row = find_row(word.empty() ? "ast" : word);
    if (row || word.starts_with("kernel ")) return row ? std::string(row->name) : word;
    Diag unknown = unknown_stage(word);
    unknown.file = file;
    return unknown;
  }

  int graphs(const Side& a, const Side& b) {
    Graph graph;
    auto sides = read_alike(graph, a.text, a.file, b.text, b.file);
    if (!sides) return trouble(sides.diag());
    GraphDiff diff = diff_graphs(sides->first, sides->second, options_);
    if (std::string json = o_.json ? to_json(diff) : ""; o_.json)
      json.back() = ',', print(json + "\"stage\":\"" + stage_ + "\"}\n");
    else if (!o_.quiet) print(to_text(diff, style_));
    return diff.same ? 0 : 1;
  }

  // Records of the same id and target belong together, the second of an id with the second.
  int runs(const Side& a, const Side& b) {
    if (a.runs.size() == 1 && b.runs.size() == 1) return pairs({{&a.runs[0], &b.runs[0]}});
    std::map<std::pair<std::string, std::string>, std::vector<const Run*>> in_b;
    for (const Run& r : b.runs) in_b[{r.id, r.target}].push_back(&r);
    std::vector<std::pair<const Run*, const Run*>> list;
    std::map<std::pair<std::string, std::string>, size_t> used;
    for (const Run& r : a.runs) {
      auto& others = in_b[{r.id, r.target}];
      size_t& n = used[{r.id, r.target}];
      if (n < others.size()) list.emplace_back(&r, others[n++]);
      else only_a_++;
    }
    only_b_ = b.runs.size() - list.size();
    if (list.empty()) return trouble({.message = "the two sides have no record in common"});
    return pairs(list);
  }

  int pairs(const std::vector<std::pair<const Run*, const Run*>>& list) {
    size_t different = 0;
    std::map<std::string, size_t> first;
    std::string json;
    for (auto [a, b] : list) {
      auto diff = diff_runs(*a, *b, options_);
      if (!diff) return trouble(diff.diag());
      if (!diff->same) different++, first[diff->stage]++;
      if (o_.json) json += (json.empty() ? "\n" : ",\n") + named(*a, to_json(*diff));
      else if (!o_.quiet && !diff->same)
        print("--- " + a->id + (a->target.empty() ? "" : " (" + a->target + ")") + "\n" + to_text(*diff, style_));
    }
    bool same = !different && !only_a_ && !only_b_;
    if (o_.json) {
      print("{\"same\":" + std::string(same ? "true" : "false") + ",\"runs\":" + std::to_string(list.size()) +
            ",\"different\":" + std::to_string(different) + ",\"only_in_a\":" + std::to_string(only_a_) +
            ",\"only_in_b\":" + std::to_string(only_b_) + ",\"diffs\":[" + json + "]}\n");
    } else if (!o_.quiet && (list.size() > 1 || only_a_ || only_b_)) {
      std::string out =
          std::to_string(list.size()) + " runs compared, " + std::to_string(list.size() - different) + " the same\n";
      for (auto& [stage, n] : first) out += "first difference at " + stage + ": " + std::to_string(n) + "\n";
      if (only_a_) out += std::to_string(only_a_) + " only in " + o_.a + "\n";
      if (only_b_) out += std::to_string(only_b_) + " only in " + o_.b + "\n";
      print(out);
    }
    return same ? 0 : 1;
  }

  static std::string named(const Run& run, const std::string& json) {
    std::string out = "{\"id\":";
    append_json_string(out, run.id);
    out += ",\"target\":";
    append_json_string(out, run.target);
    return out + "," + json.substr(1);
  }

  const CompareOptions& o_;
  DiffOptions options_;
  DiffStyle style_;
  std::string stage_, target_;  // what of a record is compared with a graph
  size_t only_a_ = 0, only_b_ = 0;
};

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* cmd = app.add_subcommand("diff", "compare two graphs by structure, or two runs stage by stage");
  cmd->add_option("A", o->a,
                  "a graph of any kind, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote")
      ->required();
  cmd->add_option("B", o->b, "the same")->required();
  cmd->add_option("--stage", o->stage, "of runs: compare that stage alone")->type_name("STAGE");
  cmd->add_option("--ignore", o->ignore,
                  "what is no difference: names, tags, metadata, buffers, order; separated by commas")
      ->type_name("LIST");
  cmd->add_option("--max", o->max, "show at most N changes of a graph; default: 40")->type_name("N");
  cmd->add_flag("--json", o->json, "as JSON");
  cmd->add_flag("-q,--quiet", o->quiet, "print nothing: the exit code tells");
  cmd->callback([o, &exit_code] { exit_code = Comparison(*o).run(); });
}

}  // namespace tgc
