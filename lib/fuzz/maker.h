// Makes the graphs of a campaign. A graph depends on the campaign's seed and golden files, on the graph's number, and
// on earlier graphs of the campaign. The graph's Recipe records all of this except the seed and the golden files.
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

// A kernel or a tensor graph as text.
struct KernelText {
  std::string ast;          // the graph as pyrender text
  GoldenSettings settings;
  std::string target;       // target of the kernel; empty for a tensor graph
};

// Returns the settings whose values are not tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// Lets tinygrad compile the graph to a golden record, and checks the record against tgc's own pipeline. Returns an
// error if the graph cannot be read, and the errors of TinygradProcess::ask().
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

// A Recipe says how a graph of a campaign is made: its number, and the rule from whose pattern it was made, or the
// recipe of the graph that was mutated. From a recipe and the campaign's seed and golden files, the graph can be made
// again without earlier graphs. The text of a recipe is also the name of the graph.

// Texts of recipes: "9411", "9411.2", "9411:lt-scaled". The recipe of a graph's parent follows after a slash:
// "9411/2077/31.0".
struct Recipe {
  struct Step {
    uint64_t number = 0;                // number of the graph in the campaign, from 0
    std::optional<size_t> kernel = {};  // index of the kernel in the schedule, if the graph is a tensor graph's kernel
    // the rule from whose pattern the graph was made; empty if the graph was made in another way
    std::string rule = {};
  };
  // the first step is the graph; each further step is the parent, the graph that was mutated, of the step before it
  std::vector<Step> steps;

  std::string text() const;
  // Returns the recipe of the graph that was mutated to make this graph. Requires at least two steps.
  Recipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Parses the text of a recipe. Returns an error if `text` is not a recipe.
Result<Recipe> parse_recipe(std::string_view text);

// Returns the kernel as text, with its settings and target. Returns an error if the kernel cannot be written as text.
Result<KernelText> text_of(const FuzzKernel& kernel);

// A graph from which other graphs are made by mutation.
struct Ancestor {
  Recipe recipe;
  KernelText text;
};

// Choices that depend on earlier graphs of the campaign.
struct MakerSteering {
  std::function<const Rule*(RandomSource&)> rule;  // returns a rule; prefers rules that applied in few graphs
  // returns a graph to mutate, in which a rare rule applied; nullopt if there is none
  std::function<std::optional<Ancestor>(RandomSource&)> parent;
};

// A kernel or a tensor graph; neither if the random choices contradicted each other.
struct MadeGraph {
  Recipe recipe;
  std::optional<FuzzKernel> kernel = {};
  std::optional<InputGraph> tensor_graph = {};
};

class GraphMaker {
 public:
  // `grow` names golden files. The first graphs are their records with few nodes, unchanged except for settings; later
  // graphs may be mutations of them. Throws Failure if a file cannot be read or is truncated.
  GraphMaker(uint64_t seed, const std::vector<std::string>& grow);

  MadeGraph make_graph(uint64_t number, const MakerSteering& steering) const;
  // Makes the graph of a recipe. Throws Failure if the seed and the golden files make no such graph.
  MadeGraph remake_graph(const Recipe& recipe) const;
  // Returns kernel number `kernel` in `whole`, the schedule of tensor graph `number`; a MadeGraph without a kernel if
  // the kernel cannot be made or checked.
  MadeGraph kernel_of_schedule(Compilation& whole, uint64_t number, size_t kernel) const;
  // Returns the random generator for the checks of this graph, so that they can be repeated.
  RandomSource random_source_for(const Recipe& recipe) const;

  // Returns a digest of the golden files, on which the graphs depend.
  std::string golden_digest() const;

  // Returns all rules except those of lib/spec, which only check nodes.
  std::span<const Rule* const> rules() const { return rules_; }

 private:
  RandomSource random_source_of(uint64_t number, uint64_t purpose) const;
  void read_golden_file(const std::string& file);
  void find_targets();
  std::string name_of(const Rule& rule) const;
  const Rule* rule_of_name(std::string_view name) const;

  std::optional<FuzzKernel> kernel(uint64_t number, RandomSource& chance, const MakerSteering& steering,
                                   Recipe& recipe) const;
  std::optional<FuzzKernel> grow_kernel(const KernelText& parent, RandomSource& chance, bool is_unchanged) const;
  UOp kernel_from_rule(FuzzKernel& out, RandomSource& chance, const MakerSteering& steering, Recipe& recipe) const;
  UOp make_grid_kernel(FuzzKernel& out, RandomSource& chance) const;
  std::optional<InputGraph> make_tensor_graph(const KernelText* parent, RandomSource& chance) const;

  uint64_t seed_;
  std::vector<const Rule*> rules_;
  // maps a rule to the targets whose stages have the rule
  std::map<const Rule*, std::vector<const char*>> rule_targets_;
  std::vector<KernelText> golden_kernels_, tensor_graphs_;   // the small kernels and tensor graphs of the golden files
};

}  // namespace tgc
