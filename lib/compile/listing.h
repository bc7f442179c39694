// Formats assembly for people, without debug tables. If the job has `annotates_lines`, a comment shows each change of
// source line.
#pragma once
#include <string>
#include <string_view>

#include "lib/compile/compile.h"

namespace tgc {

std::string make_listing(std::string_view assembly, const CompileJob& job);

}  // namespace tgc
