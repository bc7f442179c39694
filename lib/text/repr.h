// Reads and writes the repr of a graph (pretty_print in 0.12.0's uop/ops.py): nested UOp(...) with every field but the
// pitch of an image, and with string tags unquoted. A shared node gets a name, `x0:=UOp(...)`, at its first occurrence.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns the repr without a final newline.
std::string repr(UOp root);
// As repr(), below comments with the dtypes and tags which the repr cannot express: "# UOp 3: dtypes.imagef((1, 2, 4),
// 128), tag='a'" is about the fourth UOp( of the text.
CompleteText repr_complete(UOp root);

// Reads a repr, with any line breaks. A tag without quotes that looks like a number or another value is read as that
// value, unless a comment states the tag. Errors name `file`, line and column. `places` receives the positions of
// nodes.
Result<UOp> read_repr(Graph& graph, std::string_view text, std::string_view file = {}, NodePlaces* places = nullptr);

// Appends repr(a) as a release other than 0.12.0 prints it.
void append_open_repr(std::string& out, Arg a);
// Returns str(u.arg), as print_uops of a release other than 0.12.0 shows it.
std::string open_arg_str(UOp u);
// Returns repr(u.arg) for a graph of tinygrad 0.12.0, else open_arg_str(u).
std::string node_arg_text(UOp u);

// tinygrad 0.13 and later store a float arg of a CONST as a ConstFloat, of which -0.0 and 0.0 differ. const_float()
// returns the raw arg kNegativeZero for -0.0, and any other `a` unchanged.
bool is_const_float(Arg a);
Arg const_float(Graph& graph, Arg a);
inline constexpr std::string_view kNegativeZero = "-0.0";

// The dtypes of an integer (since 0.13) and of a float (since 0.14) whose width is not decided yet.
DType weakint();
DType weakfloat();
// Returns true for float dtypes, including those that 0.12.0 does not have.
bool is_float_of_any_release(DType d);

}  // namespace tgc
