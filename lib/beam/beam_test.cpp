// Tests searches, also against those of the real tinygrad (testdata/beam), and files of results.
#include "lib/beam/beam.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/beam/beam_log.h"
#include "lib/beam/device_times.h"
#include "lib/beam/results.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using nlohmann::json;

std::map<std::string, json> recorded(const std::string& path, std::string& file) {
  std::map<std::string, json> out;
  auto lines = LineReader::open(path);
  REQUIRE(lines);
  for (std::string line; *(*lines)->next_line_text(line);) {
    json record = json::parse(line);
    if (!record.contains("kernel")) continue;
    file = record["file"].get<std::string>();
    out[record["kernel"].get<std::string>()] = record;
  }
  return out;
}

std::vector<OptTexts> candidates_of(const RoundLog& round) {
  std::vector<OptTexts> out;
  for (const CandidateLog& c : round.candidates) out.push_back(c.opts);
  return out;
}

std::string product() {
  auto path = std::filesystem::temp_directory_path() / ("tgc_beam_test." + std::to_string(getpid()) + ".uop");
  std::string text = R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1024), (), 0)
c1 = UOp.range(32, 0, AxisType.LOOP)
c2 = UOp.range(32, 1, AxisType.LOOP)
c3 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1024), (), 1)
c4 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1024), (), 2)
c5 = UOp.range(32, 2, AxisType.REDUCE)
c6 = c3.index(c1*32+c5)*c4.index(c5*32+c2)
c7 = c6.reduce(c5, arg=Ops.ADD)
ast = c0.index(c1*32+c2, ptr=True).store(c7).end(c1, c2).sink()
)";
  FILE* f = std::fopen(path.c_str(), "w");
  REQUIRE(f);
  std::fwrite(text.data(), 1, text.size(), f);
  std::fclose(f);
  return path;
}

std::string scratch_file(const char* name) {
  return std::filesystem::temp_directory_path() / ("tgc_beam_test." + std::to_string(getpid()) + "." + name);
}

std::vector<BeamLog> run(BeamPlan plan, unsigned num_jobs = 2) {
  std::vector<BeamLog> out;
  Session session{.num_jobs = num_jobs};
  auto status = run_beam(session, plan, [&](const BeamLog& log) { return out.push_back(log), Status(Unit{}); });
  INFO((status ? "" : status.diag().text()));
  REQUIRE(status);
  return out;
}

}  // namespace

TEST_CASE("beam: with tinygrad's times, the candidates of each round, their order and the result equal tinygrad's") {
  size_t kernels = 0;
  for (auto& entry : std::filesystem::directory_iterator("testdata/beam")) {
    std::string file;
    auto theirs = recorded(entry.path(), file);
    BeamPlan plan{.input = file};
    plan.only_enumerates_opts = true;
    plan.replay_path = entry.path();
    for (const BeamLog& log : run(plan)) {
      INFO(entry.path().string(), " ", log.kernel);
      const json& t = theirs.at(log.kernel);
      REQUIRE(log.rounds.size() == t["rounds"].size());
      for (size_t r = 0; r < log.rounds.size(); r++) {
        CHECK(log.rounds[r].beam_opts == t["rounds"][r]["beam"].get<std::vector<OptTexts>>());
        CHECK(candidates_of(log.rounds[r]) == t["rounds"][r]["candidates"].get<std::vector<OptTexts>>());
      }
      CHECK(log.num_with_outcome(CandidateOutcome::Timed) == t["times"].size());
      CHECK(log.opts == t["opts"].get<OptTexts>());
      kernels++;
    }
  }
  CHECK(kernels >= 10);
}

TEST_CASE("beam: there are 193 actions, 200 with PADTO, and one with NOLOCALS") {
  Graph g{Settings()};
  CHECK(search_actions(g, {}).size() == 193);
  CHECK(search_actions(g, {.should_include_padto = true}).size() == 200);
  CHECK(search_actions(g, {.should_include_padto = true, .should_include_nolocals = true}).size() == 201);
}

TEST_CASE("beam: --set sets the variables of the search and keeps those of the pipeline") {
  std::vector<std::string> sets{"BEAM_UPCAST_MAX=64", "NOOPT=1", "TC_OPT=1", "BEAM_MIN_PROGRESS=0.5"};
  auto settings = BeamSettings::extract_settings(sets);
  REQUIRE(settings);
  CHECK(settings->BEAM_UPCAST_MAX == 64);
  CHECK(settings->TC_OPT == 1);
  CHECK(settings->BEAM_MIN_PROGRESS == 0.5);
  CHECK(settings->BEAM_LOCAL_MAX == 1024);
  CHECK(sets == std::vector<std::string>{"NOOPT=1", "TC_OPT=1"});
  std::vector<std::string> wrong{"BEAM_UOPS_MAX=many"};
  CHECK_FALSE(BeamSettings::extract_settings(wrong));
}

