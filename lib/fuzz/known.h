// Recognizes findings that a table testdata/known_unsound*.md lists: known wrong results of a tinygrad release.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// The properties of a finding that entries of the list can name.
struct FindingTraits {
  std::string rule;     // the blamed "RULE [BRANCH]", or "LLVM's PASS"; empty: none
  std::string symptom;  // the kind of failure, as in `tgc reduce --while`
  std::string said;     // the message of the failure
  std::string node = {};  // the rewritten node, as a tree of text lines
  bool is_non_finite = false;      // in every differing element, one of the values is NaN or infinite
  bool has_wild_constant = false;  // the kernel has a constant outside the range of its dtype
  std::map<std::string, std::string> settings;  // settings that differ from tinygrad's defaults
};

class KnownRules {
 public:
  // Reads the entries, which are the quoted parts of lines such as "### `RULE [BRANCH]`", "### `RULE [BRANCH]: NODE`"
  // and "### `SYMPTOM: MESSAGE`". A condition may precede an entry (the beginning of the file lists the conditions).
  // NODE is a part of the rewritten node as bisect prints it, in one line. MESSAGE is a part of the message. In both,
  // `*` matches any text.
  static Result<KnownRules> read(const std::string& path);
  static KnownRules built_in();  // the entries of all tables testdata/known_unsound*.md, which the program contains

  // Returns the first entry that matches the finding; "" if no entry matches.
  std::string entry_of(const FindingTraits& finding) const;

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  void add_table(std::string_view markdown);
  std::vector<std::string> entries_;
};

}  // namespace tgc
