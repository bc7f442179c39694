#include "lib/runtime/emulated.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tgc {
namespace {

struct Emulator {
  std::string_view device;
  const char *variable, *race;  // what names the driver's library; what asks for races
  std::string_view library;
};
constexpr Emulator kEmulators[] = {
    {"CUDA", "TGC_CUDA_LIBRARY", "TGC_CUDA_EMULATOR_RACE", "libtgc_cuda_emulator.so"},
    {"AMD", "TGC_HIP_LIBRARY", "TGC_HIP_EMULATOR_RACE", "libtgc_hip_emulator.so"},
};
bool was_asked_for = false;

bool is_one(std::string_view device, std::string_view name) {
  device = device.substr(0, device.find(':'));
  return device.size() == name.size() && std::equal(device.begin(), device.end(), name.begin(),
                                                    [](unsigned char a, char b) { return std::toupper(a) == b; });
}

}  // namespace

Status use_emulators() {
  // ../lib/tgc, seen from the binary, in a build as where it is installed: where the engines are
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib/tgc";
  for (const Emulator& e : kEmulators) {
    fs::path path = folder / e.library;
    if (!fs::exists(path, error)) return Diag{"there is no emulator '" + path.string() + "'"};
    setenv(e.variable, path.c_str(), 1);
  }
  was_asked_for = true;
  return Unit{};
}

void watch_races() {
  for (const Emulator& e : kEmulators) setenv(e.race, "1", 1);
}

bool is_emulated(std::string_view device) {
  for (const Emulator& e : kEmulators)
    if (is_one(device, e.device)) {
      const char* library = std::getenv(e.variable);
      return library && std::string_view(library).ends_with(e.library);
    }
  return false;
}

Status check_emulated(std::string_view device) {
  for (std::string_view other : {"METAL", "CL"})
    if (was_asked_for && is_one(device, other))
      return Diag{.message = "there is no emulator for " + std::string(other),
                  .expected = "CUDA or AMD with --emulate"};
  return Unit{};
}

}  // namespace tgc
