// Times the kernels of an INPUT on the devices of this computer, compares the times with the device's peak rates, and
// says why the slowest kernels are slow: `tgc bench --kernels`.
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
  std::string device;           // as DeviceOptions::name
  int num_runs = 20;            // timed runs of each kernel
  size_t num_explained = 3;     // number of slowest kernels for which reasons are found
  bool measures_opts = false;   // measure opts that address the reasons
  double timeout_seconds = 20;  // time limit for one kernel in seconds
};

// A kernel and its times. If it did not run, `error` says why.
struct BenchedKernel {
  std::string name, input, device;  // `device` as run reports it: "CPU:CLANG"
  std::string function_name;        // the kernel's name in the program, as DEBUG=2 shows it
  std::string error;
  double least_seconds = 0, median_seconds = 0;     // seconds of the fastest run and of the median run
  size_t num_runs = 0;
  KernelCost kernel_cost;
  Executable::Cost estimated_cost;  // tinygrad's own estimate of the cost; its members are 0 if not recorded
  double peak_share = 0;            // the kernel's rate divided by the device's peak rate, of memory or of arithmetic,
                                    // whichever share is larger; 0: the peaks are not known
  // what limits the speed: "compute", "memory", "cache", "launch" or "latency"; empty: not known
  std::string limiting_resource;
  std::string opts;                 // the opts that the kernel was compiled with; set only if is_explained
  bool is_explained = false;
  std::vector<Reason> reasons;
  // why there are no reasons, or why their opts do not build on the kernel's own opts
  std::string unexplained_reason;
  // Returns the device without ", lowered for ..", as KernelBenchResult::peaks names it.
  std::string device_option() const { return device.substr(0, device.find(',')); }
};

struct KernelBenchResult {
  std::vector<BenchedKernel> kernels;      // in the order of the input
  std::map<std::string, Peaks> peaks;      // the key is BenchedKernel::device_option()
  std::vector<std::string> peak_errors;    // why devices have no peaks
};

// Times the kernels of the plan. Fails if an input cannot be read, if a tensor graph cannot be scheduled, if no input
// has a kernel, or if a device is emulated, so that its times mean nothing.
Result<KernelBenchResult> bench_kernels(const Session& session, const KernelBenchPlan& plan);

std::string kernels_text(const KernelBenchResult& result);
// Returns one object: {"kernels":[{"kernel":..,"device":..,"seconds":least,"median":s,...}],"peaks":{DEVICE:{...}}}.
std::string kernels_json(const KernelBenchResult& result);

}  // namespace tgc
