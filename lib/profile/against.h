// Compares the times of kernels in two profiles, and the instructions of the chosen runs.
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
    double cycles_per_wave = 0;   // mean over the run's followed waves
  };
  std::optional<InstructionSide> old_side, new_side;  // at least one is set
  double change_per_wave() const {
    return (new_side ? new_side->cycles_per_wave : 0) - (old_side ? old_side->cycles_per_wave : 0);
  }
  const InstructionSide& newest_side() const { return new_side ? *new_side : *old_side; }
};

// The cycles are means over the followed waves of each run (KernelFigures).
struct ComparedRun {
  size_t old_run = 0, new_run = 0;
  std::vector<ComparedInstruction> instructions;  // executed instructions; empty if one of the runs has none
  std::array<double, kNumStallReasons> old_reason_cycles{}, new_reason_cycles{};
  double old_cycles = 0, new_cycles = 0;
};
// Compares each chosen run of one profile with those of the same name ("E_3 n2") in the other. If each profile has
// exactly one chosen run, compares these two.
std::vector<ComparedRun> compare_runs(const Profile& old_profile, const Profile& new_profile);

struct ComparedTime {
  std::string kernel;
  std::optional<double> old_seconds, new_seconds;
};
std::vector<ComparedTime> compare_times(const Profile& old_profile, const Profile& new_profile);

}  // namespace tgc::profile
