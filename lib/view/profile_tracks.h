// The tracks of a profile: what units and waves did over time, from the packets of a thread trace; and the ranges of
// the host's and the devices' timeline.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.h"
#include "lib/view/timeline.h"

namespace tgc {

// The kinds of slices, which the page colours by.
enum class SliceKind : uint8_t {
  Scalar, ScalarMemory, Vector, Transcendental, Matrix, LocalMemory, VectorMemory, Branch, Wait, Barrier, Control, End,
  Other, Wave, Host, Kernel, Copy, Count
};
std::string_view slice_kind_name(SliceKind kind);

// The kind of an instruction packet's operation: tinygrad's name of it, such as "OTHER_LDS_1".
SliceKind kind_of_operation(std::string_view name);
// The kind of an instruction of AMD's assembly; `otherwise`: the kind of its packet, which most instructions keep.
SliceKind kind_of_assembly(std::string_view assembly, SliceKind otherwise);

struct TraceTracks {
  // The traced SIMD: rows of units with executions, and a row for each wave. A wave's slice ends with the issue of its
  // instruction and begins with the issue of the wave's previous one. Items are numbers of instructions.
  Track instructions;
  // A row for each SIMD of each compute unit: its waves. Items are the waves' places on the SIMD.
  Track waves;
  std::vector<std::string> hits;  // by instruction: when it was issued, as JSON; empty without code
};

// Makes the tracks of the SQTT event `event`, which analyze_profile() has summarized.
TraceTracks make_trace_tracks(const profile::Profile& profile, size_t event,
                              const std::map<uint64_t, std::string>& listing);

// The ranges of the host and the devices. Times are nanoseconds since the first one; items are indices in `names`.
Track make_host_track(const profile::Trace& trace, std::vector<std::string>& names);

}  // namespace tgc
