// Makes nodes that the pattern of a rule matches, with small random expressions in place of its names and with random
// constants. Rules that depend on bounds, or on the form of their operands, are wrong for such nodes only.
#pragma once
#include <random>

#include "lib/prove/prove_rules.h"
#include "lib/prove/rule_instances.h"

namespace tgc {

class RandomInstances : public RuleInstances {
 public:
  RandomInstances(const Rule& rule, uint64_t seed) : RuleInstances(rule, false), random_(seed) {}
  // Makes the next instance; the empty UOp for random choices that make no valid node.
  UOp make(Graph& graph);

 protected:
  size_t pick(size_t n) override { return random_() % n; }
  UOp leaf(DType d) override { return expression(d, int(random_() % 3)); }
  Const number(DType d) override;

 private:
  UOp expression(DType d, int depth);
  bool one_in(size_t n) { return random_() % n == 0; }

  std::mt19937_64 random_;
  std::vector<Int> constants_;  // constants of this instance
};

// Evaluates up to `count` random instances of the rule in REF. If one of them is refuted, makes `out` refuted.
void refute_rule(const Rule& rule, size_t count, RuleProof& out);

}  // namespace tgc
