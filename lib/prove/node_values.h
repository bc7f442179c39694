// Text about counterexamples, and the uses of values that are proven only in a weak sense.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/prove/encode.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns lines for the nodes, such as "%2 = ADD dtypes.int %0, %1 = 7", at a point (values of leaves by name).
// Returns no lines for large sides, or if the nodes do not give `result`, which REF computed for `side`.
std::vector<std::string> node_values(UOp side, const std::map<std::string, std::string>& point,
                                     const std::string& result);

// Returns a counterexample as text, the leaves before the sides, such as "data1 = 3, before = 1, after = 0".
std::string point_text(const std::map<std::string, std::string>& point);
// Returns a text about the condition of a conditional rule and, if `point` has both sides, the counterexample: ": right
// only if x >= 0; for data1 = -1 it gives 1 in place of -1".
std::string condition_text(const std::string& condition, std::map<std::string, std::string> point);

// Returns true if the graph has an op that may turn a tiny difference of its operands into a large one, such as a
// comparison, a BITCAST or a cast to an integer.
bool has_discontinuous_op(UOp root);

// `weak` is a value that is proven only in the sense `sense`. Returns the name of an op under `root` that depends on it
// and may turn a tiny difference into a large one; nullopt if there is none. Ignores comparisons that only choose
// between values which are equal where the comparison changes, as in max(x, 0). With `has_quotients` and
// FloatSense::Finite, also ignores divisions by the value. Returns a text if `weak` is not in the graph.
std::optional<std::string> find_amplifying_op(UOp root, UOp weak, FloatSense sense, bool has_quotients = false);
// Returns true if the graph has an op that may make an infinity of a zero, such as a reciprocal.
bool has_quotient(UOp root);

}  // namespace tgc
