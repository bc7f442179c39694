// Analyzes a profile: summarizes each thread trace, and adds up the times of the instructions of each run of a kernel.
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

// A program's code, or why traces cannot be mapped to it.
struct ProgramCode {
  KernelCode code;
  std::string error;
  bool ok() const { return error.empty(); }
};

struct ProfileOptions {
  std::string kernel;        // analyze only this run ("E_3 n2"), or all runs of this kernel ("E_3"); empty: all runs
  unsigned num_threads = 0;  // number of threads; 0: one per processor
};

std::span<const uint8_t> bytes_of(std::string_view blob);

struct Profile {
  Trace trace;
  std::string wanted_run;                       // ProfileOptions::kernel
  std::vector<bool> is_run_chosen;              // by run: true if ProfileOptions::kernel names it, or is empty
  std::vector<SqttSummary> summaries;           // by SQTT event; empty if its run is not chosen
  std::map<const Program*, ProgramCode> codes;  // of the chosen runs whose traces have instructions
  CodeSources sources;                          // set by a caller, with find_sources()

  bool is_wanted(std::string_view kernel) const { return wanted_run.empty() || wanted_run == kernel; }
  std::map<KernelOfDevice, std::vector<double>> buffer_bytes;  // see lib/profile/memory_use.h
  KernelWorks kernel_works;                                    // set by a caller, with find_works()
  // In all functions below, `kernel` is the index of a run in Trace::kernels.
  // Returns the operations and bytes that the AST of a run needs: the AST of the run's source, or else that in the
  // profile. Returns nullopt if neither is known.
  std::optional<KernelWork> work_of(size_t kernel) const;
  // Returns the code of a run; null if the profile has no code that packets can be mapped to.
  const KernelCode* code_of(size_t kernel) const;
  // Returns the cycles to add to the times of a trace, so that they are on the clock of its run's first trace. Returns
  // nullopt if the traces have no packet that relates their clocks.
  std::optional<int64_t> clock_offset(size_t event) const;
  // Returns the code whose instructions the packets of an SQTT event report, one packet for each execution. Returns
  // null without code or packets of instructions, if the trace does not fit the code, or for CDNA, whose instructions
  // have several packets.
  const KernelCode* packet_code_of(size_t event) const;
  // Returns the source of a run, with `missing_reason` set if none was found; null if no source was looked for.
  const CodeSource* source_of(size_t kernel) const;
  // Returns the times of a run's instructions, added up over its shader engines; empty if no trace was mapped to code.
  std::vector<InstructionTimes> instructions_of(size_t kernel) const;
  // Returns the number of active lanes (set bits of EXEC) of each instruction of a run, added up over all executions;
  // empty if it is unknown: only traces of the emulated GPU have it.
  std::vector<uint64_t> active_lanes_of(size_t kernel) const;
};

// Fails if `options` names a kernel or run that has no hardware events.
Result<Profile> analyze_profile(Trace trace, const ProfileOptions& options);

// Returns the assembly of a program by address, as LLVM prints it; empty if the architecture is unknown, or if this
// build's LLVM cannot disassemble the code. Runs in a worker process, because LLVM can crash.
std::map<uint64_t, std::string> disassemble_program(const Program& program, const std::string& arch);
}  // namespace tgc::profile
