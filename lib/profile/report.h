// The reports of `tgc profile`, as text and as JSON. `file` is the name of the profile.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"

namespace tgc::profile {

// The assembly of programs by address, disassembled when first needed.
class ProgramListings {
 public:
  using Listing = std::map<uint64_t, std::string>;
  explicit ProgramListings(const Profile& profile) : profile_(&profile) {}
  const Listing& find(size_t run_index);

 private:
  const Profile* profile_;
  std::map<const GpuProgram*, Listing> listings_;
  Listing empty_listing_;
};

using TextPrinter = std::function<void(std::string_view)>;

// Prints, in parts, the main report as JSON: without packets and without the allocations of buffers.
void print_json(const Profile& profile, const std::string& file, const TextPrinter& print);
inline constexpr std::string_view kEmulatedCyclesNote =
    "emulated: each packet costs one cycle, whatever its instruction, its cache misses or bank conflicts; cycles count "
    "instructions, not time";
inline constexpr std::string_view kModeledTimesNote =
    "emulated: times are modeled, not measured, by the latencies of one wave and the cache lines and banks of its "
    "accesses";

// Returns the kernels and copies by total time, and the runs with hardware events.
std::string overview_text(const Profile& profile, const std::string& file);
// Returns the figures, hints and instructions of the chosen runs; for an NVIDIA GPU, samples by address.
std::string instructions_text(const Profile& profile);

// Prints, in parts, the packets of the chosen runs with their instructions; as text without NOPs.
void print_packets(const Profile& profile, bool json, const TextPrinter& print);
std::string waves_text(const Profile& profile);
void print_waves_json(const Profile& profile, const std::string& file, const TextPrinter& print);
std::string counters_text(const Profile& profile);
std::string counters_json(const Profile& profile, const std::string& file);
std::string memory_text(const ProfileTrace& trace);
std::string memory_json(const ProfileTrace& trace, const std::string& file);

// Compare the times of kernels, and for the chosen runs the cycles of each instruction.
std::string comparison_text(const Profile& old_profile, const Profile& new_profile);
std::string comparison_json(const Profile& old_profile, const Profile& new_profile);

struct CounterTotal {
  uint64_t value_sum = 0, largest_value = 0, num_values = 0;
};
std::map<std::string, CounterTotal, std::less<>> counter_totals(const Profile& profile, size_t run_index);
// Returns names and percentages, such as ("VALU utilization", 12.5).
std::vector<std::pair<std::string, double>> derived_counters(const Profile& profile, size_t run_index);

// Timed events with the same name on the same device.
struct EventTotal {
  std::string device, name;
  double seconds = 0;
  size_t num_executions = 0;
  std::optional<double> flops, bytes;  // of one execution; nullopt: unknown
  bool is_flops_upper_bound = false;
  bool is_copy = false;
  std::string arch;
};

// Returns the totals, the longest first. Operations and bytes are those of the profile's AST. Without this AST, the
// operations are KernelFigures::num_needed_operations(), and the bytes those of the kernel's buffers or of the copy.
std::vector<EventTotal> event_totals(const Profile& p, ProgramListings& listings);

}  // namespace tgc::profile
