// Measures the peak rates of a device, with which the page compares those of kernels (a roofline).
#pragma once
#include <string>

#include "lib/driver/session.h"

namespace tgc {

// The rates that tgc's own kernels reach on a device.
struct Peaks {
  double bytes = 0;       // bytes per second: a copy of 64 MiB, read and written
  double operations = 0;  // operations per second: multiplications and additions of floats that stay in registers
};

// Compiles and runs one kernel for each rate. `device` is as in DeviceOptions::name. The error is that of the first
// kernel that did not run.
Result<Peaks> measure_peaks(const Session& session, const std::string& device);

}  // namespace tgc
