#include "lib/emulate/cuda/driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tgc::ptx {
namespace {

constexpr uint64_t kStaticShared = 48 << 10, kMostShared = 227 << 10;
constexpr uint32_t kMostThreads = 1024, kMostGridX = INT32_MAX, kMostGridYZ = 65535;

struct ErrorText {
  int code;
  const char *name, *text;
};
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
const ErrorText* find_error(int code) {
  for (const ErrorText& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

uint64_t physical_bytes() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)); }

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

}  // namespace

const char* name_of(int code) {
  const ErrorText* e = find_error(code);
  return e ? e->name : nullptr;
}

Gpu& Gpu::get() {
  static Gpu* gpu = new Gpu;  // lives to the end of the process: Python frees modules after destructors have run
  return *gpu;
}

Gpu::Gpu() : memory_(physical_bytes() / 2) {
  if (const char* arch = std::getenv("TGC_CUDA_EMULATOR_ARCH"))
    if (int n = architecture_of(arch); n >= 50) architecture_ = n;
  host_threads_ = std::max(1u, std::thread::hardware_concurrency());
  if (const char* threads = std::getenv("TGC_CUDA_EMULATOR_THREADS"))
    host_threads_ = std::clamp(unsigned(std::atoi(threads)), 1u, 256u);
  tells_speed_ = is_set("TGC_CUDA_EMULATOR_SPEED");
}

std::string Gpu::name() const { return "tgc's CUDA emulator, sm_" + std::to_string(architecture_); }

int Gpu::fail(int code, std::string text) {
  std::lock_guard lock(mutex_);
  const ErrorText* e = find_error(code);
  failed_code_ = code;
  texts_.push_back(std::string(e ? e->text : "error") + ": " + text);
  if (texts_.size() > 1000) texts_.pop_front();
  return code;
}

const char* Gpu::text_of(int code) {
  std::lock_guard lock(mutex_);
  if (code != 0 && code == failed_code_) return texts_.back().c_str();
  const ErrorText* e = find_error(code);
  return e ? e->text : nullptr;
}

int Gpu::load(std::string_view text, LoadedModule*& module, std::string& log) {
  auto refused = [&](int code, const Diag& diag) {
    log = "PTX emulator, " + (diag.line ? "line " + std::to_string(diag.line) + "; " : std::string()) +
          "error   : " + diag.message + (diag.expected.empty() ? "" : ", expected " + diag.expected);
    return fail(code, log);
  };
  if (text.starts_with("\x7f"
                       "ELF"))
    return refused(kInvalidImage, Diag{.message = "a cubin", .expected = "PTX"});
  auto loaded = LoadedModule::load(text, memory_);
  if (!loaded) return refused(kInvalidPtx, loaded.diag());
  std::string_view target = (*loaded)->module().target;
  int needs = architecture_of(target);
  if (needs == 0)
    return refused(kInvalidPtx, Diag{.message = "no target '" + std::string(target) + "'", .expected = "sm_NN"});
  if (needs > architecture_)
    return refused(kNoBinaryForGpu,
                   Diag{.message = "PTX for " + std::string(target) + " on sm_" + std::to_string(architecture_)});
  std::lock_guard lock(mutex_);
  module = modules_.insert(std::move(*loaded)).first->get();
  return kSuccess;
}

int Gpu::unload(LoadedModule* module) {
  std::lock_guard lock(mutex_);
  std::erase_if(kernels_, [&](auto& k) { return k->module == module; });
  return std::erase_if(modules_, [&](auto& m) { return m.get() == module; }) ? kSuccess : int(kInvalidHandle);
}

int Gpu::find(LoadedModule* module, const char* name, Kernel*& kernel) {
  std::lock_guard lock(mutex_);
  if (std::ranges::none_of(modules_, [&](auto& m) { return m.get() == module; })) return kInvalidHandle;
  const Code* code = module->kernel(name);
  if (!code) return kNotFound;
  kernels_.push_back(std::make_unique<Kernel>(Kernel{module, code}));
  kernel = kernels_.back().get();
  return kSuccess;
}

bool Gpu::knows(const Kernel* kernel) const {
  return std::ranges::any_of(kernels_, [&](auto& k) { return k.get() == kernel; });
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
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (; extra && *extra; extra += 2) {
    size_t what = reinterpret_cast<size_t>(*extra);
    if (what == 1) buffer = extra[1];
    else if (what == 2) bytes = *static_cast<size_t*>(extra[1]);
    else return fail(kInvalidValue, "an unknown entry in the launch's extra options");
  }
  if (bytes < f.parameter_bytes && !(bytes == 0 && f.parameters.empty()))
    return fail(kInvalidValue,
                std::to_string(bytes) + " bytes of parameters, the kernel has " + std::to_string(f.parameter_bytes));
  if (buffer) std::memcpy(to.data(), buffer, f.parameter_bytes);
  return kSuccess;
}

int Gpu::launch(const LaunchNode& node) {
  const auto& [grid, block, shared] = node.size;
  const Code& code = *node.kernel->code;
  const Function& f = *code.function;
  for (uint32_t n : grid)
    if (n == 0) return fail(kInvalidValue, "an empty grid");
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  if (grid[0] > kMostGridX || grid[1] > kMostGridYZ || grid[2] > kMostGridYZ)
    return fail(kInvalidValue, "the grid is too large");
  if (threads == 0 || block[0] > kMostThreads || block[1] > kMostThreads || block[2] > 64 || threads > kMostThreads)
    return fail(kInvalidValue, "a block of " + std::to_string(threads) + " threads");
  if (f.most_threads && threads > f.most_threads)
    return fail(kInvalidValue, "a block of " + std::to_string(threads) + " threads, .maxntid allows " +
                                   std::to_string(f.most_threads));
  if (f.required_threads[0] && f.required_threads != std::array<uint64_t, 3>{block[0], block[1], block[2]})
    return fail(kInvalidValue, "the block's size is not that of .reqntid");
  if (code.shared_bytes > kStaticShared) return fail(kInvalidValue, "more than 48 KiB of static shared memory");
  if (shared > node.kernel->most_dynamic_shared || code.shared_bytes + shared > kMostShared)
    return fail(kInvalidValue, std::to_string(shared) + " bytes of dynamic shared memory");
  Launch launch{.code = &code,
                .grid = grid,
                .block = block,
                .dynamic_shared = shared,
                .parameters = node.parameters,
                .ranges = memory_.ranges(),
                .check_races = is_set("TGC_CUDA_EMULATOR_RACE"),
                .host_threads = host_threads_};
  auto begin = std::chrono::steady_clock::now();
  uint64_t executed = 0;
  std::optional<Fault> fault = run_launch(launch, executed);
  if (fault) return fail(fault->code, fault->text);
  if (tells_speed_)
    tell_speed(*node.kernel, launch, executed,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return kSuccess;
}

void Gpu::tell_speed(const Kernel& kernel, const Launch& launch, uint64_t executed, double seconds) const {
  std::fprintf(stderr, "%s: %llu instructions of threads in %.6f s, %.0f million a second, blocks of %u threads\n",
               std::string(kernel.code->function->name).c_str(), (unsigned long long)executed, seconds,
               double(executed) / seconds / 1e6, launch.threads());
}

}  // namespace tgc::ptx
