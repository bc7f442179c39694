// Target: what a renderer can do, as data (the attributes of tinygrad's Renderer classes, renderer/*.py). The passes
// and the renderers ask this; nothing here renders.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/support/settings.h"
#include "lib/uop/ops.h"

namespace tgc {

// tinygrad's renderer classes that tgc has; renderers.def is the table of them.
enum class RendererKind : uint8_t {
#define TGC_RENDERER(id, name, printer) id,
#include "lib/target/renderers.def"
};

struct TensorCore;  // tensor_core.h

struct Target {
  std::string device;    // "CPU", "CUDA", "NV", "METAL", "CL", "QCOM", "AMD", "HIP", "WEBGPU"
  RendererKind renderer = RendererKind::Clang;
  std::string arch;      // "sm_80", "gfx1100", empty

  bool supports_float4 = true;
  bool has_local = true;
  bool has_shared = true;
  bool has_threads = false;
  // the most of each launch dimension, in (x, y, z) order; nullopt: not limited
  std::optional<std::array<int64_t, 3>> global_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  std::optional<std::array<int64_t, 3>> local_max = {{0x8FFFFFFF, 0x8FFFFFFF, 0x8FFFFFFF}};
  int64_t shared_max = 32768;  // bytes of local memory
  std::span<const TensorCore> tensor_cores;
  OpSet code_for_op;           // the ops that can be rendered; the late rewrites avoid the others

  std::string name() const;    // "CUDA:CUDA:sm_80"
};

std::string_view name_of(RendererKind kind);         // "CLANG"
std::span<const std::string_view> renderer_names();  // of all renderers, by enumerator

// A class of tinygrad's renderers, and a device that uses it. Several devices may use one class.
struct RendererClass {
  std::string_view name;  // "ClangRenderer"
  std::string_view device;
  RendererKind renderer;
};
// Returns the class of each device and renderer, in the order of renderers.def.
std::span<const RendererClass> renderer_classes();

// The target of "DEVICE[:RENDERER[:ARCH]]", with the settings that shape it (CPU_COUNT, THREADS, AMX). Parts left out
// take the device's default. An unknown part is an error that lists what there is.
Result<Target> parse_target(std::string_view text, const Settings& settings);

// Every target in full, for listings and messages.
std::span<const std::string_view> known_targets();

// tinygrad's is_dtype_supported(dtype, device) on a desktop machine outside CI (device.py).
bool is_dtype_supported(DType dtype, const Target& target);

}  // namespace tgc
