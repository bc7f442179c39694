#include "lib/profile/kernel_code.h"

#include <elf.h>
#include <algorithm>
#include <charconv>
#include <cstring>

#include "lib/compile/engines.h"
#include "lib/contain/contain.h"
#include "lib/profile/profile.h"
#include "lib/support/lines.h"

namespace tgc::profile {

namespace {

constexpr uint64_t kMaxSectionBytes = uint64_t(1) << 26;

template <class T>
T read_value_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw Failure("the ELF file ends early");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
std::string_view bytes_at(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) throw Failure("the ELF file ends early");
  return bytes.substr(offset, size);
}

// Source operands with one more word: a literal, and values of other lanes (DPP8, DPP16).
constexpr uint32_t kLiteral = 255, kDpp8 = 233, kDpp8Fetch = 234, kDpp16 = 250;

uint8_t vector_instruction_size(uint32_t word, bool has_literal) {
  uint32_t source = word & 0x1ff;
  bool extends = source == kLiteral || source == kDpp8 || source == kDpp8Fetch || source == kDpp16;
  return has_literal || extends ? 8 : 4;
}

// Returns the size of a VOP1, VOP2 or VOPC instruction.
uint8_t vop12c_size(uint32_t word) {
  uint32_t op = word >> 25 & 63;
  bool is_vop2 = op != 62 && op != 63;  // 62: VOPC, 63: VOP1
  bool has_literal = is_vop2 && (op == 44 || op == 45 || op == 55 || op == 56);  // v_fmamk, v_fmaak of f32 and f16
  return vector_instruction_size(word, has_literal);
}

uint8_t scalar_instruction_size(uint32_t word) {
  uint32_t a = word & 0xff, b = word >> 8 & 0xff;
  if (word >> 23 == 0b101111111) return 4;                          // SOPP
  if (word >> 23 == 0b101111101) return a == kLiteral ? 8 : 4;      // SOP1
  bool has_literal = a == kLiteral || b == kLiteral;
  if (word >> 23 == 0b101111110) return has_literal ? 8 : 4;        // SOPC
  if (word >> 28 == 0b1011) return (word >> 23 & 31) == 19 ? 8 : 4;  // SOPK; 19: s_setreg_imm32_b32
  uint32_t op = word >> 23 & 127;
  return has_literal || op == 69 || op == 70 ? 8 : 4;               // SOP2; 69, 70: s_fmaak_f32, s_fmamk_f32
}

// Returns the size of a VOP3 or VOP3P instruction, whose second word has three sources.
uint8_t vop3_size(uint32_t second) {
  uint32_t a = second & 0x1ff, b = second >> 9 & 0x1ff, c = second >> 18 & 0x1ff;
  bool extends = a == kLiteral || b == kLiteral || c == kLiteral || a == kDpp8 || a == kDpp8Fetch || a == kDpp16;
  return extends ? 12 : 8;
}

uint8_t vopd_size(uint32_t word, uint32_t second) {
  uint32_t x = word >> 22 & 15, y = word >> 17 & 31;
  bool has_literal = x == 1 || x == 2 || y == 1 || y == 2;  // v_dual_fmaak_f32, v_dual_fmamk_f32
  return has_literal || (word & 0x1ff) == kLiteral || (second & 0x1ff) == kLiteral ? 12 : 8;
}

bool is_sopp(uint32_t word) { return word >> 23 == 0b101111111; }

// CDNA: encodings of gfx90a to gfx950 (LLVM's AMDGPU back end).

constexpr uint32_t kSdwa = 249;  // one more word selects bytes of a register

uint8_t cdna_instruction_size(uint32_t word) {
  if (word >> 31 == 0) {  // VOP1, VOP2, VOPC
    const uint32_t op = word >> 25 & 63, source = word & 0x1ff;
    const bool has_literal = op == 23 || op == 24 || op == 36 || op == 37;  // v_fmamk, v_fmaak, v_madmk, v_madak
    return has_literal || source == kLiteral || source == kSdwa || source == kDpp16 ? 8 : 4;
  }
  if (word >> 30 == 0b10) {
    const uint32_t a = word & 0xff, b = word >> 8 & 0xff;
    if (is_sopp(word)) return 4;
    if (word >> 23 == 0b101111101) return a == kLiteral ? 8 : 4;       // SOP1
    if (word >> 28 == 0b1011 && word >> 23 != 0b101111110)             // SOPK; 20: s_setreg_imm32_b32
      return (word >> 23 & 31) == 20 ? 8 : 4;
    return a == kLiteral || b == kLiteral ? 8 : 4;                     // SOP2, SOPC
  }
  switch (word >> 26) {
    case 0b110100: return (word >> 16 & 0x3ff) == 0x3ac ? 16 : 8;  // VOP3, VOP3P; 0x3ac: v_mfma_scale, in two parts
    case 0b110000: case 0b110110: case 0b110111: case 0b111000: case 0b111010: case 0b111100:
      return 8;  // SMEM, DS, FLAT, MUBUF, MTBUF, MIMG
    default: return 0;
  }
}

void set_cdna_unit(uint32_t word, CodeInstruction& i) {
  using Unit = InstructionUnit;
  if (word >> 31 == 0 || word >> 26 == 0b110100) i.unit = Unit::Vector;
  else if (word >> 26 == 0b110000) i.unit = Unit::ScalarMemory;
  else if (word >> 26 == 0b110110) i.unit = Unit::Lds;
  else if (word >> 30 == 0b11) i.unit = Unit::Memory;
  else if (!is_sopp(word)) i.unit = Unit::Scalar;
  else {
    const uint32_t op = word >> 16 & 127;
    i.is_program_end_op = op == 1;                           // s_endpgm
    i.is_branch = op == 2 || (op >= 4 && op <= 9);           // s_branch, s_cbranch
    i.unit = i.is_branch ? Unit::Branch : op == 10 ? Unit::Barrier : op == 16 || op == 17 ? Unit::Other : Unit::Wait;
  }
}

}  // namespace

