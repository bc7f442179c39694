// The file and line of each rule in tinygrad 0.12.0, which `tgc patterns`, `stats` and `trace` print beside tgc's line.
// `scripts/rule_table.py sources` generates the table, rule_sources.def, from an installed tinygrad.
#pragma once
#include <string_view>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns "uop/symbolic.py:42", a view of static data; empty if tinygrad has no such rule.
std::string_view tinygrad_source(const Rule& rule);
// Returns the number of rules in the table.
size_t num_tinygrad_sources();

}  // namespace tgc
