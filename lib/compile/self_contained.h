// Checks that compiling a source reads no file of the user. Rejects preprocessor directives (#include, #embed) and
// inline assembly (.incbin, .include), except those that tinygrad's renderers print. Does not check PTX (also in CUDA):
// PTX cannot read files. As a second barrier, clang_engine.cpp lets clang open only its headers and AMD's libraries.
#pragma once
#include "lib/compile/compile.h"

namespace tgc {

// Throws RejectedSource if `source` has a directive or (except in CUDA) inline assembly that no renderer prints, or a
// spelling that could hide one.
void check_self_contained(Language language, std::string_view source);

}  // namespace tgc
