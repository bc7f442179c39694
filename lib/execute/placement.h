// Chooses the device that a kernel runs on and the target that it is lowered for, from --device and --target. Also
// checks whether a device works.
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
  std::optional<Target> target;  // the target to lower for; none: REF runs the kernel as it is
  bool is_ref = false;
  std::string label;             // "CPU:LLVM", "REF, lowered for METAL", "plugin:./mine.so, lowered for CPU:CLANG";
                                 // "CUDA:PTX:sm_80, emulated"

  // Returns the part of the label that --device accepts: without ", lowered for ..." or ", emulated".
  std::string device_option() const { return label.substr(0, label.find(',')); }
};

// Returns the placement for the options --device and --target; an empty string means that the option is missing:
//   --device=REF                        REF runs the input graph itself, at any stage, or a linear list
//   --device=REF --target=T             REF runs the linear list that is lowered for T
//   --device=D, or --target=D           D[:RENDERER[:ARCH]]; default: LLVM for the CPU, the arch of the hardware found
//   --device=D --target=T               T, which must be of the same device
//   --device=plugin:PATH [--target=T]   lowered for T, by default for the target that the plugin names
// With neither option, the placement is CPU:LLVM. The process keeps what it found of a GPU, because probing starts a
// worker. An emulated GPU has the default arch unless an option or an environment variable selects another. `parse`
// parses `target`; for a record's target, pass recorded_target. Fails if the device is unknown, if a device that must
// be probed does not work here, if `target` is invalid, or if it names another device.
Result<Placement> choose_placement(const std::string& device, const std::string& target, const Settings& settings,
                                   Result<Target> (*parse)(std::string_view, const Settings&) = parse_target);

// Returns the placement for the reference interpreter (REF) without a target: it runs graphs without lowering them.
Placement place_in_ref();

// Returns whether kernels for the target can run on this computer: its device works here, or it is the CPU.
bool works_here(const std::string& target);

// Checks that the placement can run kernels: compiles and runs a kernel that stores one number, without rewrites and
// therefore without seeded faults. If this fails, for example because a compiler or driver is missing, the failure of
// another kernel there says nothing about that kernel. Always succeeds for REF. A placement that succeeded is not run
// again in this process. Thread-safe. Error: "CPU:CLANG runs no kernel at all: ...".
Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options = {});

}  // namespace tgc