Isa isa_of_arch(std::string_view arch) {
  if (arch == "gfx90a" || arch.starts_with("gfx94") || arch.starts_with("gfx95")) return Isa::Cdna;
  return arch.starts_with("gfx11") ? Isa::Rdna3 : arch.starts_with("gfx12") ? Isa::Rdna4 : Isa::None;
}

uint8_t instruction_size(Isa isa, uint32_t word, uint32_t second) {
  if (isa == Isa::None) return 0;
  if (isa == Isa::Cdna) return cdna_instruction_size(word);
  bool is_rdna4 = isa == Isa::Rdna4;
  if (word >> 31 == 0) return vop12c_size(word);
  if (word >> 30 == 0b10) return scalar_instruction_size(word);
  switch (word >> 26) {
    case 0b110001: return is_rdna4 ? 12 : 0;  // VBUFFER
    case 0b110010: return vopd_size(word, second);
    case 0b110011:
      if ((word >> 24 & 3) == 0) return vop3_size(second);
      return (word >> 24 & 3) == 1 ? 8 : (word >> 24 & 3) == 2 ? 4 : 0;  // VINTERP, LDSDIR
    case 0b110100: return is_rdna4 ? 12 : 0;  // VIMAGE
    case 0b110101: return vop3_size(second);
    case 0b110110: return 8;                  // DS
    case 0b110111: return is_rdna4 ? 0 : 8;   // FLAT, GLOBAL, SCRATCH
    case 0b111000: return is_rdna4 ? 0 : 8;   // MUBUF
    case 0b111001: return is_rdna4 ? 12 : 0;  // VSAMPLE
    case 0b111010: return is_rdna4 ? 0 : 8;   // MTBUF
    case 0b111011: return is_rdna4 ? 12 : 0;  // VFLAT, VGLOBAL, VSCRATCH
    case 0b111100: return is_rdna4 ? 0 : uint8_t(word & 1 ? 12 : 8);  // MIMG; bit 0: addresses in a third word
    case 0b111101: case 0b111110: return 8;   // SMEM, EXP
    default: return 0;
  }
}

