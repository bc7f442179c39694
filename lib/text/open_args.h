// Args and dtypes of graphs of other releases than 0.12.0 as their texts write them.
#pragma once
#include <string>

#include "lib/uop/graph.h"

namespace tgc {

// repr(arg), in which graphs may lie: each as its own repr.
void append_open_repr(std::string& out, Arg a);
// str(u.arg), as print_uops shows it.
std::string open_arg_str(UOp u);

// Whether a CONST's arg is what releases from 0.13 on hold as a ConstFloat. -0.0, which they tell from 0.0 though the
// two are equal, is kept as text.
bool is_const_float(Arg a);
Arg const_float(Graph& graph, Arg a);
inline constexpr std::string_view kNegativeZero = "-0.0";

// What 0.13 and 0.14 have for numbers whose size does not matter.
DType weakint();
DType weakfloat();
// Whether its elements are floats, of those that other releases have too.
bool is_float_of_any_release(DType d);

}  // namespace tgc
