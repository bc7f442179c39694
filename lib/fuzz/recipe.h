// Recipe: the name of a graph of a campaign. A recipe and the campaign's seed suffice to make the graph again, without
// the graphs before it. The recipe holds the graph's number. It also holds the rule from whose pattern the graph was
// made, or the recipe of the graph that was mutated.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// As text: "9411", "9411.2", "9411:lt-scaled". The recipe of a mutated graph follows a slash: "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;            // number of the graph in the campaign, from 0
    std::optional<size_t> kernel = {};  // index of the kernel in the schedule, if the graph is a tensor graph's kernel
    std::string rule = {};          // the rule from whose pattern the graph was made; empty: none
  };
  std::vector<Step> steps;  // the graph; the graph that was mutated to make it (its parent); the parent's parent; ...

  std::string text() const;
  // Returns the recipe of the graph that was mutated to make this graph. Requires at least two steps.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Parses the text of a recipe. Fails if `text` is not a recipe.
Result<Recipe> parse_recipe(std::string_view text);

}  // namespace tgc
