// The machine code of an AMD kernel as its trace needs it: where each instruction begins, and where a wave goes on.
// The bytes are untrusted: all offsets and sizes are checked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::profile {

// Instruction sets whose code can be split into instructions without a disassembler.
enum class Isa : uint8_t { None, Rdna3, Rdna4, Cdna };
Isa isa_of(std::string_view arch);  // of "gfx1100"; None for unknown processors
inline bool is_rdna(Isa isa) { return isa == Isa::Rdna3 || isa == Isa::Rdna4; }

enum class InstructionUnit : uint8_t {
  Vector, Scalar, Branch, Memory, Lds, ScalarMemory, Export, Barrier, Wait, Other
};

// A section of an ELF file. `address` is the address that tinygrad's loader gives it.
struct Section {
  std::string_view bytes;
  uint64_t address = 0;
};
Result<Section> find_section(std::string_view elf, std::string_view name);
inline Result<Section> find_text(std::string_view elf) { return find_section(elf, ".text"); }
// Returns an ELF file for AMDGPU that has only this section: what a disassembler needs of a file that may be damaged.
std::string make_elf(const Section& text);

struct CodeInstruction {
  uint32_t offset = 0;  // in .text
  uint8_t size = 4;
  bool has_no_packet = false;  // the trace has no packet of it: s_delay_alu, s_wait_alu, s_barrier_wait
  bool is_branch = false;
  bool is_end = false;                           // of CDNA: s_endpgm
  InstructionUnit unit = InstructionUnit::Other;  // of CDNA, by the encoding; Wait: any that is issued without a unit
  // Numbers of instructions; kNowhere: outside the code.
  uint32_t counted = 0;  // this instruction, or the first one with a packet after it
  uint32_t next = 0;     // the one after it
  uint32_t jump = 0;     // where a taken branch goes; of other instructions, what tinygrad takes for it
};

class KernelCode {
 public:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  // Splits the section into instructions. Fails at the first word that is no instruction.
  static Result<KernelCode> read(const Section& text, Isa isa);

  const std::vector<CodeInstruction>& instructions() const { return instructions_; }
  Isa isa() const { return isa_; }
  uint64_t address_of(uint32_t number) const { return address_ + instructions_[number].offset; }

 private:
  Isa isa_ = Isa::None;
  uint64_t address_ = 0;
  std::vector<CodeInstruction> instructions_;
};

// Returns the size in bytes of the instruction that begins with `word` and `second` (0 at the end of the code), and 0
// if no instruction of `isa` begins so.
uint8_t instruction_size(Isa isa, uint32_t word, uint32_t second);

// An instruction of a listing (Artifact::Disassembly); line 0: no source line.
struct ListedInstruction {
  uint64_t address = 0;
  std::string text;
  uint32_t line = 0;
  bool operator==(const ListedInstruction&) const = default;
};
std::vector<ListedInstruction> listed_instructions(std::string_view listing);

}  // namespace tgc::profile
