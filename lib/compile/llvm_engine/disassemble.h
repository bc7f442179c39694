#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <string>
#include <string_view>

namespace tgc {

// Disassembles an ELF object or code object: each function's name, then address, bytes and text of each instruction.
// With debug information, "; line N" precedes the instructions of source line N. Bytes that do not decode are shown as
// `.byte`. Throws std::runtime_error if `object` cannot be disassembled.
std::string disassemble_object(std::string_view object, const llvm::TargetMachine& machine);

// Adds debug information that maps each instruction of `module` to its line in `text`, from which the module was
// parsed. Requires one instruction per line, as tinygrad prints IR. Skips functions whose numbers of lines and
// instructions differ, and all functions if the text has another number of functions than the module.
void add_line_table(llvm::Module& module, std::string_view text);

}  // namespace tgc
