// The reports of `tgc profile`, as text for people and as JSON.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"

namespace tgc::profile {

// The assembly of programs, made when first needed.
class Listings {
 public:
  using Listing = std::map<uint64_t, std::string>;
  explicit Listings(const Profile& profile) : profile_(&profile) {}
  const Listing& of(size_t kernel);

 private:
  const Profile* profile_;
  std::map<const Program*, Listing> listings_;
  Listing none_;
};

using Print = std::function<void(std::string_view)>;

// Everything but the packets. Prints in parts.
void print_json(const Profile& profile, const std::string& file, const Print& print);
// What the cycles of an emulated GPU mean.
inline constexpr std::string_view kEmulatedCosts =
    "emulated: each packet costs one cycle, whatever its instruction, its cache misses or bank conflicts; cycles count "
    "instructions, not time";

// Kernels by total time, copies, and the runs with hardware events.
std::string overview_text(const Profile& profile, const std::string& file);
// The instructions of the chosen runs in the order of the code, the hottest first in a list of their own, and hints.
std::string instructions_text(const Profile& profile);

// All packets, in the order of the traces, with the instructions that they stand for. Prints in parts.
void print_packets(const Profile& profile, bool json, const Print& print);
std::string waves_text(const Profile& profile);
void print_waves_json(const Profile& profile, const std::string& file, const Print& print);
std::string counters_text(const Profile& profile);
std::string counters_json(const Profile& profile, const std::string& file);
std::string memory_text(const Trace& trace);
std::string memory_json(const Trace& trace, const std::string& file);

// The same kernels in two profiles: their times, and for the chosen runs the instructions that take longer or are new.
std::string against_text(const Profile& old_profile, const Profile& new_profile);
std::string against_json(const Profile& old_profile, const Profile& new_profile);

// A run's counters by name: the sum, the largest value and the number of values.
struct CounterTotal {
  uint64_t sum = 0, largest = 0, count = 0;
};
std::map<std::string, CounterTotal, std::less<>> counter_totals(const Profile& profile, size_t kernel);
// Values computed from counters, such as ("VALU utilization", 12.5), in percent.
std::vector<std::pair<std::string, double>> derived_counters(const Profile& profile, size_t kernel);

// The timed events of one name on one device: runs of a kernel, copies, or calls of the host.
struct Total {
  std::string device, name;
  double seconds = 0;
  size_t count = 0;
  std::optional<double> flops, bytes;  // work of one execution
  bool flops_at_most = false;          // not known exactly (KernelFigures::ops_at_most)
  bool is_copy = false;
  std::string arch;
};

// Returns the totals, the longest first. Operations and bytes are those of the kernel's AST; if there is none, those
// that the chosen runs executed.
std::vector<Total> totals_of(const Profile& p, Listings& listings);

}  // namespace tgc::profile
