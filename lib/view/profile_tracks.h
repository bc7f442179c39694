// Makes the tracks of a profile's page: what units and waves did, from the packets of a thread trace; and what the host
// and the devices did, from the profile's ranges.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/view/timeline.h"

namespace tgc {

// The activity during a slice. Scalar to Other are instructions; End is the last one of a wave.
enum class SliceKind : uint8_t {
  Scalar, ScalarMemory, Vector, Transcendental, Matrix, LocalMemory, VectorMemory, Branch, Wait, Barrier, Control, End,
  Other, Wave, Host, Kernel, Copy, Count
};
std::string_view slice_kind_name(SliceKind kind);

SliceKind kind_of_operation(std::string_view name);
// Returns the kind that AMD assembly decides, such as Matrix for v_wmma, else `otherwise`, the kind of the packet.
SliceKind kind_of_assembly(std::string_view assembly, SliceKind otherwise);

struct TraceTracks {
  // Rows of the execution units of the traced SIMD (on CDNA, of all SIMDs), and of the waves. In the row of a wave, a
  // slice begins at the end of the previous one and ends at its own issue; on CDNA, it begins at its own issue. The
  // item is the instruction's index in the code, or kNoItemNumber.
  TimelineTrack instructions;
  // A row for the number of active waves, and a row for the waves of each SIMD. The item of a wave's slice is its wave
  // slot on the SIMD.
  TimelineTrack waves;
  // For each instruction of the code, the times and waves of its issues as JSON. Empty if the code is unknown.
  std::vector<std::string> execution_times;
};

// Returns `time` + `offset`. Wraps around, because a damaged trace may have any times.
int64_t shift_time(int64_t time, int64_t offset);
// Makes the tracks of the thread trace `event` of `profile`. `listing` has the assembly by address. Times are on the
// clock of the run's first trace if Profile::clock_offset() is known.
TraceTracks make_trace_tracks(const profile::Profile& profile, size_t event,
                              const std::map<uint64_t, std::string>& listing);

// Makes the track of the host and the devices. Times are nanoseconds since the earliest begin of a range. Appends the
// distinct names of the ranges to `names`. The item of a slice is the index of its name.
TimelineTrack make_host_track(const profile::ProfileTrace& trace, std::vector<std::string>& names);

}  // namespace tgc
