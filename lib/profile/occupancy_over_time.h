// The number of waves on a GPU's SIMDs over time, and what limits it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {

enum class OccupancyLimit : uint8_t {
  Starting,
  Launch,     // all waves have started: the launch is too small, or it ends
  Resources,  // as Full, but registers, local memory or group sizes reduce the waves that fit
  Full,       // the SIMDs hold at least 90% of the waves that fit
  Count
};
std::string_view occupancy_limit_name(OccupancyLimit limit);

struct OccupancyOverTime {
  int64_t begin = 0, end = 0;                 // first begin and last end of a wave, on the clock of the first trace
  std::vector<double> mean_num_waves;         // of a SIMD, in each of 100 parts of equal length
  std::vector<OccupancyLimit> limit_by_part;
  double overall_mean_num_waves = 0;  // of a SIMD, over the whole time
  uint32_t largest_wave_count = 0;
  size_t num_simds = 0;             // that had a wave; means are over these
  uint32_t num_device_simds = 0;    // of the card of find_device_peak(); 0: unknown
  // most waves on a SIMD, with the kernel's resources and without such a limit; 0: unknown
  uint32_t fitting_waves = 0, max_waves = 0;
  std::string limiting_resource;                // what limits `fitting_waves`: "vector registers"
  double time_share_of_limit(OccupancyLimit limit) const;
};

// Counts the waves of a run whose begin and end are known and plausible, in traces with a clock_offset(). Returns
// nullopt if there are none, or if the GPU is emulated.
std::optional<OccupancyOverTime> occupancy_over_time(const Profile& profile, size_t run_index);

std::string occupancy_text(const OccupancyOverTime& occupancy);
void write_occupancy(JsonWriter& json, const OccupancyOverTime& occupancy);

}  // namespace tgc::profile
