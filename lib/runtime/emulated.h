// Emulated devices run a GPU's kernels on the CPU: shared libraries in place of the CUDA and HIP drivers (lib/emulate),
// and tgc's own device for Metal. They are used only on request: by --emulate, TGC_CUDA_LIBRARY, TGC_HIP_LIBRARY, or
// TGC_METAL_EMULATOR=1.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/support/result.h"

namespace tgc {

struct EmulatorInfo {
  std::string_view device;
  // Names of environment variables. `library_variable` holds the path of the library, or 1 to turn on METAL's emulator.
  // `race_variable` is 1 to check for races. `arch_variable` holds the emulated GPU's architecture (METAL has none).
  const char *library_variable, *race_variable, *arch_variable;
  std::string_view library_file;  // file name; empty for METAL
};
// Returns null if there is no emulator. `device` is a device name such as "CUDA" or "cuda:PTX".
const EmulatorInfo* find_emulator(std::string_view device);
// Returns the path of an emulator's library, or an error if the file is missing or this build has no emulators.
Result<std::string> library_path_of(const EmulatorInfo& emulator);

// Makes this process and its children use the emulators, by setting environment variables. Returns an error if a
// library is missing or this build has no emulators.
Status use_emulators();
// Turns on the emulators' check for data races, by setting environment variables.
void enable_race_checks();

// Returns whether the Metal emulator, which runs in this process, checks for data races.
bool has_race_checks();
bool is_emulation_requested();

bool has_emulator(std::string_view device);
bool is_emulated(std::string_view device);
// True if `device` is emulated and no variable (such as TGC_CUDA_EMULATOR_ARCH) selects the emulated GPU.
bool can_emulate_any_arch(std::string_view device);
// Returns what a report prints after the target, such as "emulated"; empty if the device is not emulated.
std::string_view emulation_note(std::string_view device);

// Returns an error if `device` cannot be emulated as requested.
Status check_emulated_device(std::string_view device);

// Returns the error of a failed launch. `code` is an error code of CUDA or HIP. Some codes, such as that of an illegal
// address, mark the Diag as the kernel's fault. The context has the source lines that an emulator's message names.
Diag make_launch_error(int code, std::string message, const KernelSource& source);
// Returns the lines of `text` with these numbers (from 1), such as "  line 4: x = y;". Skips numbers that repeat, and
// numbers that no line has.
std::string source_lines_text(std::string_view text, const std::vector<size_t>& numbers);

}  // namespace tgc
