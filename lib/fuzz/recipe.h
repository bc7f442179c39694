// The name ("recipe") of a graph of a campaign. Together with the seed, it suffices to make the graph without the
// graphs before it. It holds the graph's number and, if the graph was made from the left side of a rarely hit rule or
// by mutation of an earlier graph, that rule or the recipe of that graph.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// "9411", "9411.2", "9411:lt-scaled"; if it was made by mutation, also the parent after a slash: "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;            // number of the graph in the campaign, from 0
    std::optional<size_t> kernel = {};  // for a kernel of a tensor graph: its index in the schedule
    std::string rule = {};          // the rule from whose left side the graph was made; empty: none
  };
  std::vector<Step> steps;  // the graph, the graph that it was mutated from (its parent), the parent's parent, ...

  std::string text() const;
  // Returns the recipe of the graph from which this one was mutated. Requires at least two steps.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Parses the name of a graph. An error: `text` is not such a name.
Result<Recipe> parse_recipe(std::string_view text);

}  // namespace tgc
