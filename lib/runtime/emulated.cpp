#include "lib/runtime/emulated.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tgc {
namespace {

constexpr const char* kVariable = "TGC_CUDA_LIBRARY";
constexpr std::string_view kLibrary = "libtgc_cuda_emulator.so";
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
  fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib/tgc" / kLibrary;
  if (!fs::exists(path, error)) return Diag{"there is no emulator '" + path.string() + "'"};
  setenv(kVariable, path.c_str(), 1);
  was_asked_for = true;
  return Unit{};
}

void watch_races() { setenv("TGC_CUDA_EMULATOR_RACE", "1", 1); }

bool is_emulated(std::string_view device) {
  const char* library = std::getenv(kVariable);
  return is_one(device, "CUDA") && library && std::string_view(library).ends_with(kLibrary);
}

Status check_emulated(std::string_view device) {
  for (std::string_view other : {"AMD", "METAL", "CL"})
    if (was_asked_for && is_one(device, other))
      return Diag{.message = "there is no emulator for " + std::string(other), .expected = "CUDA with --emulate"};
  return Unit{};
}

}  // namespace tgc
