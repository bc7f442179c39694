// Opens the two sides of `tgc diff`. A side is a graph, or runs of the pipeline with their result at every stage.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/run_diff.h"
#include "lib/driver/session.h"

namespace tgc {

struct DiffInput {
  bool is_graph = false;   // true: `text` holds a graph; false: `runs` is set
  std::string text, file;
  std::vector<Run> runs;
};

// Opens one side: a graph of any format, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote. Warns
// about a truncated file. Errors: the file cannot be read; no record matches.
Result<DiffInput> open_diff_input(const Session& session, const std::string& spec);

// Returns the graph after `stage` of the run for `target`, so that a run can be compared with a graph.
Result<DiffInput> as_graph(DiffInput side, const std::string& stage, const std::string& target);

// Compiles the AST of each run with tgc, under the run's settings and for its target. Returns tgc's results at the
// stages that the run has. If a stage fails, the returned run ends before it.
Result<DiffInput> made_by_tgc(const DiffInput& side);

// The stage at which a graph and a run, or two runs, are compared.
struct CommonStage {
  std::string name;    // "expander"
  std::string target;  // the target that the graph names; may be empty
  bool is_text = false;  // true if the stage's result is not a graph and is compared line by line
};
// Returns `asked` (--stage), else the stage that the graph names, else the AST. Errors: an unknown stage (the error has
// the file that names it); `asked` is set although neither side is a run.
Result<CommonStage> common_stage(const DiffInput& a, const DiffInput& b, const std::string& asked);

// Returns a copy of `side` that has only the stage `stage` in each run.
DiffInput only_stage(DiffInput side, const std::string& stage);

// Pairs of runs to compare. Runs with the same id and target are paired in order. If each side has only one run, these
// two runs are paired even if their ids or targets differ.
struct RunPairs {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  size_t only_a = 0, only_b = 0;
};
RunPairs pair_runs(const DiffInput& a, const DiffInput& b);

}  // namespace tgc
