#include "lib/runtime/emulated.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "lib/support/lines.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

constexpr EmulatorInfo kEmulators[] = {
    {"CUDA", "TGC_CUDA_LIBRARY", "TGC_CUDA_EMULATOR_RACE", "TGC_CUDA_EMULATOR_ARCH", "libtgc_cuda_emulator.so"},
    {"AMD", "TGC_HIP_LIBRARY", "TGC_HIP_EMULATOR_RACE", "TGC_HIP_EMULATOR_ARCH", "libtgc_hip_emulator.so"},
    {"METAL", "TGC_METAL_EMULATOR", "TGC_METAL_EMULATOR_RACE", "", ""},
};
bool was_emulation_requested = false;

bool is_variable_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::string_view(value) != "0";
}

bool matches_device(std::string_view device, std::string_view name) {
  device = device.substr(0, device.find(':'));
  return device.size() == name.size() && std::equal(device.begin(), device.end(), name.begin(),
                                                    [](unsigned char a, char b) { return std::toupper(a) == b; });
}

}  // namespace

const EmulatorInfo* find_emulator(std::string_view device) {
  for (const EmulatorInfo& e : kEmulators)
    if (matches_device(device, e.device)) return &e;
  return nullptr;
}

Result<std::string> library_path_of(const EmulatorInfo& emulator) {
#ifndef TGC_EMULATE
  return absent_part_error("the emulators of GPUs", "TGC_EMULATE");
#endif
  // emulators are in ../lib/tgc, relative to the executable's folder
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib/tgc";
  fs::path path = folder / emulator.library_file;
  if (!fs::exists(path, error)) return Diag{"there is no emulator '" + path.string() + "'"};
  return path.string();
}

Status use_emulators() {
  for (const EmulatorInfo& e : kEmulators) {
    Result<std::string> value = e.library_file.empty() ? std::string("1") : library_path_of(e);
    if (!value) return value.diag();
    setenv(e.library_variable, value->c_str(), 1);
  }
  was_emulation_requested = true;
  return Unit{};
}

bool is_emulation_requested() { return was_emulation_requested; }

void enable_race_checks() {
  for (const EmulatorInfo& e : kEmulators) setenv(e.race_variable, "1", 1);
}
bool has_race_checks() { return is_variable_set("TGC_METAL_EMULATOR_RACE"); }

bool has_emulator(std::string_view device) {
  return std::ranges::any_of(kEmulators, [&](const EmulatorInfo& e) { return matches_device(device, e.device); });
}

bool is_emulated(std::string_view device) {
  const EmulatorInfo* e = find_emulator(device);
  if (!e || e->library_file.empty()) return e && is_variable_set(e->library_variable);
  const char* library_file = std::getenv(e->library_variable);
  return library_file && std::string_view(library_file).ends_with(e->library_file);
}

bool can_emulate_any_arch(std::string_view device) {
  const EmulatorInfo* e = find_emulator(device);
  return e && is_emulated(device) && !std::getenv(e->arch_variable);
}

std::string_view emulation_note(std::string_view device) {
  if (!is_emulated(device)) return {};
  return matches_device(device, "METAL") ? "emulated, compiled by clang, not by Apple" : "emulated";
}

Status check_emulated_device(std::string_view device) {
  if (is_emulated(device) && matches_device(device, "AMD") && device.ends_with(":gfx950"))  // LLVM 19 lacks gfx950
    return Diag{.message = "there is no emulator for gfx950", .expected = "gfx942, gfx11xx or gfx12xx with --emulate"};
  if (was_emulation_requested && matches_device(device, "CL"))
    return Diag{.message = "there is no emulator for CL", .expected = "CUDA, AMD or METAL with --emulate"};
  return Unit{};
}

Diag make_launch_error(int code, std::string message, const KernelSource& source) {
  constexpr int kIllegalAddress = 700, kMisalignedAddress = 716, kLaunchFailed = 719;
  Diag out{.message = std::move(message)};
  out.is_kernel_fault = code == kIllegalAddress || code == kMisalignedAddress || code == kLaunchFailed;
  constexpr std::string_view kBefore = ", line ", kBehind = " of the source";
  std::vector<size_t> named;
  for (size_t behind = 0; (behind = out.message.find(kBehind, behind + 1)) != std::string::npos;)
    if (size_t before = out.message.rfind(kBefore, behind); before != std::string::npos)
      named.push_back(size_t(std::atol(out.message.c_str() + before + kBefore.size())));
  out.context = source_lines_text(source.text, named);
  return out;
}

std::string source_lines_text(std::string_view text, const std::vector<size_t>& numbers) {
  auto lines = lines_of(text);
  std::string out;
  for (auto n = numbers.begin(); n != numbers.end(); ++n) {
    if (*n == 0 || *n > lines.size() || std::find(numbers.begin(), n, *n) != n) continue;
    out +=
        (out.empty() ? "  line " : "\n  line ") + std::to_string(*n) + ": " + std::string(trimmed_line(lines[*n - 1]));
  }
  return out;
}

}  // namespace tgc
