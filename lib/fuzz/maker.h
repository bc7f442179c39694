// Makes a campaign's graphs from its seed, golden files and recipes, and compares their compilation with tinygrad's.
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

struct KernelText {
  std::string ast;
  GoldenSettings settings;
  std::string target;       // empty for a tensor graph
};

// Returns the settings that differ from their defaults.
GoldenSettings find_changed_settings(const Settings& settings);

// Compares tinygrad's compilation with that of tgc's own pipeline. Fails if the graph cannot be read, or if tinygrad
// does not answer.
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

// With the seed and the golden files, enough to make a graph again. Texts of recipes are the names of graphs: "9411",
// "9411.2", "9411:lt-scaled"; the recipe of a graph's parent follows after a slash: "9411/2077/31.0".
struct GraphRecipe {
  struct RecipeStep {
    uint64_t number = 0;
    std::optional<size_t> kernel_index = {};  // index in the schedule, for a tensor graph's kernel
    // the rule from whose pattern the graph was made
    std::string rule = {};
  };
  // the graph, its parent (the graph that was mutated), and so on
  std::vector<RecipeStep> steps;

  std::string text() const;
  // Requires at least two steps.
  GraphRecipe parent() const { return {{steps.begin() + 1, steps.end()}}; }
};

// Returns an error if `text` is not a recipe.
Result<GraphRecipe> parse_recipe(std::string_view text);

// Fails if the kernel cannot be written as text.
Result<KernelText> text_of_graph(const FuzzKernel& kernel);

struct ParentGraph {
  GraphRecipe recipe;
  KernelText text;
};

struct MakerCallbacks {
  std::function<const Rule*(RandomSource&)> choose_rule;  // returns the rule from whose pattern to make a graph
  // returns the kernel to mutate; nullopt if there is none
  std::function<std::optional<ParentGraph>(RandomSource&)> choose_parent;
};

// Neither `kernel` nor `tensor_graph` is set if the graph could not be made.
struct GeneratedGraph {
  GraphRecipe recipe;
  std::optional<FuzzKernel> kernel = {};
  std::optional<InputGraph> tensor_graph = {};
};

class GraphMaker {
 public:
  // `grow` names golden files, whose small graphs are repeated and mutated. Throws Failure if a file cannot be read or
  // is truncated.
  GraphMaker(uint64_t seed, const std::vector<std::string>& grow);

  GeneratedGraph make_graph(uint64_t number, const MakerCallbacks& steering) const;
  // Throws Failure if the seed and the golden files make no such graph.
  GeneratedGraph remake_graph(const GraphRecipe& recipe) const;
  // Makes kernel number `kernel` of tensor graph `number`, whose compilation is `whole`; the result may have no kernel.
  GeneratedGraph kernel_of_schedule(Compilation& whole, uint64_t number, size_t kernel) const;
  // Returns the source of random numbers for the checks of the recipe's graph.
  RandomSource random_source_for_recipe(const GraphRecipe& recipe) const;

  std::string golden_digest() const;

  // Returns all rules except those of lib/spec, which only check nodes.
  std::span<const Rule* const> rules() const { return rules_; }

 private:
  RandomSource random_source_of_graph(uint64_t number, uint64_t purpose) const;
  void read_golden_file(const std::string& file);
  void find_rule_targets();
  std::string name_of(const Rule& rule) const;
  const Rule* rule_of_name(std::string_view name) const;

  std::optional<FuzzKernel> make_kernel(uint64_t number, RandomSource& chance, const MakerCallbacks& steering,
                                        GraphRecipe& recipe) const;
  std::optional<FuzzKernel> mutate_kernel(const KernelText& parent, RandomSource& chance, bool is_unchanged) const;
  UOp kernel_from_rule(FuzzKernel& out, RandomSource& chance, const MakerCallbacks& steering,
                       GraphRecipe& recipe) const;
  UOp make_grid_kernel(FuzzKernel& out, RandomSource& chance) const;
  std::optional<InputGraph> make_tensor_graph(const KernelText* parent, RandomSource& chance) const;

  uint64_t seed_;
  std::vector<const Rule*> rules_;
  std::map<const Rule*, std::vector<const char*>> rule_targets_;  // the targets whose stages have the rule
  std::vector<KernelText> golden_kernels_, tensor_graphs_;
};

}  // namespace tgc
