#include "lib/target/target.h"

namespace tgc {
namespace {

constexpr std::string_view kTargets[] = {
    "CPU:CLANG",      "CPU:LLVM",       "CUDA:CUDA:sm_75", "CUDA:CUDA:sm_80",  "CUDA:CUDA:sm_89",  "CUDA:CUDA:sm_90",
    "CUDA:PTX:sm_80", "METAL:METAL",    "CL:CL",           "CL:INTEL",         "AMD:HIP:gfx1100",  "AMD:HIP:gfx942",
    "AMD:HIP:gfx950", "AMD:HIP:gfx1201", "AMD:LLVM:gfx1100", "AMD:LLVM:gfx942", "WEBGPU:WGSL",
};

}  // namespace

std::string_view name_of(RendererKind kind) {
  static constexpr std::string_view kNames[] = {
#define X(id, name) name,
      TGC_RENDERERS(X)
#undef X
  };
  return kNames[int(kind)];
}

std::string Target::name() const { return device + ":" + std::string(name_of(renderer)) + (arch.empty() ? "" : ":" + arch); }

std::span<const std::string_view> known_targets() { return kTargets; }

Result<Target> parse_target(std::string_view text, const Settings& settings) {
  (void)settings;
  for (std::string_view known : kTargets)
    if (known == text) {
      Target t;
      t.device = known.substr(0, known.find(':'));
      return t;
    }
  return Diag{.message = "unknown target '" + std::string(text) + "'"};
}

}  // namespace tgc
