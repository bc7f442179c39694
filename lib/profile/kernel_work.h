// The work of the kernels of a profile: the operations and bytes that their ASTs need, and the operations that their
// waves executed.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/compilation/compilation.h"
#include "lib/compile/resources.h"
#include "lib/driver/session.h"
#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct Profile;

struct KernelWork {
  double ops = 0, bytes = 0;  // of one execution (lib/compilation/kernel_cost.h)
  double read = 0;            // of `bytes`: those that are read; 0: not known
  bool is_most = false;       // the kernel has variables, which count with their largest values
  std::string from;           // what has the AST: "the AST that the profile has", "kernels.jsonl.gz#matmul.0"
};
using KernelWorks = std::map<std::string, KernelWork, std::less<>>;  // by the name of the kernel's function

// Returns the work of a kernel. `kernel` may be at any stage. That of a graph after a stage is tinygrad's
// estimate (passes/program.h). Throws Failure.
KernelWork work_of(Compilation& kernel, std::string from);

// A session that compiles graphs of any release for the target that they name.
Session native_session(const Session& session);

// Reads the AST of the kernel `name` from the profile, to be compiled for `target`. `session` is a native_session().
// Throws Failure.
InputGraph profile_ast(const Session& session, const Trace& trace, const std::string& name, const std::string& target);

// Returns the work of all kernels whose AST the profile has. Those that tgc cannot read are left out.
KernelWorks find_works(const Session& session, const Trace& trace);

// The registers and memory of a kernel, from the descriptor and the metadata of its binary (LLVM's AMDGPUUsage).
// `most_threads` is 0 if the metadata does not say it. Empty: the binary has no descriptor.
std::optional<KernelResources> program_resources(const Program& program, std::string_view arch);

struct KernelFigures {
  std::optional<KernelWork> work;
  std::optional<double> executed;  // operations of all waves: those of the followed waves, scaled to all waves
  bool executed_at_most = false;   // how many lanes are active is not known: all that a work group may have count
  uint32_t lanes = 0, wave_lanes = 0;  // active lanes of a wave (`executed_at_most`: at most), and all
  size_t waves = 0, followed = 0;
  std::optional<double> bytes;     // bytes of the buffers, each buffer counted once

  std::optional<double> ops() const { return work ? std::optional(work->ops) : executed; }
  bool ops_at_most() const { return work ? work->is_most : executed_at_most; }
};
KernelFigures figures_of(const Profile& profile, size_t kernel, const std::map<uint64_t, std::string>& listing);
// Two lines for people, each with an end of line: operations and bytes, with their shares of the device's peaks. Empty:
// nothing is known.
std::string figures_text(const Profile& profile, size_t kernel, const KernelFigures& figures);

// Returns the floating-point operations that one lane does for an instruction of RDNA, given as LLVM prints it; for a
// matrix instruction, the wave's operations divided by 32 lanes. Returns 0 for all other instructions.
double flops_per_lane(std::string_view assembly);

// The nominal rates of a GPU of this architecture.
struct DevicePeak {
  std::string_view arch, card;
  double flops = 0;  // float32 operations a second, without matrix instructions
  double bytes = 0;  // bytes a second of device memory
  uint32_t simds = 0;  // of AMD's GPUs
};
const DevicePeak* device_peak(std::string_view arch);  // null: unknown

// "memory 71%": the rate that is closest to the device's, and how close. "latency": both are below 10%. Empty: unknown.
std::string bound_by(std::optional<double> flops, std::optional<double> bytes, double seconds, std::string_view arch);

// "14.0 GFLOPS", "2.6 GB/s".
std::string rate_text(double amount, double seconds, const char* unit);

}  // namespace tgc::profile
