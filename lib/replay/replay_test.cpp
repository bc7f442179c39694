#include "lib/replay/replay.h"

#include <doctest/doctest.h>

#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("replay: #ID selects a record of its own file, and a run that compares nothing is not identical") {
  const std::string kKernels = test_path("golden/kernels.jsonl.gz");
  Session session{.jobs = 2};
  auto counted = [&](std::vector<std::string> specs, const char* stages, const std::string& filter = "",
                     bool traced = false) {
    ReplayPlan plan{.check = *make_check_plan(stages), .id = "", .filter = filter};
    plan.check.traced = traced;
    ReplaySummary summary;
    for (const std::string& spec : specs) {
      auto status = replay(session, spec, plan, [&](const std::string&, const RecordReport& r) { summary.add(r); });
      REQUIRE_MESSAGE(status.ok(), status.diag().text());
    }
    return summary;
  };
  ReplaySummary all = counted({kKernels}, "");
  CHECK(all.records() > 100);
  CHECK(all.identical() == all.records());
  CHECK(all.compared());
  CHECK(counted({kKernels + "#bin_add_half.0", kKernels}, "linear").records() == all.records() + 1);
  CHECK(counted({kKernels}, "", "", true).identical() == all.records());  // an observer must not change results
  CHECK_FALSE(counted({kKernels}, "", "nosuch").compared());
  const std::string tensors = test_path("golden/tensor.jsonl.gz");
  CHECK(counted({tensors}, "kernels", "CPU").records() == counted({tensors}, "kernels").records());  // all: CPU
  Cancel cancel;
  Session cancelled{.cancel = &cancel};
  cancel.request();
  CHECK(replay(cancelled, kKernels, {.check = *make_check_plan("")}, [](auto&, auto&) {}).diag().message ==
        "cancelled");
  ReplaySummary kernels = counted({kKernels}, "kernels");
  CHECK(kernels.records() == all.records());
  CHECK_FALSE(kernels.compared());
  ReplayPlan plan{.check = *make_check_plan(""), .id = "nothing"};
  CHECK(replay(session, kKernels, plan, [](auto&, auto&) {}).diag().message == "no record has the id 'nothing'");
  CHECK(make_check_plan("expandr").diag().message == "unknown stage 'expandr'");
}
