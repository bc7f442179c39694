// Target: the capabilities of a device and its renderer (attributes of tinygrad's Renderer classes, renderer/*.py).
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/dtype/dtype.h"
#include "lib/support/settings.h"
#include "lib/uop/ops.h"

namespace tgc {

// Kinds of renderers, from renderers.def. Some stand for several of tinygrad's classes.
enum class RendererKind : uint8_t {
#define TGC_RENDERER(id, name, printer) id,
#include "lib/target/renderers.def"
};

struct TensorCore;

struct Target {
  std::string device;
  RendererKind renderer = RendererKind::Clang;
  std::string arch;      // such as "sm_80"; empty if the renderer has no archs

  bool supports_float4 = true;
  bool has_local = true;
  bool has_shared = true;
  bool has_threads = false;
  // launch size in x, y, z: work groups (global_max), threads per work group (local_max); nullopt if unlimited
  std::optional<std::array<int64_t, 3>> global_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  std::optional<std::array<int64_t, 3>> local_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  int64_t shared_max = 32768;  // bytes per work group
  std::span<const TensorCore> tensor_cores;
  OpSet code_for_op;           // tinygrad's code_for_op, on which late rewrite rules depend

  std::string name() const;
};

std::string_view name_of(RendererKind kind);
std::span<const std::string_view> renderer_names();  // indexed by RendererKind

// A renderer class of tinygrad, and a device that uses it, or a subclass with the same rules.
struct RendererClass {
  std::string_view name;  // such as "ClangRenderer"
  std::string_view device;
  RendererKind renderer;
};
std::span<const RendererClass> renderer_classes();

// Parses "DEVICE[:RENDERER[:ARCH]]", with the device's defaults for missing parts. `settings` may change CPU targets.
// Fails for an unknown part, for an arch of a renderer that has no archs, and for the device "plugin".
Result<Target> parse_target(std::string_view text, const Settings& settings);

// Returns "DEVICE:RENDERER[:ARCH]" for each renderer of each device, with each main arch. parse_target() accepts
// further archs.
std::span<const std::string_view> known_targets();

// Returns what tinygrad's device.py:is_dtype_supported returns on Linux (x86-64) outside CI.
bool is_dtype_supported(DType dtype, const Target& target);

// Returns 80 for "sm_80"; -1 for a text that is not "sm_" and a number of 0 or more.
int cuda_arch_number(std::string_view arch);

// Returns "gfx942" for "gfx942:sramecc+:xnack-".
inline std::string_view arch_without_features(std::string_view arch) { return arch.substr(0, arch.find(':')); }

// `arch` may be followed by features, as in "gfx942:xnack-".
inline bool is_cdna(std::string_view arch) {
  return arch_without_features(arch) == "gfx942" || arch_without_features(arch) == "gfx950";
}
inline bool is_rdna4(std::string_view arch) {
  return arch_without_features(arch) == "gfx1200" || arch_without_features(arch) == "gfx1201";
}

// Like parse_target(), but accepts every CUDA arch "sm_<number>" and every AMD arch "gfx...", as tinygrad's renderers
// do.
Result<Target> parse_recorded_target(std::string_view text, const Settings& settings);

}  // namespace tgc
