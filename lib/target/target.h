// Target: the capabilities of a device and its renderer as data (attributes of tinygrad's Renderer classes,
// renderer/*.py). Passes and renderers read a Target.
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

// tinygrad's renderer classes that tgc reproduces, listed in renderers.def.
enum class RendererKind : uint8_t {
#define TGC_RENDERER(id, name, printer) id,
#include "lib/target/renderers.def"
};

struct TensorCore;  // defined in tensor_core.h

struct Target {
  std::string device;    // a device of renderers.def, such as "CPU" or "CUDA"
  RendererKind renderer = RendererKind::Clang;
  std::string arch;      // such as "sm_80", "gfx1100"; empty if the renderer has no archs

  bool supports_float4 = true;
  bool has_local = true;
  bool has_shared = true;
  bool has_threads = false;
  // maximum launch size in x, y, z: work groups (global_max), threads per work group (local_max); nullopt if unlimited
  std::optional<std::array<int64_t, 3>> global_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  std::optional<std::array<int64_t, 3>> local_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  int64_t shared_max = 32768;  // number of bytes of local memory that a work group can use
  std::span<const TensorCore> tensor_cores;
  OpSet code_for_op;           // the ops that the renderer can emit; late rewrite rules replace other ops

  std::string name() const;    // returns the full name, such as "CUDA:CUDA:sm_80"
};

std::string_view name_of(RendererKind kind);         // returns a name such as "CLANG"
std::span<const std::string_view> renderer_names();  // names of all renderers, indexed by RendererKind

// A renderer class of tinygrad, and a device that uses it. Several devices may use the same class.
struct RendererClass {
  std::string_view name;  // such as "ClangRenderer"
  std::string_view device;
  RendererKind renderer;
};
// Returns the class of each device and renderer, in the order of renderers.def.
std::span<const RendererClass> renderer_classes();

// Parses "DEVICE[:RENDERER[:ARCH]]". A missing part has the device's default. CPU_COUNT, THREADS and AMX of `settings`
// change CPU targets. Fails if a part is unknown, if there is an arch for a renderer that has no archs, or if the
// device is "plugin".
Result<Target> parse_target(std::string_view text, const Settings& settings);

// Returns the full names of the targets, for listings and error messages. parse_target accepts further CUDA archs.
std::span<const std::string_view> known_targets();

// Returns true if the target supports `dtype` (device.py:is_dtype_supported on a desktop machine outside CI).
bool is_dtype_supported(DType dtype, const Target& target);

// Functions that parse and classify the names of GPU architectures ("sm_80", "gfx942").

// Returns 80 for "sm_80"; -1 for a text other than "sm_" and a number.
int cuda_arch(std::string_view arch);

// Returns "gfx942" for "gfx942:sramecc+:xnack-".
inline std::string_view without_features(std::string_view arch) { return arch.substr(0, arch.find(':')); }

// Return true if `arch`, with or without a list of features, is an AMD GPU of CDNA (3 or 4) or of RDNA4.
inline bool is_cdna(std::string_view arch) {
  return without_features(arch) == "gfx942" || without_features(arch) == "gfx950";
}
inline bool is_rdna4(std::string_view arch) {
  return without_features(arch) == "gfx1200" || without_features(arch) == "gfx1201";
}

// Parses the target of a recording. Like parse_target, but accepts every CUDA arch "sm_<number>" and every AMD arch
// "gfx...", as tinygrad's renderers do. So tgc compiles a recording for an arch that it does not list as tinygrad did.
Result<Target> recorded_target(std::string_view text, const Settings& settings);

}  // namespace tgc
