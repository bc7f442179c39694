// The name ("recipe") of a graph of a campaign. It holds all that is needed, besides the seed, to make the graph
// without the graphs before it: its number, and, if it was made from the left side of a rarely hit rule or by mutation
// of an earlier graph, that rule or graph.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// "9411", "9411.2", "9411:lt-scaled"; after a slash, the graph that it was mutated from: "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;            // index of the graph in the campaign
    std::optional<size_t> kernel = {};  // for a kernel of a tensor graph: its index in the schedule
    std::string rule = {};          // the rule from whose left side the graph was made; empty: none
  };
  std::vector<Step> steps;  // the graph, the graph that it was mutated from (its parent), the parent's parent, ...

  std::string text() const;
  // The recipe of the parent. Requires more than one step.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Parses a name. An error: the text is no such name.
Result<Recipe> parse_recipe(std::string_view text);

}  // namespace tgc
