// Machine code as text, by LLVM's disassemblers.
#pragma once
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <string_view>

namespace tgc {

// The code of an ELF object or code object: its functions by name, then of each instruction its place, its bytes and
// its text; where it has debug information, a line "; line N" before those of line N of the source. Bytes that are no
// instruction are shown as `.byte`. Throws std::runtime_error for what is no object.
std::string disassemble(std::string_view object, const llvm::TargetMachine& machine);

}  // namespace tgc
