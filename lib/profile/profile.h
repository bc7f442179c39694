// The analysis of a profile: each thread trace summarized, and the instructions of each run of a kernel.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/profile/code_source.h"
#include "lib/profile/kernel_work.h"
#include "lib/profile/memory_events.h"
#include "lib/profile/profile_file.h"
#include "lib/profile/sqtt_summary.h"

namespace tgc::profile {

// A program's code, or why its traces cannot be mapped to it.
struct ProgramCode {
  KernelCode code;
  std::string error;
  bool ok() const { return error.empty(); }
};

struct ProfileOptions {
  std::string kernel;   // analyze only this run ("E_3 n2") or all runs of this name; empty: all
  unsigned jobs = 0;    // threads; 0: one per processor
};

std::span<const uint8_t> bytes_of(std::string_view blob);

struct Profile {
  Trace trace;
  std::string wanted;                  // ProfileOptions::kernel
  std::vector<bool> chosen;            // by kernel: whether ProfileOptions::kernel names it
  std::vector<SqttSummary> summaries;  // by SQTT event; empty if its kernel is not chosen
  std::map<const Program*, ProgramCode> codes;
  CodeSources sources;                 // set by a caller that has an INPUT with the kernels

  bool wants(std::string_view kernel) const { return wanted.empty() || wanted == kernel; }
  std::map<KernelOfDevice, std::vector<double>> buffer_bytes;  // see lib/profile/memory_events.h
  KernelWorks works;                   // set by a caller that has a Session (find_works)

  // Returns the operations and bytes that the AST of a run needs. The AST is that of the run's source, else that of the
  // profile; empty if neither is known.
  std::optional<KernelWork> work_of(size_t kernel) const;
  // The code of a run; null if it has none that packets can be mapped to.
  const KernelCode* code_of(size_t kernel) const;
  // The code whose instructions single packets of a trace stand for: that of RDNA, if the trace fits it; else null.
  const KernelCode* packet_code_of(size_t event) const;
  // The source of a run, or why there is none; null if no source was looked for.
  const CodeSource* source_of(size_t kernel) const;
  // The times of a run's instructions, of all its shader engines; empty if nothing was mapped.
  std::vector<InstructionTimes> instructions_of(size_t kernel) const;
};

Result<Profile> analyze_profile(Trace trace, const ProfileOptions& options);

// Assembly by address, as LLVM prints it. Runs in a worker; empty if this build's LLVM cannot disassemble the code.
std::map<uint64_t, std::string> disassemble_program(const Program& program, const std::string& arch);
}  // namespace tgc::profile
