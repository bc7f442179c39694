#include "lib/compile/resources.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "lib/compile/backends.h"
#include "lib/support/lines.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

std::optional<uint32_t> parse_number(std::string_view text) {
  text = trimmed_line(text);
  uint32_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end != text.data() ? std::optional(out) : std::nullopt;
}

// Returns 16 for "Used 16 registers" and " registers".
std::optional<uint32_t> number_before(std::string_view line, std::string_view word) {
  size_t end = line.find(word);
  if (end == line.npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') begin--;
  return parse_number(line.substr(begin, end - begin));
}

// Decodes the ULEB128 number that LLVM prints as .byte, .ascii or .asciz.
std::optional<uint32_t> parse_uleb128(std::string_view line) {
  if (line.starts_with(".byte")) return parse_number(line.substr(5));
  size_t begin = line.find('"'), end = line.rfind('"');
  if (!line.starts_with(".asci") || begin >= end) return std::nullopt;
  std::string bytes;
  for (size_t i = begin + 1; i < end; i++) {
    if (line[i] != '\\' || i + 1 >= end) {
      bytes += line[i];
    } else if (line[i + 1] >= '0' && line[i + 1] <= '7') {
      bytes += char(std::strtoul(std::string(line.substr(i + 1, 3)).c_str(), nullptr, 8)), i += 3;
    } else {
      constexpr std::string_view kEscapes = "btnfr", kMeant = "\b\t\n\f\r";
      size_t at = kEscapes.find(line[++i]);
      bytes += at == kEscapes.npos ? line[i] : kMeant[at];
    }
  }
  uint64_t out = 0;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 5); i++) out |= uint64_t(bytes[i] & 0x7F) << (7 * i);
  return uint32_t(out);
}

// Beginnings of x86-64 mnemonics that move, rearrange or zero vectors, without "v", "p" or "vp" before them.
constexpr std::string_view kMoves[] = {"mov", "broadcast", "insert", "extract", "perm", "unpck", "shuf", "xor", "blend",
                                       "insr", "extr", "zero", "gather", "align", "pack"};

bool only_moves_vectors(std::string_view mnemonic) {
  if (mnemonic.starts_with("v")) mnemonic.remove_prefix(1);
  const std::string_view without_p = mnemonic.substr(mnemonic.starts_with("p"));
  return std::ranges::any_of(
      kMoves, [&](std::string_view m) { return mnemonic.starts_with(m) || without_p.starts_with(m); });
}

// Returns 0 for scalar operands.
uint32_t vector_bits_of(std::string_view mnemonic, std::string_view operands) {
  if (operands.find("%zmm") != operands.npos) return 512;
  if (operands.find("%ymm") != operands.npos) return 256;
  if (operands.find("%xmm") != operands.npos) {
    const bool is_scalar = mnemonic.ends_with("ss") || mnemonic.ends_with("sd") || mnemonic.ends_with("sh") ||
                           mnemonic.find("sd2") != mnemonic.npos || mnemonic.find("ss2") != mnemonic.npos ||
                           mnemonic.find("2ss") != mnemonic.npos || mnemonic.find("2sd") != mnemonic.npos ||
                           mnemonic == "vmovd" || mnemonic == "vmovq";
    return is_scalar ? 0 : 128;
  }
  for (std::string_view lanes : {".4s", ".2d", ".8h", ".16b"})  // AArch64
    if (operands.find(lanes) != operands.npos) return 128;
  return operands.find(".2s") != operands.npos || operands.find(".4h") != operands.npos ? 64 : 0;
}

