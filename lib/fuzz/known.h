// What tinygrad 0.12.0 is known to compute wrongly, as testdata/known_unsound.md lists it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// What of a finding tells whether it is known.
struct FindingTraits {
  std::string rule;     // with its branch, as in a heading, or "LLVM's PASS"; empty: no rule is to blame
  std::string symptom;  // by a name of `tgc reduce --while`
  std::string said;
  std::string node = {};  // of a rewrite: what was rewritten, as a tree
  bool is_non_finite = false;      // each element that is off is a NaN or an infinity, or should be
  bool has_wild_constant = false;  // the kernel has a constant that its dtype does not hold
  std::map<std::string, std::string> settings;  // those that are not tinygrad's defaults
};

class KnownRules {
 public:
  // Of each line "### `RULE [BRANCH]`", "### `RULE [BRANCH]: NODE`" or "### `SYMPTOM: MESSAGE`" what is quoted, before
  // which may stand one condition (the file's beginning tells which). NODE is a part of what was rewritten, as bisect
  // shows it, its lines one after another; MESSAGE a part of what is said; in both `*` stands for anything.
  static Result<KnownRules> read(const std::string& path);

  // The entry that tells of it; empty: none does.
  std::string entry_of(const FindingTraits& finding) const;

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace tgc
