// Confinement: a worker process permanently restricts itself before it runs untrusted code, by seccomp, Landlock and
// resource limits. Some builds and systems have fewer mechanisms (active_sandbox_mechanisms()).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Each value also allows what the values before it allow.
enum class WorkerRights : uint8_t {
  Compute,  // memory, clocks, existing threads, messages to and from the parent process
  Compile,  // also reading system files, such as a compiler's headers
  Driver,   // also what device drivers need: device files, threads, own child processes, reading most files, writing
            // in `writable_paths`; no network, and no access to other processes
};

struct Confinement {
  WorkerRights rights = WorkerRights::Compute;
  uint64_t memory_bytes = 0;  // memory that the worker may allocate beyond its current size; 0: no limit
  double cpu_seconds = 0;     // the limit is this time, rounded up, plus 1 second; 0: no limit
  // Paths that a worker with WorkerRights::Driver may write to.
  std::vector<std::string> writable_paths = {};
  // Newest Landlock ABI version to use; 0: no Landlock. Tests set it to act as on an older kernel.
  int max_landlock_abi = 1000;
};

// Confines this process. Other threads that already run get the seccomp filter, but no Landlock rules. `channel` is
// connected to the parent process. Unless the build has a sanitizer, closes all other descriptors, except that 0 to 2
// become /dev/null. A forbidden system call then raises SIGSYS, or fails. If this function returns an error, the caller
// must not run untrusted code.
Status confine_process(const Confinement& what, int channel);

// Builds the filter for WorkerRights::Compute, so that workers inherit it through fork.
void prepare_confinement();

// Returns a text such as "seccomp, Landlock, limits".
std::string active_sandbox_mechanisms();

// Returns a name such as "openat", or "call 425" if the call is unknown. `number` is that of SIGSYS's siginfo.
std::string system_call_name(int number);

// Returns the paths that a device driver may have to write, among them `temporary`, the worker's own folder. Creates
// PoCL's cache folder.
std::vector<std::string> driver_writable_paths(const std::string& temporary);

}  // namespace tgc
