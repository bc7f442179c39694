// The peak rates of a device, with which the times of kernels are compared (a roofline).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

constexpr const char* kMeasuredPeaksSource = "measured";  // Peaks::source of rates that were measured here

struct Peaks {
  double bytes_per_second = 0;       // bytes per second of the device's memory, read and written
  double operations_per_second = 0;  // operations per second on float32: multiplications and additions
  double launch_seconds = 0;         // seconds of a kernel that does nothing; 0: not known
  // Times of basic steps on one compute unit (on a CPU: in one thread), from which reasons.h estimates how much time
  // each reason for a slow kernel costs; 0: not known.
  double instruction_seconds = 0;  // time of an instruction that nothing delays
  double addition_seconds = 0;     // time until an addition can use the result of the addition before it
  double near_line_seconds = 0;    // time to load an element whose cache line the level 2 cache holds
  double far_line_seconds = 0;     // time to load an element whose cache line only a larger cache holds
  double group_seconds = 0;        // time of a work group that does nothing
  std::string source;              // kMeasuredPeaksSource, or "published for" and the name of a card

  // Rates of memory for smaller working sets, which caches hold, by ascending size. Empty if they are not known.
  struct CacheRate {
    uint64_t working_set = 0;     // in bytes
    double bytes_per_second = 0;
  };
  std::vector<CacheRate> caches;
  double rate_for_bytes(double working_set) const;  // returns the rate of accesses to `working_set` bytes
};

// Returns the peak rates of `device`, as in DeviceOptions::name. Measures them on the CPU and on OpenCL devices, with
// kernels of tgc's own; takes those of other devices from the table of profile::device_peak(), by architecture. Fails
// if the device does not work, a kernel does not run, or the table lacks the device. `only_rates`: measures only
// `bytes_per_second`, `operations_per_second` and `instruction_seconds`.
Result<Peaks> peaks_of_device(const Session& session, const std::string& device, bool only_rates = false);

}  // namespace tgc
