// An AMD code object, as hipModuleLoadData gets it: an ELF file with the kernels' code, a descriptor of 64 bytes for
// each kernel, and constants. Read with care: the bytes may be anything.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::hip {

// The processors whose instructions are known. Gfx12 is gfx11 with other waits and workgroup ids.
enum class Family : uint8_t { Gfx9, Gfx11, Gfx12 };
struct Processor {
  const char* name;      // "gfx1100"
  uint32_t elf_number;   // of the ELF header's flags
  Family family;
};
// The processor of that name; null for one whose instructions are not known.
const Processor* find_processor(std::string_view name);

// What a kernel descriptor asks for (LLVM's AMDGPUUsage, "Kernel Descriptor").
struct Descriptor {
  uint32_t group_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
  int64_t entry_offset = 0;  // from the descriptor
  uint32_t resources1 = 0, resources2 = 0;
  uint16_t properties = 0, kernarg_preload = 0;

  bool is_wave32() const { return properties >> 10 & 1; }
  uint32_t user_registers() const { return resources2 >> 1 & 31; }
  bool has_group_id(int dimension) const { return resources2 >> (7 + dimension) & 1; }
  int thread_ids() const { return int(resources2 >> 11 & 3); }  // 0: x, 1: x and y, 2: x, y and z
  uint32_t float_mode() const { return resources1 >> 12 & 0xff; }  // rounding, denormals: as the MODE register has them
};

struct KernelEntry {
  std::string name;
  Descriptor descriptor;
  uint64_t begin = 0, end = 0;  // addresses of its code in the image
};

class CodeObject {
 public:
  // An error says what is wrong with the file, or which processor is not known.
  static Result<CodeObject> read(std::string_view bytes);

  const Processor& processor() const { return *processor_; }
  const std::vector<KernelEntry>& kernels() const { return kernels_; }
  // The segments as they lie in memory, from address 0.
  const std::string& image() const { return image_; }

 private:
  const Processor* processor_ = nullptr;
  std::vector<KernelEntry> kernels_;
  std::string image_;
};

// The length of an ELF file that lies in memory, as its headers tell it; 0: no ELF file. hipModuleLoadData gets no
// length, so that reading must trust the header's sizes.
uint64_t elf_bytes(const void* image);

}  // namespace tgc::hip
