// Compares two runs of the pipeline on one kernel or tensor graph, read from golden records or from folders that `tgc
// dump` wrote. Aligns the stages, finds the first stage that differs, and names the rules of tgc that made the
// differing nodes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/text/golden.h"

namespace tgc {

// The result of one stage of a run.
struct RunText {
  std::string stage;  // tinygrad's name of the stage, such as "postopt symbolic"; "ast" for the input of the run
  std::string text;
  bool is_graph;      // `text` is a graph in any format; otherwise it is compared line by line
};

struct Run {
  std::string id, target;  // `target` is empty for a tensor graph
  std::string file;        // the source of the run, for messages
  std::map<std::string, std::string> settings;
  std::vector<RunText> texts;  // the results of the stages, in order
  std::string producer = {};   // "tinygrad 0.14.0"; empty: 0.12.0, or tgc
};

Run run_of(const GoldenRecord& record, const GoldenHeader& header, std::string file);
// Returns text number `index` among the texts whose stage is named `stage` in the later release; null if none.
const RunText* find_text(const Run& run, std::string_view stage, size_t index, const Renames& renames);
// Reads the runs in a folder of files KERNEL.NN.STAGE.EXT, as `tgc dump -o` writes them, one run per kernel.
Result<std::vector<Run>> runs_of_folder(const std::string& path);

// Reads two graphs into `graph` so that they can be compared. tinygrad's pyrender omits facts such as the dtype of a
// REDUCE. If one text is pyrender and the other has all facts, the other graph is reduced to what pyrender would print,
// so that missing facts are no difference. `file_a` and `file_b` name the texts in messages.
Result<std::pair<UOp, UOp>> read_alike(Graph& graph, std::string_view text_a, const std::string& file_a,
                                       std::string_view text_b, const std::string& file_b);

// Like read_alike, and converts both graphs to the names of the later of their two releases. `asked` replaces the table
// of renames between the releases (renames.h).
Result<std::pair<UOp, UOp>> read_renamed(Graph& graph, std::string_view text_a, const std::string& file_a,
                                         std::string_view text_b, const std::string& file_b,
                                         const Renames* asked = nullptr);

// What created a differing node in the first stage that differs: a rule of tgc or, if `rule` is empty, code of the
// stage outside of its rules.
struct Blame {
  std::string rule, file;
  uint32_t line = 0;
  std::string rewrite;  // the rewrite that applied the rule: "apply rangeify", "apply rangeify > reshape"
  std::string node;     // the node as a line of text
};

struct RunDiff {
  bool same = true;
  size_t compared = 0;       // the number of stages that both runs have
  std::string stage;         // the first stage that differs
  std::string before;        // the last common stage before `stage`
  GraphDiff graph;           // the difference at `stage`, if the results are graphs
  std::string lines;         // the difference at `stage` line by line, if the results are not graphs
  std::string ours;          // the run whose result tgc reproduces: "A", "B", or empty
  std::vector<Blame> blame;  // the rules that made the differing nodes of the run `ours`
};

// Compares two runs. For runs of two releases, compares only graphs (see read_renamed) and sources.
Result<RunDiff> diff_runs(const Run& a, const Run& b, const DiffOptions& options = {}, const Renames* asked = nullptr);

std::string to_text(const RunDiff& diff, const DiffStyle& style = {});
// Returns {"same","compared","stage","before","diff":{...}|"lines":"...","ours",
//  "blame":[{"rule","file","line","rewrite","node"}]}. "rule", "file" and "line" are missing if no rule, but other
// code of the stage made the node. The members "id" and "target" of `run` come first.
std::string to_json(const RunDiff& diff, const Run& run);

}  // namespace tgc
