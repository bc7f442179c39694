#include "lib/target/target.h"

#include <algorithm>
#include <cctype>

#include "lib/support/counted.h"
#include "lib/target/tensor_core.h"

namespace tgc {

#define TGC_TARGET(device, renderer, arch, ops, limits, rules, class_name) void limits(Target&, const Settings&);
#include "lib/target/renderers.def"

namespace {

using enum Op;
constexpr OpSet kCStyleOps{SQRT, RECIPROCAL, NEG, EXP2, LOG2,  SIN, TRUNC, AND,   XOR,   OR,   ADD,
                           SUB,  MUL,        MOD, IDIV, CMPNE, SHR, SHL,   CMPLT, WHERE, CMPEQ};
constexpr OpSet kClangOps{SQRT, NEG,   AND, XOR, OR,    ADD,   SUB,   MUL,   MOD,
                          IDIV, CMPNE, SHR, SHL, CMPLT, WHERE, CMPEQ, TRUNC, FDIV};
constexpr OpSet kPtxOps{RECIPROCAL, EXP2, LOG2, SIN, SQRT, TRUNC, SHR,   SHL,   ADD,    MUL,  XOR,
                        AND,        OR,   IDIV, MOD, MAX,  CMPEQ, CMPLT, CMPNE, MULACC, WHERE};
constexpr OpSet kLlvmOps{FDIV, CMPLT};

constexpr OpSet kAmdLlvmOps = kLlvmOps | OpSet{SQRT, LOG2, EXP2};

// The first row of a device has its default renderer.
struct TargetRow {
  std::string_view device;
  RendererKind renderer;
  std::string_view default_arch;
  OpSet ops;
  void (*set_limits)(Target&, const Settings&);
};
constexpr TargetRow kRows[] = {
#define TGC_TARGET(device, renderer, arch, ops, limits, rules, class_name) \
  {device, RendererKind::renderer, arch, ops, limits},
#include "lib/target/renderers.def"
};

// The CUDA archs that known_targets() lists. parse_target() also accepts kOtherCudaArchs.
constexpr std::string_view kCudaArchs[] = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
constexpr int kOtherCudaArchs[] = {30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 72, 87, 88, 101, 103, 110, 121};
constexpr std::string_view kAmdArchs[] = {"gfx942",  "gfx950",  "gfx1100", "gfx1101", "gfx1102",
                                          "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201"};

bool is_cuda(const TargetRow& row) { return row.renderer == RendererKind::CUDA || row.renderer == RendererKind::PTX; }

std::span<const std::string_view> known_archs_of(const TargetRow& row) {
  if (is_cuda(row)) return kCudaArchs;
  return row.default_arch.empty() ? std::span<const std::string_view>() : kAmdArchs;
}

// Accepts what tinygrad's renderers accept: each "sm_<number>" for CUDA, and each "gfx..." for AMD.
bool has_arch_form(const TargetRow& row, std::string_view arch) {
  return is_cuda(row) ? cuda_arch_number(arch) >= 0 : arch.starts_with("gfx");
}

bool is_known_arch(const TargetRow& row, std::string_view arch) {
  auto listed = known_archs_of(row);
  if (std::ranges::find(listed, arch_without_features(arch)) != listed.end()) return true;
  return is_cuda(row) && std::ranges::find(kOtherCudaArchs, cuda_arch_number(arch)) != std::end(kOtherCudaArchs);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return std::tolower(uint8_t(x)) == std::tolower(uint8_t(y)); });
}

std::string distinct_names_text(std::span<const std::string_view> names) {
  std::vector<std::string_view> seen;
  std::string out;
  for (auto name : names) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

// Removes and returns the first part of `rest`, such as "CUDA" of "CUDA:PTX:sm_80".
std::string_view take_target_part(std::string_view& rest) {
  size_t colon = rest.find(':');
  std::string_view part = rest.substr(0, colon);
  rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
  return part;
}

Diag unknown_part_error(std::string_view what, std::string_view part, std::string_view text,
                        std::span<const std::string_view> known) {
  return {
      .message = "unknown " + std::string(what) + " '" + std::string(part) + "' in target '" + std::string(text) + "'",
      .expected = distinct_names_text(known)};
}

Result<const TargetRow*> find_row(std::string_view device, std::string_view renderer, std::string_view text) {
  std::vector<std::string_view> devices, renderers;
  for (const TargetRow& row : kRows) {
    devices.push_back(row.device);
    if (!equals_ignoring_case(device, row.device)) continue;
    renderers.push_back(name_of(row.renderer));
    if (renderer.empty() || equals_ignoring_case(renderer, name_of(row.renderer))) return &row;
  }
  return renderers.empty() ? unknown_part_error("device", device, text, devices)
                           : unknown_part_error("renderer", renderer, text, renderers);
}

}  // namespace

int cuda_arch_number(std::string_view arch) {
  if (!arch.starts_with("sm_")) return -1;
  const auto number = parse_number<int>(arch.substr(3));
  return number && *number >= 0 ? *number : -1;
}

