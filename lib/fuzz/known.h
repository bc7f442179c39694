// Recognizes findings that are listed in a table of known unsound rules of tinygrad, such as testdata/known_unsound.md.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// The properties of a finding that the entries of a table can name.
struct FindingTraits {
  std::string rule;     // the blamed "RULE [BRANCH]", or "LLVM's PASS"; empty if no rule or pass is blamed
  std::string symptom;  // the kind of failure, as in `tgc reduce --while`
  std::string message;  // the message of the failure
  std::string node = {};  // the rewritten node, as a tree of text lines
  bool is_non_finite = false;      // true if in every differing element, one of the two values is NaN or infinite
  bool has_wild_constant = false;  // true if the kernel has a constant outside the range of its dtype
  std::map<std::string, std::string> settings;  // settings that differ from tinygrad's defaults
};

class KnownRules {
 public:
  // Reads the entries of a table: the quoted parts of lines such as "### `RULE [BRANCH]`", "### `RULE [BRANCH]: NODE`"
  // and "### `SYMPTOM: MESSAGE`". A condition may precede an entry: "non-finite, RULE" (see testdata/known_unsound.md).
  // NODE is a part of the rewritten node as bisect prints it, in one line. MESSAGE is a part of the message. In both,
  // `*` matches any text.
  static Result<KnownRules> read(const std::string& path);
  // Returns the entries of all tables testdata/known_unsound*.md, which are compiled into the program.
  static KnownRules built_in_rules();

  // Returns the first entry that matches the finding. If none matches and the kernel has a constant outside the range
  // of its dtype, returns the entry for such constants. Else returns "".
  std::string entry_of_finding(const FindingTraits& finding) const;

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  void add_table(std::string_view markdown);
  std::vector<std::string> entries_;
};

}  // namespace tgc
