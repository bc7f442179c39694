// Renders expressions of other releases than 0.12.0 as infix text (tinygrad's uop/render.py). Makes no assumptions
// about the number of sources or the args of nodes.
#pragma once
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Like render() (render.h), without simplification. A node with a text of over 4000 characters is printed as its op.
std::string render_open(UOp root);

}  // namespace tgc
