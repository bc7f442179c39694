// Metal for the CPU, as lib/compile makes it: machine code that calls an emulator for what threads do together.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/compile/engines.h"

namespace tgc {

struct MetalCode {
  std::string object;
  std::vector<CodeLine> lines;  // in the order of their places
};

// A Metal source compiled by clang for this computer, through the cache; `name` is the kernel's, for messages. A source
// that does not compile is an error as compile()'s are.
Result<std::string> compile_metal(const std::string& name, const std::string& source);
// What compile_metal made, apart.
Result<MetalCode> read_metal_code(std::string_view made);

// The line that an instruction comes of; 0: of none.
uint32_t line_at(const std::vector<CodeLine>& lines, uint64_t at);

}  // namespace tgc
