// Finds the rule that made two recordings of one graph differ, from the rule matches that both recorded.
#pragma once
#include <string>

#include "lib/records/golden.h"
#include "lib/uop/graph.h"

namespace tgc {

struct ReplayCulprit {
  // tinygrad's rule, "uop/symbolic.py:217"; "A -> B" if rule B rewrote a node in place of rule A; empty: unknown
  std::string rule;
  std::string first_match;  // if the rule is unknown: the rule of the first match that differs; may be empty
};

// `stage` is the first stage whose results differ; `result_a` and `result_b` are its results, in one Graph. The rule is
// one that matched in one recording only, and preferably rewrote a node which the other recording has after the stage.
// Rules of uop/ops.py substitute and remove tags: they do what another rule asks for, and are skipped.
ReplayCulprit find_culprit(const GoldenRecord& a, const GoldenRecord& b, const std::string& producer,
                           const std::string& stage, UOp result_a, UOp result_b);

}  // namespace tgc