TEST_CASE("beam: a kernel of tinygrad's runtime is not searched") {
  auto lines = LineReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(lines);
  std::string header, record;
  REQUIRE((*lines)->next_line_text(header));
  REQUIRE((*lines)->next_line_text(record));
  record.insert(1, "\"runtime\":true,");
  const std::string path = scratch_file("runtime.jsonl");
  std::ofstream(path) << header << "\n" << record << "\n";
  CHECK(run({.input = path, .only_enumerates_opts = true}).empty());
  std::filesystem::remove(path);
}

TEST_CASE("beam: a part of a large grid is timed, with tinygrad's size") {
  CHECK(make_timing_grid({1024, 8, 8}).time_factor == 1);
  TimingGrid cut = make_timing_grid({1024, 1024, 64});
  CHECK(cut.global_size == std::array<uint32_t, 3>{256, 16, 16});
  CHECK(cut.time_factor == 1024);
}

TEST_CASE("beam: a search on the CPU finds a right kernel, stores it, and is not repeated") {
  BeamPlan plan{.input = product()};
  plan.results_path = scratch_file("results.db");
  plan.search_plan.beam_width = 1;
  plan.search_plan.max_rounds = 2;
  plan.num_confirm_turns = 2;
  std::filesystem::remove(plan.results_path);
  auto first = run(plan);
  REQUIRE(first.size() == 1);
  CHECK(first[0].result_origin == "REF");
  CHECK(first[0].kernel_seconds > 0);
  CHECK(first[0].hand_coded_seconds.value_or(0) >= first[0].kernel_seconds);
  CHECK(first[0].num_with_outcome(CandidateOutcome::Timed) > 10);
  CHECK(first[0].num_with_outcome(CandidateOutcome::Wrong) == 0);
  CHECK(draw_beam_plot(first[0]).find("</svg>") != std::string::npos);
  auto again = run(plan);
  REQUIRE(again.size() == 1);
  CHECK(again[0].rounds.empty());
  CHECK(again[0].opts == first[0].opts);
  std::filesystem::remove(plan.results_path);
  std::filesystem::remove(plan.input);
}

TEST_CASE("beam: an interrupted search resumes without repeating its measurements") {
  struct After : EventListener {  // cancels the search after `left` progress messages
    int left = 7;
    CancelRequest& cancel;
    explicit After(CancelRequest& cancel) : cancel(cancel) {}
    void on_progress(std::string_view) override {
      if (--left == 0) cancel.request_cancel();
    }
  };
  CancelRequest cancel;
  After user(cancel);
  Session session{.num_jobs = 2, .events = &user, .cancel = &cancel};
  BeamPlan plan{.input = product()};
  plan.results_path = scratch_file("interrupted.db");
  plan.search_plan.beam_width = 1;
  plan.search_plan.max_rounds = 2;
  plan.num_confirm_turns = 1;
  std::filesystem::remove(plan.results_path);
  std::vector<BeamLog> logs;
  auto keep = [&](const BeamLog& log) { return logs.push_back(log), Status(Unit{}); };
  REQUIRE(run_beam(session, plan, keep));
  REQUIRE(logs.size() == 1);
  REQUIRE(logs[0].was_interrupted);
  size_t judged = logs[0].num_candidates() - logs[0].num_with_outcome(CandidateOutcome::Unknown);
  CHECK(judged >= 5);
  CHECK(logs[0].num_with_outcome(CandidateOutcome::Unknown) > 0);
  auto list = BeamResults(plan.results_path, SqliteDatabase::Mode::Read).all_results();
  REQUIRE(list.size() == 1);
  CHECK(list[0].measured_json);

  auto resumed = run(plan);
  REQUIRE(resumed.size() == 1);
  CHECK_FALSE(resumed[0].was_interrupted);
  CHECK(resumed[0].num_resumed == judged);
  CHECK(resumed[0].num_with_outcome(CandidateOutcome::Unknown) == 0);
  REQUIRE(resumed[0].rounds.size() > 0);
  CHECK(resumed[0].rounds[0].candidates[0].fastest_seconds == logs[0].rounds[0].candidates[0].fastest_seconds);
  auto again = run(plan);  // reports the stored result without a search
  CHECK(again[0].rounds.empty());
  // the results of both widths stay stored, even if one of them is slower
  plan.search_plan.beam_width = 2;
  CHECK_FALSE(run(plan)[0].rounds.empty());
  CHECK(run(plan)[0].rounds.empty());
  plan.search_plan.beam_width = 1;
  CHECK(run(plan)[0].rounds.empty());
  std::filesystem::remove(plan.results_path);
  std::filesystem::remove(plan.input);
}

