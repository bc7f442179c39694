// Sources are closed: nothing outside of a source has a part in what is compiled. tinygrad's renderers print few lines
// for the preprocessor and, of tensor cores, a little inline assembly; everything else of that kind is refused before
// any compiler sees it, for it reads files: #include, #embed, __has_include, .incbin, .include. (clang has no files to
// read besides: clang_engine.cpp gives it its own headers alone.)
#pragma once
#include "lib/compile/compile.h"

namespace tgc {

// Throws Rejected with the line of what a renderer does not print.
void check_closed(Language language, std::string_view source);

}  // namespace tgc
