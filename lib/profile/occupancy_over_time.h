// Occupancy over time: the number of waves on the SIMDs of a GPU, and the resource that limits it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {

enum class OccupancyLimit : uint8_t {
  Starting,   // waves are still being started
  Launch,     // all waves have started: the launch is too small, or it ends
  Resources,  // registers, local memory or the size of the work groups let no more waves fit
  Full,       // the SIMDs hold as many waves as they can
  Count
};
std::string_view occupancy_limit_name(OccupancyLimit limit);  // "starting"

struct OccupancyOverTime {
  int64_t begin = 0, end = 0;                 // first begin of a wave, last end; on the clock of the first trace
  std::vector<double> mean_waves;             // mean waves of a SIMD, in parts of equal length
  std::vector<OccupancyLimit> limit_of_part;  // what limits the waves in each of these parts
  double mean_of_waves = 0;         // mean waves of a SIMD over the whole time
  uint32_t largest_wave_count = 0;  // most waves of one SIMD at a time
  size_t num_simds = 0;             // number of SIMDs that had a wave; the means are over these
  uint32_t num_device_simds = 0;    // number of SIMDs of the card that device_peak() names; 0: unknown
  // waves that fit on a SIMD with the kernel's resources, and without; 0: unknown
  uint32_t fitting_waves = 0, max_waves = 0;
  std::string limiting_resource;                // why `fitting_waves` is below `max_waves`: "vector registers"
  double share_of(OccupancyLimit limit) const;  // share of the time, 0 to 1
};

// Returns the occupancy by the waves of a run whose begin and end are in its traces, without traces whose clock is
// unknown; nullopt if there are no such waves, or if the GPU is emulated, which runs one wave after another.
std::optional<OccupancyOverTime> occupancy_over_time(const Profile& profile, size_t kernel);

std::string occupancy_text(const OccupancyOverTime& occupancy);  // one line for people, with its end of line
void write_occupancy(JsonWriter& json, const OccupancyOverTime& occupancy);

}  // namespace tgc::profile
