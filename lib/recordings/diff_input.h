// Opens the two sides of `tgc diff`: graphs, or runs of the pipeline with their result at every stage.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/run_diff.h"
#include "lib/driver/session.h"

namespace tgc {

struct DiffInput {
  bool is_graph = false;   // `text` is one graph; otherwise `runs` is set
  std::string text, file;
  std::vector<Run> runs;
};

// Opens one side: a graph of any format, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote. Warns
// about a truncated file. Errors: the file cannot be read; no record matches.
Result<DiffInput> open_diff_input(const Session& session, const std::string& spec);

// Returns the graph of one stage of a run, to compare it with a graph. `target` selects one of several runs.
Result<DiffInput> as_graph(DiffInput side, const std::string& stage, const std::string& target);

// Compiles the AST of each run with tgc, under the run's settings and for its target, and returns the results at the
// stages that the run shows. A run ends at the first stage that fails.
Result<DiffInput> made_by_tgc(const DiffInput& side);

// The stage at which a graph and a run, or two runs, are compared.
struct CommonStage {
  std::string name;    // "expander"
  std::string target;  // the graph's target, if it names one
  bool is_text = false;  // the stage's result is no graph: compare it line by line
};
// Returns `asked` (--stage), else the stage that the graph names, else the AST. Errors: an unknown stage, with the file
// that names it; --stage if neither side is a run.
Result<CommonStage> common_stage(const DiffInput& a, const DiffInput& b, const std::string& asked);

// Returns `side` with only this stage in each run.
DiffInput only_stage(DiffInput side, const std::string& stage);

// Pairs of runs to compare. Runs with the same id and target are paired in order; if each side has only one run, the
// two are paired in any case.
struct RunPairs {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  size_t only_a = 0, only_b = 0;
};
RunPairs pair_runs(const DiffInput& a, const DiffInput& b);

}  // namespace tgc
