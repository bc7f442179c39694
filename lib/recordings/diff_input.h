// The two sides of `tgc diff`: graphs, or runs of the pipeline that show what was made at every stage.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/run_diff.h"
#include "lib/driver/session.h"

namespace tgc {

struct DiffInput {
  bool is_graph = false;   // the text of one graph; else runs
  std::string text, file;
  std::vector<Run> runs;
};

// A side: a graph of any kind, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote. A file that is
// cut is a warning. Errors: what cannot be read, a record that is not there, no records.
Result<DiffInput> open_diff_input(const Session& session, const std::string& spec);

// One stage of a run as a graph, for a run against a graph. Of several runs the one for that target is meant.
Result<DiffInput> as_graph(DiffInput side, const std::string& stage, const std::string& target);

// What tgc makes of each run's AST, under its settings and for its target, at every stage that the run shows. What a
// stage refuses ends the run there.
Result<DiffInput> made_by_tgc(const DiffInput& side);

// At which stage a graph and a run, or two runs, are compared.
struct CommonStage {
  std::string name;    // "expander"
  std::string target;  // of the graph, where it says one
  bool is_text = false;  // of no graph, but compared line by line
};
// `asked` is that of --stage; else what the graph says of itself; else the AST. An unknown stage is an error, with the
// file that says it; and --stage where neither side is a run.
Result<CommonStage> common_stage(const DiffInput& a, const DiffInput& b, const std::string& asked);

// The runs with what they show of that stage alone.
DiffInput only_stage(DiffInput side, const std::string& stage);

// Pairs of runs that belong together: of the same id and target, the second of an id with the second; the only two
// always.
struct RunPairs {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  size_t only_a = 0, only_b = 0;
};
RunPairs pair_runs(const DiffInput& a, const DiffInput& b);

}  // namespace tgc
