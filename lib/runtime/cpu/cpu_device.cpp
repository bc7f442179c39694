#include "lib/runtime/backends.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>
#include <utility>

#include "lib/compile/load.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/cpu/threads.h"
#include "lib/runtime/host_device.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

// In the usual C calling conventions of 64 bits, a pointer or an int takes one register or one 8-byte stack slot, and a
// function ignores extra arguments.
constexpr size_t kMostArguments = 1024;

template <size_t... I>
void call_with_arguments(void* function, const uint64_t* arguments, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(decltype(uint64_t(I))...)>(function)(arguments[I]...);
}

void call_kernel_function(void* function, const uint64_t* arguments, size_t count) {
  if (count <= 6) return call_with_arguments(function, arguments, std::make_index_sequence<6>());
  if (count <= 16) return call_with_arguments(function, arguments, std::make_index_sequence<16>());
  if (count <= 64) return call_with_arguments(function, arguments, std::make_index_sequence<64>());
  call_with_arguments(function, arguments, std::make_index_sequence<kMostArguments>());
}

class CpuDevice : public HostDevice {
 public:
  explicit CpuDevice(std::string renderer) : renderer_(std::move(renderer)) {}

  Result<std::string> compile(const KernelSource& source) override { return compile_source(source); }
  Status open() override { return Unit{}; }
  void prepare_launches(size_t threads) override {
    thread_pool_.start_all_threads(threads);
    load_runtime_libraries();
  }
  std::string target() const override { return "CPU:" + renderer_; }
  std::string description() const override;
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;

  ThreadPool& threads() { return thread_pool_; }

 private:
  std::string renderer_;
  ThreadPool thread_pool_;
};

class CpuKernel : public Kernel {
 public:
  CpuKernel(CpuDevice& device, std::shared_ptr<const LoadedCode> code, void* function, const KernelSource& source)
      : Kernel(device),
        code_(std::move(code)),
        function_(function),
        num_variables_before_core_(source.num_variables_before_core.value_or(SIZE_MAX)),
        runs_threads_in_turn_(source.runs_threads_in_turn) {}

  Status launch(const LaunchArguments& a) override {
    size_t count = a.buffers.size() + a.variables.size() + 1;
    if (count > kMostArguments)
      return Diag{"a kernel on the CPU takes at most " + std::to_string(kMostArguments - 1) + " arguments, not " +
                  std::to_string(count - 1)};
    std::array<uint64_t, kMostArguments> arguments;
    size_t n = 0;
    for (const DeviceBuffer& b : a.buffers) arguments[n++] = reinterpret_cast<uint64_t>(HostDevice::address(b));
    const size_t core_at = n + std::min(num_variables_before_core_, a.variables.size());
    for (int64_t v : a.variables) {
      if (n == core_at) n++;
      arguments[n++] = uint64_t(v);
    }
    arguments[core_at] = 0;
    size_t threads = a.launch_size.global_size[0];
    if (threads <= 1 || runs_threads_in_turn_) {
      for (size_t core = 0; core < std::max<size_t>(1, threads); core++) {
        arguments[core_at] = core;
        call_kernel_function(function_, arguments.data(), count);
      }
      return Unit{};
    }
    static_cast<CpuDevice&>(device_).threads().run_task(threads, [&](size_t core) {
      std::array<uint64_t, kMostArguments> own;
      std::copy_n(arguments.data(), count, own.data());
      own[core_at] = core;
      call_kernel_function(function_, own.data(), count);
    });
    return Unit{};
  }

 private:
  std::shared_ptr<const LoadedCode> code_;
  void* function_;
  const size_t num_variables_before_core_;
  const bool runs_threads_in_turn_;
};

std::string CpuDevice::description() const {
  std::string model = "this computer's processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      model = line.substr(std::min(line.size(), line.find(':') + 2));
      break;
    }
  unsigned n = std::max(1u, std::thread::hardware_concurrency());
  return model + ", " + count_text(n, "thread");
}

Result<std::unique_ptr<Kernel>> CpuDevice::load(const KernelSource& source, const std::string& code) {
  auto loaded = load_object(code);
  if (!loaded) return loaded.diag();
  void* function = (*loaded)->symbol(source.function_name);
  if (!function) return Diag{"the compiled kernel has no function '" + source.function_name + "'"};
  return std::unique_ptr<Kernel>(std::make_unique<CpuKernel>(*this, std::move(*loaded), function, source));
}

}  // namespace

std::unique_ptr<Device> make_cpu_device(const std::string& renderer) { return std::make_unique<CpuDevice>(renderer); }

}  // namespace tgc
