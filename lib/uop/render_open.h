// Renders expressions of other releases than 0.12.0 as infix text (tinygrad's uop/render.py). Makes no assumptions
// about the number of sources or the args of nodes.
#pragma once
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Like render() (render.h), without simplification. Texts of more than 4000 characters are replaced by the op's name.
std::string render_open(UOp root);

}  // namespace tgc
