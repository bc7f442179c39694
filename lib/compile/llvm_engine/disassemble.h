// Disassembles machine code with LLVM's disassemblers.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <string>
#include <string_view>

namespace tgc {

// Disassembles an ELF object or code object: each function's name, then address, bytes and text of each instruction. If
// there is debug information, "; line N" precedes the instructions of source line N. Bytes that do not decode are shown
// as `.byte`. Throws std::runtime_error if `object` is not an object file.
std::string disassemble(std::string_view object, const llvm::TargetMachine& machine);

// Adds debug information that maps each instruction of a module to its line in the text the module was parsed from.

// Requires one instruction per line, as tinygrad prints IR. Skips functions whose lines and instructions do not match.
void add_line_table(llvm::Module& module, std::string_view text);

}  // namespace tgc
