#include "passes/tensor/memory_planner.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

// The size of a buffer, and the first and last kernel that use the buffer.
struct Life {
  int64_t bytes;
  size_t first, last;
};

struct Plan {
  Graph graph;
  Schedule schedule;

  Plan(const std::vector<Life>& lives, size_t kernels, const char* device = "CPU") {
    for (const Life& life : lives) schedule.buffers.push_back({{}, device, life.bytes, dtypes::uint8});
    for (size_t t = 0; t < kernels; t++) {
      schedule.items.push_back({graph.sink({}), {}});
      for (size_t b = 0; b < lives.size(); b++)
        if (lives[b].first == t || lives[b].last == t) schedule.items.back().buffers.push_back(b);
    }
  }
  MemoryPlan made(const Settings& settings = {}) const { return plan_memory(schedule, settings); }
};

const std::vector<Life> kTwelve = {{5000, 0, 2},   {100, 0, 1},  {70000, 1, 3},  {4096, 2, 2},
                                   {300000, 2, 5}, {9000, 3, 6}, {5000, 3, 4},   {70000, 4, 6},
                                   {12345, 5, 7},  {1, 5, 5},    {200000, 6, 7}, {65536, 7, 7}};

}  // namespace

TEST_CASE("memory planner: twelve buffers get the same places as in tinygrad") {
  MemoryPlan plan = Plan(kTwelve, 8).made();
  std::vector<int64_t> offsets;
  for (auto& place : plan.buffer_places) {
    CHECK(place.shared_index == 0);
    offsets.push_back(place.offset_bytes);
  }
  CHECK(offsets == std::vector<int64_t>{0, 8192, 12288, 8192, 86016, 0, 389120, 12288, 389120, 405504, 86016, 0});
  REQUIRE(plan.shared_buffers.size() == 1);
  CHECK(plan.shared_buffers[0].size_bytes == 409600);
  CHECK(plan.planned_bytes_after == plan.shared_buffers[0].size_bytes);
  CHECK(plan.planned_bytes_before ==
        5000 + 100 + 70000 + 4096 + 300000 + 9000 + 5000 + 70000 + 12345 + 1 + 200000 + 65536);
}

TEST_CASE("memory planner: buffers with overlapping lifetimes do not overlap in memory") {
  MemoryPlan plan = Plan(kTwelve, 8).made();
  for (size_t a = 0; a < kTwelve.size(); a++)
    for (size_t b = a + 1; b < kTwelve.size(); b++) {
      if (kTwelve[a].last < kTwelve[b].first || kTwelve[b].last < kTwelve[a].first) continue;
      int64_t begin_a = plan.buffer_places[a].offset_bytes, begin_b = plan.buffer_places[b].offset_bytes;
      CHECK((begin_a + kTwelve[a].bytes <= begin_b || begin_b + kTwelve[b].bytes <= begin_a));
    }
}

TEST_CASE("memory planner: without subbuffers, a buffer reuses the memory of a buffer of the same size") {
  Plan plan({{400, 0, 1}, {400, 1, 2}, {400, 2, 3}, {100, 2, 3}, {400, 4, 4}}, 5, "CL");
  MemoryPlan made = plan.made();
  CHECK_FALSE(made.buffer_places[0].reused_buffer);
  CHECK_FALSE(made.buffer_places[1].reused_buffer);
  CHECK(made.buffer_places[2].reused_buffer == 0);
  CHECK_FALSE(made.buffer_places[3].reused_buffer);
  CHECK(made.buffer_places[4].reused_buffer == 0);
  CHECK(made.total_bytes_before == 1700);
  CHECK(made.total_bytes_after == 900);
}

TEST_CASE("memory planner: inputs, outputs and copied buffers keep their own memory") {
  Plan plan({{4096, 0, 1}, {4096, 0, 1}, {4096, 1, 2}, {4096, 2, 3}}, 4);
  plan.schedule.buffers[0].is_input = true;
  plan.schedule.buffers[3].is_output = true;
  plan.schedule.items[2].ast = plan.graph.node(Op::COPY);
  MemoryPlan made = plan.made();
  CHECK_FALSE(made.buffer_places[0].shared_index);
  CHECK(made.buffer_places[1].shared_index == 0);
  CHECK_FALSE(made.buffer_places[2].shared_index);  // not planned, because the copy (item 2) uses buffer 2
  CHECK_FALSE(made.buffer_places[3].shared_index);
}

TEST_CASE("memory planner: a view has the place of its base buffer") {
  Plan plan({{8192, 0, 1}, {4096, 0, 0}, {100, 2, 3}}, 4);
  plan.schedule.buffers[2] = {{}, "CPU", 100, dtypes::uint8, 1, 64};
  MemoryPlan made = plan.made();
  REQUIRE(made.buffer_places[1].shared_index);
  CHECK(made.buffer_places[2].shared_index == made.buffer_places[1].shared_index);
  CHECK(made.buffer_places[2].offset_bytes == made.buffer_places[1].offset_bytes);
  CHECK(made.total_bytes_before == 8192 + 4096);
}

TEST_CASE("memory planner: NO_MEMORY_PLANNER disables it") {
  Settings settings;
  settings.NO_MEMORY_PLANNER = 1;
  MemoryPlan made = Plan(kTwelve, 8).made(settings);
  for (auto& place : made.buffer_places) CHECK_FALSE(place.shared_index);
  CHECK(made.total_bytes_after == made.total_bytes_before);
  CHECK(made.shared_buffers.empty());
}

}  // namespace tgc
