// Compares two runs of the pipeline on one kernel or tensor graph. Runs are read from golden records or from folders
// that `tgc dump` wrote. Finds the first stage whose results differ and, if tgc's own stage makes one of the two
// results, the rules of tgc that made the differing nodes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/records/golden.h"
#include "lib/support/ci_report.h"

namespace tgc {

// The result of one stage.
struct RunText {
  std::string stage;  // tinygrad's name of the stage, such as "postopt symbolic"; "ast" for the run's input
  std::string text;
  bool is_graph;      // true if `text` is a graph in any format; false if texts are compared line by line
};

struct Run {
  std::string id, target;  // `target` is empty for a tensor graph
  std::string file;        // path of the recording or folder, for messages
  std::map<std::string, std::string> settings;
  std::vector<RunText> texts;  // results of the stages, in order
  std::string producer = {};   // for example "tinygrad 0.14.0"; empty: 0.12.0 or tgc
};

// Returns the name of the stage that `text`, a name, alias or slug of a recording or file, denotes; `text` itself if
// tgc does not know the stage.
std::string stage_name(std::string_view text);

Run run_of_record(const GoldenRecord& record, const GoldenHeader& header, std::string file);
// Returns text number `index` (from 0) among the texts of `run` whose stage is called `stage` after `renames`; null if
// there is none.
const RunText* find_text(const Run& run, std::string_view stage, size_t index, const Renames& renames);
// Reads the runs of a folder that `tgc dump -o` wrote, one run per kernel, from the files KERNEL.NN.STAGE.EXT. Ignores
// other files. Returns an error if the folder or a file cannot be read, or if the folder has no such file.
Result<std::vector<Run>> runs_of_folder(const std::string& path);

// A text to compare. `file` names it in messages; `producer` is the release of a text that names no release.
struct ComparedText {
  std::string_view text, file, producer = {};
};

// Reads two graphs into `graph` to compare them. tinygrad's pyrender omits some facts, such as the dtype of a REDUCE.
// If only one of the texts is such pyrender text, removes these facts from the other graph, so that they are no
// difference.
Result<std::pair<UOp, UOp>> read_graph_pair(Graph& graph, const ComparedText& a, const ComparedText& b);

// Like read_graph_pair(), but also converts both graphs to the names of the later release. `asked`, if given, replaces
// the renames between the two releases (renames.h).
Result<std::pair<UOp, UOp>> read_renamed_pair(Graph& graph, const ComparedText& a, const ComparedText& b,
                                         const Renames* asked = nullptr);

// The origin of a node that differs: a rule of tgc, or other code of the stage if `rule` is empty.
struct BlamedRewrite {
  std::string rule, file;
  uint32_t line = 0;
  std::string rewrite;  // the graph rewrites in which the rule applied: "apply rangeify > reshape"
  std::string node;     // the node as a line of text
};

struct RunDiff {
  bool is_same = true;
  size_t num_compared = 0;       // number of stages that were compared, up to the first that differs
  std::string first_different_stage;         // the first stage that differs; empty if none does
  const RunText *text_a = nullptr, *text_b = nullptr;  // the results of the last compared stage
  std::string last_same_stage;        // the last compared stage whose results are equal; empty if there is none
  GraphDiff graph_difference;           // the difference after the first different stage, if it makes a graph
  std::string line_difference;         // the same by lines, if that stage makes another text
  std::string reproduced_run;  // the run whose result tgc reproduces: "A" or "B"; empty if tgc reproduces neither
  std::vector<BlamedRewrite> blamed_rewrites;  // origins of the differing nodes of the run `reproduced_run`
};

// Compares two runs, up to the first stage whose results differ. If they are of two releases, compares only graphs (as
// read_renamed_pair() reads them) and sources. Fails if the runs have no stage in common, or if a graph cannot be read.
Result<RunDiff> diff_runs(const Run& a, const Run& b, const DiffOptions& options = {}, const Renames* asked = nullptr);

std::string to_text(const RunDiff& diff, const DiffStyle& style = {});
// Returns the result as JSON: {"id","target" (of `run`),"same","compared","stage","before","diff":{...}|"lines":"...",
// "ours","blame":[{"rule","file","line","rewrite","node"}]}. Members without a value are omitted; all after "compared"
// if the runs are the same.
std::string to_json(const RunDiff& diff, const Run& run);

// Cases of CI reports (lib/support/ci_report.h) for differences of graphs and runs.
CiReport diff_ci_report();  // returns an empty report of `tgc diff`

// Return the CI case of one comparison. `file` is the file in which a difference is reported.
CiCase ci_case(const std::string& name, const std::string& file, const GraphDiff& diff);
CiCase ci_case(const Run& run, const std::string& file, const RunDiff& diff);

}  // namespace tgc
