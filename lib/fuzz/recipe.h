// The name of a graph of a campaign, which holds all that is needed to make the graph again without those before it.
// Most graphs depend on the seed and their number alone; others on what the campaign had seen: those made from the left
// side of a rarely hit rule, and those grown from an earlier graph.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// "9411", "9411.2", "9411:lt-scaled"; after a slash the graph that it was grown from: "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;            // index of the graph in the campaign
    std::optional<size_t> kernel = {};  // of a tensor graph: index in its schedule
    std::string rule = {};          // the rule whose left side it was made from
  };
  std::vector<Step> steps;  // the graph, its parent, the parent of that, ...

  std::string text() const;
  // The recipe of the parent. Requires more than one step.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Parses a name. An error: the text is no such name.
Result<Recipe> parse_recipe(std::string_view text);

}  // namespace tgc
