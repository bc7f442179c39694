// Work and resources of a profile's kernels, and peak rates of devices.
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
  double num_operations = 0, num_bytes = 0;
  double bytes_read = 0;            // 0: unknown
  bool is_upper_bound = false;       // the figures are those for the largest values of the kernel's variables
  std::string ast_source;  // where the AST comes from: "kernels.jsonl.gz#matmul.0"
};
using KernelWorks = std::map<std::string, KernelWork, std::less<>>;

// Returns the work of a kernel's AST, or tinygrad's estimate (passes/program.h) if the compilation began at a later
// stage. Throws Failure if the kernel cannot be read or compiled.
KernelWork work_of_kernel(Compilation& kernel, std::string from);

// Returns a session that compiles graphs of all releases, each for the target that it names.
Session make_native_session(const Session& session);

// Reads the AST of the kernel `name` from the profile, to be compiled for `target`. `session` is a result of
// make_native_session(). Throws Failure if the profile has no such AST, or if tgc cannot read or import it.
InputGraph load_profile_ast(const Session& session, const ProfileTrace& trace, const std::string& name,
                            const std::string& target);

// Returns the work of the kernels whose AST the profile has and tgc can process. Stops early if the session is
// cancelled.
KernelWorks find_kernel_works(const Session& session, const ProfileTrace& trace);

// Reads a kernel's resources from its binary (LLVM's AMDGPUUsage); nullopt without a descriptor. `max_threads` is 0 if
// it is unknown.
std::optional<KernelResources> program_resources(const GpuProgram& program, std::string_view arch);
// Returns how many waves of the run's kernel fit on a SIMD; nullopt: unknown.
std::optional<Occupancy> occupancy_of_run(const KernelRun& run);

struct KernelFigures {
  std::optional<KernelWork> kernel_work;  // nullopt: unknown
  // floating-point operations of all waves, scaled from those of the followed waves; nullopt: unknown
  std::optional<double> executed_flops;
  // true: `executed_flops` counts `max_active_lanes` lanes, because the active ones are unknown
  bool is_executed_upper_bound = false;
  uint32_t max_active_lanes = 0, num_wave_lanes = 0;  // most lanes of a wave that can be active; lanes of a wave
  std::optional<double> active_lanes;             // mean over instructions that run in lanes; nullopt: unknown
  size_t num_waves = 0, num_followed_waves = 0;   // followed: the traces have their instructions
  std::optional<double> buffer_bytes;             // sizes of its buffers, each counted once; nullopt: unknown

  std::optional<double> num_needed_operations() const {
    return kernel_work ? std::optional(kernel_work->num_operations) : executed_flops;
  }
  bool is_operations_upper_bound() const { return kernel_work ? kernel_work->is_upper_bound : is_executed_upper_bound; }
};
KernelFigures figures_of_run(const Profile& profile, size_t run_index, const std::map<uint64_t, std::string>& listing);
// Returns the figures as lines of text; "" if nothing is known.
std::string figures_text(const Profile& profile, size_t run_index, const KernelFigures& figures);

// Returns the floating-point operations of one lane for an RDNA instruction, as LLVM prints it; for a WMMA of 16x16x16,
// the wave's operations divided by 32.
double flops_per_lane(std::string_view assembly);
// Returns true for instructions of the vector unit, and for accesses to memory by lanes: global, local, flat, private,
// buffer and image.
bool runs_in_lanes(std::string_view assembly);

// The nominal peak rates, and the SIMDs, of one card of an architecture.
struct DevicePeakRates {
  std::string_view arch, card_name;
  double flops_per_second = 0;  // float32, without matrix instructions
  double bytes_per_second = 0;
  uint32_t num_simds = 0;       // 0: unknown, or no GPU of AMD
};
const DevicePeakRates* find_device_peak(std::string_view arch);  // null if unknown

// Returns the rate that is closest to the device's peak, "memory 71%" or "compute 40%"; "latency (3.0% of peak)" below
// 10%; "" if it is unknown.
std::string speed_limit_text(std::optional<double> flops, std::optional<double> bytes, double seconds,
                             std::string_view arch);

// Returns "14.0 GFLOPS" or "2.6 GB/s", for the unit "FLOPS" or "B/s".
std::string rate_text(double amount, double seconds, const char* unit);

}  // namespace tgc::profile
