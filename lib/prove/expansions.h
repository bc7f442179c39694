// Stages that replace LOG2, EXP2 or SIN by approximations. A rule applied inside an approximation, such as x * 0 -> 0,
// need not hold for all values of its operands. So such a stage is decided as two steps: it rewrites the graph without
// the approximations, and then replaces each function by the whole approximation.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/prove/approximations.h"
#include "lib/prove/rewrite_history.h"

namespace tgc {

struct UnexpandedStage {
  struct Expansion {
    size_t rewrite_index;
    UOp function;
    Approximation approximation;
    ApproximationError approximation_error;
  };
  std::vector<Expansion> expansions;
  // By index in RewriteHistory::applications(): the sides of the rewrites that lead from `input` to `result`.
  std::map<size_t, RewriteSides> rewrites;
  UOp input, result;  // the stage's input, and its result with functions in place of their approximations

  // Returns the graph after the rewrites with indices up to `last`; the empty UOp if they cannot be repeated.
  UOp replay_rewrites(size_t last) const;
};

// Returns the stage without those approximations whose errors are known and at most kMaxUlp; nullopt if there are none,
// or if the stage is no single graph rewrite that can be repeated with and without them. Adds to `open`, by index of
// the rewrite, why an error is unknown or too large.
std::optional<UnexpandedStage> remove_expansions(RewriteHistory& history, const HistoryStage& stage,
                                                 std::map<size_t, std::string>& open);

}  // namespace tgc
