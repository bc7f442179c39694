// Where the graphs of a campaign come from: each is made of the seed and its number, and of what the campaign had seen
// until then, which its recipe says.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/fuzz/recipe.h"
#include "lib/fuzz/trial_graph.h"
#include "lib/replay/compare_with_tinygrad.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// The kernel as a text, with its settings and its target. An error: it holds what no text says.
Result<KernelText> text_of(const FuzzKernel& kernel);

// A graph that others are grown from.
struct Ancestor {
  Recipe recipe;
  KernelText text;
};

// What a campaign makes of what it has seen.
struct Steering {
  std::function<const Rule*(Chance&)> rule;  // one that few graphs hit
  std::function<std::optional<Ancestor>(Chance&)> parent;  // a graph that hit such a one; nothing: none has yet
};

// One of the two, or nothing: chance put together what does not go together.
struct MadeGraph {
  Recipe recipe;
  std::optional<FuzzKernel> kernel = {};
  std::optional<InputGraph> tensors = {};
};

class Maker {
 public:
  // `grow`: golden files; each of their records is made once as it is, and then others are grown from it. Throws
  // Failure: one cannot be read, or is cut short.
  Maker(uint64_t seed, const std::vector<std::string>& grow);

  MadeGraph make(uint64_t number, const Steering& steering) const;
  // The same again. Throws Failure: this seed and these golden files make no such graph.
  MadeGraph again(const Recipe& recipe) const;
  // A kernel of a tensor graph's schedule; nothing: it is none that can be tried.
  MadeGraph scheduled(Compilation& whole, uint64_t number, size_t kernel) const;
  // For what is done with it.
  Chance chance_for(const Recipe& recipe) const;

  // What the golden files hold, as a digest: other ones make other graphs.
  std::string goldens() const;

  // All that rewrite something.
  std::span<const Rule* const> rules() const { return rules_; }

 private:
  Chance chance_of(uint64_t number, uint64_t purpose) const;
  void read(const std::string& file);
  void find_targets();
  std::string name_of(const Rule& rule) const;
  const Rule* rule_of(std::string_view name) const;

  std::optional<FuzzKernel> kernel(uint64_t number, Chance& chance, const Steering& steering, Recipe& recipe) const;
  std::optional<FuzzKernel> grown(const KernelText& parent, Chance& chance, bool input_only) const;
  UOp from_rule(FuzzKernel& out, Chance& chance, const Steering& steering, Recipe& recipe) const;
  UOp grid(FuzzKernel& out, Chance& chance) const;
  std::optional<InputGraph> tensors(const KernelText* parent, Chance& chance) const;

  uint64_t seed_;
  std::vector<const Rule*> rules_;
  std::map<const Rule*, std::vector<const char*>> targets_;  // that have it in one of their stages
  std::vector<KernelText> kernels_, tensors_;  // of the golden files
};

}  // namespace tgc
