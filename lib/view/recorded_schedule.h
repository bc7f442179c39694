#pragma once
#include <string>

#include "lib/records/golden.h"

namespace tgc {

// Returns the schedule of a tensor record with the members of schedule_json() (lib/compilation/schedule_text.h) that
// the page of `tgc view` reads, and with "why", its recorded_fusion_text(); "" if no kernel has buffers. Buffers with
// the same recorded base share memory.
std::string recorded_schedule_json(const GoldenRecord& record);

}  // namespace tgc
