// `tgc beam`: searches for fast opts for the kernels of an INPUT.
#pragma once
#include <functional>

#include "lib/beam/beam_search.h"
#include "lib/driver/failure_collector.h"

namespace tgc {

struct BeamPlan {
  std::string input = "-", kernel = {};
  std::string device = {};            // as choose_placement() takes it; empty: the kernel's own target
  std::string reference_device = {};  // empty: see DeviceTimes::TimingOptions
  SearchPlan search_plan = {};
  Shard shard = {};
  int num_confirm_turns = 5;
  // for all searches, with the most expensive kernels first; 0: unlimited
  double budget_seconds = 0;
  std::string results_path = {};
  bool should_search_again = false;
  bool only_enumerates_opts = false;
  std::string replay_path = {};   // recorded times that replace measurements
};

// Calls `report` with each log. A kernel that cannot be searched causes a warning. Fails, for example, if an input,
// file or device cannot be used.
Status run_beam(const Session& session, const BeamPlan& plan, const std::function<Status(const BeamLog&)>& report);

// Returns the name of this machine's hardware for `target`; empty: unknown.
std::string device_name(const std::string& target);

}  // namespace tgc
