// Two runs of the pipeline on one kernel or tensor graph: what each made at every stage, as golden records and dumped
// folders hold it. The comparison aligns the stages, finds the first that differs, and names the rules of ours that
// made what differs there.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/text/golden.h"

namespace tgc {

// What a run has to show of one stage.
struct RunText {
  std::string stage;  // tinygrad's name: "postopt symbolic"; "ast" for what the run began with
  std::string text;
  bool is_graph;      // a graph in any format that is read; else text that is compared line by line
};

struct Run {
  std::string id, target;  // no target: a tensor graph
  std::string file;        // where it is from, for messages
  std::map<std::string, std::string> settings;
  std::vector<RunText> texts;  // in order
  std::string producer = {};   // "tinygrad 0.14.0"; empty: 0.12.0, or tgc
};

Run run_of(const GoldenRecord& record, const GoldenHeader& header, std::string file);
// Returns the text number `index` of those whose stage has that name in the later release; null if there is none.
const RunText* find_text(const Run& run, std::string_view stage, size_t index, const Renames& renames);
// The runs in a folder of files KERNEL.NN.STAGE.EXT, as `tgc dump -o` writes them, by kernel.
Result<std::vector<Run>> runs_of_folder(const std::string& path);

// Two texts of graphs as nodes of `graph` that can be compared. tinygrad's pyrender loses facts, such as the dtype of a
// REDUCE: what one side does not say is no difference, so where one text is such a one and the other says all of its
// graph, that is taken as pyrender would say it. `file_a` and `file_b` name the texts in messages.
Result<std::pair<UOp, UOp>> read_alike(Graph& graph, std::string_view text_a, const std::string& file_a,
                                       std::string_view text_b, const std::string& file_b);

// The same by the names of the later of the two releases that the texts say they are of: `asked`, or else those between
// the two (renames.h).
Result<std::pair<UOp, UOp>> read_renamed(Graph& graph, std::string_view text_a, const std::string& file_a,
                                         std::string_view text_b, const std::string& file_b,
                                         const Renames* asked = nullptr);

// What of ours made a node of the first stage that differs: a rule; or code of the stage, then there is no rule.
struct Blame {
  std::string rule, file;
  uint32_t line = 0;
  std::string rewrite;  // where it happened: "apply rangeify", "apply rangeify > reshape"
  std::string node;  // as a line
};

struct RunDiff {
  bool same = true;
  size_t compared = 0;          // stages that both runs show
  std::string stage;            // the first that differs
  std::string before;           // the stage that both show just before it
  GraphDiff graph;              // of that stage, when it is a graph
  std::string lines;            // else: a line diff
  std::string ours;             // which of the runs tgc makes too: "A", "B", or empty
  std::vector<Blame> blame;     // rules that made what differs there, on that side
};

// Of two releases the graphs, by the later one's names as read_renamed has it, and the sources alone are compared.
Result<RunDiff> diff_runs(const Run& a, const Run& b, const DiffOptions& options = {}, const Renames* asked = nullptr);

std::string to_text(const RunDiff& diff, const DiffStyle& style = {});
// {"same","compared","stage","before","diff":{...}|"lines":"...","ours",
//  "blame":[{"rule","file","line","rewrite","node"}]}; no rule, file and line where code of the stage made the node
// "id" and "target" before these: of `run`.
std::string to_json(const RunDiff& diff, const Run& run);

}  // namespace tgc
