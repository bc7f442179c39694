// Opens the two inputs of `tgc diff`: each is a graph, or runs of the pipeline with their result after every stage.
#pragma once
#include <string>
#include <vector>

#include "lib/diff/run_diff.h"
#include "lib/driver/session.h"

namespace tgc {

struct DiffInput {
  bool is_graph = false;   // true: `text` has a graph; false: `runs` has the runs
  std::string text, file;
  std::string producer = {};  // of a graph: the release of a text that names no release; empty: unknown
  std::vector<Run> runs;
};

// Opens an input: a graph in any format, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote. Warns
// if a file is truncated. Fails if a file cannot be read or no record matches.
Result<DiffInput> open_diff_input(const Session& session, const std::string& spec);

// Returns the graph after `stage` of the run with the target `target`, to compare a run with a graph.
Result<DiffInput> as_graph(DiffInput side, const std::string& stage, const std::string& target);

// Compiles the AST of each run with tgc, with the settings and target of the run. Returns runs with tgc's results at
// the same stages. If a stage fails, the run ends before this stage.
Result<DiffInput> made_by_tgc(const DiffInput& side);

// The stage whose results are compared.
struct CommonStage {
  std::string name;    // name of the stage, for example "expander"
  std::string target;  // the target that the graph names; may be empty
  bool is_text = false;  // the result of the stage is no graph, but text to compare by lines
};
// Returns the stage `asked` (--stage), else the stage that the graph names, else the AST. Fails for an unknown stage,
// or if `asked` is set although neither input has runs.
Result<CommonStage> common_stage(const DiffInput& a, const DiffInput& b, const std::string& asked);

// Returns a copy of the input in which each run has only the stage `stage`.
DiffInput only_stage(DiffInput side, const std::string& stage);

// Pairs of runs to compare. Runs with equal id and target are paired in order. If both inputs have only one run, these
// are paired even with different ids or targets.
struct RunPairs {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  size_t only_a = 0, only_b = 0;
};
RunPairs pair_runs(const DiffInput& a, const DiffInput& b);

}  // namespace tgc
