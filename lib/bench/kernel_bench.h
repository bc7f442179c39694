// Times the kernels of an INPUT on the devices that are there, compares the times with the device's peak rates, and
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
  std::string device;      // as DeviceOptions::name
  int runs = 20;           // timed runs of each kernel
  size_t explained = 3;    // number of slowest kernels for which reasons are found
  bool tries = false;      // measure opts that address the reasons
  double timeout = 20;     // seconds for one kernel
};

// A kernel and its times. If it did not run, `error` says why.
struct BenchedKernel {
  std::string name, input, device;  // `device` as run reports it: "CPU:CLANG"
  std::string function;             // its name in the program, as DEBUG=2 shows it
  std::string error;
  double least = 0, median = 0;     // seconds
  size_t runs = 0;
  KernelCost cost;
  Executable::Cost estimate;        // tinygrad's own; 0: not recorded
  double peak_share = 0;            // share of the peak of what bounds the kernel; 0: the peak is not known
  std::string bound;                // "compute", "memory", "cache", "launch" or "latency"; empty: not known
  std::string opts;                 // the opts that it was compiled with
  bool is_explained = false;
  std::vector<Reason> reasons;
  std::string unexplained;          // why there are no reasons
};

struct KernelBenchResult {
  std::vector<BenchedKernel> kernels;  // in the order of the input
  std::map<std::string, Peaks> peaks;  // by device
  std::vector<std::string> no_peaks;   // why there are none
};

// Errors: an input cannot be read; it has no kernel; the device is an emulated one, whose times mean nothing.
Result<KernelBenchResult> bench_kernels(const Session& session, const KernelBenchPlan& plan);

std::string kernels_text(const KernelBenchResult& result);
// Returns one object: {"kernels":[{"kernel":..,"device":..,"seconds":least,"median":s,...}],"peaks":{DEVICE:{...}}}.
std::string kernels_json(const KernelBenchResult& result);

}  // namespace tgc
