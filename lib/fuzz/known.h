// Recognizes findings of what tinygrad 0.12.0 is known to compute wrongly, as listed in testdata/known_unsound.md.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/support/settings.h"

namespace tgc {

// The properties of a finding that decide whether it is a known one.
struct FindingTraits {
  std::string rule;     // blamed rule and branch ("RULE [BRANCH]"), or "LLVM's PASS"; empty if none
  std::string symptom;  // the kind of failure, as in `tgc reduce --while`
  std::string said;     // the message of the failure
  std::string node = {};  // the rewritten node, as a tree
  bool is_non_finite = false;      // in every differing element, the actual or expected value is NaN or infinite
  bool has_wild_constant = false;  // the kernel has a constant that does not fit its dtype
  std::map<std::string, std::string> settings;  // settings that differ from tinygrad's defaults
};

class KnownRules {
 public:
  // Reads the entries: the quoted part of each line "### `RULE [BRANCH]`", "### `RULE [BRANCH]: NODE`" or "###
  // `SYMPTOM: MESSAGE`", which one condition may precede (the file's beginning lists them). NODE is a part of the
  // rewritten node as bisect shows it, its lines joined; MESSAGE is a part of the message; `*` in both matches
  // anything.
  static Result<KnownRules> read(const std::string& path);

  // Returns the entry that matches the finding; empty if no entry matches.
  std::string entry_of(const FindingTraits& finding) const;

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace tgc