TEST_CASE("beam: a finished search replaces the state of an interrupted one") {
  std::string a = scratch_file("a.db"), b = scratch_file("b.db"), c = scratch_file("c.db");
  for (const std::string& path : {a, b, c}) std::filesystem::remove(path);
  BeamResult whole{
      .kernel = "k", .target = "CPU:LLVM", .device = "d", .beam_width = 2, .opts = "[]", .kernel_seconds = 2e-3};
  BeamResult part = whole;
  part.kernel_seconds = 1e-3, part.measured_json = "[]";
  BeamResults(a, SqliteDatabase::Mode::Write).store_result(whole);
  BeamResults(b, SqliteDatabase::Mode::Write).store_result(part);
  CHECK(BeamResults(b, SqliteDatabase::Mode::Read).all_results()[0].measured_json);
  for (auto& order : {std::vector{a, b}, std::vector{b, a}}) {
    std::filesystem::remove(c);
    REQUIRE(merge_results(order, c));
    BeamResults merged(c, SqliteDatabase::Mode::Write);
    CHECK(merged.all_results().size() == 1);
    CHECK_FALSE(merged.all_results()[0].measured_json);
    CHECK(merged.all_results()[0].kernel_seconds == 1e-3);
  }
  for (const std::string& path : {a, b, c}) std::filesystem::remove(path);
}

TEST_CASE("beam: opts for a program are Python that python/tests/test_api.py runs") {
  const ProgramOpts opts[]{
      {"r_4_4", "[Opt(op=OptOps.UPCAST, axis=0, arg=4), Opt(op=OptOps.UNROLL, axis=0, arg=2)]"}};
  CHECK(opts_for_program(opts) == read_file(test_path("programs/opts.py")).value_or_throw());
  CHECK(opts_for_program({}).empty());
}

TEST_CASE("beam: put and merge keep the faster of two results of a kernel") {
  std::string a = scratch_file("a.db"), b = scratch_file("b.db"), c = scratch_file("c.db");
  for (const std::string& path : {a, b, c}) std::filesystem::remove(path);
  BeamResult slow{
      .kernel = "k", .target = "CPU:LLVM", .device = "d", .beam_width = 2, .opts = "[]", .kernel_seconds = 2e-3};
  BeamResult fast = slow;
  fast.kernel_seconds = 1e-3, fast.opts = "[Opt(op=OptOps.UPCAST, axis=0, arg=4)]";
  {
    BeamResults one(a, SqliteDatabase::Mode::Write), two(b, SqliteDatabase::Mode::Write);
    one.store_result(fast), one.store_result(slow);
    CHECK(one.find_result(slow.graph_key, "CPU:LLVM", "d", 2)->opts == fast.opts);
    CHECK(one.find_result(slow.graph_key, "CPU:LLVM", "d", 1)->opts == fast.opts);
    CHECK_FALSE(one.find_result(slow.graph_key, "CPU:LLVM", "d", 3));
    CHECK_FALSE(one.find_result(slow.graph_key, "CPU:LLVM", "another", 2));
    two.store_result(slow);
    slow.device = "another", two.store_result(slow);
  }
  REQUIRE(merge_results({b, a}, c));
  BeamResults merged(c, SqliteDatabase::Mode::Write);
  REQUIRE(merged.all_results().size() == 2);
  CHECK(merged.find_result(slow.graph_key, "CPU:LLVM", "d", 2)->kernel_seconds == 1e-3);
  CHECK(merged.remove_results("________") == 0);  // "_" is no wildcard
  CHECK(merged.remove_results("k") == 2);
  CHECK_FALSE(merge_results({"/nowhere.db"}, c));
  for (const std::string& path : {a, b, c}) std::filesystem::remove(path);
}

TEST_CASE("beam: the file of results is readable after a process was killed while writing") {
  std::string path = scratch_file("killed.db"), copy = scratch_file("killed_copy.db");
  for (const std::string& file : {path, path + "-journal", copy, copy + "-journal"}) std::filesystem::remove(file);
  BeamResults(path, SqliteDatabase::Mode::Write)
      .store_result(
          {.kernel = "k", .target = "CPU:LLVM", .device = "d", .beam_width = 2, .opts = "[]", .kernel_seconds = 2e-3});
  {  // copies the file in the middle of a transaction that exceeds SQLite's page cache
    SqliteDatabase database(path, SqliteDatabase::Mode::Write);
    database.run("PRAGMA cache_size = 1");
    SqlTransaction unfinished(database);
    database.run("UPDATE results SET seconds = 9");
    database.run("CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
                 "SELECT hex(zeroblob(500)) AS text FROM n");
    for (const char* part : {"", "-journal"}) std::filesystem::copy_file(path + part, copy + part);
  }
  BeamResults results(copy, SqliteDatabase::Mode::Read);
  REQUIRE(results.all_results().size() == 1);
  CHECK(results.all_results()[0].kernel_seconds == 2e-3);
  CHECK_THROWS(results.remove_results("k"));
  for (const std::string& file : {path, copy}) std::filesystem::remove(file);
}

TEST_CASE("beam: an empty file that a killed process left is usable") {
  std::string path = scratch_file("empty.db");
  std::filesystem::remove(path);
  SqliteDatabase(path, SqliteDatabase::Mode::Write).run("PRAGMA user_version");
  CHECK_THROWS(BeamResults(path, SqliteDatabase::Mode::Read));
  CHECK(BeamResults(path, SqliteDatabase::Mode::Write).all_results().empty());
  CHECK(BeamResults(path, SqliteDatabase::Mode::Read).all_results().empty());
  std::filesystem::remove(path);
}

}  // namespace tgc