Result<ElfSection> find_section(std::string_view elf, std::string_view wanted) {
  return catch_failures([&] {
    if (!elf.starts_with(ELFMAG)) throw Failure("blob is not an ELF, missing magic bytes");
    auto header = read_value_at<Elf64_Ehdr>(elf, 0);
    // the byte order and the machine are not checked: they are 0 in files of tinygrad's own assembler
    if (header.e_ident[EI_CLASS] != ELFCLASS64) throw Failure("the code is an ELF file of another class than 64-bit");
    auto section = [&](uint64_t n) { return read_value_at<Elf64_Shdr>(elf, header.e_shoff + n * sizeof(Elf64_Shdr)); };
    auto names_header = section(header.e_shstrndx);
    std::string_view names = bytes_at(elf, names_header.sh_offset, names_header.sh_size);
    // tinygrad's loader places the sections without an address behind those with one
    uint64_t image_end = 0;
    for (uint32_t n = 0; n < header.e_shnum; n++)
      if (auto s = section(n); s.sh_type == SHT_PROGBITS && s.sh_addr != 0)
        image_end = std::max(image_end, s.sh_addr + s.sh_size);
    for (uint32_t n = 0; n < header.e_shnum; n++) {
      auto s = section(n);
      std::string_view name = names.substr(std::min<size_t>(s.sh_name, names.size()));
      uint64_t address = s.sh_addr;
      if (s.sh_type == SHT_PROGBITS && address == 0) {
        uint64_t align = std::max<uint64_t>(s.sh_addralign, 1);
        address = (image_end + align - 1) / align * align;
        image_end = address + s.sh_size;
      }
      if (!name.starts_with(wanted) || (name.size() > wanted.size() && name[wanted.size()])) continue;
      if (s.sh_size > kMaxSectionBytes) throw Failure("the section " + std::string(wanted) + " is larger than 64 MiB");
      return ElfSection{bytes_at(elf, s.sh_offset, s.sh_size), address};
    }
    throw Failure("the code has no section " + std::string(wanted));
  });
}

