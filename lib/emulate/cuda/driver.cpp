#include "lib/emulate/cuda/driver.h"

#include <cstring>

namespace tgc::ptx {
namespace {

constexpr uint64_t kStaticShared = 48 << 10, kMostShared = 227 << 10;
constexpr Limits kLimits{.grid = {INT32_MAX, 65535, 65535}, .block = {1024, 1024, 64}, .threads = 1024};

constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

}  // namespace

Gpu& Gpu::get() {
  static Gpu* gpu = new Gpu;  // never destroyed: Python unloads CUDA modules after static destructors have run
  return *gpu;
}

Gpu::Gpu() : Driver("TGC_CUDA_EMULATOR", kErrors) {
  if (const char* arch = setting("_ARCH"))
    if (int n = architecture_of(arch); n >= 50) architecture_ = n;
}

std::string Gpu::name() const { return "tgc's CUDA emulator, sm_" + std::to_string(architecture_); }

int Gpu::load(std::string_view text, LoadedModule*& module, std::string& log) {
  auto refused = [&](int code, const Diag& diag) {
    log = "PTX emulator, " + (diag.line ? "line " + std::to_string(diag.line) + "; " : std::string()) +
          "error   : " + diag.message + (diag.expected.empty() ? "" : ", expected " + diag.expected);
    return fail(code, log);
  };
  if (text.starts_with("\x7f"
                       "ELF"))
    return refused(kInvalidImage, Diag{.message = "a cubin", .expected = "PTX"});
  auto loaded = LoadedModule::load(text, memory());
  if (!loaded) return refused(kInvalidPtx, loaded.diag());
  std::string_view target = (*loaded)->module().target;
  int needs = architecture_of(target);
  if (needs == 0)
    return refused(kInvalidPtx, Diag{.message = "no target '" + std::string(target) + "'", .expected = "sm_NN"});
  if (needs > architecture_)
    return refused(kNoBinaryForGpu,
                   Diag{.message = "PTX for " + std::string(target) + " on sm_" + std::to_string(architecture_)});
  module = modules_.add(std::move(*loaded));
  return kSuccess;
}

int Gpu::parameters_of(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to) {
  const Function& f = *kernel.code->function;
  to.assign(f.parameter_bytes, std::byte(0));
  if (parameters) {
    for (size_t n = 0; n < f.parameters.size(); n++) {
      if (!parameters[n]) return fail(kInvalidValue, "parameter " + std::to_string(n) + " is null");
      std::memcpy(to.data() + f.parameters[n].offset, parameters[n], f.parameters[n].bytes);
    }
    return kSuccess;
  }
  ArgumentBlock given;
  if (int code = read_extra(extra, nullptr, given)) return code;
  if (given.bytes < f.parameter_bytes && !(given.bytes == 0 && f.parameters.empty()))
    return fail(kInvalidValue, std::to_string(given.bytes) + " bytes of parameters, the kernel has " +
                                   std::to_string(f.parameter_bytes));
  if (given.data) std::memcpy(to.data(), given.data, f.parameter_bytes);
  return kSuccess;
}

int Gpu::launch(const LaunchNode& node) {
  const Code& code = *node.kernel->code;
  const Function& f = *code.function;
  if (int wrong = check_size(node.grid, node.block, kLimits)) return wrong;
  uint64_t threads = volume(node.block);
  if (f.most_threads && threads > f.most_threads)
    return fail(kInvalidValue, "a block of " + std::to_string(threads) + " threads, .maxntid allows " +
                                   std::to_string(f.most_threads));
  const auto& [x, y, z] = node.block;
  if (f.required_threads[0] && f.required_threads != std::array<uint64_t, 3>{x, y, z})
    return fail(kInvalidValue, "the block's size is not that of .reqntid");
  if (code.shared_bytes > kStaticShared) return fail(kInvalidValue, "more than 48 KiB of static shared memory");
  if (node.shared > node.kernel->most_dynamic_shared || code.shared_bytes + node.shared > kMostShared)
    return fail(kInvalidValue, std::to_string(node.shared) + " bytes of dynamic shared memory");
  Launch launch{.code = &code,
                .grid = node.grid,
                .block = node.block,
                .dynamic_shared = node.shared,
                .parameters = node.parameters,
                .ranges = memory().ranges(),
                .check_races = checks_races(),
                .host_threads = host_threads()};
  return run(std::string(f.name), threads, [&](uint64_t& executed) { return run_launch(launch, executed); });
}

}  // namespace tgc::ptx
