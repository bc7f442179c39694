// Compares two profiles: the times of kernels, and instruction by instruction the chosen runs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/report.h"
#include "lib/profile/stalls.h"

namespace tgc::profile {

struct ComparedInstruction {
  struct InstructionSide {
    uint32_t number = 0;
    uint64_t address = 0;
    InstructionTimes instruction_times;
    std::string assembly;
    double cycles_per_wave = 0;   // mean cycles of a followed wave
  };
  std::optional<InstructionSide> old_side, new_side;  // at least one is set
  double change_per_wave() const {
    return (new_side ? new_side->cycles_per_wave : 0) - (old_side ? old_side->cycles_per_wave : 0);
  }
  const InstructionSide& newest_side() const { return new_side ? *new_side : *old_side; }
};

// Cycles are means over the run's followed waves.
struct ComparedRun {
  size_t old_run = 0, new_run = 0;
  std::vector<ComparedInstruction> instructions;  // executed ones; empty if one of the runs has none
  std::array<double, kNumStallReasons> old_reason_cycles{}, new_reason_cycles{};
  double old_cycles = 0, new_cycles = 0;
};
// Compares the chosen runs of the same name, the n-th with the n-th; if each profile has only one chosen run, those
// two.
std::vector<ComparedRun> compare_runs(const Profile& old_profile, const Profile& new_profile);

struct ComparedTime {
  std::string kernel;
  std::optional<double> old_seconds, new_seconds;
};
std::vector<ComparedTime> compare_times(const Profile& old_profile, const Profile& new_profile);

}  // namespace tgc::profile
