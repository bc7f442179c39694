#include "lib/target/target.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "lib/target/recorded_target.h"
#include "lib/target/tensor_core.h"

namespace tgc {
namespace {

using enum Op;
constexpr OpSet kCStyleOps{SQRT, RECIPROCAL, NEG, EXP2, LOG2,  SIN, TRUNC, AND,   XOR,   OR,   ADD,
                           SUB,  MUL,        MOD, IDIV, CMPNE, SHR, SHL,   CMPLT, WHERE, CMPEQ};
constexpr OpSet kClangOps{SQRT, NEG,   AND, XOR, OR,    ADD,   SUB,   MUL,   MOD,
                          IDIV, CMPNE, SHR, SHL, CMPLT, WHERE, CMPEQ, TRUNC, FDIV};
constexpr OpSet kPtxOps{RECIPROCAL, EXP2, LOG2, SIN, SQRT, TRUNC, SHR,   SHL,   ADD,    MUL,  XOR,
                        AND,        OR,   IDIV, MOD, MAX,  CMPEQ, CMPLT, CMPNE, MULACC, WHERE};
constexpr OpSet kLlvmOps{FDIV, CMPLT};

using Sizes = std::array<int64_t, 3>;
constexpr Sizes kGpuGlobal = {2147483647, 65535, 65535};

// A device and a renderer that it can use. The first row of a device is its default.
struct Row {
  std::string_view device;
  RendererKind renderer;
  std::string_view default_arch;  // empty: the renderer has no archs
  OpSet ops;
};
constexpr Row kRows[] = {
    {"CPU", RendererKind::Clang, "", kClangOps},
    {"CPU", RendererKind::LLVM, "", kLlvmOps},
    {"CUDA", RendererKind::CUDA, "sm_80", kCStyleOps},
    {"CUDA", RendererKind::PTX, "sm_80", kPtxOps},
    {"NV", RendererKind::CUDA, "sm_80", kCStyleOps},
    {"NV", RendererKind::PTX, "sm_80", kPtxOps},
    {"METAL", RendererKind::Metal, "", kCStyleOps},
    {"CL", RendererKind::OpenCL, "", kCStyleOps},
    {"CL", RendererKind::Intel, "", kCStyleOps},
    {"QCOM", RendererKind::OpenCL, "", kCStyleOps},
    {"AMD", RendererKind::HIP, "gfx1100", kCStyleOps},
    {"AMD", RendererKind::LLVM, "gfx1100", kLlvmOps | OpSet{SQRT, LOG2, EXP2}},
    {"HIP", RendererKind::HIP, "gfx1100", kCStyleOps},
    {"WEBGPU", RendererKind::WGSL, "", kCStyleOps},
};

// The archs that listings show. NVIDIA archs of kOtherCudaArchs are accepted, too; there are no other AMD archs.
constexpr std::string_view kCudaArchs[] = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
constexpr int kOtherCudaArchs[] = {30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 72, 87, 88, 101, 103, 110, 121};
constexpr std::string_view kAmdArchs[] = {"gfx942",  "gfx950",  "gfx1100", "gfx1101", "gfx1102",
                                          "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201"};

bool is_cuda(const Row& row) { return row.renderer == RendererKind::CUDA || row.renderer == RendererKind::PTX; }

std::span<const std::string_view> archs_of(const Row& row) {
  if (is_cuda(row)) return kCudaArchs;
  return row.default_arch.empty() ? std::span<const std::string_view>() : kAmdArchs;
}

// Returns 80 for "sm_80", -1 for other texts.
int cuda_arch(std::string_view arch) {
  if (!arch.starts_with("sm_")) return -1;
  int number = 0;
  auto [end, error] = std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return error == std::errc() && end == arch.data() + arch.size() && number >= 0 ? number : -1;
}

// Returns "gfx942" for "gfx942:sramecc+:xnack-".
std::string_view without_features(std::string_view arch) { return arch.substr(0, arch.find(':')); }

// Returns true if tinygrad's renderer accepts the arch; it uses an arch only to choose tensor cores.
bool takes_arch(const Row& row, std::string_view arch) {
  return is_cuda(row) ? cuda_arch(arch) >= 0 : arch.starts_with("gfx");
}

bool knows_arch(const Row& row, std::string_view arch) {
  auto listed = archs_of(row);
  if (std::ranges::find(listed, without_features(arch)) != listed.end()) return true;
  return is_cuda(row) && std::ranges::find(kOtherCudaArchs, cuda_arch(arch)) != std::end(kOtherCudaArchs);
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return std::tolower(uint8_t(x)) == std::tolower(uint8_t(y)); });
}

