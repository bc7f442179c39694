#include "lib/runtime/backends.h"

#include <algorithm>
#include <utility>

#include "lib/compile/load.h"
#include "lib/compile/metal/metal.h"
#include "lib/compile/metal/text.h"
#include "lib/emulate/metal/grid.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/host_device.h"

namespace tgc {
namespace {

class EmulatedMetalDevice : public HostDevice {
 public:
  Result<std::string> compile(const KernelSource& source) override { return compile_metal(source.name, source.text); }
  Status open() override { return Unit{}; }
  void prepare_launches(size_t) override { load_runtime_libraries(); }
  std::string target() const override { return "METAL:METAL"; }
  std::string description() const override { return "tgc's Metal emulator: clang for this CPU, not Apple's compiler"; }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
};

class EmulatedMetalKernel : public Kernel {
 public:
  EmulatedMetalKernel(Device& device, const KernelSource& source, MetalKernel signature, std::vector<CodeLine> lines,
                      std::shared_ptr<const LoadedCode> code)
      : Kernel(device),
        source_(source),
        signature_(std::move(signature)),
        line_table_(std::move(lines)),
        code_(std::move(code)),
        entry_function_(reinterpret_cast<metal::KernelFunction>(code_->symbol(metal_entry_name(signature_.name)))) {}

  Status launch(const LaunchArguments& a) override {
    return catch_failures([&] {
      std::vector<int32_t> values(a.variables.begin(), a.variables.end());
      if (auto fault = metal::run_grid(make_kernel_grid(a, values))) throw Failure(describe_fault(*fault));
      return Unit{};
    });
  }

 private:
  metal::KernelGrid make_kernel_grid(const LaunchArguments& a, std::vector<int32_t>& values) const {
    metal::KernelGrid grid{.entry = entry_function_,
                     .groups = a.launch_size.global_size,
                     .threads = a.launch_size.local_size.value_or(std::array<uint32_t, 3>{1, 1, 1}),
                     .arguments = {},
                     .memory = {},
                     .checks_races = has_race_checks()};
    uint64_t threads = uint64_t(grid.threads[0]) * grid.threads[1] * grid.threads[2];
    if (threads > metal::kMaxGroupThreads)
      throw Failure("a group of " + std::to_string(threads) + " threads is more than Metal's " +
                    std::to_string(metal::kMaxGroupThreads));
    for (const MetalParameter& p : signature_.parameters) {
      if (!p.position.empty()) continue;
      size_t n = grid.arguments.size(), buffers = a.buffers.size();
      if (n >= buffers + values.size())
        throw Failure("the kernel '" + signature_.name + "' needs an argument for '" + p.name + "'");
      uint8_t* address = n < buffers ? HostDevice::address(a.buffers[n])
                                     : reinterpret_cast<uint8_t*>(&values[n - buffers]);
      grid.arguments.push_back(address);
      grid.memory.push_back({p.name, reinterpret_cast<uint64_t>(address),
                             n < buffers ? a.buffers[n].bytes : sizeof values[0]});
    }
    if (grid.arguments.size() < a.buffers.size() + values.size())
      throw Failure("the kernel '" + signature_.name + "' takes " + std::to_string(grid.arguments.size()) +
                    " arguments, not " + std::to_string(a.buffers.size() + values.size()));
    return grid;
  }

  Diag describe_fault(const metal::KernelFault& fault) const {
    uint64_t begin = reinterpret_cast<uint64_t>(code_->symbol(".text"));
    auto line_of = [&](uint64_t behind) { return line_at_address(line_table_, behind - begin - 1); };
    Diag out{.message = "the kernel '" + source_.name + "' " + fault.text(line_of), .is_kernel_fault = true};
    out.context = source_lines_text(source_.text, {line_of(fault.return_address),
                                             fault.other_return_address ? line_of(fault.other_return_address) : 0});
    return out;
  }

  KernelSource source_;
  MetalKernel signature_;
  std::vector<CodeLine> line_table_;
  std::shared_ptr<const LoadedCode> code_;
  metal::KernelFunction entry_function_;
};

Result<std::unique_ptr<Kernel>> EmulatedMetalDevice::load(const KernelSource& source, const std::string& code) {
  return catch_failures([&]() -> std::unique_ptr<Kernel> {
    MetalCode made = std::move(read_metal_code(code).value_or_throw());
    auto kernels = find_metal_kernels(source.text);
    auto kernel = std::ranges::find(kernels, source.function_name, &MetalKernel::name);
    auto loaded = std::move(load_object(made.object, metal::runtime_functions()).value_or_throw());
    if (kernel == kernels.end() || !loaded->symbol(metal_entry_name(source.function_name)))
      throw Failure("the compiled kernel has no function '" + source.function_name + "'");
    return std::make_unique<EmulatedMetalKernel>(*this, source, std::move(*kernel), std::move(made.line_table),
                                                 std::move(loaded));
  });
}

}  // namespace

std::unique_ptr<Device> make_emulated_metal_device() { return std::make_unique<EmulatedMetalDevice>(); }

}  // namespace tgc
