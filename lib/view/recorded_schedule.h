// Writes the schedule of a recorded tensor graph as JSON for the page of `tgc view`.
#pragma once
#include <string>

#include "lib/records/golden.h"

namespace tgc {

// Returns the schedule of a tensor record as JSON, with the members of schedule_json()
// (lib/compilation/schedule_text.h) that the page reads; "" if the record has no kernels with buffers. Buffers with the
// same recorded base share memory, so that the page can show which parts of the memory are in use at each step.
std::string recorded_schedule_json(const GoldenRecord& record);

}  // namespace tgc
