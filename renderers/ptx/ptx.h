// PTX, NVIDIA's assembly language, without its version and target, which the compiler fills in (tinygrad renderer/ptx.py).
#pragma once
#include "renderers/text_renderer.h"

namespace tgc {

std::string render_ptx(const Target& target, std::span<const UOp> list, std::vector<std::string>* added = nullptr);  // see note_added

}  // namespace tgc
