// Assembly as people read it: the compiler's own text without debug tables, headed by the kernel's name, each change of
// source line shown as a comment when the compiler was asked for lines.
#pragma once
#include <string>
#include <string_view>

#include "lib/compile/compile.h"

namespace tgc {

std::string listing(std::string_view assembly, const CompileJob& job);

}  // namespace tgc
