// Prints args and dtypes of graphs of releases other than 0.12.0, as those releases' texts write them.
#pragma once
#include <string>

#include "lib/uop/graph.h"

namespace tgc {

// Appends repr(arg). A UOp within an arg is printed as its own repr.
void append_open_repr(std::string& out, Arg a);
// Returns str(u.arg), as print_uops shows it.
std::string open_arg_str(UOp u);

// is_const_float returns true for an arg of a CONST that releases from 0.13 on hold as a ConstFloat. They distinguish
// -0.0 from 0.0, which compare equal, so const_float stores -0.0 as text.
bool is_const_float(Arg a);
Arg const_float(Graph& graph, Arg a);
inline constexpr std::string_view kNegativeZero = "-0.0";

// The dtypes of 0.13 and 0.14 for numbers whose width does not matter.
DType weakint();
DType weakfloat();
// True if the elements are floats, including the float dtypes that only other releases have.
bool is_float_of_any_release(DType d);

}  // namespace tgc
