// The schedule of a recorded tensor graph, as the page reads it.
#pragma once
#include <string>

#include "lib/records/golden.h"

namespace tgc {

// Returns the schedule of a tensor record as JSON, with the members that the page reads of schedule_json()
// (lib/compilation/schedule_text.h). A buffer is a part of recorded memory: each recorded base becomes shared memory,
// so that the page shows which parts of it are in use when. "" if the record has no kernels with buffers.
std::string recorded_schedule_json(const GoldenRecord& record);

}  // namespace tgc
