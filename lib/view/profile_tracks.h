// Makes the tracks (groups of timeline rows) of a profile's page: from the packets of a thread trace, what units and
// waves did over time; from the profile's ranges, what the host and the devices did.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/view/timeline.h"

namespace tgc {

// What happens during a slice; the page has a colour for each kind. Scalar to Other are instructions; End is the last
// one of a wave. Count is the number of kinds.
enum class SliceKind : uint8_t {
  Scalar, ScalarMemory, Vector, Transcendental, Matrix, LocalMemory, VectorMemory, Branch, Wait, Barrier, Control, End,
  Other, Wave, Host, Kernel, Copy, Count
};
std::string_view slice_kind_name(SliceKind kind);

// Returns the kind of an operation in an instruction packet, by tinygrad's name of the operation, such as
// "OTHER_LDS_1".
SliceKind kind_of_operation(std::string_view name);
// Returns the kind of an instruction if the text of its AMD assembly decides it, such as Matrix for v_wmma; for other
// instructions, returns `otherwise`, the kind of the packet.
SliceKind kind_of_assembly(std::string_view assembly, SliceKind otherwise);

struct TraceTracks {
  // A row for each execution unit of the traced SIMD (on CDNA, of all SIMDs), and a row for each wave. In the row of a
  // wave, an instruction's slice begins at the end of the previous slice and ends at its own issue; on CDNA, it begins
  // at its own issue. The item of a slice is the instruction's index in the code, or kNoItem.
  Track instructions;
  // A row for the number of all active waves, and a row for the waves of each SIMD of each compute unit. The item of a
  // slice is the wave's place on the SIMD.
  Track waves;
  // by instruction: the times and waves of its issues as JSON; empty if the code is unknown
  std::vector<std::string> execution_times;
};

// Returns `time` + `offset`, a time on another clock. Wraps around, because a damaged trace may have any times.
int64_t moved_time(int64_t time, int64_t offset);
// Makes the tracks of the thread trace with the index `event` in `profile`, a result of analyze_profile(). `listing`
// has the assembly by address. If Profile::clock_offset() is known, times are on the clock of the run's first trace.
TraceTracks make_trace_tracks(const profile::Profile& profile, size_t event,
                              const std::map<uint64_t, std::string>& listing);

// Makes the track of the ranges of the host and the devices. Times are nanoseconds since the begin of the first range.
// Stores the names of the ranges in `names`; the item of a slice is the index of its name.
Track make_host_track(const profile::Trace& trace, std::vector<std::string>& names);

}  // namespace tgc
