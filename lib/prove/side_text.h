// Texts about one side of an instance of a rule, for reports.
#pragma once
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Returns an expression as text, cut after 400 characters.
std::string text_of(UOp u);

// Returns the dtypes and bounds of the memories, variables and loops that an expression reads, such as
// "data1 int, v2 -5..6".
std::string leaf_bounds_text(UOp root);

}  // namespace tgc
