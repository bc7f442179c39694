// Emulated devices run a GPU's kernels on the CPU: shared libraries in place of the CUDA and HIP drivers (lib/emulate),
// and tgc's own device for Metal. An emulator is used only on request: by --emulate, by a variable that names a
// driver's library (TGC_CUDA_LIBRARY, TGC_HIP_LIBRARY), or by TGC_METAL_EMULATOR=1.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/support/result.h"

namespace tgc {

// The emulator of a device: a library that replaces the driver or, for METAL, tgc's own device.
struct Emulator {
  std::string_view device;
  // names of the environment variables for: the path of the library (METAL: 1 turns the emulator on); the check for
  // races (1 turns it on); the architecture of the emulated GPU
  const char *library_variable, *race_variable, *arch_variable;
  std::string_view library;  // file name of the emulator's library; empty: there is none
};
// Returns the emulator of `device`, a device name such as "CUDA" or "cuda:PTX"; null if there is none.
const Emulator* find_emulator(std::string_view device);
// Returns the path of an emulator's library, or an error if the file is missing or this build has no emulators.
Result<std::string> path_of(const Emulator& emulator);

// Makes this process and its children use the emulators in place of drivers, by setting the environment variables
// above. Returns an error if an emulator's library is missing or this build has no emulators.
Status use_emulators();
// Makes the emulators check for data races between threads, by setting the emulators' environment variables.
void watch_races();

// True if the Metal emulator, which runs in this process, checks for data races.
bool watches_races();
// True if use_emulators() succeeded in this process.
bool is_emulation_requested();

// True if tgc has an emulator for `device`, a device name.
bool has_emulator(std::string_view device);
// True if kernels on `device`, a device name, run on an emulator.
bool is_emulated(std::string_view device);
// True if `device` is emulated and no variable (such as TGC_CUDA_EMULATOR_ARCH) selects the emulated GPU.
bool emulates_any_arch(std::string_view device);
// Returns the words that a report prints after the target: "emulated", and for METAL also that clang compiled the
// kernel; empty if the device is not emulated.
std::string_view emulation_note(std::string_view device);

// Returns an error if emulation was requested for CL, which has no emulator, or if `device` is an emulated gfx950.
Status check_emulated(std::string_view device);

// Returns the error for a failed launch. `code` is a CUDA or HIP error code (both use the same numbers). If the code
// shows a fault of the kernel itself, such as an illegal address, the Diag is marked as the kernel's fault. Adds as
// context the source lines that an emulator's message names (two for a race).
Diag launch_error(int code, std::string message, const KernelSource& source);
// Returns the lines of `text` with these numbers (from 1), each once: "  line 4: x = y;\n  line 2: z = x;"
std::string shown_lines(std::string_view text, const std::vector<size_t>& numbers);

}  // namespace tgc
