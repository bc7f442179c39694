// Confinement: restrictions that a worker process permanently puts on itself before it runs untrusted code. There are
// three independent mechanisms: seccomp (system calls), Landlock (files) and resource limits (memory, CPU time, file
// size, processes, core dumps). In sanitizer builds, whose runtime needs more system calls, and on systems other than
// Linux, only the resource limits apply; `walls()` lists the active mechanisms.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The system calls that stay allowed. Each value also allows what the values before it allow.
enum class Rights : uint8_t {
  Compute,  // memory, clocks, waiting for existing threads, messages to and from the parent process
  Compile,  // also reading system files, such as a compiler's headers and libraries
  Driver,   // what device drivers need, but no network, other processes or system settings; see `writable`
};

struct Confinement {
  Rights rights = Rights::Compute;
  uint64_t memory = 0;                     // bytes that may be allocated beyond the current size; 0: no limit
  double seconds = 0;                      // CPU seconds; 0: no limit
  std::vector<std::string> writable = {};  // files and folders that Rights::Driver may write (it may read most)
  int newest_landlock = 1000;              // Landlock ABI versions above this are not used; 0: no Landlock. For tests.
};

// Confines this process and all its threads. `channel` is the descriptor connected to the parent process. A forbidden
// system call then raises SIGSYS. Returns an error if the system has a mechanism but refuses to activate it; then the
// caller must not run untrusted code.
Status confine(const Confinement& what, int channel);

// Builds the seccomp filter for Rights::Compute once, so that workers inherit it through fork. Call it before starting
// a worker.
void prepare_confinement();

// Returns the mechanisms that are active on this system in this build, such as "seccomp, Landlock, limits".
std::string walls();

// Returns the name of a system call, such as "openat", or "call 425" if it is unknown. SIGSYS's siginfo has the number.
std::string call_name(int number);

// Returns the paths that a device driver may have to write: device files, the cache folders of PoCL and NVIDIA, and
// `temporary`, the worker's own temporary folder. Creates PoCL's cache folder.
std::vector<std::string> writable_for_drivers(const std::string& temporary);

}  // namespace tgc
