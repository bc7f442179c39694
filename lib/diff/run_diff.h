// Compares two runs of the pipeline on one kernel or tensor graph, stage by stage. If tgc reproduces one of two results
// that differ, finds the rules that made the differing nodes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/records/golden.h"
#include "lib/support/ci_report.h"

namespace tgc {

struct StageText {
  std::string stage;  // tinygrad's name, such as "postopt symbolic"; "ast" for the run's input
  std::string text;
  bool is_graph;      // false if texts are compared line by line
};

struct CompileRun {
  std::string id, target;  // `target` is empty for a tensor graph or a folder
  std::string file;        // the recording or folder that has the run
  std::map<std::string, std::string> settings;
  std::vector<StageText> texts;
  std::string producer = {};   // such as "tinygrad 0.14.0"; empty: 0.12.0 or tgc
};

// Returns the name of the stage that `text`, a name, alias or slug, denotes; `text` itself if tgc does not know it.
std::string stage_name(std::string_view text);

CompileRun run_of_record(const GoldenRecord& record, const GoldenHeader& header, std::string file);
// Returns text number `index` (from 0) among those whose stage is called `stage` after `renames`; null if there is
// none.
const StageText* find_stage_text(const CompileRun& run, std::string_view stage, size_t index,
                                 const RenameTable& renames);
// Reads the runs of a folder that `tgc dump -o` wrote, one per kernel, from the files KERNEL.NN.STAGE.EXT. Fails if
// the folder or a file cannot be read, or if there are no such files.
Result<std::vector<CompileRun>> runs_of_folder(const std::string& path);

// A text to compare. `file` is for messages; `producer` is the release of a text that names none.
struct ComparedText {
  std::string_view text, file, producer = {};
};

// Reads two graphs into `graph`. If one is tinygrad's pyrender text, which omits facts such as the dtype of a REDUCE,
// removes these facts from the other graph, too. Fails if a text cannot be read.
Result<std::pair<UOp, UOp>> read_graph_pair(Graph& graph, const ComparedText& a, const ComparedText& b);

// Like read_graph_pair(), but also converts graphs of two known releases to the names of the later one.
// `asked_renames`, if given, replaces the known renames.
Result<std::pair<UOp, UOp>> read_renamed_pair(Graph& graph, const ComparedText& a, const ComparedText& b,
                                              const RenameTable* asked_renames = nullptr);

// The origin of a node that differs: a rule of tgc, or other code of the stage if `rule` is empty.
struct BlamedRewrite {
  std::string rule, file;
  uint32_t line = 0;
  std::string rewrite;  // graph rewrites around the rule, outermost first: "apply rangeify > reshape"
  std::string node;     // as a line of text
};

struct RunDiff {
  bool is_same = true;
  size_t num_compared = 0;       // number of compared stages, including the first that differs
  std::string first_different_stage;
  const StageText *text_a = nullptr, *text_b = nullptr;  // the results of the last compared stage
  std::string last_same_stage;
  GraphDiff graph_difference;           // by nodes, if the first different stage makes a graph
  std::string line_difference;         // by lines, if that stage makes another text
  std::string reproduced_run;  // "A" or "B": the run whose result tgc reproduces; may be empty
  std::vector<BlamedRewrite> blamed_rewrites;
};

// Compares two runs, up to the first stage whose results differ. If they are of two releases, compares only graphs and
// sources. Fails if no stage can be compared, or if a graph cannot be read.
Result<RunDiff> diff_runs(const CompileRun& a, const CompileRun& b, const DiffOptions& options = {},
                          const RenameTable* asked_renames = nullptr);

std::string diff_as_text(const RunDiff& diff, const DiffStyle& style = {});
// Returns the result as JSON: {"id","target" (of `run`),"same","compared","stage","before","diff":{...}|"lines":"...",
// "ours","blame":[{"rule","file","line","rewrite","node"}]}. Members after "compared" are omitted if they have no
// value, or if the runs are the same.
std::string diff_as_json(const RunDiff& diff, const CompileRun& run);

CiReport make_diff_ci_report();  // an empty report of `tgc diff`

// Return the CI case of one comparison. A difference is reported in `file`.
CiCase make_ci_case(const std::string& name, const std::string& file, const GraphDiff& diff);
CiCase make_ci_case(const CompileRun& run, const std::string& file, const RunDiff& diff);

}  // namespace tgc
