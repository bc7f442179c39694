// The name of a graph of a campaign: what is needed to make that one again without those before it. Most are made of
// the seed and their number alone. Some hang on what the campaign had seen: those made from the left side of a rule
// that few had hit, and those grown from an earlier one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// "9411", "9411.2", "9411:lt-scaled", and what it was grown from after a slash: "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;            // of the campaign's graphs, from 0
    std::optional<size_t> kernel = {};  // of a tensor graph: which of its schedule
    std::string rule = {};          // the left side that it was made from
  };
  std::vector<Step> steps;  // the graph, its parent, that one's parent, ...

  std::string text() const;
  // What it was grown from. It has more than one step.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// An error: the text is no such name.
Result<Recipe> parse_recipe(std::string_view text);

}  // namespace tgc