class CpuFunction {
 public:
  void add_line(std::string_view line) {
    size_t comment = line.find('#');
    if (comment == line.npos) comment = line.find("//");
    const std::string_view note = comment == line.npos ? "" : line.substr(comment);
    num_spills_ += note.find("Spill") != note.npos;
    num_reloads_ += note.find("Reload") != note.npos;
    line = trimmed_line(line.substr(0, comment));
    const size_t end = line.find_first_of(" \t");
    if (line.empty() || line[0] == '.' || end == line.npos) return;
    const std::string_view mnemonic = line.substr(0, end);
    uint32_t& widest = only_moves_vectors(mnemonic) ? moved_bits_ : computed_bits_;
    const uint32_t bits = vector_bits_of(mnemonic, line.substr(end));
    widest = std::max(widest, bits);
    has_vector_arithmetic_ |=
        !only_moves_vectors(mnemonic) && (bits || line.find("%xmm") != line.npos || line.find(" s") != line.npos);
  }
  KernelResources make_resources(std::string_view name) const {
    KernelResources out{.kernel = std::string(name), .reporter_name = "LLVM " + std::string(llvm_version())};
    out.num_spills = num_spills_, out.num_spill_loads = num_reloads_, out.spill_unit = "instructions";
    out.vector_bits = has_vector_arithmetic_ ? computed_bits_ : moved_bits_;
    return out;
  }

 private:
  uint32_t num_spills_ = 0, num_reloads_ = 0, moved_bits_ = 0, computed_bits_ = 0;
  bool has_vector_arithmetic_ = false;
};

using JobCompiler = Result<std::string>(const CompileJob&, Artifact);

std::vector<KernelResources> resources_of_elf(const CompileJob& job, JobCompiler& run,
                                              std::vector<KernelResources> (*read)(std::string_view assembly)) {
  auto out = read(run(job, Artifact::Resources).value_or_throw());
  const std::string object = run(job, Artifact::Binary).value_or_throw();
  for (KernelResources& k : out) k.code_bytes = function_size_bytes(object, k.kernel);
  return out;
}

std::vector<KernelResources> resources_of_nvidia(const CompileJob& job, JobCompiler& run) {
  const std::string ptx = run(job, Artifact::Binary).value_or_throw();
  auto estimated = estimate_ptx_resources(ptx);
  if (!has_ptxas()) return estimated;
  auto out = read_ptxas_log(run(job, Artifact::Resources).value_or_throw());
  const std::string cubin = run(job, Artifact::Cubin).value_or_throw();
  for (KernelResources& k : out) {
    k.code_bytes = function_size_bytes(cubin, k.kernel);
    auto same = std::ranges::find(estimated, k.kernel, &KernelResources::kernel);
    if (same != estimated.end()) k.max_threads = same->max_threads;
  }
  return out;
}

}  // namespace

std::vector<KernelResources> read_cpu_assembly(std::string_view assembly) {
  std::vector<KernelResources> out;
  CpuFunction function;
  std::string_view name;
  bool in_sizes = false;
  for (std::string_view raw : lines_of(assembly)) {
    const std::string_view line = trimmed_line(raw);
    if (line.starts_with(".type") && line.find("@function") + line.find("%function") + 1 < 2 * line.npos) {
      name = trimmed_line(line.substr(5, line.find(',') - 5));
      function = CpuFunction();
    } else if (!name.empty() && line.starts_with(".size") && line.find(name) != line.npos) {
      out.push_back(function.make_resources(name)), name = {};
    } else if (line.starts_with(".section") || line.starts_with(".text")) {
      in_sizes = line.find(".stack_sizes") != line.npos;
    } else if (in_sizes && !out.empty() && (line.starts_with(".byte") || line.starts_with(".asci"))) {
      if (!out.back().scratch_bytes) out.back().scratch_bytes = parse_uleb128(line);
    } else if (!name.empty()) {
      function.add_line(raw);
    }
  }
  return out;
}

