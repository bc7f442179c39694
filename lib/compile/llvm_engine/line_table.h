// Debug information that maps every instruction of a module to its line in the text that the module was parsed from.
#pragma once
#include <llvm/IR/Module.h>

#include <string_view>

namespace tgc {

// Requires one instruction a line, as tinygrad prints;
// where lines and instructions do not go together nothing is added.
void add_line_table(llvm::Module& module, std::string_view text);

}  // namespace tgc
