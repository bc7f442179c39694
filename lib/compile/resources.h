// The resources that a compiled kernel needs of its processor, as reported by the compiler of its source, or estimated
// from PTX.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compile/compile.h"

namespace tgc {

// Members that do not apply to the processor, or that an estimate does not have, are unset.
struct KernelResources {
  std::string kernel;
  std::string reporter_name;        // "LLVM 19.1.7", "ptxas", or how the numbers are estimated
  bool is_estimate = false;
  std::optional<uint32_t> num_vector_registers;  // GPU: registers of a thread
  std::optional<uint32_t> num_scalar_registers;  // AMD: scalar registers of a wave
  // AMD: spilled vector registers and spilled scalar registers. NVIDIA: bytes stored and loaded for spills. CPU: the
  // number of instructions that store a register to the stack and that load it again.
  std::optional<uint32_t> num_spills, num_spill_loads;
  std::string_view spill_unit;                     // "registers", "bytes" or "instructions"
  std::optional<uint32_t> shared_bytes;            // GPU: memory that a work group shares
  std::optional<uint32_t> scratch_bytes;           // private memory of a thread; CPU: size of the stack frame
  std::optional<uint32_t> code_bytes;
  // CPU: width in bits of the widest vectors that the kernel computes with or, if it has no float or vector arithmetic,
  // moves; 0: scalar code
  std::optional<uint32_t> vector_bits;
  uint32_t max_threads = 0;  // maximum threads of a work group, as the compiled code states them; 0: not stated
};

// Compiles the source, through the cache if `uses_cache` is set, and returns the resources of its kernels, in the order
// of the compiler's report. Fails as compile() does, and for Metal.
Result<std::vector<KernelResources>> resources_of_job(const CompileJob& job, bool uses_cache = true);

// Read assembly for AMD GPUs, the output of `ptxas -v`, and assembly for CPUs with .stack_sizes and spill comments.
std::vector<KernelResources> read_amd_metadata(std::string_view assembly);
std::vector<KernelResources> read_ptxas_log(std::string_view log);
std::vector<KernelResources> read_cpu_assembly(std::string_view assembly);

// Estimates the registers of the kernels in a PTX module: the most 32-bit registers that are live at a time, and a few
// that PTX does not name. Returns them in the order of the text. ptxas may need more or fewer.
std::vector<KernelResources> estimate_ptx_resources(std::string_view ptx);

// Returns nullopt if the file has no function of that name. The file may be damaged.
std::optional<uint32_t> function_size_bytes(std::string_view elf, std::string_view function);

}  // namespace tgc
