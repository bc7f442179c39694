#include "lib/bench/bench.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/driver/source.h"
#include "lib/support/testing.h"
#include "lib/text/formats.h"

using namespace tgc;

TEST_CASE("bench: a graph after a stage is timed from the next stage on") {
  const std::string kernel = test_path("golden/kernels.jsonl.gz") + "#bin_add_half.0";
  Session session;
  auto source = GraphSource::open(session, kernel, "");
  REQUIRE(source.ok());
  auto c = session.begin(std::move(**source->next_graph()));
  REQUIRE(c->run_through_stage(get_stage_row("expander")).ok());
  GraphInfo info{.name = "k", .stage = "expander", .target = c->target().name()};
  const auto late = std::filesystem::temp_directory_path() / ("tgc_bench_test." + std::to_string(getpid()) + ".uop");
  std::ofstream(late, std::ios::binary)
      << write_graph(GraphFormat::Pyrender, c->current_graph(), info).value_or_throw();
  auto timed = run_bench(session, {.inputs = {kernel, late.string()}, .repeats = 1});
  std::filesystem::remove(late);
  REQUIRE_MESSAGE(timed.ok(), timed.diag().text());
  REQUIRE(timed->graphs.size() == 2);
  auto has = [&](size_t graph, std::string_view stage) {
    return std::ranges::count(timed->graphs[graph].graph_time->stages, stage, &StageTime::name) == 1;
  };
  REQUIRE(timed->graphs[0].graph_time.ok());
  REQUIRE(timed->graphs[1].graph_time.ok());
  CHECK(has(0, "expander"));
  CHECK_FALSE(has(1, "expander"));
  CHECK(has(1, "linear"));
}

TEST_CASE("bench: a recording has the times that tinygrad took, or says that it has none") {
  const std::string ast =
      R"({\"format\":\"tgc-graph\",\"version\":1,\"producer\":\"tinygrad 0.14.0\",\"nodes\":[)"
      R"({\"op\":\"SINK\",\"dtype\":\"dtypes.void\"}]})";
  const auto file = std::filesystem::temp_directory_path() / ("tgc_bench_times." + std::to_string(getpid()) + ".jsonl");
  for (bool is_timed : {true, false}) {
    const std::string seconds = is_timed ? R"(,"seconds":0.002)" : "";
    std::ofstream(file, std::ios::binary)
        << R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.14.0","settings":{}})" << "\n"
        << R"({"id":"k.0","target":"CPU:CLANG","nodes":1,"ast":")" << ast
        << R"(","stages":[{"name":"expander","same":true)" << seconds << "}]"
        << (is_timed ? R"(,"seconds":0.003)" : "") << "}\n";
    Session session;
    session.overrides.imports_kernels = true;
    auto timed = run_bench(session, {.inputs = {file.string()}});
    REQUIRE_MESSAGE(timed.ok(), timed.diag().text());
    REQUIRE(timed->graphs.size() == 1);
    const auto& time = timed->graphs[0].graph_time;
    CHECK(time.ok() == is_timed);
    if (!is_timed) CHECK(time.diag().message.find("no times") != std::string::npos);
    if (!is_timed) continue;
    CHECK(time->stages_ms == doctest::Approx(3));
    REQUIRE(time->stages.size() == 1);
    CHECK(time->stages[0].stage_ms == doctest::Approx(2));
    CHECK(timed->recording_release == "tinygrad 0.14.0");
  }
  std::filesystem::remove(file);
}
