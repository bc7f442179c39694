// The functions of renderers.def that set a renderer's limits, as tinygrad's renderer classes do (renderer/*.py).
#include "lib/target/arch.h"
#include "lib/target/target.h"
#include "lib/target/tensor_core.h"

namespace tgc {
namespace {

using Sizes = std::array<int64_t, 3>;
constexpr Sizes kGpuGlobal = {2147483647, 65535, 65535};

void set_nvidia_limits(Target& t) {
  t.global_max = kGpuGlobal;
  t.local_max = Sizes{1024, 1024, 64};
  t.shared_max = 49152;
}

}  // namespace

void set_clang_limits(Target& t, const Settings& settings) {
  t.has_local = false;
  t.has_threads = settings.THREADS != 0;
  t.global_max = Sizes{settings.cpu_count(), 0, 0};
  if (settings.AMX) t.tensor_cores = tensor_cores::amx();
}

void set_cpu_llvm_limits(Target& t, const Settings& settings) {
  t.has_local = false;
  t.global_max.reset();
  if (settings.AMX) t.tensor_cores = tensor_cores::amx();
}

void set_opencl_limits(Target&, const Settings&) {}

void set_intel_limits(Target& t, const Settings&) { t.tensor_cores = tensor_cores::intel(); }

void set_metal_limits(Target& t, const Settings&) { t.tensor_cores = tensor_cores::metal(); }

void set_cuda_limits(Target& t, const Settings&) {
  set_nvidia_limits(t);
  t.tensor_cores = tensor_cores::cuda(cuda_arch(t.arch));
}

void set_ptx_limits(Target& t, const Settings&) {
  set_nvidia_limits(t);
  t.tensor_cores = tensor_cores::ptx(cuda_arch(t.arch));
}

void set_amd_limits(Target& t, const Settings&) {
  t.global_max = kGpuGlobal;
  t.shared_max = 65536;
  t.tensor_cores = tensor_cores::amd(without_features(t.arch));
}

void set_wgsl_limits(Target& t, const Settings&) {
  t.supports_float4 = false;
  t.global_max = Sizes{65535, 65535, 65535};
  t.local_max = Sizes{256, 256, 64};
}

}  // namespace tgc
