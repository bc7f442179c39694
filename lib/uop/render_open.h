// The infix text of an expression of another release than 0.12.0 (uop/render.py), of whose nodes nothing is taken for
// granted.
#pragma once
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// As render() (render.h); nothing is simplified.
std::string render_open(UOp root);

}  // namespace tgc