std::string make_elf(const ElfSection& text) {
  constexpr std::string_view kNames("\0.text\0.names\0", 14);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB, header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 64, header.e_ident[EI_ABIVERSION] = 3;  // AMD's HSA, code objects of version 5
  header.e_type = ET_DYN, header.e_machine = EM_AMDGPU, header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header, header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 3, header.e_shstrndx = 2;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1, sections[1].sh_type = SHT_PROGBITS, sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[1].sh_addr = text.address, sections[1].sh_offset = sizeof header, sections[1].sh_size = text.bytes.size();
  sections[2].sh_name = 7, sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof header + text.bytes.size(), sections[2].sh_size = kNames.size();
  header.e_shoff = sections[2].sh_offset + sections[2].sh_size;
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(text.bytes).append(kNames);
  return out.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

Result<KernelCode> KernelCode::read(const ElfSection& text, Isa isa) {
  return catch_failures([&] {
    KernelCode out;
    out.code_address_ = text.address, out.isa_ = isa;
    std::string_view bytes = text.bytes;
    std::vector<uint32_t> at(bytes.size() / 4 + 1, kNoInstruction);  // by word: the instruction that begins there
    std::vector<uint32_t> words;
    for (size_t offset = 0; offset < bytes.size();) {
      uint32_t word = read_value_at<uint32_t>(bytes, offset);
      uint32_t second = bytes.size() - offset >= 8 ? read_value_at<uint32_t>(bytes, offset + 4) : 0;
      uint8_t size = instruction_size(isa, word, second);
      if (!size) throw Failure("no instruction is known for the code at byte " + std::to_string(offset));
      at[offset / 4] = uint32_t(out.instructions_.size());
      words.push_back(word);
      CodeInstruction i{.offset = uint32_t(offset), .size_bytes = size};
      if (isa == Isa::Cdna) {
        set_cdna_unit(word, i);
      } else if (is_sopp(word)) {
        uint32_t op = word >> 16 & 127;
        bool waits = isa == Isa::Rdna4 && (op == 8 || op == 20);  // s_wait_alu, s_barrier_wait
        i.has_no_packet = op == 7 || waits;                       // s_delay_alu
        i.is_branch = op >= 32 && op <= (isa == Isa::Rdna4 ? 38u : 42u);
      }
      out.instructions_.push_back(i);
      offset += size;
    }
    auto number_at = [&](int64_t offset) {
      return offset < 0 || uint64_t(offset) >= bytes.size() || offset % 4 ? kNoInstruction : at[size_t(offset / 4)];
    };
    for (size_t n = out.instructions_.size(); n-- > 0;) {
      CodeInstruction& i = out.instructions_[n];
      i.next_instruction = number_at(int64_t(i.offset) + i.size_bytes);
      i.jump_target = number_at(int64_t(i.offset) + i.size_bytes + int64_t(int16_t(words[n] & 0xffff)) * 4);
      i.packet_instruction = !i.has_no_packet ? uint32_t(n)
                             : i.next_instruction == kNoInstruction
                                 ? kNoInstruction
                                 : out.instructions_[i.next_instruction].packet_instruction;
    }
    return out;
  });
}

namespace {

constexpr double kMaxDisassemblySeconds = 20;
constexpr uint64_t kMaxDisassemblyBytes = uint64_t(1) << 30;

// Calls each(address, text, source line) for lines such as "  1600: 000085bf              \ts_clause 0x1".
template <class Each>
void parse_listing(std::string_view listing, Each&& each) {
  constexpr std::string_view kSourceLine = "; line ";
  uint32_t source_line = 0;
  for (std::string_view line : lines_of(listing)) {
    if (line.starts_with(kSourceLine)) {
      source_line = 0;
      std::from_chars(line.data() + kSourceLine.size(), line.data() + line.size(), source_line);
    }
    size_t first = line.find_first_not_of(' '), colon = line.find(": "), tab = line.find('\t');
    if (first == std::string_view::npos || colon == std::string_view::npos || tab == std::string_view::npos) continue;
    uint64_t address = 0;
    auto [end, error] = std::from_chars(line.data() + first, line.data() + colon, address, 16);
    if (error != std::errc() || end != line.data() + colon) continue;
    std::string text(line.substr(tab + 1));
    for (char& c : text)
      if (c == '\t') c = ' ';
    text.resize(text.find_last_not_of(' ') + 1);
    each(address, std::move(text), source_line);
  }
}

}  // namespace

std::map<uint64_t, std::string> disassemble_program(const GpuProgram& program, const std::string& arch) {
  auto engine = llvm_engine();
  auto text = find_text(program.elf_bytes);
  if (!engine || !text || arch.empty()) return {};
  // in a worker, because LLVM 19 aborts on some code (lib/emulate/hip/driver_test.cpp)
  std::string elf = make_elf(*text);
  const std::string cpu = arch == "gfx950" ? "gfx942" : arch;  // LLVM 19 does not know gfx950
  auto listing = run_in_sandbox(
      [&](Worker& worker) -> Result<std::string> {
        worker.confine_process({.rights = WorkerRights::Compute,
                                .memory_bytes = kMaxDisassemblyBytes,
                                .cpu_seconds = kMaxDisassemblySeconds});
        auto made = (*engine)->disassemble_object(elf, {.triple = "amdgcn-amd-amdhsa", .cpu = cpu});
        if (!made.ok) return Diag{made.compiler_error.message};
        return made.value;
      },
      {.timeout_seconds = kMaxDisassemblySeconds});
  std::map<uint64_t, std::string> out;
  if (listing)
    parse_listing(*listing, [&](uint64_t address, std::string line, uint32_t) { out[address] = std::move(line); });
  return out;
}

std::vector<ListedInstruction> parse_instructions(std::string_view listing) {
  std::vector<ListedInstruction> out;
  parse_listing(listing, [&](uint64_t address, std::string text, uint32_t line) {
    out.push_back({address, std::move(text), line});
  });
  return out;
}

}  // namespace tgc::profile
