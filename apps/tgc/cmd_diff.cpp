// tgc diff A [B]: compare two graphs, or two runs stage by stage; records alone with what tgc makes of them.
#include <CLI/CLI.hpp>
#include <map>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/recordings/diff_input.h"
#include "lib/recordings/process_replay.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

struct CompareOptions {
  std::string a, b, ignore, stage, renames;
  bool json = false, quiet = false, sources_only = false;
  size_t max = 40, show = 20;
};

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : o_(options), style_{use_color(1), options.max} {}

  int run() {
    auto options = DiffOptions::ignoring(o_.ignore);
    if (!options) return trouble(options.diag());
    options_ = *options;
    auto renames = asked_renames(o_.renames);
    if (!renames) return trouble(renames.diag());
    renames_ = std::move(*renames);
    if (o_.stage.empty() && are_recordings(o_.a, o_.b)) return recordings();
    Session session = terminal_session(1);
    auto a = open_diff_input(session, o_.a);
    if (!a) return trouble(a.diag());
    auto b = o_.b.empty() ? made_by_tgc(*a) : open_diff_input(session, o_.b);
    if (!b) return trouble(b.diag());
    if (!a->is_graph && !b->is_graph && o_.stage.empty()) return runs(*a, *b);
    auto stage = common_stage(*a, *b, o_.stage);
    if (!stage) return trouble(stage.diag());
    stage_ = stage->name;
    if (!a->is_graph && !b->is_graph && stage->is_text) return runs(only_stage(*a, stage_), only_stage(*b, stage_));
    if (!o_.quiet && !o_.json && a->is_graph != b->is_graph)
      session.note("compared with '" + stage_ + "' of " + (a->is_graph ? o_.b : o_.a));
    a = as_graph(*a, stage_, stage->target), b = as_graph(*b, stage_, stage->target);
    if (!a || !b) return trouble(!a ? a.diag() : b.diag());
    return graphs(*a, *b);
  }

 private:
  int graphs(const DiffInput& a, const DiffInput& b) {
    Graph graph;
    auto sides = read_renamed(graph, a.text, a.file, b.text, b.file, renames());
    if (!sides) return trouble(sides.diag());
    GraphDiff diff = diff_graphs(sides->first, sides->second, options_);
    if (std::string json = o_.json ? to_json(diff) : ""; o_.json)
      json.back() = ',', print(json + "\"stage\":\"" + stage_ + "\"}\n");
    else if (!o_.quiet) print_report(to_text(diff, style_));
    return diff.same ? 0 : 1;
  }

  int recordings() {
    ReplayDiffPlan plan{options_, style_, o_.renames, o_.sources_only, o_.json};
    auto diff = diff_recordings(terminal_session(0), o_.a, o_.b, plan);
    if (!diff) return trouble(diff.diag());
    if (o_.json) print_report(diff->json());
    else if (!o_.quiet) print_report(diff->text(o_.show));
    return diff->is_same() ? 0 : 1;
  }

  int runs(const DiffInput& a, const DiffInput& b) {
    RunPairs paired = pair_runs(a, b);
    if (paired.pairs.empty())
      return trouble({.message = "nothing was compared: the two sides have no record in common"});
    return compare_pairs(paired);
  }

  int compare_pairs(const RunPairs& paired) {
    size_t different = 0;
    std::map<std::string, size_t> first;
    std::vector<std::string> diffs;  // as JSON
    for (auto [a, b] : paired.pairs) {
      auto diff = diff_runs(*a, *b, options_, renames());
      if (!diff) return trouble(diff.diag());
      if (!diff->same) different++, first[diff->stage]++;
      if (o_.json) diffs.push_back(to_json(*diff, *a));
      else if (!o_.quiet && !diff->same)
        print_report("--- " + a->id + (a->target.empty() ? "" : " (" + a->target + ")") + "\n" +
                     to_text(*diff, style_));
    }
    size_t n = paired.pairs.size();
    bool same = !different && !paired.only_a && !paired.only_b;
    if (o_.json) {
      std::string out;
      JsonWriter json(out);
      json.object([&] {
        json.member("same", same).member("runs", n).member("different", different);
        json.member("only_in_a", paired.only_a).member("only_in_b", paired.only_b);
        json.key("diffs").array([&] {
          for (const std::string& d : diffs) json.line().raw(d);
        });
      });
      print_report(out + "\n");
    } else if (!o_.quiet && (n > 1 || paired.only_a || paired.only_b || (same && o_.b.empty()))) {
      std::string out = counted(n, "run") + " compared, " + std::to_string(n - different) + " the same\n";
      for (auto& [stage, count] : first) out += "first difference at " + stage + ": " + std::to_string(count) + "\n";
      if (paired.only_a) out += std::to_string(paired.only_a) + " only in " + o_.a + "\n";
      if (paired.only_b) out += std::to_string(paired.only_b) + " only in " + o_.b + "\n";
      print_report(out);
    }
    return same ? 0 : 1;
  }

  const Renames* renames() const { return renames_ ? &*renames_ : nullptr; }

  const CompareOptions& o_;
  DiffOptions options_;
  std::optional<Renames> renames_;  // that were asked for
  DiffStyle style_;
  std::string stage_;  // of a record, that is compared with a graph
};

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* cmd = app.add_subcommand("diff", "compare two graphs by structure, or two runs stage by stage");
  cmd->add_option("A", o->a,
                  "a graph of any kind, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote")
      ->required();
  cmd->add_option("B", o->b, "the same; left out: what tgc makes of A's records");
  cmd->add_option("--stage", o->stage, "of runs: compare that stage alone")->type_name("STAGE");
  const char* ignore = "what is no difference: names, tags, metadata, buffers, order; separated by commas";
  cmd->add_option("--ignore", o->ignore, ignore)->type_name("LIST");
  const char* renames = "of two releases: a file of renames, or none; default: those between the two";
  cmd->add_option("--renames", o->renames, renames)->type_name("FILE");
  cmd->add_flag("--sources-only", o->sources_only, "of two recordings: compare the kernels' sources alone");
  auto count = [&](const char* name, size_t& value, const char* help) {
    cmd->add_option(name, value, help)->type_name("N")->check(whole_number(0, kMostShown));
  };
  count("--show", o->show, "of two recordings: show N differences in detail; default: 20");
  count("--max", o->max, "show at most N changes of a graph; default: 40");
  cmd->add_flag("--json", o->json, "as JSON");
  cmd->add_flag("-q,--quiet", o->quiet, "print nothing: the exit code tells");
  cmd->callback([o, &exit_code] { exit_code = Comparison(*o).run(); });
}

}  // namespace tgc
