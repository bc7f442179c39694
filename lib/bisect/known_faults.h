// The known faults of tinygrad's rules: the tables testdata/known_unsound*.md, which are built in. An entry has a line
//   Rule: `BEFORE -> AFTER` in `FILE`
// The two patterns describe the rewrites that the entry explains, whatever the line of the rule is in a release.
// A pattern is OP:DTYPE(SOURCES), a number, or a variable of lowercase letters, which stands for one node; `c0`, `c1`,
// ... stand for constants. AFTER may be a variable, a number, or a pattern with sums of constants (`c1-c0`). A line
// that ends with ", if it opens a loop" explains only rewrites whose result uses a loop outside of this loop
// (opened_loop.h).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

struct KnownFault {
  std::string name;     // the heading: the rule in the release where the fault was found, "uop/symbolic.py:165"
  std::string text;     // the first sentences of the entry
  std::string file;     // tinygrad's file with the rule
  std::string before, after;  // the patterns
  bool opens_loop = false;  // the rewrite must open a loop
  std::string issue;    // the address of tinygrad's issue; empty: none
  std::string program;  // Python that shows the fault without tgc
};

// Returns the entries of all tables that have a `Rule:` line.
std::span<const KnownFault> known_faults();
// Reads the entries of one table.
std::vector<KnownFault> read_known_faults(std::string_view markdown);

// Returns the entry that explains the rewrite of `before` to `after` by the rule at `place` ("uop/symbolic.py:217");
// null if none does.
const KnownFault* known_fault_of(std::string_view place, UOp before, UOp after);
// Returns whether the patterns describe the rewrite.
bool matches_rewrite(std::string_view before_pattern, std::string_view after_pattern, UOp before, UOp after);

// The texts of testdata/known_unsound*.md. The build generates the definition.
extern const std::span<const std::string_view> kKnownTables;

}  // namespace tgc
