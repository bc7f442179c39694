// Finds reasons why a kernel is slow, from its linear list, its launch size and the report of its compiler, each with
// the class of opts that addresses it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/compilation/kernel_cost.h"
#include "lib/bench/peaks.h"
#include "lib/compile/resources.h"
#include "lib/runtime/device.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

enum class Slowness : uint8_t {
  FewThreads,        // cores of the CPU are idle
  FewGroups,         // compute units of the GPU are idle
  SmallGroups,       // a work group has too few threads for the lanes of a wave
  NotUnrolled,       // each iteration computes one element
  SerialReduction,   // each addition of a reduction waits for the one before
  OneThreadReduces,  // one thread of a GPU makes a long reduction
  StridedLoads,      // the innermost loop, or neighbouring threads, access memory with gaps
  RepeatedLoads,     // the same elements are loaded many times
  Spills,            // registers are stored to the stack
  BoundsChecks,      // loads or values depend on a comparison of indices
};
std::string_view name_of(Slowness kind);  // returns "strided-loads" for StridedLoads

struct Reason {
  Slowness kind = Slowness::NotUnrolled;
  std::string text;           // what the kernel does, with its numbers, and what would be better
  // estimate from SlowKernel::peaks: how many times faster the kernel would be without this reason
  double possible_speedup = 1;
  // Set by suggest_opts() and measure_opts(): opts in place of the kernel's, as text for --opts and `opts_to_apply`.
  std::string opts;
  std::optional<double> measured_speedup;  // how many times faster the kernel is with `opts`, measured; below 1: slower
  double fastest_seconds = 0;              // seconds of the fastest run with `opts`, measured
  std::string measurement_text;            // what was measured and compared, or why nothing was
};

struct SlowKernel {
  std::span<const UOp> linear_list;
  bool is_cpu = true;                // false: a launch consists of work groups of threads
  uint32_t num_units = 1;            // number of threads of the CPU, or of compute units of the GPU
  LaunchSize launch_size;
  size_t num_unrolling_opts = 0;             // number of UPCAST and UNROLL opts that were applied
  KernelCost cost;
  double fastest_seconds = 0;  // time of the fastest run
  Peaks peaks = {};            // peak rates of the device, and times of its basic steps
  std::optional<KernelResources> resources = {};
};

// Returns the reasons, those with the largest possible_speedup first; empty if no reason is found.
std::vector<Reason> slowness_reasons(const SlowKernel& kernel);

}  // namespace tgc
