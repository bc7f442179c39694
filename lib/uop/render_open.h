// Prints expressions in graphs of releases other than 0.12.0 as infix text (tinygrad's uop/render.py). The nodes may
// have any number of sources and any arg.
#pragma once
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Like render() in render.h, but does not simplify. A node whose text has over 4000 characters is printed as its op.
std::string render_open(UOp root);

}  // namespace tgc
