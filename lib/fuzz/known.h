// Recognizes findings that are listed in a table of known unsound rules, such as testdata/known_unsound.md.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

struct FindingTraits {
  std::string rule;     // the blamed "RULE [BRANCH]", or "LLVM's PASS"
  std::string symptom;  // as in `tgc reduce --while`
  std::string message;
  std::string node = {};  // the rewritten node, as bisect prints it
  bool is_non_finite = false;      // the results differ only where one is NaN, infinite or the largest fp8 number
  bool has_out_of_range_constant = false;  // the kernel has a constant outside the range of its dtype
  std::map<std::string, std::string> settings;  // those that differ from their defaults
};

class KnownRules {
 public:
  // Reads the entries of a table: the quoted parts of lines such as "### `RULE [BRANCH]`", "### `RULE [BRANCH]: NODE`"
  // and "### `SYMPTOM: MESSAGE`". A condition may precede an entry: "non-finite, RULE" (see testdata/known_unsound.md).
  // NODE is a part of the rewritten node as bisect prints it, in one line. MESSAGE is a part of the message. In both,
  // `*` matches any text.
  static Result<KnownRules> read(const std::string& path);
  // Returns the entries of testdata/known_unsound*.md, which are compiled into the program.
  static KnownRules built_in_rules();

  // Returns the first matching entry, or else the entry for constants outside the range of their dtype if the finding
  // has one; "" if there is none.
  std::string entry_of_finding(const FindingTraits& finding) const;

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  void add_table(std::string_view markdown);
  std::vector<std::string> entries_;
};

}  // namespace tgc
