// Makes the reports of `tgc profile`, as text for people and as JSON. `file` is the name of the profile.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"

namespace tgc::profile {

// The assembly of the profile's programs by address. Each program is disassembled when it is first needed. A run
// without code that packets can be mapped to has an empty listing.
class Listings {
 public:
  using Listing = std::map<uint64_t, std::string>;
  explicit Listings(const Profile& profile) : profile_(&profile) {}
  const Listing& find(size_t kernel);

 private:
  const Profile* profile_;
  std::map<const Program*, Listing> listings_;
  Listing empty_listing_;
};

using Print = std::function<void(std::string_view)>;

// Prints, in parts, the main report as a JSON object: without packets and without the allocations of buffers.
void print_json(const Profile& profile, const std::string& file, const Print& print);
// Says in reports what the cycles of an emulated GPU mean.
inline constexpr std::string_view kEmulatedCyclesNote =
    "emulated: each packet costs one cycle, whatever its instruction, its cache misses or bank conflicts; cycles count "
    "instructions, not time";
// Says in reports about instructions what their times are.
inline constexpr std::string_view kModeledTimesNote =
    "emulated: times are modeled, not measured, by the latencies of one wave and the cache lines and banks of its "
    "accesses";

// Returns the kernels and copies by total time, and the runs with hardware events.
std::string overview_text(const Profile& profile, const std::string& file);
// Returns for each chosen run its figures, hints, the instructions with the most cycles, and all executed instructions
// in the order of the code; for a run of an NVIDIA GPU, its samples by address.
std::string instructions_text(const Profile& profile);

// Prints, in parts, all packets (as text: without NOPs) of the chosen runs in the order of the traces, with their
// instructions.
void print_packets(const Profile& profile, bool json, const Print& print);
std::string waves_text(const Profile& profile);
void print_waves_json(const Profile& profile, const std::string& file, const Print& print);
std::string counters_text(const Profile& profile);
std::string counters_json(const Profile& profile, const std::string& file);
std::string memory_text(const Trace& trace);
std::string memory_json(const Trace& trace, const std::string& file);

// Compare the kernels of two profiles: their times, and for the chosen runs the cycles of each instruction.
std::string comparison_text(const Profile& old_profile, const Profile& new_profile);
std::string comparison_json(const Profile& old_profile, const Profile& new_profile);

// The sum, the largest value and the number of the values of a counter in a run.
struct CounterTotal {
  uint64_t value_sum = 0, largest_value = 0, value_count = 0;
};
std::map<std::string, CounterTotal, std::less<>> counter_totals(const Profile& profile, size_t kernel);
// Returns values in percent that are computed from counters, such as ("VALU utilization", 12.5).
std::vector<std::pair<std::string, double>> derived_counters(const Profile& profile, size_t kernel);

// All timed events with the same name on the same device: runs of a kernel, copies, or calls of the host.
struct Total {
  std::string device, name;
  double seconds = 0;
  size_t num_executions = 0;
  std::optional<double> flops, bytes;  // operations and bytes of one execution; nullopt: unknown
  // true if `flops` is only an upper bound (KernelFigures::is_operations_upper_bound)
  bool is_flops_upper_bound = false;
  bool is_copy = false;
  std::string arch;
};

// Returns the totals, the longest first. Operations and bytes are those that the kernel's AST needs; without an AST,
// the operations that the chosen runs executed, and the bytes of the kernel's buffers; for a copy, the copied bytes.
std::vector<Total> event_totals(const Profile& p, Listings& listings);

}  // namespace tgc::profile