std::vector<KernelResources> read_amd_metadata(std::string_view assembly) {
  std::vector<KernelResources> out;
  const size_t begin = assembly.find("amdhsa.kernels:");
  if (begin == assembly.npos) return out;
  for (std::string_view raw : lines_of(assembly.substr(begin))) {
    // a kernel is an item of a list; its members are indented by four columns, and those of its arguments by more
    if (raw.starts_with("  - ")) {
      out.push_back({.reporter_name = "LLVM " + std::string(llvm_version()), .num_spills = 0, .num_spill_loads = 0,
                     .spill_unit = "registers"});
    } else if (raw.starts_with("amdhsa.target")) {
      break;
    }
    if (out.empty() || raw.size() < 5 || raw[4] != '.') continue;
    const std::string_view line = raw.substr(4);
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view key = line.substr(0, colon), value = trimmed_line(line.substr(colon + 1));
    KernelResources& k = out.back();
    if (key == ".name") k.kernel = value;
    if (key == ".vgpr_count") k.num_vector_registers = parse_number(value);
    if (key == ".sgpr_count") k.num_scalar_registers = parse_number(value);
    if (key == ".vgpr_spill_count") k.num_spills = parse_number(value);
    if (key == ".sgpr_spill_count") k.num_spill_loads = parse_number(value);
    if (key == ".group_segment_fixed_size") k.shared_bytes = parse_number(value);
    if (key == ".private_segment_fixed_size") k.scratch_bytes = parse_number(value);
    if (key == ".max_flat_workgroup_size") k.max_threads = parse_number(value).value_or(0);
  }
  return out;
}

// ptxas prints for each kernel:
//   ptxas info    : Compiling entry function 'NAME' for 'sm_80'
//   ptxas info    : Function properties for NAME
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 16 registers, used 1 barriers, 1024 bytes smem, 368 bytes cmem[0]
std::vector<KernelResources> read_ptxas_log(std::string_view log) {
  std::vector<KernelResources> out;
  for (std::string_view line : lines_of(log)) {
    constexpr std::string_view kEntry = "Compiling entry function '";
    if (size_t at = line.find(kEntry); at != line.npos) {
      const std::string_view rest = line.substr(at + kEntry.size());
      out.push_back({.kernel = std::string(rest.substr(0, rest.find('\''))),
                     .reporter_name = "ptxas",
                     .spill_unit = "bytes",
                     .shared_bytes = 0});
    }
    if (out.empty()) continue;
    KernelResources& k = out.back();
    if (auto n = number_before(line, " bytes stack frame")) k.scratch_bytes = n;
    if (auto n = number_before(line, " bytes spill stores")) k.num_spills = n;
    if (auto n = number_before(line, " bytes spill loads")) k.num_spill_loads = n;
    if (auto n = number_before(line, " registers")) k.num_vector_registers = n;
    if (auto n = number_before(line, " bytes smem")) k.shared_bytes = n;
  }
  return out;
}

std::optional<uint32_t> function_size_bytes(std::string_view elf, std::string_view function) {
  auto read = [&]<class T>(T& to, uint64_t at) {
    if (at > elf.size() || elf.size() - at < sizeof to) return false;
    std::memcpy(&to, elf.data() + at, sizeof to);
    return true;
  };
  Elf64_Ehdr header;
  if (!read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  auto section = [&](uint64_t n, Elf64_Shdr& to) { return read(to, header.e_shoff + n * sizeof to); };
  for (uint64_t n = 0; n < header.e_shnum; n++) {
    Elf64_Shdr table, names;
    if (!section(n, table) || table.sh_type != SHT_SYMTAB || !section(table.sh_link, names)) continue;
    Elf64_Sym symbol;
    for (uint64_t at = 0; at < table.sh_size && read(symbol, table.sh_offset + at); at += sizeof symbol) {
      const uint64_t name = names.sh_offset + symbol.st_name;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || name >= elf.size()) continue;
      const std::string_view text = elf.substr(name, function.size() + 1);
      if (text.size() > function.size() && text.starts_with(function) && text.back() == '\0')
        return uint32_t(symbol.st_size);
    }
  }
  return std::nullopt;
}

Result<std::vector<KernelResources>> resources_of_job(const CompileJob& job, bool uses_cache) {
  return catch_failures([&]() -> std::vector<KernelResources> {
    if (job.language == Language::Metal)
      throw Failure(Diag{.message = "only Apple's compiler knows the registers of a Metal kernel",
                         .expected = "Xcode's shader profiler on macOS"});
    JobCompiler& run = uses_cache ? compile : compile_without_cache;
    if (job.language == Language::Cuda || job.language == Language::Ptx) return resources_of_nvidia(job, run);
    return resources_of_elf(job, run, job.machine == "amdgcn" ? read_amd_metadata : read_cpu_assembly);
  });
}

}  // namespace tgc
