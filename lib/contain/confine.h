// Confinement: what a worker process gives up, for good, before it runs code that nobody vouches for. Three walls, each
// of which holds without the others: seccomp (which calls of the system), Landlock (which files), limits (memory, the
// processor, files, core dumps). On systems without seccomp, and under AddressSanitizer, whose runtime needs calls of
// its own, the limits alone stand; `walls()` says what there is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// What may still be called. Every right has what those above it have.
enum class Rights : uint8_t {
  Compute,  // memory, clocks, waiting for threads that are there already; writing the answer
  Compile,  // reading the system's own files: a compiler's headers and libraries
  Driver,   // a device's driver: anything but network, other processes, the system's settings; files: `writable`
};

struct Confinement {
  Rights rights = Rights::Compute;
  uint64_t memory = 0;                     // bytes more than it has now; 0: as many as there are
  double seconds = 0;                      // of the processor; 0: any
  std::vector<std::string> writable = {};  // of Driver: files, and folders with all below them; others may be read
};

// Confines this process and its threads. `channel` is the descriptor to the process that started it. What it calls then
// that it may not is a SIGSYS. An error: the system refused a wall that it has; run nothing then.
Status confine(const Confinement& what, int channel);

// Makes what confine() to Rights::Compute needs, once. Whoever starts workers calls it before: it takes a quarter of
// what a small worker takes in all, the more as each worker would make it on pages that fork has to copy.
void prepare_confinement();

// "seccomp, Landlock, limits": what stands on this system, in this build.
std::string walls();

// "openat", "call 425": of a SIGSYS's siginfo.
std::string call_name(int number);

// What a driver may have to write to: its devices, the caches that OpenCL's and NVIDIA's keep, and `temporary`, a
// folder of the worker's own.
std::vector<std::string> writable_for_drivers(const std::string& temporary);

}  // namespace tgc
