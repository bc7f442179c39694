#include "lib/emulate/hip/driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tgc::hip {
namespace {

constexpr uint32_t kMostThreads = 1024, kMostGroupBytes = 64 << 10, kHiddenArguments = 256;

struct ErrorText {
  int code;
  const char *name, *text;
};
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
bool checks_races() { return is_set("TGC_HIP_EMULATOR_RACE"); }

// Behind a kernel's own arguments: the sizes of grid and groups, where the kernel reads them (code object 5).
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

const char* name_of(int code) {
  const ErrorText* e = find_error(code);
  return e ? e->name : "hipErrorUnknown";
}

Gpu& Gpu::get() {
  static Gpu* gpu = new Gpu;  // lives to the end of the process: Python frees modules after destructors have run
  return *gpu;
}

Gpu::Gpu() : memory_(physical_bytes() / 2) {
  if (const char* arch = std::getenv("TGC_HIP_EMULATOR_ARCH"))
    if (find_processor(arch)) architecture_ = arch;
  host_threads_ = std::max(1u, std::thread::hardware_concurrency());
  if (const char* threads = std::getenv("TGC_HIP_EMULATOR_THREADS"))
    host_threads_ = std::clamp(unsigned(std::atoi(threads)), 1u, 256u);
  tells_speed_ = is_set("TGC_HIP_EMULATOR_SPEED");
}

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
  return e ? e->text : "unknown error";
}

int Gpu::load(const void* image, LoadedModule*& module) {
  uint64_t bytes = elf_bytes(image);
  if (!bytes) return fail(kInvalidImage, "no ELF file");
  auto loaded = LoadedModule::load({static_cast<const char*>(image), bytes}, memory_, checks_races());
  if (!loaded) return fail(kInvalidImage, loaded.diag().text());
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

int Gpu::launch(const Kernel* kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint64_t group_bytes,
                void** parameters, void** extra) {
  if (std::ranges::none_of(kernels_, [&](auto& k) { return k.get() == kernel; })) return kInvalidHandle;
  if (parameters) return fail(kNotSupported, "arguments one by one, expected them as one block in `extra`");
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (; extra && *extra != reinterpret_cast<void*>(3); extra += 2) {
    size_t what = reinterpret_cast<size_t>(*extra);
    if (what == 1) buffer = extra[1];
    else if (what == 2) bytes = *static_cast<size_t*>(extra[1]);
    else return fail(kInvalidValue, "an unknown entry in the launch's extra options");
  }
  const Code& code = *kernel->code;
  const Descriptor& d = code.descriptor;
  // hidden arguments, where there are any, begin at a multiple of 8
  if (bytes + (d.kernarg_bytes > kHiddenArguments ? kHiddenArguments + 7 : 0) < d.kernarg_bytes)
    return fail(kInvalidValue,
                std::to_string(bytes) + " bytes of arguments, the kernel has " + std::to_string(d.kernarg_bytes));
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  for (uint32_t n : grid)
    if (n == 0) return fail(kInvalidValue, "an empty grid");
  if (threads == 0 || threads > kMostThreads)
    return fail(kInvalidValue, "a block of " + std::to_string(threads) + " threads");
  if (d.group_bytes + group_bytes > kMostGroupBytes)
    return fail(kInvalidValue, std::to_string(d.group_bytes + group_bytes) + " bytes of shared memory");
  Launch launch{.code = &code,
                .grid = grid,
                .block = block,
                .dynamic_group_bytes = group_bytes,
                .ranges = memory_.ranges(),
                .check_races = checks_races(),
                .host_threads = host_threads_};
  launch.arguments.resize((std::max<size_t>(bytes, d.kernarg_bytes) + 63) / 64 * 64 + 64);  // loads may be widened
  if (buffer) std::memcpy(launch.arguments.data(), buffer, bytes);
  if (d.kernarg_bytes > bytes) add_hidden_arguments(launch, bytes);
  auto begin = std::chrono::steady_clock::now();
  uint64_t executed = 0;
  std::optional<Fault> fault = run_launch(launch, executed);
  if (fault) return fail(fault->code, fault->text);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (tells_speed_)
    std::fprintf(stderr, "%s: %llu instructions of threads in %.6f s, %.0f million a second, blocks of %u threads\n",
                 code.name.c_str(), (unsigned long long)executed, seconds, double(executed) / seconds / 1e6,
                 launch.threads());
  return kSuccess;
}

}  // namespace tgc::hip
