// Computes the work of a profile's kernels: the operations and bytes that their ASTs need, and the operations that
// their waves executed; reads the resources of their binaries; and compares rates with the peak rates of devices.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/compilation/compilation.h"
#include "lib/compile/occupancy.h"
#include "lib/compile/resources.h"
#include "lib/driver/session.h"
#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct Profile;

struct KernelWork {
  double num_operations = 0, num_bytes = 0;  // for one execution (lib/compilation/kernel_cost.h)
  double bytes_read = 0;            // the part of `num_bytes` that is read; 0: unknown
  bool is_upper_bound = false;       // true if the figures are those for the largest values of the kernel's variables
  std::string ast_source;  // where the AST comes from: "the AST that the profile has", "kernels.jsonl.gz#matmul.0"
};
using KernelWorks = std::map<std::string, KernelWork, std::less<>>;  // by the name of the kernel's function

// Returns the work of a kernel: that of its AST, or, if the compilation began with the graph of a later stage,
// tinygrad's estimate (passes/program.h). Throws Failure if the kernel cannot be compiled.
KernelWork work_of(Compilation& kernel, std::string from);

// Returns a session that compiles graphs of all releases, each for the target that it names.
Session native_session(const Session& session);

// Reads the AST of the kernel `name` from the profile, to compile it for `target`. `session` is a native_session().
// Throws Failure if the profile has no such AST, or if tgc cannot read it.
InputGraph profile_ast(const Session& session, const Trace& trace, const std::string& name, const std::string& target);

// Returns the work of all kernels whose AST the profile has. Leaves out kernels that cannot be read or compiled and, if
// the session is cancelled, the rest.
KernelWorks find_works(const Session& session, const Trace& trace);

// Returns the registers and memory of a kernel, from the descriptor and the metadata of its binary (as LLVM's
// AMDGPUUsage describes them); nullopt if the binary has no descriptor. `num_spills` counts spilled vector and scalar
// registers; `max_threads` is 0 if the metadata does not have it.
std::optional<KernelResources> program_resources(const Program& program, std::string_view arch);
// Returns how many waves of the run's kernel fit on a SIMD. Work groups have the most threads that the metadata allows,
// else 32. Nullopt if the run has no binary with a descriptor, or if the architecture is not in the tables.
std::optional<Occupancy> fitting_waves(const KernelRun& run);

// The figures of one run.
struct KernelFigures {
  std::optional<KernelWork> kernel_work;  // what the AST needs; nullopt: unknown
  // floating-point operations of all waves, scaled from those of the followed waves
  std::optional<double> executed_flops;
  // true if `executed_flops` counts `max_active_lanes` lanes, because the active ones are unknown
  bool is_executed_upper_bound = false;
  uint32_t max_active_lanes = 0, wave_lanes = 0;  // the most lanes of a wave that can be active; lanes of a wave
  std::optional<double> active_lanes;             // mean over instructions that run in lanes; nullopt: unknown
  size_t num_waves = 0, num_followed_waves = 0;   // number of waves, and of those whose instructions the traces have
  std::optional<double> buffer_bytes;             // bytes of the kernel's buffers, each buffer counted once

  std::optional<double> needed_operations() const {
    return kernel_work ? std::optional(kernel_work->num_operations) : executed_flops;
  }
  bool is_operations_upper_bound() const { return kernel_work ? kernel_work->is_upper_bound : is_executed_upper_bound; }
};
KernelFigures figures_of(const Profile& profile, size_t kernel, const std::map<uint64_t, std::string>& listing);
// Returns the figures as lines of text: operations, bytes, and the device whose peak rates they are compared with. ""
// if nothing is known.
std::string figures_text(const Profile& profile, size_t kernel, const KernelFigures& figures);

// Returns the number of floating-point operations that one lane does for an instruction of RDNA, given as LLVM prints
// it. For a matrix instruction, these are the wave's operations divided by 32 lanes. Returns 0 if it has none.
double flops_per_lane(std::string_view assembly);
// Returns true for an instruction that executes in the active lanes: of the vector unit, or of memory.
bool runs_in_lanes(std::string_view assembly);

// The nominal peak rates of a GPU with this architecture.
struct DevicePeak {
  std::string_view arch, card;
  double flops_per_second = 0;  // float32 operations per second, without matrix instructions
  double bytes_per_second = 0;  // bytes per second of device memory
  uint32_t num_simds = 0;       // number of SIMDs of an AMD GPU; 0 for others
};
const DevicePeak* device_peak(std::string_view arch);  // returns null if the architecture is unknown

// Returns what limits a kernel's speed: "memory 71%" or "compute 40%", the rate that is closest to the device's peak,
// and its share of the peak; "latency (3.0% of peak)" if both shares are below 10%; "" if it is unknown.
std::string bound_by(std::optional<double> flops, std::optional<double> bytes, double seconds, std::string_view arch);

// Returns a rate such as "14.0 GFLOPS" or "2.6 GB/s", for the unit "FLOPS" or "B/s".
std::string rate_text(double amount, double seconds, const char* unit);

}  // namespace tgc::profile
