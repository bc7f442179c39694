// Runs the recorded stages of a kernel of another tinygrad release in REF, for several draws of inputs, and compares
// what they store with what the kernel's AST stores.
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

// Arrays and variables for a run, and the results that REF computes from the AST.
struct RecordedTrial {
  Arrays inputs, expected;
  VariableValues variables;
  bool is_wide = false;   // the inputs have values of all sizes
  bool is_large = false;  // the inputs have numbers up to the dtype's largest ones
  bool is_edge = false;   // the inputs are numbers near which rules change what they do
  bool is_given = false;  // the inputs are those of the options, not drawn
};

// Unknown: the graph cannot be imported or run.
enum class StageResult : uint8_t { Same, Differs, Unknown };

class StageComparer {
 public:
  using Row = Pipeline::Row;

  StageComparer(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                const RecordedPlan& plan)
      : session_(session), in_(in), options_(options), report_(report), plan_(plan) {}

  // Draws the inputs. Throws Failure if the AST cannot be run, or stores nothing.
  void make_trials();
  std::deque<RecordedTrial>& trials() { return trials_; }

  // Run a recorded graph, or the graph or linear list of a row.
  StageResult outcome(const RecordedTrial& t, UOp original);
  StageResult outcome(const RecordedTrial& t, const Row& row);
  // Runs the graph after some rewrites of a stage. Returns Unknown if only some uses of a loop have been rewritten.
  StageResult outcome_of_part(const RecordedTrial& t, UOp original);
  StageResult compare(const RecordedTrial& t, const Result<Arrays>& done);
  // Returns, for each array that the AST stores, the magnitudes that its operations reach (with_magnitudes); no array
  // if these are unknown.
  const Arrays& magnitudes(const RecordedTrial& t);
  // Compares with what the recorded graph `original` stores from now on, not with the AST.
  void rebase(RecordedTrial& t, UOp original);
  // Returns whether a run of the AST takes so long that only the last stage should be compared.
  bool is_large() const { return is_large_; }
  // Compares bit by bit from now on, not up to rounding.
  void set_exact();
  bool is_exact() const { return is_exact_; }
  // Returns whether every float that the kernel stores is defined to the last bit.
  bool must_be_exact() const;

  const std::set<const Row*>& compared_rows() const { return compared_rows_; }
  // Why the first row that cannot be compared cannot; "" if there is none.
  const std::string& unknown_reason() const { return unknown_reason_; }

 private:
  template <class Graph>
  Result<Arrays> run(const RecordedTrial& t, const Graph& graph, bool is_ast = false);
  void add_wide_trials(const Executable& kernel, const KernelTrial& trial);
  const ImportedGraph* imported(UOp original);
  void clear_outcomes();

  const Session& session_;
  InputGraph& in_;
  const RunOptions& options_;
  BisectReport& report_;
  const RecordedPlan plan_;
  std::deque<RecordedTrial> trials_;
  std::map<std::pair<const RecordedTrial*, uint32_t>, StageResult> outcomes_;  // by trial and id of the recorded graph
  std::map<std::pair<const RecordedTrial*, const Row*>, StageResult> list_outcomes_;
  std::map<uint32_t, ImportedGraph> imported_;  // by id of the recorded graph
  std::set<const Row*> compared_rows_;
  std::map<const RecordedTrial*, Arrays> magnitudes_;
  std::string unknown_reason_;
  bool is_exact_ = false, has_float_sums_ = false, is_large_ = false;
};

}  // namespace tgc
