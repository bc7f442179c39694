// Finds reasons why a kernel is slow, and estimates what each costs.
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

enum class SlownessKind : uint8_t {
  FewThreads,        // cores of the CPU are idle
  FewGroups,         // compute units of the GPU are idle
  SmallGroups,       // a work group has too few threads for the lanes of a wave
  NotUnrolled,       // each iteration computes one element
  SerialReduction,   // each addition of a reduction waits for the one before
  OneThreadReduces,  // one thread of a GPU makes a long reduction
  StridedLoads,      // the innermost loop, or neighbouring threads, access memory with gaps
  RepeatedLoads,
  Spills,
  BoundsChecks,      // loads or values depend on a comparison of indices
};
std::string_view name_of(SlownessKind kind);  // returns "strided-loads" for StridedLoads

struct SlownessReason {
  SlownessKind kind = SlownessKind::NotUnrolled;
  std::string text;           // what the kernel does, and what would be better
  // estimate: how many times faster the kernel would be without this reason
  double possible_speedup = 1;
  // The opts to use instead of the kernel's; suggest_opts() and measure_opts() set them.
  std::string opts;
  std::optional<double> measured_speedup;  // how many times faster the kernel is with `opts`
  double fastest_seconds = 0;              // time of the fastest run with `opts`
  std::string measurement_text;
};

struct SlowKernel {
  std::span<const UOp> linear_list;
  bool is_cpu = true;                // false: a launch consists of work groups
  uint32_t num_units = 1;            // number of threads of the CPU, or of compute units of the GPU
  LaunchSize launch_size;
  size_t num_unrolling_opts = 0;             // number of UPCAST and UNROLL opts that were applied
  KernelCost cost;
  double fastest_seconds = 0;
  PeakRates peaks = {};
  std::optional<KernelResources> resources = {};
};

// Returns the reasons, those with the largest possible_speedup first.
std::vector<SlownessReason> slowness_reasons(const SlowKernel& kernel);

}  // namespace tgc
