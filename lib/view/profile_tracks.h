// Makes the tracks of a profile's page: from the packets of a thread trace, what units and waves did over time; and
// from the profile's ranges, what the host and the devices did.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/view/timeline.h"

namespace tgc {

// What happens during a slice; the page has a colour for each kind. Scalar to Control are instructions. Count is the
// number of kinds.
enum class SliceKind : uint8_t {
  Scalar, ScalarMemory, Vector, Transcendental, Matrix, LocalMemory, VectorMemory, Branch, Wait, Barrier, Control, End,
  Other, Wave, Host, Kernel, Copy, Count
};
std::string_view slice_kind_name(SliceKind kind);

// Returns the kind of an operation in an instruction packet, by tinygrad's name of the operation, such as
// "OTHER_LDS_1".
SliceKind kind_of_operation(std::string_view name);
// Returns the kind of an instruction by its text in AMD's assembly; `otherwise`, the kind of its packet, for most
// instructions.
SliceKind kind_of_assembly(std::string_view assembly, SliceKind otherwise);

struct TraceTracks {
  // A row for each execution unit of the traced SIMD, and a row for each wave. A slice of a wave begins with the issue
  // of the wave's previous instruction and ends with the issue of its own; on CDNA, it begins with the issue of its
  // own. The item of a slice is the instruction's index in the code, or kNoItem.
  Track instructions;
  // A row for the number of all active waves, and a row for the waves of each SIMD of each compute unit. The item of a
  // slice is the wave's place on the SIMD.
  Track waves;
  // by instruction: when and by which wave it was issued, as JSON; empty without code
  std::vector<std::string> execution_times;
};

// Returns `time` + `offset`, a time on another clock. Wraps around, because a damaged trace may have any times.
int64_t moved_time(int64_t time, int64_t offset);
// Makes the tracks of the thread trace with the index `event`. `listing` has the assembly by address; analyze_profile()
// has made `profile`. Times are on the clock of the run's first trace, if Profile::clock_offset() is known.
TraceTracks make_trace_tracks(const profile::Profile& profile, size_t event,
                              const std::map<uint64_t, std::string>& listing);

// Makes the track of the ranges of the host and the devices. Times are nanoseconds since the begin of the first range.
// Stores the names of the ranges in `names`; the item of a slice is the index of its name.
Track make_host_track(const profile::Trace& trace, std::vector<std::string>& names);

}  // namespace tgc
