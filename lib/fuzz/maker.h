// Makes the graphs of a campaign. A graph depends on the seed of the campaign, on the graph's number, and on earlier
// graphs of the campaign. Its recipe (recipe.h) holds all of this except the seed.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/compare/compare_with_tinygrad.h"
#include "lib/compilation/compilation.h"
#include "lib/fuzz/kernel_check.h"
#include "lib/fuzz/recipe.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns the kernel as text, with its settings and target. Fails if the kernel cannot be written as text.
Result<KernelText> text_of(const FuzzKernel& kernel);

// A graph from which other graphs are made by mutation.
struct Ancestor {
  Recipe recipe;
  KernelText text;
};

// Choices that depend on the earlier graphs of the campaign.
struct Steering {
  std::function<const Rule*(Chance&)> rule;  // returns a rule that applied in few graphs
  std::function<std::optional<Ancestor>(Chance&)> parent;  // returns a graph in which a rare rule applied; else nullopt
};

// A kernel or a tensor graph. Has neither if random choices contradicted each other.
struct MadeGraph {
  Recipe recipe;
  std::optional<FuzzKernel> kernel = {};
  std::optional<InputGraph> tensors = {};
};

class Maker {
 public:
  // `grow` names golden files. The first graphs are their records, unchanged; later graphs may be mutations of them.
  // Throws Failure if a file cannot be read or is truncated.
  Maker(uint64_t seed, const std::vector<std::string>& grow);

  MadeGraph make(uint64_t number, const Steering& steering) const;
  // Makes the graph of a recipe. Throws Failure if the seed and the golden files make no such graph.
  MadeGraph remake(const Recipe& recipe) const;
  // Returns one kernel of the schedule of tensor graph `number`; an empty MadeGraph if the kernel cannot be checked.
  MadeGraph scheduled(Compilation& whole, uint64_t number, size_t kernel) const;
  // Returns the random generator for the checks of that graph.
  Chance chance_for(const Recipe& recipe) const;

  // A digest of the golden files, which determine the graphs.
  std::string goldens() const;

  // All rules that rewrite something.
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
  std::map<const Rule*, std::vector<const char*>> targets_;  // by rule: the targets whose stages have the rule
  std::vector<KernelText> kernels_, tensors_;  // the kernels and the tensor graphs of the golden files
};

}  // namespace tgc
