// WGSL, WebGPU's shading language, as a dialect of the C-style renderer (tinygrad renderer/wgsl.py).
#pragma once
#include "renderers/cstyle/cstyle.h"

namespace tgc {

const Dialect& wgsl_dialect();

}  // namespace tgc
