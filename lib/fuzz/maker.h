// Makes the graphs of a campaign. A graph depends on the seed of the campaign, on the graph's number, and on earlier
// graphs of the campaign. Its recipe holds all of this except the seed.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compare/record_check.h"
#include "lib/compilation/compilation.h"
#include "lib/fuzz/kernel_check.h"
#include "lib/live/tinygrad_process.h"
#include "lib/rewrite/rules.h"
#include "lib/support/result.h"

namespace tgc {

// Compiles a graph with tgc and with a running tinygrad, and compares the graphs after every stage.

// A kernel or a tensor graph as text.
struct KernelText {
  std::string ast;          // the graph as pyrender text
  GoldenSettings settings;
  std::string target;       // target of the kernel; empty: a tensor graph
};

// Returns the settings whose values are not tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// Lets tinygrad compile the graph to a golden record, and replays the record. Fails as TinygradProcess::ask() does.
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

// Recipe: the name of a graph of a campaign. A recipe and the campaign's seed suffice to make the graph again, without
// the graphs before it. The recipe holds the graph's number. It also holds the rule from whose pattern the graph was
// made, or the recipe of the graph that was mutated.

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
