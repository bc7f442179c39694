// `tgc beam` as a verb: the kernels of an INPUT, each distinct one once, searched one after the other.
#pragma once
#include <functional>

#include "lib/beam/beam_search.h"
#include "lib/driver/shard.h"

namespace tgc {

struct BeamPlan {
  std::string input = "-", kernel = {};
  std::string device = {};     // where to time, as choose_placement takes it; empty: the kernel's own target
  std::string reference = {};  // what results are compared with: a device; empty: see DeviceTimes
  SearchPlan search = {};
  Shard shard = {};            // of the kernels, by their keys
  int confirm = 5;             // turns in which the best take part at the end
  double budget = 0;           // seconds for all kernels, those that take the most time first; 0: no end
  std::string results = {};    // the file of results, of given times too; empty: none is kept
  bool anew = false;           // search also what has a result
  bool enumerate = false;      // the candidates alone: without times, those of the first round
  std::string replay = {};     // a file of times
};

// Calls `report` with each log, in the order in which kernels were searched. A result is kept before the next kernel
// begins. What cannot be searched is a warning. An error: an input that cannot be read, a device that is missing.
Status run_beam(const Session& session, const BeamPlan& plan, const std::function<Status(const BeamLog&)>& report);

// What results call the hardware that kernels of this target run on here; empty: nobody can tell.
std::string device_name(const std::string& target);

}  // namespace tgc
