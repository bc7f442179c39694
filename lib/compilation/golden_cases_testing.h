#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/records/golden.h"
#include "lib/support/testing.h"
#include "lib/uop/graph.h"

namespace tgc {

struct GoldenCase {
  GoldenRecord record;
  Settings settings;
};

inline std::vector<GoldenCase> all_golden_cases() {
  std::vector<std::string> files;
  for (auto& entry : std::filesystem::directory_iterator(test_path("golden"))) files.push_back(entry.path().string());
  std::ranges::sort(files);
  std::vector<GoldenCase> out;
  for (const std::string& file : files) {
    auto reader = GoldenReader::open(file);
    REQUIRE(reader);
    Settings settings;
    for (auto& [key, value] : reader->header().settings) REQUIRE(settings.set_value(key, value));
    for (;;) {
      auto record = reader->next_record();
      REQUIRE(record);
      if (!*record) break;
      out.push_back({std::move(**record), settings});
    }
  }
  return out;
}

inline Compilation begin_golden_case(const GoldenCase& c, const std::function<void(Graph&)>& prepare = {}) {
  auto in = load_graph_text(c.settings, InputKind::Pyrender, c.record.ast, c.record.id);
  REQUIRE(in);
  in->is_tensor_graph = c.record.target.empty();
  if (prepare) prepare(*in->graph);
  auto compilation = Compilation::begin(std::move(*in), {.target = c.record.target});
  REQUIRE(compilation);
  return std::move(*compilation);
}

// The graphs after the stages, and the items of a schedule, copied into one Graph. In this Graph, equal graphs of two
// compilations are the same node. The last element is empty if a stage or the scheduling failed.
using StageGraphs = std::vector<UOp>;

inline StageGraphs run_all_stages(const GoldenCase& c, Graph& common, const std::function<void(Graph&)>& prepare = {}) {
  Compilation compilation = begin_golden_case(c, prepare);
  StageGraphs out;
  const StageRow* row = compilation.next_row();
  for (; row && row->is_graph_stage(); row = compilation.next_row())
    if (compilation.run_step()) out.push_back(copy_into(common, compilation.current_graph()));
  bool is_done = row;
  if (row && compilation.is_tensor_graph()) {
    is_done = compilation.schedule().ok();
    if (is_done)
      for (const ScheduleItem& item : compilation.schedule()->items) out.push_back(copy_into(common, item.ast));
  }
  if (!is_done) out.emplace_back();
  return out;
}

}  // namespace tgc
