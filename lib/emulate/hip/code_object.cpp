#include "lib/emulate/hip/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace tgc::hip {
namespace {

constexpr GpuProcessor kProcessors[] = {
    {"gfx942", 0x4c, GpuFamily::Gfx9},   {"gfx1100", 0x41, GpuFamily::Gfx11}, {"gfx1101", 0x46, GpuFamily::Gfx11},
    {"gfx1102", 0x47, GpuFamily::Gfx11}, {"gfx1103", 0x44, GpuFamily::Gfx11}, {"gfx1150", 0x43, GpuFamily::Gfx11},
    {"gfx1151", 0x4a, GpuFamily::Gfx11}, {"gfx1200", 0x48, GpuFamily::Gfx12}, {"gfx1201", 0x4e, GpuFamily::Gfx12},
};
struct UnsupportedProcessor {
  uint32_t number;
  const char* name;
};
// Unsupported processors that LLVM has targets for, so that the error can name them.
constexpr UnsupportedProcessor kUnsupportedProcessors[] = {
    {0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x3f, "gfx90a"},  {0x40, "gfx940"},
    {0x4b, "gfx941"},  {0x4f, "gfx950"},  {0x33, "gfx1010"}, {0x36, "gfx1030"}, {0x37, "gfx1031"},
};

constexpr uint64_t kMostImageBytes = uint64_t(1) << 26;

class ElfReader {
 public:
  explicit ElfReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      throw Failure("the code object ends at byte " + std::to_string(bytes_.size()) + ", within what it refers to");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view read_range(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset)
      throw Failure("the code object ends at byte " + std::to_string(bytes_.size()) + ", within what it refers to");
    return bytes_.substr(offset, bytes);
  }

 private:
  std::string_view bytes_;
};

bool is_elf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB;
}

const GpuProcessor& processor_of(const Elf64_Ehdr& header) {
  uint32_t number = header.e_flags & 0xff;
  for (const GpuProcessor& p : kProcessors)
    if (p.elf_number == number) return p;
  std::string name = "number " + std::to_string(number);
  for (const UnsupportedProcessor& other : kUnsupportedProcessors)
    if (other.number == number) name = other.name;
  throw Failure(Diag{.message = "code objects for " + name + " are not supported",
                     .expected = "gfx942, gfx1100 to gfx1103, gfx1150, gfx1151, gfx1200 or gfx1201"});
}

std::string load_image(const ElfReader& file, const Elf64_Ehdr& header) {
  std::string image;
  for (uint32_t n = 0; n < header.e_phnum; n++) {
    auto p = file.at<Elf64_Phdr>(header.e_phoff + uint64_t(n) * sizeof(Elf64_Phdr));
    if (p.p_type != PT_LOAD) continue;
    if (p.p_vaddr > kMostImageBytes || p.p_memsz > kMostImageBytes || p.p_filesz > p.p_memsz)
      throw Failure("a segment of the code object has an impossible size");
    std::string_view bytes = file.read_range(p.p_offset, p.p_filesz);
    image.resize(std::max<size_t>(image.size(), p.p_vaddr + p.p_memsz));
    std::memcpy(image.data() + p.p_vaddr, bytes.data(), bytes.size());
  }
  return image;
}

KernelDescriptor read_descriptor(const std::string& image, uint64_t address) {
  ElfReader memory(image);
  KernelDescriptor d;
  d.group_bytes = memory.at<uint32_t>(address);
  d.private_bytes = memory.at<uint32_t>(address + 4);
  d.kernarg_bytes = memory.at<uint32_t>(address + 8);
  d.entry_offset = memory.at<int64_t>(address + 16);
  d.resources1 = memory.at<uint32_t>(address + 48);
  d.resources2 = memory.at<uint32_t>(address + 52);
  d.properties = memory.at<uint16_t>(address + 56);
  d.kernarg_preload = memory.at<uint16_t>(address + 58);
  return d;
}

}  // namespace

const GpuProcessor* find_processor(std::string_view name) {
  for (const GpuProcessor& p : kProcessors)
    if (p.name == name) return &p;
  return nullptr;
}

uint64_t elf_bytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (!is_elf64(header)) return 0;
  uint64_t end = std::max(header.e_phoff + uint64_t(header.e_phnum) * sizeof(Elf64_Phdr),
                          header.e_shoff + uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  // lld ends the file with the section headers
  return std::min(std::max<uint64_t>(end, sizeof header), kMostImageBytes);
}

Result<CodeObject> CodeObject::read(std::string_view bytes) {
  return catch_failures([&] {
    ElfReader file(bytes);
    auto header = file.at<Elf64_Ehdr>(0);
    if (!is_elf64(header) || header.e_machine != EM_AMDGPU)
      throw Failure(Diag{.message = "the file is not a code object", .expected = "an ELF file for AMDGPU"});
    CodeObject out;
    out.processor_ = &processor_of(header);
    out.image_bytes_ = load_image(file, header);
    for (uint32_t n = 0; n < header.e_shnum; n++) {
      auto section = file.at<Elf64_Shdr>(header.e_shoff + uint64_t(n) * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_DYNSYM) continue;
      auto names = file.at<Elf64_Shdr>(header.e_shoff + uint64_t(section.sh_link) * sizeof(Elf64_Shdr));
      std::string_view text = file.read_range(names.sh_offset, names.sh_size),
                       table = file.read_range(section.sh_offset, section.sh_size);
      std::vector<std::pair<std::string, Elf64_Sym>> symbols;
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
        auto symbol = ElfReader(table).at<Elf64_Sym>(at);
        std::string_view name = text.substr(std::min<size_t>(symbol.st_name, text.size()));
        symbols.emplace_back(name.substr(0, name.find('\0')), symbol);
      }
      for (auto& [name, symbol] : symbols) {
        auto descriptor = std::ranges::find(symbols, name + ".kd", &std::pair<std::string, Elf64_Sym>::first);
        if (descriptor == symbols.end()) continue;
        KernelEntry kernel{name, read_descriptor(out.image_bytes_, descriptor->second.st_value), symbol.st_value,
                           symbol.st_value + symbol.st_size};
        if (descriptor->second.st_value + uint64_t(kernel.descriptor.entry_offset) != kernel.begin ||
            kernel.end < kernel.begin || kernel.end > out.image_bytes_.size())
          throw Failure("the kernel '" + name + "' does not begin where its descriptor says, or ends beyond the code");
        out.kernels_.push_back(std::move(kernel));
      }
    }
    return out;
  });
}

}  // namespace tgc::hip
