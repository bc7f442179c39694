// Metal compiled for the CPU: machine code that calls the emulator (lib/emulate/metal) for operations between threads.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/compile/engines.h"

namespace tgc {

struct MetalCode {
  std::string object;
  std::vector<CodeLine> line_table;  // ordered by address
};

// Compiles a Metal source with clang for this computer, as compile() does. `name` is the kernel's name in messages.
Result<std::string> compile_metal(const std::string& name, const std::string& source);
Result<MetalCode> read_metal_code(std::string_view made);

// Returns the source line of the instruction at offset `at`, or 0 if it has none.
uint32_t line_at_address(const std::vector<CodeLine>& lines, uint64_t at);

}  // namespace tgc
