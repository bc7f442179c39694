#include "lib/compare/replay.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/compare/record_list.h"
#include "lib/records/golden.h"
#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("replay: #ID selects a record of its own file, and a run that compares nothing is not identical") {
  const std::string kKernels = test_path("golden/kernels.jsonl.gz");
  Session session{.num_jobs = 2};
  auto counted = [&](std::vector<std::string> specs, const char* stages, const std::string& filter = "",
                     bool traced = false) {
    ReplayPlan plan{.check_plan = *make_check_plan(stages), .id = "", .record_filter = filter};
    plan.check_plan.traces_rewrites = traced;
    ReplaySummary summary;
    for (const std::string& spec : specs) {
      auto status =
          replay(session, spec, plan, [&](const std::string&, const RecordReport& r) { summary.add_report(r); });
      REQUIRE_MESSAGE(status.ok(), status.diag().text());
    }
    return summary;
  };
  ReplaySummary all = counted({kKernels}, "");
  CHECK(all.num_records() > 100);
  CHECK(all.num_identical() == all.num_records());
  CHECK(all.check_compared(false).ok());
  CHECK(counted({kKernels + "#bin_add_half.0", kKernels}, "linear").num_records() == all.num_records() + 1);
  CHECK(counted({kKernels}, "", "", true).num_identical() == all.num_records());
  CHECK_FALSE(counted({kKernels}, "", "nosuch").check_compared(true).ok());
  const std::string tensors = test_path("golden/tensor.jsonl.gz");
  CHECK(counted({tensors}, "kernels", "CPU").num_records() == counted({tensors}, "kernels").num_records());
  CancelRequest cancel;
  Session cancelled{.cancel = &cancel};
  cancel.request_cancel();
  CHECK(replay(cancelled, kKernels, {.check_plan = *make_check_plan("")}, [](auto&, auto&) {}).diag().message ==
        "cancelled");
  ReplaySummary kernels = counted({kKernels}, "kernels");
  CHECK(kernels.num_records() == all.num_records());
  CHECK_FALSE(kernels.check_compared(false).ok());
  ReplayPlan plan{.check_plan = *make_check_plan(""), .id = "nothing"};
  CHECK(replay(session, kKernels, plan, [](auto&, auto&) {}).diag().message == "no record has the id 'nothing'");
  CHECK(make_check_plan("expandr").diag().message == "unknown stage 'expandr'");
}

TEST_CASE("replay: every text of a recording of 0.14.0 is read and printed back by the header's release") {
  // The records have machine instructions, stages with a full text, and a quotient whose text is valid in 0.12.0, too.
  for (const char* file : {"import/kernels.jsonl.gz", "import/tensor.jsonl.gz"}) {
    ReplaySummary summary;
    auto status = replay(Session(), test_path(file), {.check_plan = *make_check_plan("text")},
                         [&](const std::string&, const RecordReport& r) {
                           CHECK_MESSAGE(r.is_identical(), r.id);
                           summary.add_report(r);
                         });
    REQUIRE_MESSAGE(status.ok(), status.diag().text());
    CHECK(summary.num_identical() >= 3);
  }
}

TEST_CASE("replay skips kernels of tinygrad's runtime, and list_records names them") {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  GoldenLine line;
  REQUIRE(*reader->next_line(line));
  line.text.insert(1, "\"runtime\":true,");
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tgc_replay_test." + std::to_string(getpid()));
  std::ofstream(file) << R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.12.0",)"
                      << "\"settings\":{}}\n"
                      << line.text << "\n";
  Session session;
  ReplaySummary summary;
  auto status = replay(session, file.string(), {.check_plan = *make_check_plan("")},
                       [&](const std::string&, const RecordReport& r) { summary.add_report(r); });
  REQUIRE_MESSAGE(status.ok(), status.diag().text());
  CHECK(summary.num_identical() == 0);
  CHECK(summary.text().find("skipped: 1: a kernel of tinygrad's runtime") != std::string::npos);
  auto list = list_records(session, file.string());
  REQUIRE(list.ok());
  CHECK(list->text().find("tinygrad's runtime") != std::string::npos);
  CHECK(list->json().find("\"runtime\":true") != std::string::npos);
  std::filesystem::remove(file);
}
