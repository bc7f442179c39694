// The goldens of testdata/ as cases for tests of the pipeline; for *_test.cpp files alone.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/support/testing.h"
#include "lib/text/golden.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"
#include "passes/pipeline.h"

namespace tgc {

struct Case {
  GoldenRecord record;
  Settings settings;
};

inline std::vector<Case> all_cases() {
  std::vector<std::string> files;
  for (auto& entry : std::filesystem::directory_iterator(test_path("golden"))) files.push_back(entry.path().string());
  std::ranges::sort(files);
  std::vector<Case> out;
  for (const std::string& file : files) {
    auto reader = GoldenReader::open(file);
    REQUIRE(reader);
    Settings settings;
    for (auto& [key, value] : reader->header().settings) REQUIRE(settings.set(key, value));
    for (;;) {
      auto record = reader->next();
      REQUIRE(record);
      if (!*record) break;
      out.push_back({std::move(**record), settings});
    }
  }
  return out;
}

// What a run makes: the graph after each stage, and of a tensor graph its kernels, as nodes of a graph that runs have
// in common. The last one is empty when the run failed.
using Made = std::vector<UOp>;

// `watch` is called with the graph before the first stage.
using Watch = std::function<void(Graph&)>;
inline Made run(const Case& c, Graph& common, const Watch& watch) {
  Graph graph(c.settings);
  auto ast = read_pyrender(graph, c.record.ast, c.record.id);
  REQUIRE(ast);
  watch(graph);
  Made out;
  bool done = false;
  auto seen = [&](const auto&, UOp result) { out.push_back(copy_into(common, result)); };
  if (c.record.target.empty()) {
    TensorJob job(graph);
    auto sink = run_tensor_stages(job, *ast, seen);
    if (auto schedule =
            sink ? catch_failures([&] { return create_schedule(job, *sink); }) : Result<Schedule>(sink.diag())) {
      for (const ScheduleItem& item : schedule->items) out.push_back(copy_into(common, item.ast));
      done = true;
    }
  } else {
    auto target = parse_target(c.record.target, c.settings);
    REQUIRE(target);
    KernelJob job{graph, *target};
    done = run_kernel_stages(job, begin_kernel(job, *ast), nullptr, seen).ok();
  }
  if (!done) out.emplace_back();
  return out;
}

}  // namespace tgc
