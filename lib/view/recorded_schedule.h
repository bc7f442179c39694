// Writes the schedule of a recorded tensor graph as JSON for the page of `tgc view`.
#pragma once
#include <string>

#include "lib/records/golden.h"

namespace tgc {

// Returns the schedule of a tensor record as JSON, with those members of schedule_json()
// (lib/compilation/schedule_text.h) that the page reads; "" if the record has no kernels with buffers. The buffers of
// one recorded base share its memory, so that the page shows which parts of the memory are in use when.
std::string recorded_schedule_json(const GoldenRecord& record);

}  // namespace tgc
