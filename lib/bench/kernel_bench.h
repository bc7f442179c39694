// Times kernels on the devices of this computer, and says why the slowest ones are slow: `tgc bench --kernels`.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/compilation/kernel_cost.h"
#include "lib/bench/peaks.h"
#include "lib/bench/reasons.h"
#include "lib/execute/executable.h"

namespace tgc {

struct KernelBenchPlan {
  std::vector<std::string> inputs;
  std::string kernel;
  std::string device;           // DeviceOptions::name
  int num_runs = 20;
  size_t num_explained_kernels = 3;  // number of slowest kernels for which reasons are found
  bool should_measure_opts = false;
  double timeout_seconds = 20;  // time limit for one kernel
};

// A kernel and its times. `error` says why it has no times.
struct BenchedKernel {
  std::string name, input, device;  // `device` is RunReport::device, such as "CPU:CLANG"
  std::string function_name;        // the kernel's name as DEBUG=2 shows it
  std::string error;
  double least_seconds = 0, median_seconds = 0;     // time of the fastest run, and median of the runs' times
  size_t num_runs = 0;
  KernelCost kernel_cost;
  Executable::Cost estimated_cost;  // tinygrad's own estimate; members that are not known are 0
  // the larger of the kernel's shares of the peak rates of memory and arithmetic; 0: not known
  double share_of_peak_rate = 0;
  // what limits the speed: "compute", "memory", "cache", "launch" or "latency"; empty: not known
  std::string limiting_resource;
  std::string opts;                 // set only if is_explained
  bool is_explained = false;
  std::vector<SlownessReason> reasons;
  // why reasons or their opts are missing, or why the opts do not build on the kernel's own opts
  std::string unexplained_reason;
  // Returns the text of `device` before its first comma, such as "REF" for "REF, lowered for METAL:METAL".
  std::string device_option() const { return device.substr(0, device.find(',')); }
};

struct KernelBenchResult {
  std::vector<BenchedKernel> kernels;
  std::map<std::string, PeakRates> peaks;  // the key is BenchedKernel::device_option()
  std::vector<std::string> peak_errors;
};

// Fails if an input cannot be read or scheduled, if no input has a kernel, or if a GPU is emulated, because the times
// of an emulated GPU mean nothing.
Result<KernelBenchResult> bench_kernels(const Session& session, const KernelBenchPlan& plan);

std::string kernels_text(const KernelBenchResult& result);
// Returns a JSON object with the array "kernels" and the object "peaks", which has a member for each device with known
// peaks.
std::string kernels_json(const KernelBenchResult& result);

}  // namespace tgc
