// Where each rule stands in tinygrad 0.12.0: what `tgc patterns`, `stats` and `trace` name beside our own line. The
// table is rule_sources.def, made from an installed tinygrad by `scripts/rule_table.py sources`.
#pragma once
#include <string_view>

#include "lib/rewrite/rules.h"

namespace tgc {

// "uop/symbolic.py:42", a view that lives as long as the process; "" when tinygrad has no such rule.
std::string_view tinygrad_source(const Rule& rule);
// How many rules the table has.
size_t num_tinygrad_sources();

}  // namespace tgc
