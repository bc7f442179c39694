// The known faults of tinygrad's rules: the tables testdata/known_unsound*.md, built into tgc. An entry may have a line
//   Rule: `BEFORE -> AFTER` in `FILE`
// An entry explains the rewrites by rules of FILE whose sides match the patterns BEFORE and AFTER; line numbers do not
// matter, because they differ between releases. A pattern is OP:DTYPE(SOURCES), a number, or VARIABLE:DTYPE. A variable
// is a lowercase word that stands for one node; `c0` to `c9` stand for constants. `:DTYPE` and `(SOURCES)` may be
// absent; DTYPE `int` matches all integers. The sources of ADD, MUL and MAX match in either order. AFTER may contain
// differences of constants (`c1-c0`). An entry whose line ends with ", if it opens a loop" explains only rewrites whose
// result uses a loop outside of this loop (opened_loop.h).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

struct KnownFault {
  std::string name;     // the entry's heading: the rule in the release with the fault, such as "uop/symbolic.py:165"
  std::string description;
  std::string rule_file;
  std::string before_pattern, after_pattern;
  bool is_only_for_opened_loops = false;  // the `Rule:` line ends with ", if it opens a loop"
  std::string issue_url;    // the URL of the issue in tinygrad's repository; empty if there is none
  std::string program_text;
};

// Returns the entries of all tables that have a `Rule:` line.
std::span<const KnownFault> known_faults();
// Reads the entries of one table, except those without a `Rule:` line.
std::vector<KnownFault> read_known_faults(std::string_view markdown);

// Returns the entry that explains the rewrite of `before` to `after` by the rule at `place` ("uop/symbolic.py:217");
// null if none does.
const KnownFault* known_fault_of_rewrite(std::string_view place, UOp before, UOp after);
bool matches_rewrite(std::string_view before_pattern, std::string_view after_pattern, UOp before, UOp after);

// The texts of testdata/known_unsound*.md. The build generates the definition.
extern const std::span<const std::string_view> kKnownFaultTables;

}  // namespace tgc
