#include "lib/emulate/hip/driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tgc::hip {
namespace {

constexpr Limits kLimits{.grid = {INT32_MAX, 65536, 65536}, .block = {1024, 1024, 1024}, .threads = 1024};
constexpr uint32_t kMostGroupBytes = 64 << 10, kHiddenArguments = 256;

constexpr ErrorText kErrors[] = {
    {kSuccess, "hipSuccess", "no error"},
    {kInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {kNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {kInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {kInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {kNotFound, "hipErrorNotFound", "named symbol not found"},
    {kIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {kIllegalInstruction, "hipErrorIllegalInstruction", "an illegal instruction was encountered"},
    {kLaunchFailed, "hipErrorLaunchFailure", "unspecified launch failure"},
    {kNotSupported, "hipErrorNotSupported", "operation not supported"},
};

// Writes the hidden arguments (grid size, group size, dimensions) of code object version 5 after `own` argument bytes.
void add_hidden_arguments(Launch& launch, uint64_t own) {
  uint64_t at = (own + 7) / 8 * 8;
  if (at + kHiddenArguments > launch.arguments.size()) return;
  std::byte* to = launch.arguments.data() + at;
  std::memcpy(to, launch.grid.data(), 12);
  for (size_t n = 0; n < 3; n++) {
    auto size = uint16_t(launch.block[n]);
    std::memcpy(to + 12 + 2 * n, &size, 2);
  }
  uint16_t dimensions = 3;
  std::memcpy(to + 64, &dimensions, 2);
}

}  // namespace

Gpu& Gpu::get() {
  static Gpu* gpu = new Gpu;  // never destroyed: Python frees modules after static destructors have run
  return *gpu;
}

Gpu::Gpu() : Driver("TGC_HIP_EMULATOR", kErrors) {
  if (const char* arch = setting("_ARCH"))
    if (find_processor(arch)) architecture_ = arch;
  if (const char* address = std::getenv(kTraceLogVariable))
    log_ = reinterpret_cast<TraceLog*>(std::strtoull(address, nullptr, 16));
}

int Gpu::load(const void* image, LoadedModule*& module) {
  uint64_t bytes = elf_bytes(image);
  if (!bytes) return fail(kInvalidImage, "the image is not an ELF file");
  auto loaded = LoadedModule::load({static_cast<const char*>(image), bytes}, memory(), checks_races());
  if (!loaded) return fail(kInvalidImage, loaded.diag().text());
  module = modules_.add(std::move(*loaded));
  if (log_) log_->append(TraceRecord::Module, module->base(), {static_cast<const char*>(image), bytes});
  return kSuccess;
}

int Gpu::launch(const Kernel* kernel, const Triple& grid, const Triple& block, uint64_t group_bytes, void** parameters,
                void** extra) {
  if (!modules_.knows(kernel)) return kInvalidHandle;
  if (parameters) return fail(kNotSupported, "arguments one by one, expected them as one block in `extra`");
  ArgumentBlock given;
  if (int wrong = read_extra(extra, reinterpret_cast<void*>(3), given)) return wrong;
  const Code& code = *kernel->code;
  const Descriptor& d = code.descriptor;
  // hidden arguments, if the kernel has them, begin at a multiple of 8, so up to 7 bytes of padding precede them
  if (given.bytes + (d.kernarg_bytes > kHiddenArguments ? kHiddenArguments + 7 : 0) < d.kernarg_bytes)
    return fail(kInvalidValue,
                std::to_string(given.bytes) + " bytes of arguments, the kernel has " + std::to_string(d.kernarg_bytes));
  if (int wrong = check_size(grid, block, kLimits)) return wrong;
  if (d.group_bytes + group_bytes > kMostGroupBytes)
    return fail(kInvalidValue, std::to_string(d.group_bytes + group_bytes) + " bytes of shared memory");
  Launch launch{.code = &code,
                .grid = grid,
                .block = block,
                .dynamic_group_bytes = group_bytes,
                .ranges = memory().ranges(),
                .check_races = checks_races(),
                .host_threads = log_ ? 1 : host_threads(),
                .log = log_};
  if (log_) log_->append(TraceRecord::Launch, code.base, std::string(code.processor) + " " + code.name);
  size_t bytes = given.data ? given.bytes : 0;
  launch.arguments.resize((std::max<size_t>(bytes, d.kernarg_bytes) + 63) / 64 * 64 + 64);  // room for widened loads
  std::memcpy(launch.arguments.data(), given.data ? given.data : "", bytes);
  if (d.kernarg_bytes > bytes) add_hidden_arguments(launch, bytes);
  return run(code.name, volume(block), [&](uint64_t& executed) { return run_launch(launch, executed); });
}

}  // namespace tgc::hip
