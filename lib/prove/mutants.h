// Mutants of rules: copies of rules with one small error each. They test that `tgc prove --rules` refutes wrong rules.
// lib/prove/README.md says which errors there are. A mutant is made at run time from the data of its rule: its pattern,
// its guards, and the nodes that its right side makes.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// One change of a node that a right side makes.
struct ResultChange {
  enum class Kind : uint8_t {
    Constant,  // another number: plus `value`; the other bool
    Op,  // another op: `to`
    Dropped,  // an operand is dropped: the source number `value` takes the place of the node
    Exchanged,  // the last two sources change places
    Name,  // another bound node: that of the name `to_name`, not that of the name `name`
  };
  Kind kind = Kind::Constant;
  std::vector<uint8_t> path = {};  // numbers of sources, from the root of the right side to the changed node
  Op op = Op::NOOP;  // the op of the changed node; a node with another op is not changed
  Op to = Op::NOOP;
  int name = -1, to_name = -1;
  int value = 0;
  auto operator<=>(const ResultChange&) const = default;
  bool operator==(const ResultChange&) const = default;
};

// The right side of a mutant: that of the original rule, with one error.
struct MutantRight {
  enum class Guard : uint8_t { Kept, Dropped, Negated };
  const Rule* original = nullptr;
  std::vector<Folding> foldings = {};  // foldings of the original rule
  uint64_t names = 0;  // bit set of the names that the pattern binds
  Guard guard = Guard::Kept;
  size_t folding = 0, number = 0;  // the guard that is dropped or negated: its folding, and its number there
  bool has_change = false;
  ResultChange change = {};
};

struct Mutant {
  std::shared_ptr<const MutantRight> right;
  Rule rule;  // a rule like any other; it refers to `right`
  std::string what;  // the change, as text: "guard products_match(c1, c2, c3) dropped"
};

// Returns the mutants of a rule, in an order that depends on the rule alone. Each of them makes, for at least one
// instance of its pattern, another node than the rule does.
std::vector<Mutant> mutants_of(const Rule& rule);

// Calls visit(before, after, match) for instances of the rule until it returns false. `match` has the nodes that the
// names are bound to. Returns whether these were all instances; of very many, only the first ones are visited.
using VisitInstance = std::function<bool(UOp before, UOp after, const Match& match)>;
bool for_each_instance(const Rule& rule, const VisitInstance& visit);

}  // namespace tgc
