// Disassembles machine code with LLVM's disassemblers.
#pragma once
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <string_view>

namespace tgc {

// Disassembles an ELF object or code object: each function's name, then address, bytes and text of each instruction. If
// there is debug information, "; line N" precedes the instructions of source line N. Bytes that do not decode are shown
// as `.byte`. Throws std::runtime_error if `object` is not an object file.
std::string disassemble(std::string_view object, const llvm::TargetMachine& machine);

}  // namespace tgc
