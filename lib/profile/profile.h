// Summarizes the thread traces of a profile, and adds up the times of each run's instructions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/profile/code_source.h"
#include "lib/profile/kernel_work.h"
#include "lib/profile/memory_use.h"
#include "lib/profile/profile_file.h"
#include "lib/profile/sqtt_summary.h"

namespace tgc::profile {

struct ProgramCode {
  KernelCode code;
  std::string error;
  bool ok() const { return error.empty(); }
};

struct ProfileOptions {
  std::string kernel;        // a run ("E_3 n2") or all runs of a kernel ("E_3"); empty: all runs
  unsigned num_threads = 0;  // 0: one per processor
};

std::span<const uint8_t> bytes_of_blob(std::string_view blob);

struct Profile {
  ProfileTrace trace;
  std::string wanted_run_name;
  std::vector<bool> is_run_chosen;              // ProfileOptions::kernel names the run, or is empty
  std::vector<SqttSummary> sqtt_summaries;      // by SQTT event; without packets if the run is not chosen
  std::map<const GpuProgram*, ProgramCode> program_codes;
  CodeSources sources;                          // set by a caller, with find_sources()

  bool is_wanted_kernel(std::string_view kernel) const { return wanted_run_name.empty() || wanted_run_name == kernel; }
  std::map<KernelOfDevice, std::vector<double>> buffer_bytes;
  KernelWorks kernel_works;                                    // set by a caller, with find_kernel_works()
  // `run_index` is the index of a run in ProfileTrace::runs, `event` that of a trace in ProfileTrace::sqtt_events.
  // Returns the work of a run's AST: of its source's AST, or else of that in the profile; nullopt if it is unknown.
  std::optional<KernelWork> work_of_run(size_t run_index) const;
  // Returns null if the code of the run's kernel was not read, or if it cannot be split into instructions.
  const KernelCode* code_of_run(size_t run_index) const;
  // Returns the cycles to add to the times of a trace to get times on the clock of its run's first trace; nullopt if no
  // packets relate the two clocks.
  std::optional<int64_t> clock_offset(size_t event) const;
  // Returns the code to whose instructions the packets of an SQTT event are mapped one by one; null if they are not.
  const KernelCode* kernel_code_of_event(size_t event) const;
  // Returns null if no source was looked for; CodeSource::missing_reason is set if none was found.
  const CodeSource* source_of_run(size_t run_index) const;
  // Returns the times of a run's instructions, added up over its traces; empty if no trace was mapped to code.
  std::vector<InstructionTimes> instruction_times_of_run(size_t run_index) const;
  // Returns the active lanes by instruction, added up over all executions; empty if they are unknown.
  std::vector<uint64_t> active_lanes_of_run(size_t run_index) const;
};

// Fails if `options` names a kernel or run that has no hardware events.
Result<Profile> analyze_profile(ProfileTrace trace, const ProfileOptions& options);

// Returns a program's assembly by address, as LLVM prints it in a worker process; empty if that fails.
std::map<uint64_t, std::string> disassemble_program(const GpuProgram& program, const std::string& arch);
}  // namespace tgc::profile
