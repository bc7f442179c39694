// The peak rates of a device, with which the times of kernels are compared (a roofline).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

constexpr const char* kMeasuredPeaksSource = "measured";  // PeakRates::source of measured rates

struct PeakRates {
  double bytes_per_second = 0;       // rate of reads and writes of the device's memory
  double operations_per_second = 0;  // rate of float32 multiplications and additions
  double launch_seconds = 0;         // time of a kernel that only stores one element; 0: not known
  // Times of basic steps on one compute unit (on a CPU: in one thread); 0: not known.
  double instruction_seconds = 0;  // time of an instruction that nothing delays
  double addition_latency_seconds = 0;  // time until an addition can use the result of the addition before it
  double near_load_seconds = 0;    // time of a load from the next cache line, in a loop over 128 KiB of lines
  double far_load_seconds = 0;     // the same for 1 MiB of lines
  double group_seconds = 0;        // time of a work group that only stores one element
  std::string source;              // kMeasuredPeaksSource, or "published for" and the name of a card

  // Memory rates for working sets that a cache holds, in ascending order of size.
  struct CacheRate {
    uint64_t working_set = 0;     // size in bytes
    double bytes_per_second = 0;
  };
  std::vector<CacheRate> cache_rates;
  double rate_for_bytes(double working_set) const;  // returns bytes per second for a working set of this many bytes
};

// Returns the peak rates of `device`: measured on the CPU and on OpenCL devices, else from profile::find_device_peak().
// Fails, for example, if the device is not known, or if a measurement fails. With `should_measure_only_rates`, measures
// only `bytes_per_second`, `operations_per_second` and `instruction_seconds`.
Result<PeakRates> peaks_of_device(const Session& session, const std::string& device,
                                  bool should_measure_only_rates = false);

}  // namespace tgc
