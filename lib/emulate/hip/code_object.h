// Reads AMD code objects: ELF files with the kernels' code, a 64-byte descriptor per kernel, and constants.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::hip {

enum class GpuFamily : uint8_t { Gfx9, Gfx11, Gfx12 };
struct GpuProcessor {
  const char* name;
  uint32_t elf_number;   // low byte of the ELF header's e_flags
  GpuFamily family;
};
// Returns null if the processor is not supported.
const GpuProcessor* find_processor(std::string_view name);

// A kernel descriptor (LLVM's AMDGPUUsage, "Kernel Descriptor").
struct KernelDescriptor {
  uint32_t group_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
  int64_t entry_offset = 0;  // offset of the kernel's code, relative to the descriptor
  uint32_t resources1 = 0, resources2 = 0;
  uint16_t properties = 0, kernarg_preload = 0;

  bool is_wave32() const { return properties >> 10 & 1; }
  uint32_t num_user_registers() const { return resources2 >> 1 & 31; }
  bool has_group_id(int dimension) const { return resources2 >> (7 + dimension) & 1; }
  int num_extra_thread_ids() const { return int(resources2 >> 11 & 3); }  // number of thread ids besides x
  uint32_t float_mode() const { return resources1 >> 12 & 0xff; }  // rounding and denormal bits of the MODE register
};

struct KernelEntry {
  std::string name;
  KernelDescriptor descriptor;
  uint64_t begin = 0, end = 0;  // addresses of the kernel's code in the image
};

class CodeObject {
 public:
  // Parses untrusted bytes. Fails on a malformed file and on an unsupported processor.
  static Result<CodeObject> read(std::string_view bytes);

  const GpuProcessor& processor() const { return *processor_; }
  const std::vector<KernelEntry>& kernels() const { return kernels_; }
  // Returns the bytes of the loaded segments, from address 0 on.
  const std::string& image() const { return image_bytes_; }

 private:
  const GpuProcessor* processor_ = nullptr;
  std::vector<KernelEntry> kernels_;
  std::string image_bytes_;
};

// Returns the length in bytes of the 64-bit ELF file at `image`, at most 64 MiB, or 0 if `image` is no such file.
// Trusts the file's headers, because hipModuleLoadData has no length parameter, and assumes that it ends with the
// program or section headers, as lld's files do.
uint64_t elf_bytes(const void* image);

}  // namespace tgc::hip
