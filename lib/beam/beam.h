// `tgc beam`: searches for fast opts for the kernels of an INPUT.
#pragma once
#include <functional>

#include "lib/beam/beam_search.h"
#include "lib/driver/failure_collector.h"

namespace tgc {

struct BeamPlan {
  std::string input = "-", kernel = {};
  std::string device = {};            // parameter of choose_placement(); empty: the kernel's own target
  std::string reference_device = {};  // DeviceTimes::TimingOptions::reference_device
  SearchPlan search_plan = {};
  Shard shard = {};
  int num_confirm_turns = 5;
  // Time limit for all searches together. With a limit, the most expensive kernels come first. 0: no limit.
  double budget_seconds = 0;
  std::string results_path = {};
  bool should_search_again = false;
  bool only_enumerates_opts = false;
  std::string replay_path = {};   // recorded times that replace measurements
};

// Calls `report` with the log of each search, also of an earlier one whose stored result makes a new one unnecessary. A
// kernel that cannot be searched may cause only a warning. Fails, for example, if an input, file or device cannot be
// used.
Status run_beam(const Session& session, const BeamPlan& plan, const std::function<Status(const BeamLog&)>& report);

// Returns a description of this machine's hardware for `target`, or "" if there is none that works.
std::string device_name(const std::string& target);

}  // namespace tgc