// Returns "A, B, C" without duplicates.
std::string listed(std::span<const std::string_view> names) {
  std::vector<std::string_view> seen;
  std::string out;
  for (auto name : names) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

// Removes the part up to the next ':' from the front of `rest` and returns it.
std::string_view take_part(std::string_view& rest) {
  size_t colon = rest.find(':');
  std::string_view part = rest.substr(0, colon);
  rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
  return part;
}

Diag unknown(std::string_view what, std::string_view part, std::string_view text,
             std::span<const std::string_view> known) {
  return {
      .message = "unknown " + std::string(what) + " '" + std::string(part) + "' in target '" + std::string(text) + "'",
      .expected = listed(known)};
}

Result<const Row*> find_row(std::string_view device, std::string_view renderer, std::string_view text) {
  std::vector<std::string_view> devices, renderers;
  for (const Row& row : kRows) {
    devices.push_back(row.device);
    if (!same_word(device, row.device)) continue;
    renderers.push_back(name_of(row.renderer));
    if (renderer.empty() || same_word(renderer, name_of(row.renderer))) return &row;
  }
  return renderers.empty() ? unknown("device", device, text, devices) : unknown("renderer", renderer, text, renderers);
}

// Sets the capabilities of the target's renderer, from the attributes of its class in tinygrad.
void fill(Target& t, const Settings& settings) {
  switch (t.renderer) {
    case RendererKind::Clang:
      t.has_local = false;
      t.has_threads = settings.THREADS != 0;
      t.global_max = Sizes{settings.cpu_count(), 0, 0};
      if (settings.AMX) t.tensor_cores = tensor_cores::amx();
      break;
    case RendererKind::LLVM:
      if (t.device == "AMD") {
        t.global_max = kGpuGlobal;
        t.shared_max = 65536;
        t.tensor_cores = tensor_cores::amd(without_features(t.arch));
      } else {
        t.has_local = false;
        t.global_max.reset();
        if (settings.AMX) t.tensor_cores = tensor_cores::amx();
      }
      break;
    case RendererKind::OpenCL: break;
    case RendererKind::Intel: t.tensor_cores = tensor_cores::intel(); break;
    case RendererKind::Metal: t.tensor_cores = tensor_cores::metal(); break;
    case RendererKind::CUDA:
    case RendererKind::PTX:
      t.global_max = kGpuGlobal;
      t.local_max = Sizes{1024, 1024, 64};
      t.shared_max = 49152;
      t.tensor_cores = t.renderer == RendererKind::PTX ? tensor_cores::ptx(cuda_arch(t.arch))
                                                       : tensor_cores::cuda(cuda_arch(t.arch));
      break;
    case RendererKind::HIP:
      t.global_max = kGpuGlobal;
      t.shared_max = 65536;
      t.tensor_cores = tensor_cores::amd(without_features(t.arch));
      break;
    case RendererKind::WGSL:
      t.supports_float4 = false;
      t.global_max = Sizes{65535, 65535, 65535};
      t.local_max = Sizes{256, 256, 64};
      break;
  }
}

}  // namespace

std::string_view name_of(RendererKind kind) {
  static constexpr std::string_view kNames[] = {
#define X(id, name) name,
      TGC_RENDERERS(X)
#undef X
  };
  return kNames[int(kind)];
}

std::string Target::name() const {
  return device + ":" + std::string(name_of(renderer)) + (arch.empty() ? "" : ":" + arch);
}

std::span<const std::string_view> known_targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Row& row : kRows) {
      std::string name = std::string(row.device) + ":" + std::string(name_of(row.renderer));
      if (row.default_arch.empty()) out.push_back(name);
      for (auto arch : archs_of(row)) out.push_back(name + ":" + std::string(arch));
    }
    return out;
  }();
  static const std::vector<std::string_view> views(names.begin(), names.end());
  return views;
}

namespace {

using TakesArch = bool(const Row& row, std::string_view arch);

Result<Target> parse(std::string_view text, const Settings& settings, TakesArch* takes) {
  std::string_view rest = text;
  std::string_view device = take_part(rest), renderer = take_part(rest), arch = rest;
  auto row = find_row(device, renderer, text);
  if (!row) return row.diag();
  const Row& r = **row;
  if (arch.empty()) arch = r.default_arch;
  if (!arch.empty() && r.default_arch.empty())
    return Diag{.message = std::string(name_of(r.renderer)) + " has no archs, but target '" + std::string(text) +
                           "' names '" + std::string(arch) + "'"};
  if (!arch.empty() && !takes(r, arch)) return unknown("arch", arch, text, archs_of(r));

  Target t;
  t.device = r.device;
  t.renderer = r.renderer;
  t.arch = arch;
  t.code_for_op = r.ops;
  fill(t, settings);
  return t;
}

}  // namespace

Result<Target> parse_target(std::string_view text, const Settings& settings) {
  return parse(text, settings, knows_arch);
}
Result<Target> recorded_target(std::string_view text, const Settings& settings) {
  return parse(text, settings, takes_arch);
}

bool is_dtype_supported(DType dtype, const Target& target) {
  const std::string& device = target.device;
  bool nvidia = device == "CUDA" || device == "NV";
  if (dtype == dtypes::index) return false;
  if (dtype == dtypes::bfloat16)
    return nvidia ? target.renderer != RendererKind::PTX : device != "WEBGPU" && device != "QCOM" && device != "HIP";
  if (dtypes::fp8s.contains(dtype)) {
    std::string_view arch = without_features(target.arch);
    return nvidia ? target.renderer != RendererKind::PTX : device == "AMD" && (arch == "gfx942" || arch == "gfx950");
  }
  if (device == "WEBGPU")
    return dtype != dtypes::int64 && dtype != dtypes::uint64 && dtype != dtypes::float64 && dtype != dtypes::void_;
  if (dtype == dtypes::float16)
    return device != "QCOM" && (device != "CPU" || target.renderer != RendererKind::LLVM);
  if (dtype == dtypes::float64) return device != "METAL" && device != "QCOM";
  return true;
}

}  // namespace tgc
