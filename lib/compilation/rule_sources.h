// The files and lines where tinygrad 0.12.0 defines the rules. `scripts/tools/rule_table.py sources` generates
// rule_sources.def from an installed tinygrad.
#pragma once
#include <string_view>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns tinygrad's file and line of `rule`, such as "uop/symbolic.py:42"; empty if tinygrad has no such rule.
std::string_view tinygrad_source(const Rule& rule);
size_t num_tinygrad_sources();

}  // namespace tgc
