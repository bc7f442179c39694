// Targets of the emulators: AMD code objects and PTX, run on a small array.
#include <algorithm>

#include "apps/fuzz/target.h"
#include "lib/emulate/cuda/driver.h"
#include "lib/emulate/hip/driver.h"

namespace tgc::fuzz {
namespace {

constexpr uint64_t kMemory = 1 << 26, kArrayBytes = 4096, kMostJumps = 1000;
constexpr emulate::Dim3 kGrid{2, 1, 1}, kBlock{40, 1, 1};

class DeviceArray {
 public:
  explicit DeviceArray(emulate::GpuMemory& memory) : memory_(memory), address_(memory.allocate(kArrayBytes)) {
    std::fill_n(reinterpret_cast<uint8_t*>(address_), kArrayBytes, uint8_t(1));
  }
  ~DeviceArray() { memory_.free(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  // Returns `bytes` bytes of kernel arguments that repeat the address of the array.
  std::vector<std::byte> as_arguments(size_t bytes) const {
    std::vector<std::byte> out(bytes);
    for (size_t n = 0; n < bytes; n++) out[n] = std::byte(address_ >> n % sizeof address_ * 8);
    return out;
  }

 private:
  emulate::GpuMemory& memory_;
  uint64_t address_;
};

template <class KernelLaunch>
void check_launch(const KernelLaunch& launch) {
  uint64_t executed = 0;
  auto fault = run_launch(launch, executed);
  require_condition(!fault || !fault->text.empty(), "an error without a text");
}

}  // namespace

void run_ptx(Bytes bytes) {
  constexpr uint64_t kMostShared = 48 << 10;
  emulate::GpuMemory memory(kMemory);
  auto module = ptx::LoadedModule::load_code(bytes_as_text(bytes), memory);
  if (!check_message(module)) return;
  count_run_input();
  DeviceArray array(memory);
  for (const ptx::Function& f : (*module)->module().functions) {
    const ptx::TranslatedKernel* code = (*module)->kernel(f.name);
    if (code->shared_bytes > kMostShared) continue;  // the emulated driver also refuses more static shared memory
    for (bool races : {false, true})
      check_launch(ptx::KernelLaunch{.code = code,
                      .grid = kGrid,
                      .block = kBlock,
                      .parameters = array.as_arguments(f.parameter_bytes),
                      .memory_ranges = memory.ranges(),
                      .checks_races = races,
                      .max_jumps = kMostJumps});
  }
}

void run_code_object(Bytes bytes) {
  constexpr size_t kArguments = 32;
  emulate::GpuMemory memory(kMemory);
  auto module = hip::LoadedModule::load_code(bytes_as_text(bytes), memory, true);
  if (!check_message(module)) return;
  count_run_input();
  DeviceArray array(memory);
  for (const auto& code : (*module)->kernels())
    check_launch(
        hip::KernelLaunch{.code = code.get(),
                          .grid = kGrid,
                          .block = kBlock,
                          .arguments = array.as_arguments(std::max<size_t>(code->descriptor.kernarg_bytes, kArguments)),
                          .memory_ranges = memory.ranges(),
                          .checks_races = true,
                          .max_jumps = kMostJumps});
}

}  // namespace tgc::fuzz
