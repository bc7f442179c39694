// `tgc beam`: searches for fast opts for each distinct kernel of an INPUT, one kernel after the other.
#pragma once
#include <functional>

#include "lib/beam/beam_search.h"
#include "lib/driver/failure_collector.h"

namespace tgc {

struct BeamPlan {
  std::string input = "-", kernel = {};
  std::string device = {};            // device to time on, as choose_placement takes it; empty: the kernel's own target
  std::string reference_device = {};  // device that computes the expected results; empty: see DeviceTimes::Options
  SearchPlan search_plan = {};
  Shard shard = {};       // the part of the kernels to search, chosen by their keys
  int num_confirm_turns = 5;  // number of turns of the final measurement (DeviceTimes::compare_times)
  // seconds for all searches (kernels with the largest share of the program's run time come first); 0: unlimited
  double budget_seconds = 0;
  std::string results_path = {};  // file of results; empty: results are not stored
  bool searches_again = false;    // also search kernels that have a stored result
  bool enumerates_only = false;   // list the candidates of the first round without timing them
  std::string replay_path = {};   // file of recorded times that replace measurements
};

// Calls `report` with the log of each kernel, in the order of the searches. Stores the result of a search before the
// next search starts. A kernel that cannot be searched causes a warning. So does a search or report that fails; with
// `enumerates_only` or `replay_path`, it is an error. Fails also if an input cannot be read, a device is missing, a
// file of results or times is unusable, or no search succeeds.
Status run_beam(const Session& session, const BeamPlan& plan, const std::function<Status(const BeamLog&)>& report);

// Returns the name, as in files of results, of this machine's hardware that runs kernels for `target`; empty: unknown.
std::string device_name(const std::string& target);

}  // namespace tgc
