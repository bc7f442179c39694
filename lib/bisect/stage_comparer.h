// StageComparer runs the recorded stages of a kernel in REF, and compares the arrays that they store with those that
// the kernel's AST stores.
#pragma once
#include <deque>
#include <map>
#include <set>
#include <span>

#include "lib/bisect/recorded.h"
#include "lib/compilation/pipeline.h"
#include "lib/execute/executable.h"
#include "lib/import/import.h"
#include "lib/runtime/random.h"
#include "lib/validate/kernel_trial.h"

namespace tgc {

// Arrays and variables for a run, and the expected results: from a file, or computed in REF.
struct RecordedTrial {
  Arrays inputs, expected;
  VariableValues variables;
  bool has_wide_values = false;   // the inputs may have values of other magnitudes than usual
  // the inputs have numbers of all magnitudes up to very large ones
  bool has_large_values = false;
  // the inputs are edge cases of rules, such as halves, limits and the kernel's constants
  bool has_edge_cases = false;
  bool has_given_inputs = false;  // some inputs are from a file (--inputs or a repro bundle), and not drawn at random
};

// Whether a graph stores the expected results. Differs includes a kernel fault. Unknown: it cannot be imported or run.
enum class StageResult : uint8_t { Same, Differs, Unknown };

class StageComparer {
 public:
  using StageData = Pipeline::StageData;

  StageComparer(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                const RecordedBisectPlan& plan)
      : session_(session), input_graph_(in), options_(options), report_(report), plan_(plan) {}

  // Chooses the inputs of all trials, and computes their expected results. Throws Failure if this fails for the first
  // trial, or if the AST is too large or stores nothing.
  void make_trials();
  std::deque<RecordedTrial>& trials() { return trials_; }

  // Runs a recorded graph in REF, and compares the results with the expected ones.
  StageResult outcome(const RecordedTrial& t, UOp original);
  StageResult outcome(const RecordedTrial& t, const StageData& row);
  // Like outcome(), for a graph in the middle of a stage. Returns Unknown if a RANGE is open in the graph, because only
  // some uses of the loop have been rewritten.
  StageResult outcome_of_partial_graph(const RecordedTrial& t, UOp original);
  StageResult compare_results(const RecordedTrial& t, const Result<Arrays>& done);
  // Returns, for each float array that the AST stores, a bound for the magnitude of each element's intermediate
  // results. Returns no arrays if the bounds are unknown.
  const Arrays& magnitude_bounds(const RecordedTrial& t);
  // From now on, compares the results of trial `t` with those of the recorded graph `original` instead of the AST's, if
  // REF can run it.
  void set_expected_graph(RecordedTrial& t, UOp original);
  // Returns true if REF needs so long for the AST that no other stage should be compared if the last one is right.
  bool is_large() const { return is_large_; }
  // From now on, rounding explains no difference between results.
  void require_exact_results();
  bool is_exact() const { return is_exact_; }
  // Returns true only if the kernel casts to floats, and IEEE 754 defines every float that it stores to the last bit.
  bool must_be_exact() const;

  const std::set<const StageData*>& compared_rows() const { return compared_rows_; }
  // Returns the error of the first recorded graph or list that could not be imported; "" if there is none.
  const std::string& unknown_reason() const { return unknown_reason_; }

 private:
  template <class Graph>
  Result<Arrays> run_graph(const RecordedTrial& t, const Graph& graph, bool is_ast = false);
  void add_wide_trials(const Executable& kernel, const KernelTrial& trial);
  const ImportedGraph* imported_graph(UOp original);
  void clear_outcomes();
  void count_elements(const RecordedTrial& t, const std::vector<Comparison>& arrays);

  const Session& session_;
  InputGraph& input_graph_;
  const RunOptions& options_;
  BisectReport& report_;
  const RecordedBisectPlan plan_;
  std::deque<RecordedTrial> trials_;
  std::map<std::pair<const RecordedTrial*, uint32_t>, StageResult> graph_outcomes_;
  std::map<std::pair<const RecordedTrial*, const StageData*>, StageResult> list_outcomes_;
  std::map<uint32_t, ImportedGraph> imported_graphs_;
  std::set<const StageData*> compared_rows_;
  std::map<const RecordedTrial*, Arrays> magnitude_bounds_;
  std::map<const RecordedTrial*, BisectCounts> counted_elements_;
  std::string unknown_reason_;
  bool is_exact_ = false, has_float_sums_ = false, is_large_ = false;
};

}  // namespace tgc
