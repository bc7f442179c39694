// Runs the goldens of testdata/golden through the native pipeline. Include from *_test.cpp files only.
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

// Reads every record of every file in testdata/golden, with the file's settings.
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

// The graph after each stage, then, for a tensor graph, the AST of each kernel. All are copied into one common graph,
// so equal results are the same node. The last element is the empty UOp if the run failed.
using Made = std::vector<UOp>;

// Runs the golden `c` through all stages. Calls `watch` with the graph before the first stage.
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
