// Which rules were ever hit in this process: tells what tests leave out.
#pragma once
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Notes that these are tried from now on.
void note_rules(const std::vector<const Rule*>& rules);

// Notes that the rule made a node of another, or gated one.
void note_hit(const Rule& rule);

// Whether the rule was noted since the process began, or was tried with a context to change.
bool was_hit(const Rule& rule);

// The rules of all sets that anything was matched with since the process began, by id; copies, for a set may be gone.
std::vector<Rule> rules_tried();

}  // namespace tgc
