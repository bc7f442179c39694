// Lists the nodes of one side of a refuted rewrite in the order of evaluation, each with its value at the
// counterexample, so that a reader sees where the sides part.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/prove/encode.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns a line for each node, such as "%2 = ADD int %0, %1 = 7". `point` has the values of leaves by name, and
// `result` is the value of `side` that REF computed. Returns nothing if the nodes do not give this value: memory that
// the counterexample does not show takes part, for example.
std::vector<std::string> node_values(UOp side, const std::map<std::string, std::string>& point,
                                     const std::string& result);

// Returns a counterexample as text, the leaves before the sides: "data1 = 3, before = 1, after = 0".
std::string point_text(const std::map<std::string, std::string>& point);

// How the graph around a rewrite uses values that are proven equal in a weak sense only. A comparison, a BITCAST, or a
// cast to a narrower dtype or an integer may make a large difference of a tiny one. So the graph around a weakly proven
// rewrite decides whether its proof holds.

// Returns whether the graph has an op that may make a large difference of a tiny one.
bool has_discontinuous_op(UOp root);

// Returns the op of the graph under `root` that depends on `weak`, a value that is proven in this sense only, and that
// the proof does not cover; empty: there is none. A WHERE that chooses between values which are equal where the choice
// changes, as in max(x, 0), does not count.
std::optional<std::string> decision_on(UOp root, UOp weak, FloatSense sense);

}  // namespace tgc
