// Mutants of rules: copies of rules with one small error each, which test that `tgc prove --rules` refutes wrong rules.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

struct ResultChange {
  enum class Kind : uint8_t {
    Constant,   // `value` is added to a constant number; a constant bool becomes the other bool
    Op,
    Dropped,    // the node is replaced by its source number `value`, so that the other sources are dropped
    Exchanged,  // the last two sources are exchanged
    Name,       // the node that the pattern binds to one name becomes the node that it binds to another name
  };
  Kind kind = Kind::Constant;
  std::vector<uint8_t> path = {};  // source numbers that lead from the root of the right side to the changed node
  Op op = Op::NOOP;                // the op that the changed node must have, except for Name
  Op new_op = Op::NOOP;
  int old_name = -1, new_name = -1;
  int value = 0;
  auto operator<=>(const ResultChange&) const = default;
  bool operator==(const ResultChange&) const = default;
};

struct MutantRightSide {
  enum class GuardChange : uint8_t { Kept, Dropped, Negated };
  const Rule* original = nullptr;
  std::vector<RuleFolding> foldings = {};
  uint64_t bound_names = 0;            // the names that the pattern binds, as a bit set
  GuardChange guard_change = GuardChange::Kept;
  // the guard that is dropped or negated: its folding, and its index there, from 0
  size_t folding_index = 0, guard_index = 0;
  bool has_result_change = false;
  ResultChange change = {};
};

struct RuleMutant {
  std::shared_ptr<const MutantRightSide> right;
  Rule rule;
  std::string change_text;  // the change as text, such as "guard products_match(c1, c2, c3) dropped"
};

// Returns the mutants of a rule. Each makes a node that the rule does not make, for at least one instance of its
// pattern.
std::vector<RuleMutant> mutants_of_rule(const Rule& rule);

// Calls visit(before, after, match) for each instance of the pattern that the rule rewrites, until `visit` returns
// false. Visits only the first instances if there are very many. Returns true if all were visited.
using VisitInstance = std::function<bool(UOp before, UOp after, const PatternMatch& match)>;
bool for_each_instance(const Rule& rule, const VisitInstance& visit);

}  // namespace tgc
