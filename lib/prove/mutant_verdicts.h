// prove_mutants: decides mutants of rules as `tgc prove --rules` decides rules.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/prove/mutants.h"
#include "lib/prove/prove_rules.h"

namespace tgc {

struct MutantOptions {
  size_t num_mutants_to_draw = 300;
  uint64_t seed = 1;
  // if not empty, draws only mutants whose line of text (rule, location and change) contains one of these texts
  std::vector<std::string> name_filters = {};
};

struct MutantReport {
  size_t num_candidates = 0;  // number of mutants from which prove_mutants() draws
  size_t num_refuted = 0;     // number of mutants with a counterexample, which REF confirms
  // The number of mutants that are refuted only by comparison with their rules.
  size_t num_refuted_beside_rule = 0;
  size_t num_equivalent = 0;
  size_t num_open = 0;
  size_t num_drawn() const { return num_refuted + num_equivalent + num_open; }
};

// Draws mutants of value rules, decides each, and calls print() with text about it.
MutantReport prove_mutants(const MutantOptions& options, const std::function<void(const std::string&)>& print);

}  // namespace tgc
