// Prints args and dtypes of graphs of tinygrad releases other than 0.12.0, in the notation of the graph's release.
#pragma once
#include <string>

#include "lib/uop/graph.h"

namespace tgc {

// Appends repr(a). A UOp within `a` is printed as its own repr.
void append_open_repr(std::string& out, Arg a);
// Returns str(u.arg), as print_uops shows it.
std::string open_arg_str(UOp u);

// is_const_float returns true if the releases from 0.13 on store this arg of a CONST as a ConstFloat. A ConstFloat
// tells -0.0 from 0.0, although they compare equal. Therefore const_float stores -0.0 as text.
bool is_const_float(Arg a);
Arg const_float(Graph& graph, Arg a);
inline constexpr std::string_view kNegativeZero = "-0.0";

// weakint and weakfloat return the dtypes of 0.13 and 0.14 for integers and floats whose width is not fixed yet.
DType weakint();
DType weakfloat();
// True if the elements of `d` are floats, including the float dtypes that 0.12.0 does not have.
bool is_float_of_any_release(DType d);

}  // namespace tgc
