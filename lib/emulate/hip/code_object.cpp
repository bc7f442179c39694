#include "lib/emulate/hip/code_object.h"

#include <algorithm>
#include <cstring>

namespace tgc::hip {
namespace {

constexpr Processor kProcessors[] = {
    {"gfx942", 0x4c, Family::Gfx9},   {"gfx1100", 0x41, Family::Gfx11}, {"gfx1101", 0x46, Family::Gfx11},
    {"gfx1102", 0x47, Family::Gfx11}, {"gfx1103", 0x44, Family::Gfx11}, {"gfx1150", 0x43, Family::Gfx11},
    {"gfx1151", 0x4a, Family::Gfx11}, {"gfx1200", 0x48, Family::Gfx12}, {"gfx1201", 0x4e, Family::Gfx12},
};
struct NamedNumber {
  uint32_t number;
  const char* name;
};
// Unsupported processors that LLVM has targets for, so that the error can name them.
constexpr NamedNumber kOthers[] = {
    {0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x3f, "gfx90a"},  {0x40, "gfx940"},
    {0x4b, "gfx941"},  {0x4f, "gfx950"},  {0x33, "gfx1010"}, {0x36, "gfx1030"}, {0x37, "gfx1031"},
};

// The parts of the ELF64 format that are used.
struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, program_headers, section_headers;
  uint32_t flags;
  uint16_t header_bytes, program_header_bytes, program_header_count, section_header_bytes, section_header_count, names;
};
struct ProgramHeader {
  uint32_t type, flags;
  uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};
struct SectionHeader {
  uint32_t name, type;
  uint64_t flags, address, offset, bytes;
  uint32_t link, info;
  uint64_t alignment, entry_bytes;
};
struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, bytes;
};
constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint32_t kLoad = 1, kDynamicSymbols = 11;
constexpr uint64_t kMostImage = uint64_t(1) << 26;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      throw Failure("the code object ends at byte " + std::to_string(bytes_.size()) + ", within what it refers to");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view range(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset)
      throw Failure("the code object ends at byte " + std::to_string(bytes_.size()) + ", within what it refers to");
    return bytes_.substr(offset, bytes);
  }

 private:
  std::string_view bytes_;
};

const Processor& processor_of(const FileHeader& header) {
  uint32_t number = header.flags & 0xff;
  for (const Processor& p : kProcessors)
    if (p.elf_number == number) return p;
  std::string name = "number " + std::to_string(number);
  for (const NamedNumber& other : kOthers)
    if (other.number == number) name = other.name;
  throw Failure(Diag{.message = "code objects for " + name + " are not supported",
                     .expected = "gfx942, gfx1100 to gfx1103, gfx1150, gfx1151, gfx1200 or gfx1201"});
}

std::string image_of(const Reader& file, const FileHeader& header) {
  std::string image;
  for (uint32_t n = 0; n < header.program_header_count; n++) {
    auto p = file.at<ProgramHeader>(header.program_headers + uint64_t(n) * sizeof(ProgramHeader));
    if (p.type != kLoad) continue;
    if (p.address > kMostImage || p.memory_bytes > kMostImage || p.file_bytes > p.memory_bytes)
      throw Failure("a segment of the code object has an impossible size");
    std::string_view bytes = file.range(p.offset, p.file_bytes);
    image.resize(std::max<size_t>(image.size(), p.address + p.memory_bytes));
    std::memcpy(image.data() + p.address, bytes.data(), bytes.size());
  }
  return image;
}

Descriptor descriptor_at(const std::string& image, uint64_t address) {
  Reader memory(image);
  Descriptor d;
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

const Processor* find_processor(std::string_view name) {
  for (const Processor& p : kProcessors)
    if (p.name == name) return &p;
  return nullptr;
}

uint64_t elf_bytes(const void* image) {
  FileHeader header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.ident,
                  "\x7f"
                  "ELF\2\1",
                  6) != 0)
    return 0;
  uint64_t end = std::max(header.program_headers + uint64_t(header.program_header_count) * sizeof(ProgramHeader),
                          header.section_headers + uint64_t(header.section_header_count) * sizeof(SectionHeader));
  return std::min(std::max<uint64_t>(end, sizeof header), kMostImage);  // lld puts the section headers last in the file
}

Result<CodeObject> CodeObject::read(std::string_view bytes) {
  return catch_failures([&] {
    Reader file(bytes);
    auto header = file.at<FileHeader>(0);
    if (std::memcmp(header.ident,
                    "\x7f"
                    "ELF\2\1",
                    6) != 0 ||
        header.machine != kMachineAmdgpu)
      throw Failure(Diag{.message = "the file is not a code object", .expected = "an ELF file for AMDGPU"});
    CodeObject out;
    out.processor_ = &processor_of(header);
    out.image_ = image_of(file, header);
    for (uint32_t n = 0; n < header.section_header_count; n++) {
      auto section = file.at<SectionHeader>(header.section_headers + uint64_t(n) * sizeof(SectionHeader));
      if (section.type != kDynamicSymbols) continue;
      auto names = file.at<SectionHeader>(header.section_headers + uint64_t(section.link) * sizeof(SectionHeader));
      std::string_view text = file.range(names.offset, names.bytes), table = file.range(section.offset, section.bytes);
      std::vector<std::pair<std::string, Symbol>> symbols;
      for (uint64_t at = 0; at + sizeof(Symbol) <= table.size(); at += sizeof(Symbol)) {
        auto symbol = Reader(table).at<Symbol>(at);
        std::string_view name = text.substr(std::min<size_t>(symbol.name, text.size()));
        symbols.emplace_back(name.substr(0, name.find('\0')), symbol);
      }
      for (auto& [name, symbol] : symbols) {
        auto descriptor = std::ranges::find(symbols, name + ".kd", &std::pair<std::string, Symbol>::first);
        if (descriptor == symbols.end()) continue;
        KernelEntry kernel{name, descriptor_at(out.image_, descriptor->second.value), symbol.value,
                           symbol.value + symbol.bytes};
        if (descriptor->second.value + uint64_t(kernel.descriptor.entry_offset) != kernel.begin ||
            kernel.end < kernel.begin || kernel.end > out.image_.size())
          throw Failure("the kernel '" + name + "' does not begin where its descriptor says, or ends beyond the code");
        out.kernels_.push_back(std::move(kernel));
      }
    }
    return out;
  });
}

}  // namespace tgc::hip
