// Splits the machine code of an AMD kernel into instructions, reads and writes ELF files, and reads listings. The bytes
// are untrusted.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::profile {

// None: KernelCode cannot split the code.
enum class Isa : uint8_t { None, Rdna3, Rdna4, Cdna };
Isa isa_of_arch(std::string_view arch);  // of a processor, such as "gfx1100"
inline bool is_rdna(Isa isa) { return isa == Isa::Rdna3 || isa == Isa::Rdna4; }

enum class InstructionUnit : uint8_t {
  Vector, Scalar, Branch, Memory, Lds, ScalarMemory, Export, Barrier, Wait, Other
};

// `address` is that which tinygrad's loader gives the section.
struct ElfSection {
  std::string_view bytes;
  uint64_t address = 0;
};
Result<ElfSection> find_section(std::string_view elf, std::string_view name);
inline Result<ElfSection> find_text(std::string_view elf) { return find_section(elf, ".text"); }
// Returns an ELF file for AMDGPU with no other code or data, because the profile's file may be damaged.
std::string make_elf(const ElfSection& text);

struct CodeInstruction {
  uint32_t offset = 0;
  uint8_t size_bytes = 4;
  bool has_no_packet = false;  // true for s_delay_alu and, on RDNA4, s_wait_alu and s_barrier_wait
  bool is_branch = false;
  bool is_program_end_op = false;                 // s_endpgm; set only for CDNA
  InstructionUnit unit = InstructionUnit::Other;  // set only for CDNA
  // Numbers of instructions; kNoInstruction: outside the code.
  uint32_t packet_instruction = 0;  // this or the next instruction that has a packet
  uint32_t next_instruction = 0;
  // If the instruction is no branch, its low 16 bits are still read as a branch offset, as in tinygrad.
  uint32_t jump_target = 0;
};

class KernelCode {
 public:
  static constexpr uint32_t kNoInstruction = UINT32_MAX;
  // Fails if a word begins no instruction of `isa`, or if the last word is incomplete.
  static Result<KernelCode> read(const ElfSection& text, Isa isa);

  const std::vector<CodeInstruction>& instructions() const { return instructions_; }
  Isa isa() const { return isa_; }
  uint64_t address_of(uint32_t number) const { return code_address_ + instructions_[number].offset; }

 private:
  Isa isa_ = Isa::None;
  uint64_t code_address_ = 0;
  std::vector<CodeInstruction> instructions_;
};

// Returns the size in bytes; 0 if no instruction of `isa` begins with these words. `second` is 0 at the end of the
// code.
uint8_t instruction_size(Isa isa, uint32_t word, uint32_t second);

// A line of a disassembly (Artifact::Disassembly). `line` is its source line; 0: unknown.
struct ListedInstruction {
  uint64_t address = 0;
  std::string text;
  uint32_t line = 0;
  bool operator==(const ListedInstruction&) const = default;
};
std::vector<ListedInstruction> parse_instructions(std::string_view listing);

}  // namespace tgc::profile
