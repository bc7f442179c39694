#pragma once
#include <doctest/doctest.h>
#include <cstring>
#include <string>
#include <vector>

#include "lib/emulate/cuda/driver.h"

namespace tgc::ptx {

// Returns a module with one kernel 'k', which runs `body`. The pointers p0, p1, ... are loaded into %rd0, %rd1, ...;
// %r0 is %tid.x.
inline std::string kernel_text(int pointers, const std::string& body) {
  std::string parameters, loads;
  for (int n = 0; n < pointers; n++) {
    std::string i = std::to_string(n);
    parameters += (n ? ", " : "") + std::string(".param .u64 p") + i;
    loads += "ld.param.u64 %rd" + i + ", [p" + i + "];\n";
  }
  return ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(" + parameters +
         ") {\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<30>;\n.reg .f64 %d<9>;\n"
         ".reg .b64 %rd<30>;\nmov.u32 %r0, %tid.x;\n" +
         loads + body + "\nret;\n}\n";
}

struct KernelRun {
  std::string error;  // message of LoadedModule::load_code() or of the fault; empty on success
  std::optional<KernelFault> fault;
  uint64_t num_executed_ops = 0;
};

struct RunOptions {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  bool checks_races = false;
};

// Runs kernel 'k' on device copies of the arrays, then copies the results back into them.
template <class... T>
KernelRun run_kernel_text(const std::string& text, RunOptions options, std::vector<T>&... arrays) {
  GpuMemory memory(1 << 26);
  auto module = LoadedModule::load_code(text, memory);
  if (!module) return {module.diag().text(), {}, 0};
  std::vector<uint64_t> addresses;
  auto place = [&](auto& a) {
    size_t bytes = a.size() * sizeof(a[0]);
    addresses.push_back(memory.allocate(bytes));
    std::memcpy(reinterpret_cast<void*>(addresses.back()), a.data(), bytes);
  };
  (place(arrays), ...);
  KernelLaunch launch{.code = (*module)->kernel("k"),
                .grid = options.grid,
                .block = options.block,
                .memory_ranges = memory.ranges(),
                .checks_races = options.checks_races};
  REQUIRE(launch.code);
  launch.parameters.resize(addresses.size() * 8);
  if (!addresses.empty()) std::memcpy(launch.parameters.data(), addresses.data(), addresses.size() * 8);
  KernelRun out;
  out.fault = run_launch(launch, out.num_executed_ops);
  if (out.fault) out.error = out.fault->text;
  size_t n = 0;
  auto fetch_array = [&](auto& a) {
    std::memcpy(a.data(), reinterpret_cast<void*>(addresses[n++]), a.size() * sizeof(a[0]));
  };
  (fetch_array(arrays), ...);
  return out;
}

}  // namespace tgc::ptx
