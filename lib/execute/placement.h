// Placement: the device that a kernel runs on and the target that it is lowered for, one answer to --device
// and --target.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "lib/runtime/device.h"
#include "lib/target/target.h"

namespace tgc {

struct Placement {
  std::unique_ptr<Device> device;
  std::optional<Target> target;  // nullopt: REF runs the graph as it stands
  bool is_ref = false;
  std::string label;             // "CPU:LLVM", "REF, lowered for METAL", "plugin:./mine.so, lowered for CPU:CLANG";
                                 // "CUDA:PTX:sm_80, emulated"

  // As --device takes it: without what kernels are lowered for, or what emulates it.
  std::string device_option() const { return label.substr(0, label.find(',')); }
};

// `device` and `target` as the options have them, empty when not given:
//   --device=REF                        the graph as it stands, at any stage, or a listing
//   --device=REF --target=T             lowered for T, the linear list run by REF
//   --device=D, or --target=D           D[:RENDERER[:ARCH]]; of CPU the default renderer is LLVM; the hardware is asked
//                                       for an arch that is left out
//   --device=plugin:PATH [--target=T]   lowered for T, by default what the plugin says
// Neither: CPU:LLVM. What the hardware says of itself is asked once a process and remembered: asking costs a process
// each time. Of an emulated GPU the arch is the target's default, unless a variable names the GPU. `parse`:
// recorded_target where a record says the target.
Result<Placement> choose_placement(const std::string& device, const std::string& target, const Settings& settings,
                                   Result<Target> (*parse)(std::string_view, const Settings&) = parse_target);

// REF, which runs any graph as it stands.
Placement place_in_ref();

// Whether kernels for the target can run on this computer: its device is found, or it is the CPU.
bool works_here(const std::string& target);

}  // namespace tgc
