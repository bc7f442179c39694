// tgc diff: compares two graphs, or two runs stage by stage; without B, compares records with what tgc makes of them.
#include <map>

#include "apps/tgc/options.h"
#include "lib/compare/diff_input.h"
#include "lib/compare/process_replay.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/source.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

struct CompareOptions {
  std::string a, b, ignore, stage, renames;
  bool json = false, quiet = false, sources_only = false;
  size_t max = 40, show = 20;
  CiOptions ci;
};

class DiffRun {
 public:
  explicit DiffRun(const CompareOptions& options)
      : o_(options), style_{use_color(1) && !options.ci.any(), options.max} {}

  int run() {
    options_ = require(DiffOptions::ignoring(o_.ignore));
    renames_ = require(asked_renames(o_.renames));
    if (o_.stage.empty() && are_recordings(o_.a, o_.b)) return recordings();
    Session session = terminal_session(1);
    DiffInput a = require(open_diff_input(session, o_.a));
    DiffInput b = require(o_.b.empty() ? made_by_tgc(a) : open_diff_input(session, o_.b));
    const bool are_runs = !a.is_graph && !b.is_graph;
    if (are_runs && o_.stage.empty()) return runs(a, b);
    CommonStage stage = require(common_stage(a, b, o_.stage));
    stage_ = stage.name;
    if (are_runs && stage.is_text) return runs(only_stage(a, stage_), only_stage(b, stage_));
    if (!o_.quiet && !o_.json && a.is_graph != b.is_graph)
      session.note("compared with '" + stage_ + "' of " + (a.is_graph ? o_.b : o_.a));
    const DiffInput graph_a = require(as_graph(a, stage_, stage.target));  // before B, so that A's error comes first
    return graphs(graph_a, require(as_graph(b, stage_, stage.target)));
  }

 private:
  int graphs(const DiffInput& a, const DiffInput& b) {
    Graph graph;
    const ComparedText text_a{a.text, a.file, a.producer}, text_b{b.text, b.file, b.producer};
    auto [side_a, side_b] = require(read_renamed(graph, text_a, text_b, renames()));
    GraphDiff diff = diff_graphs(side_a, side_b, options_);
    if (std::string json = o_.json ? to_json(diff) : ""; o_.json)
      json.back() = ',', print(json + "\"stage\":\"" + stage_ + "\"}\n");
    else if (!o_.quiet) print_report(to_text(diff, style_));
    ci_.add(ci_case(o_.a + " and " + o_.b, b_file(), diff));
    return finish(diff.same);
  }

  int recordings() {
    ReplayDiffPlan plan{options_, style_, o_.renames, o_.sources_only, o_.json};
    ReplayDiff diff = require(diff_recordings(terminal_session(0), o_.a, o_.b, plan));
    if (o_.json) print_report(diff.json());
    else if (!o_.quiet) print_report(diff.text(o_.show));
    ci_ = diff.ci(b_file());
    return finish(diff.is_same());
  }

  int runs(const DiffInput& a, const DiffInput& b) {
    RunPairs paired = pair_runs(a, b);
    if (paired.pairs.empty())
      return trouble({.message = "nothing was compared: the two sides have no record in common"});
    size_t different = 0;
    std::map<std::string, size_t> first;
    std::vector<std::string> diffs;  // JSON texts of the diffs
    for (auto [a, b] : paired.pairs) {
      RunDiff diff = require(diff_runs(*a, *b, options_, renames()));
      if (!diff.same) different++, first[diff.stage]++;
      ci_.add(ci_case(*a, b_file(), diff));
      if (o_.json) diffs.push_back(to_json(diff, *a));
      else if (!o_.quiet && !diff.same)
        print_report("--- " + shown_record(a->id, a->target) + "\n" + to_text(diff, style_));
    }
    size_t n = paired.pairs.size();
    bool same = !different && !paired.only_a && !paired.only_b;
    if (o_.json) {
      print_report(json_text([&](JsonWriter& json) {
        json.object([&] {
          json.member("same", same).member("runs", n).member("different", different);
          json.member("only_in_a", paired.only_a).member("only_in_b", paired.only_b);
          json.key("diffs").array([&] {
            for (const std::string& d : diffs) json.line().raw(d);
          });
        });
      }));
    } else if (!o_.quiet && (n > 1 || paired.only_a || paired.only_b || (same && o_.b.empty()))) {
      std::string out = counted(n, "run") + " compared, " + std::to_string(n - different) + " the same\n";
      for (auto& [stage, count] : first) out += "first difference at " + stage + ": " + std::to_string(count) + "\n";
      if (paired.only_a) out += std::to_string(paired.only_a) + " only in " + o_.a + "\n";
      if (paired.only_b) out += std::to_string(paired.only_b) + " only in " + o_.b + "\n";
      print_report(out);
    }
    for (auto& [count, where] : {std::pair(paired.only_a, o_.a), std::pair(paired.only_b, o_.b)})
      if (count)
        ci_.add({.verdict = CiVerdict::Failed, .name = where, .rule = "kernel-missing",
                 .message = counted(count, "run") + " only here", .file = b_file()});
    return finish(same);
  }

  int finish(bool same) const {
    finish_ci(o_.ci, ci_, o_.json);
    return same ? 0 : 1;
  }
  std::string b_file() const { return InputName::parse(o_.b.empty() ? o_.a : o_.b).shown(); }
  const Renames* renames() const { return renames_ ? &*renames_ : nullptr; }

  const CompareOptions& o_;
  DiffOptions options_;
  std::optional<Renames> renames_;  // the renames that --renames names
  DiffStyle style_;
  CiReport ci_ = diff_ci_report();
  std::string stage_;  // if a record is compared with a graph: the record's stage to compare
};

}  // namespace

void add_diff(Command& cmd) {
  auto& o = cmd.make<CompareOptions>();
  cmd.describe("Compare two graphs by structure, or two recordings stage by stage.",
               "tgc diff before.jsonl.gz after.jsonl.gz --show=1");
  cmd.positional("A", o.a, "a graph, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote")
      ->required();
  cmd.positional("B", o.b, "the same; default: what tgc makes of A's records");
  cmd.group(Group::Input);
  cmd.option("--stage", o.stage, "STAGE", "of recordings: compare only this stage");
  cmd.flag("--sources-only", o.sources_only, "of recordings: compare only the kernels' sources");
  cmd.group(Group::Comparison);
  cmd.option("--ignore", o.ignore, "LIST", "ignore names, tags, metadata, buffers or order; separated by commas");
  cmd.option("--renames", o.renames, "FILE", "of two releases: a file of renames, or none; default: the known renames");
  cmd.group(Group::Output);
  cmd.json(o.json);
  add_ci_options(cmd, o.ci);
  cmd.flag("-q,--quiet", o.quiet, "print nothing; the exit code is the result");
  cmd.number("--show", o.show, "N", 0, kMostShown, "of recordings: print N differences in detail; default: 20");
  cmd.number("--max", o.max, "N", 0, kMostShown, "print at most N changes of a graph; default: 40");
  cmd.runs([&o] { return DiffRun(o).run(); });
}

}  // namespace tgc
