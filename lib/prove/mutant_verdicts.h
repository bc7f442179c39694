// Decides mutants of rules as `tgc prove --rules` decides rules. lib/prove/README.md says what the verdicts mean.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/prove/mutants.h"
#include "lib/prove/prove_rules.h"

namespace tgc {

struct MutantOptions {
  size_t count = 300;
  uint64_t seed = 1;
  std::vector<std::string> texts = {};  // if any: only mutants of which name, place or change contains one of them
};

struct MutantReport {
  size_t candidates = 0;  // number of mutants of all rules
  size_t refuted = 0;  // each counterexample is confirmed by REF
  // number of refuted mutants where the rule keeps a NaN, an infinity or a sign, or has a smaller error
  size_t refuted_by_rule = 0;
  size_t equivalent = 0;  // both sides are proven equal for all values of each instance
  size_t open = 0;
  size_t drawn() const { return refuted + equivalent + open; }
};

// Draws mutants of all value rules that are not refuted themselves. Decides each mutant as `tgc prove --rules` decides
// a rule, and calls print(line) for each.
MutantReport prove_mutants(const MutantOptions& options, const std::function<void(const std::string&)>& print);

}  // namespace tgc
