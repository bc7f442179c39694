// prove_mutants: decides mutants of rules as `tgc prove --rules` decides rules. lib/prove/README.md defines the
// verdicts.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/prove/mutants.h"
#include "lib/prove/prove_rules.h"

namespace tgc {

struct MutantOptions {
  size_t num_to_draw = 300;  // number of mutants to draw
  uint64_t seed = 1;         // seed of the random choice
  // if not empty: only mutants whose name, place or change contains one of these
  std::vector<std::string> name_filters = {};
};

struct MutantReport {
  size_t num_candidates = 0;  // number of mutants of all rules
  size_t num_refuted = 0;     // number of refuted mutants; REF confirms each counterexample
  // The number of refuted mutants that are refuted only by comparison with the rule: the rule preserves a NaN, an
  // infinity or a sign of zero that the mutant changes, or has a smaller error.
  size_t num_refuted_by_rule = 0;
  size_t num_equivalent = 0;  // number of mutants whose sides are proven equal for all values of each instance
  size_t num_open = 0;        // number of mutants that are neither refuted nor equivalent
  size_t num_drawn() const { return num_refuted + num_equivalent + num_open; }
};

// Draws mutants of those value rules that are not refuted themselves. Decides each mutant, and calls print() with a
// line of text about it.
MutantReport prove_mutants(const MutantOptions& options, const std::function<void(const std::string&)>& print);

}  // namespace tgc
