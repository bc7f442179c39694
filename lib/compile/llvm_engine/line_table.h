// Adds debug information that maps each instruction of a module to its line in the text the module was parsed from.
#pragma once
#include <llvm/IR/Module.h>

#include <string_view>

namespace tgc {

// Requires one instruction per line, as tinygrad prints IR. Skips functions whose lines and instructions do not match.
void add_line_table(llvm::Module& module, std::string_view text);

}  // namespace tgc