std::span<const std::string_view> renderer_names() {
  static constexpr std::string_view kNames[] = {
#define TGC_RENDERER(id, name, printer) name,
#include "lib/target/renderers.def"
  };
  return kNames;
}

std::string_view name_of(RendererKind kind) {
  return renderer_names()[size_t(kind)];
}

std::string Target::name() const {
  return device + ":" + std::string(name_of(renderer)) + (arch.empty() ? "" : ":" + arch);
}

std::span<const RendererClass> renderer_classes() {
  static constexpr RendererClass kClasses[] = {
#define TGC_TARGET(device, renderer, arch, ops, limits, rules, class_name) {class_name, device, RendererKind::renderer},
#include "lib/target/renderers.def"
  };
  return kClasses;
}

std::span<const std::string_view> known_targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const TargetRow& row : kRows) {
      std::string name = std::string(row.device) + ":" + std::string(name_of(row.renderer));
      if (row.default_arch.empty()) out.push_back(name);
      for (auto arch : known_archs_of(row)) out.push_back(name + ":" + std::string(arch));
    }
    return out;
  }();
  static const std::vector<std::string_view> views(names.begin(), names.end());
  return views;
}

namespace {

using ArchPredicate = bool(const TargetRow& row, std::string_view arch);

Result<Target> parse_with_arch_check(std::string_view text, const Settings& settings, ArchPredicate* accepts_arch) {
  std::string_view rest = text;
  std::string_view device = take_target_part(rest), renderer = take_target_part(rest), arch = rest;
  if (device == "plugin")
    return Diag{.message = "'" + std::string(text) + "' names a plugin, which is native code, in place of a target",
                .expected = "a plugin only as --device on the command line"};
  auto row = find_row(device, renderer, text);
  if (!row) return row.diag();
  const TargetRow& r = **row;
  if (arch.empty()) arch = r.default_arch;
  if (!arch.empty() && r.default_arch.empty())
    return Diag{.message = std::string(name_of(r.renderer)) + " has no archs, but target '" + std::string(text) +
                           "' names '" + std::string(arch) + "'"};
  if (!arch.empty() && !accepts_arch(r, arch)) return unknown_part_error("arch", arch, text, known_archs_of(r));

  Target t;
  t.device = r.device;
  t.renderer = r.renderer;
  t.arch = arch;
  t.code_for_op = r.ops;
  r.set_limits(t, settings);
  return t;
}

}  // namespace

Result<Target> parse_target(std::string_view text, const Settings& settings) {
  return parse_with_arch_check(text, settings, is_known_arch);
}
Result<Target> parse_recorded_target(std::string_view text, const Settings& settings) {
  return parse_with_arch_check(text, settings, has_arch_form);
}

bool is_dtype_supported(DType dtype, const Target& target) {
  const std::string& device = target.device;
  bool nvidia = device == "CUDA" || device == "NV";
  if (dtype == dtypes::index) return false;
  if (dtype == dtypes::bfloat16)
    return nvidia ? target.renderer != RendererKind::PTX : device != "WEBGPU" && device != "QCOM" && device != "HIP";
  if (dtypes::fp8s.contains(dtype))
    return nvidia ? target.renderer != RendererKind::PTX : device == "AMD" && is_cdna(target.arch);
  if (device == "WEBGPU")
    return dtype != dtypes::int64 && dtype != dtypes::uint64 && dtype != dtypes::float64 && dtype != dtypes::void_;
  if (dtype == dtypes::float16)
    return device != "QCOM" && (device != "CPU" || target.renderer != RendererKind::LLVM);
  if (dtype == dtypes::float64) return device != "METAL" && device != "QCOM";
  return true;
}

// Limits as in tinygrad's renderer classes (renderer/*.py).

namespace {

using DimensionLimits = std::array<int64_t, 3>;
constexpr DimensionLimits kGpuGlobal = {2147483647, 65535, 65535};

void set_nvidia_limits(Target& t) {
  t.global_max = kGpuGlobal;
  t.local_max = DimensionLimits{1024, 1024, 64};
  t.shared_max = 49152;
}

}  // namespace

void set_clang_limits(Target& t, const Settings& settings) {
  t.has_local = false;
  t.has_threads = settings.THREADS != 0;
  t.global_max = DimensionLimits{settings.cpu_count(), 0, 0};
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
  t.tensor_cores = tensor_cores::cuda(cuda_arch_number(t.arch));
}

void set_ptx_limits(Target& t, const Settings&) {
  set_nvidia_limits(t);
  t.tensor_cores = tensor_cores::ptx(cuda_arch_number(t.arch));
}

void set_amd_limits(Target& t, const Settings&) {
  t.global_max = kGpuGlobal;
  t.shared_max = 65536;
  t.tensor_cores = tensor_cores::amd(arch_without_features(t.arch));
}

void set_wgsl_limits(Target& t, const Settings&) {
  t.supports_float4 = false;
  t.global_max = DimensionLimits{65535, 65535, 65535};
  t.local_max = DimensionLimits{256, 256, 64};
}

}  // namespace tgc
