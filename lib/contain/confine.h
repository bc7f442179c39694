// Confinement: restrictions that a worker process permanently puts on itself before it runs untrusted code. There are
// three independent mechanisms: seccomp (system calls), Landlock (files) and resource limits (memory, CPU time, file
// size, processes, core dumps). In sanitizer builds, whose runtime needs more system calls and memory, only the
// resource limits other than memory apply. Systems other than Linux have only resource limits. See active_mechanisms().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The system calls that the confined process may make. Each value also allows what the values before it allow.
enum class Rights : uint8_t {
  Compute,  // memory, clocks, waiting for existing threads, messages to and from the parent process
  Compile,  // also reading system files, such as a compiler's headers and libraries
  Driver,   // also what device drivers need: device files, threads, own child processes, files in `writable_paths`; no
            // network, and no access to other processes
};

struct Confinement {
  Rights rights = Rights::Compute;
  uint64_t memory_bytes = 0;  // bytes that may be allocated beyond the current size; 0: no limit
  double cpu_seconds = 0;     // limit in CPU seconds, rounded up, plus 1; 0: no limit
  // files and folders that a Rights::Driver worker may write; it may also read all files outside of /dev
  std::vector<std::string> writable_paths = {};
  // the highest Landlock ABI version to use, for tests of older kernels; 0: no Landlock
  int max_landlock_abi = 1000;
};

// Confines this process, which must have one thread: one of its mechanisms (Landlock) does not reach other threads that
// run. `channel` is the descriptor connected to the parent process. Closes all others, except that 0 to 2 become
// /dev/null. From then on, a forbidden system call raises SIGSYS, or fails with an error such as ENOSYS or EPERM.
// Returns an error if the system has a mechanism but refuses to activate it; then the caller must not run untrusted
// code.
Status confine(const Confinement& what, int channel);

// Builds the seccomp filter for Rights::Compute once, so that workers inherit it through fork. Call it before starting
// a worker.
void prepare_confinement();

// Returns the mechanisms that are active on this system in this build, such as "seccomp, Landlock, limits".
std::string active_mechanisms();

// Returns the name of a system call, such as "openat", or "call 425" if it is unknown. `number` is the number of the
// call in SIGSYS's siginfo.
std::string system_call_name(int number);

// Returns the paths that a device driver may have to write: paths in /dev, the cache folders of PoCL and NVIDIA, and
// `temporary`, the worker's own temporary folder. Creates PoCL's cache folder.
std::vector<std::string> driver_writable_paths(const std::string& temporary);

}  // namespace tgc
