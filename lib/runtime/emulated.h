// Emulated devices: shared libraries that stand in for a GPU's driver and run its kernels on the CPU (lib/emulate), and
// for Metal a device of our own. None is ever chosen by itself: `tgc run --emulate` or a variable asks for it, that
// which names a driver's library, or TGC_METAL_EMULATOR=1.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/support/result.h"

namespace tgc {

// From here on this process, and those that it starts, find the emulators where they look for drivers. An error when
// the library is not beside the binary.
Status use_emulators();
// And they look for threads of a block that race for an address.
void watch_races();

// Whether they do: Metal's, which runs in this process.
bool watches_races();
// Whether use_emulators() was called.
bool emulation_was_asked_for();

// Whether kernels on this device, as --device has it, run on an emulator.
bool is_emulated(std::string_view device);
// Whether it is one, and no variable (TGC_CUDA_EMULATOR_ARCH, ...) says which GPU it is.
bool emulates_any_arch(std::string_view device);
// What a report says of it behind the target: "emulated"; empty when they do not.
std::string_view emulated_as(std::string_view device);

// An error when there is no emulator for a device, as --device has it, that was to be emulated.
Status check_emulated(std::string_view device);

// The error of a driver's launch. `code` is CUDA's or HIP's, which are the same: an illegal access sets Diag::kernel_fault.
// An emulator's names lines of the source, of a race two: where it does, they go along.
Diag launch_error(int code, std::string message, const KernelSource& source);
// Lines of a text by number, from 1, each once; those that there are: "  line 4: x = y;\n  line 2: z = x;"
std::string shown_lines(std::string_view text, const std::vector<size_t>& numbers);

}  // namespace tgc
