#include "lib/execute/emulate_program.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/compile/cache.h"
#include "lib/compile/own_folder.h"
#include "lib/runtime/emulated.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

struct TinygradDevice {
  std::string_view device;
  const char* name;          // value of tinygrad's environment variable DEV for the device
  const char* driver;        // name of the environment variable with the path of the driver's library
  const char* compiler;      // name of the environment variable with the path of the compiler's library
};
// tinygrad's own device AMD calls the driver in Linux directly: there is no library to replace.
constexpr TinygradDevice kDevices[] = {{"CUDA", "CUDA", "CUDA_PATH", "NVRTC_PATH"},
                                       {"AMD", "HIP", "HIP_PATH", "COMGR_PATH"}};
constexpr const char* kExpectedDevices = "CUDA or HIP";

std::string upper_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return out;
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

const TinygradDevice* find_device(std::string_view text) {
  std::string name = upper_case(text.substr(0, text.find(':')));
  for (const TinygradDevice& d : kDevices)
    if (name == d.device || name == d.name) return &d;
  return nullptr;
}

// Returns the path of a tinygrad cache (CACHEDB) for the emulator `library` alone; "" if tgc's compile cache is off.
// The user's own tinygrad cache must neither receive the emulator's code and timings nor provide code that another
// compiler made.
std::string tinygrad_cache_path(const std::string& library) {
  const CompileCache& cache = CompileCache::shared_cache();
  if (!cache.is_enabled()) return "";
  std::error_code error;
  auto changed = fs::last_write_time(library, error).time_since_epoch().count();
  fs::path folder = cache.folder() / "emulate";
  make_private_folder(folder.string()).value_or_throw();
  return folder / (sha256_hex(make_cache_key({library, std::to_string(changed)})).substr(0, 16) + ".db");
}

void set_environment_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

void set_emulator_environment(const EmulateOptions& options) {
  const std::string own = environment_value("DEV"), named = options.device.empty() ? own : options.device;
  const TinygradDevice* device = named.empty() ? kDevices : find_device(named);
  if (!device)
    throw Failure(options.device.empty()
                  ? Diag{.message = "DEV: there is no emulator for '" + named + "'",
                         .expected = std::string(kExpectedDevices) + " (or --device)"}
                  : Diag{.message = "there is no emulator for '" + named + "'", .expected = kExpectedDevices});
  const EmulatorInfo& emulator = *find_emulator(device->device);
  const std::string library = library_path_of(emulator).value_or_throw();
  if (size_t at = options.device.find(':'); at != std::string::npos) {
    size_t arch = options.device.find(':', at + 1);
    if (arch != at + 1)
      throw Failure(Diag{.message = "--device='" + options.device + "' names a renderer",
                         .expected = std::string(device->name) + " or " + device->name +
                                     "::ARCH; tinygrad's variables choose the renderer, such as DEV=CUDA:PTX "
                                     "(0.13 and later) or CUDA_PTX=1 (0.12)"});
    const std::string target = std::string(device->device) + options.device.substr(at);
    parse_target(target, Settings()).value_or_throw();  // fails if the architecture is unknown
    set_environment_variable(emulator.library_variable, library);
    check_emulated_device(target).value_or_throw();
    set_environment_variable(emulator.arch_variable, options.device.substr(arch + 1));
  }
  // keep a DEV that names the same device, because it may also name a renderer and an architecture
  if (find_device(own) != device || upper_case(own.substr(0, own.find(':'))) != device->name)
    set_environment_variable("DEV", device->name);
  set_environment_variable(device->driver, library);
  set_environment_variable(device->compiler, library);
  if (options.checks_races)
    set_environment_variable(emulator.race_variable, "report");
  if (!environment_value("CACHEDB").empty()) return;
  std::string file = tinygrad_cache_path(library);
  file.empty() ? set_environment_variable("CCACHE", "0") : set_environment_variable("CACHEDB", file);
}

}  // namespace

Diag emulate_program(const EmulateOptions& options) {
  if (auto done = catch_failures([&] { return set_emulator_environment(options), Unit{}; }); !done) return done.diag();
  std::vector<char*> arguments;
  for (const std::string& a : options.command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  for (int ignored : {SIGPIPE, SIGXFSZ}) ::signal(ignored, SIG_DFL);  // tgc ignores these signals; the program must not
  ::execvp(arguments[0], arguments.data());
  Diag out{.message = "cannot run '" + options.command[0] + "': " + std::strerror(errno)};
  if (options.command[0].ends_with(".py")) out.expected = "a program, such as python " + options.command[0];
  return out;
}

}  // namespace tgc
