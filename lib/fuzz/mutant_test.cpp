#include "lib/fuzz/mutant.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/fuzz/random_kernel.h"
#include "lib/text/graph_json.h"

using namespace tgc;

namespace {

std::string mutant(uint64_t seed, std::span<const MutationStep> steps, bool with_donor = true) {
  Graph graph;
  SubgraphDonor donor = [](Graph& into, size_t number) {
    return RandomKernelMaker(into, number % 50 + 100).make_ast();
  };
  auto nodes = mutate_nodes(toposort(RandomKernelMaker(graph, seed).make_ast()), false, steps,
                            with_donor ? donor : SubgraphDonor())
                   .value_or_throw();
  CHECK(toposort(nodes.back()) == nodes);
  return graph_to_json(nodes.back());
}

}  // namespace

TEST_CASE("mutants: equal steps give equal graphs, and each kind of step changes a graph") {
  for (int kind = 0; kind < kNumMutations; kind++) {
    std::set<std::string> seen;
    for (uint16_t n = 0; n < 40; n++) {
      MutationStep step{.kind = uint8_t(kind),
                        .slot_index = uint8_t(n),
                        .node_position = uint16_t(n * 7),
                        .other_position = uint16_t(n * 5),
                        .value_choice = uint16_t(n * 131)};
      std::string text = mutant(3, {&step, 1});
      CHECK(text == mutant(3, {&step, 1}));
      seen.insert(std::move(text));
    }
    INFO("kind " << kind);
    CHECK(seen.size() > 1);
  }
  CHECK(mutant(3, {}, false) == mutant(3, {}, true));
}

TEST_CASE("mutants: steps remove, swap and duplicate entries of a list") {
  Graph graph;
  UOp a = graph.constant(dtypes::int32, 1), b = graph.constant(dtypes::int32, 2), c = a + b;
  auto after = [&](int kind) {
    MutationStep step{.kind = uint8_t(kind), .node_position = 0, .other_position = 1};
    return mutate_nodes({a, b, c}, true, {&step, 1}, {}).value_or_throw();
  };
  CHECK(after(kNumMutations - 3) == std::vector{b, c});
  CHECK(after(kNumMutations - 2) == std::vector{b, a, c});
  CHECK(after(kNumMutations - 1) == std::vector{a, a, b, c});
}

TEST_CASE("mutants: bytes are decoded as steps, without an incomplete last step") {
  std::vector<uint8_t> bytes(2 * kMutationStepBytes + 3, 1);
  REQUIRE(steps_of_bytes(bytes).size() == 2);
  CHECK(steps_of_bytes(bytes)[1].node_position == 0x0101);
  CHECK(steps_of_bytes({}).empty());
}
