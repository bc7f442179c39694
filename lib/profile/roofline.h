// Compares the operations and bytes per second of a kernel with the peak rates of its device.
#pragma once
#include <optional>
#include <string_view>

#include "lib/profile/profile.h"

namespace tgc::profile {

// Floating-point operations of one lane for an instruction of RDNA, as LLVM prints it; of a matrix instruction, the
// wave's operations divided by 32 lanes. 0 for all other instructions.
double lane_flops(std::string_view assembly);

// The nominal rates of a GPU of this architecture.
struct DevicePeak {
  std::string_view arch, card;
  double flops = 0;  // float32 operations a second, without matrix instructions
  double bytes = 0;  // bytes a second of device memory
};
const DevicePeak* device_peak(std::string_view arch);  // null: unknown

// Floating-point operations of a run: those of the followed waves, scaled to all waves; every lane counts as active.
// Empty if its traces are not mapped to instructions.
std::optional<double> flops_of(const Profile& profile, size_t kernel, const std::map<uint64_t, std::string>& listing);

// "memory 71%": the rate that is closest to the device's, and how close. "latency": both are below 10%. Empty: unknown.
std::string bound_by(std::optional<double> flops, std::optional<double> bytes, double seconds, std::string_view arch);

}  // namespace tgc::profile
