// Lists the nodes of one side of a refuted rewrite in the order of evaluation, each with its value at the
// counterexample, so that a reader sees where the sides part.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// Returns a line for each node, such as "%2 = ADD int %0, %1 = 7". `point` has the values of leaves by name, and
// `result` is the value of `side` that REF computed. Returns nothing if the nodes do not give this value: memory that
// the counterexample does not show takes part, for example.
std::vector<std::string> node_values(UOp side, const std::map<std::string, std::string>& point,
                                     const std::string& result);

// Returns a counterexample as text, the leaves before the sides: "data1 = 3, before = 1, after = 0".
std::string point_text(const std::map<std::string, std::string>& point);

}  // namespace tgc
