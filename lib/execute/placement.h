#pragma once
#include <memory>
#include <optional>
#include <string>

#include "lib/execute/execution.h"
#include "lib/runtime/device.h"
#include "lib/support/result.h"
#include "lib/support/settings.h"
#include "lib/target/target.h"

namespace tgc {

struct Placement {
  std::unique_ptr<Device> device;
  std::optional<Target> target;  // target to lower for; unset: REF runs the kernel without lowering it
  bool is_ref = false;
  std::string label;             // such as "CPU:LLVM", "REF, lowered for METAL:METAL", "CUDA:PTX:sm_80, emulated"

  // Returns the label without ", lowered for ..." or ", emulated".
  std::string device_option() const { return label.substr(0, label.find(',')); }
};

// Returns the placement for the options --device and --target, of which a missing one is "":
//   --device=REF                        REF runs the input graph itself, at any stage, or a linear list
//   --device=REF --target=T             REF runs the linear list that is lowered for T
//   --device=D, or --target=D           D[:RENDERER[:ARCH]]; default: LLVM for the CPU, the arch of the hardware found
//   --device=D --target=T               T, which must be of the same device
//   --device=plugin:PATH [--target=T]   lowered for T, by default for the target that the plugin names
// With neither option, the placement is CPU:LLVM. An emulated GPU has the default arch unless an option or an
// environment variable selects another. `parse` parses the target; the target of a record needs parse_recorded_target.
// Fails, for example, if the device is unknown, if a missing part depends on hardware that does not work, or if
// `target` is invalid.
Result<Placement> choose_placement(const std::string& device, const std::string& target, const Settings& settings,
                                   Result<Target> (*parse)(std::string_view, const Settings&) = parse_target);

// Returns the placement of REF without a target, which runs graphs without lowering them.
Placement make_ref_placement();

// Returns true if the target's device works on this computer, or is the CPU.
bool can_run_here(const std::string& target);

// Compiles and runs a kernel that stores one number, without rewrites. If this fails, for example because a driver is
// missing, a failure of another kernel at this placement says nothing about that kernel. Succeeds for REF. A placement
// that succeeded is not run again in this process. Thread-safe.
Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options = {});

}  // namespace tgc
