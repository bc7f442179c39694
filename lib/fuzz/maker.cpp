#include "lib/fuzz/maker.h"

#include <charconv>

#include "lib/compare/replay.h"
#include "lib/compilation/graph_compiler.h"
#include "lib/fuzz/generator.h"
#include "lib/fuzz/random_kernel.h"
#include "lib/records/golden.h"
#include "lib/rules/rule_catalog.h"
#include "lib/spec/loops.h"
#include "lib/support/crash_context.h"
#include "lib/support/sha256.h"
#include "lib/text/pyrender.h"

namespace tgc {

namespace {

constexpr const char* kTargets[] = {
    "CPU:LLVM", "CPU:CLANG",        "CPU:LLVM",         "CPU:CLANG",        "CUDA:CUDA:sm_80",  "CUDA:PTX:sm_80",
    "CUDA:CUDA:sm_89", "AMD:HIP:gfx1100", "AMD:HIP:gfx942", "AMD:LLVM:gfx1100", "AMD:LLVM:gfx942", "AMD:LLVM:gfx1201",
    "METAL",    "CL",               "CL:INTEL",         "WEBGPU",           "QCOM"};
// Targets whose launch limits a small kernel can exceed.
constexpr const char* kTargetsWithLimits[] = {"WEBGPU", "WEBGPU", "WEBGPU", "CUDA:PTX:sm_80"};
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"NOOPT", "1"},    {"DEVECTORIZE", "0"}, {"DEVECTORIZE", "2"},       {"TRANSCENDENTAL", "2"},
    {"NOLOCALS", "1"}, {"TC_OPT", "2"},      {"DISABLE_FAST_IDIV", "1"}, {"IMAGE", "1"},
    {"IMAGE", "2"},    {"TC", "2"},          {"ALLOW_HALF8", "1"}};
constexpr std::pair<const char*, const char*> kTensorSettings[] = {
    {"RING", "2"}, {"ALL2ALL", "2"}, {"PCONTIG", "2"}, {"PCONTIG", "3"}, {"IMAGE", "2"}, {"SPLIT_REDUCEOP", "0"}};
// Kernels of golden files and schedules must have fewer nodes than this, and golden tensor graphs fewer than ten times
// as many.
constexpr int64_t kMaxNodes = 220;

Settings settings_of(const GoldenSettings& recorded) {
  Settings out;
  out.CPU_COUNT = 4;
  for (auto& [name, value] : recorded) (void)out.set_value(name, value);
  out.DEBUG = 0;
  return out;
}

std::shared_ptr<Graph> make_empty_graph(const GoldenSettings& recorded, RandomSource& chance) {
  Settings settings = settings_of(recorded);
  if (chance.one_in(4)) {
    auto [name, value] = chance.random_item(kSettings);
    (void)settings.set_value(name, value);
  }
  return std::make_shared<Graph>(settings);
}

}  // namespace

Result<KernelText> text_of_graph(const FuzzKernel& kernel) {
  auto text = pyrender(kernel.ast);
  if (!text) return text.diag();
  return KernelText{*text, find_changed_settings(kernel.graph->settings()), kernel.target};
}

GraphMaker::GraphMaker(uint64_t seed, const std::vector<std::string>& grow) : seed_(seed) {
  for (const std::string& file : grow) read_golden_file(file);
  for (const CatalogRule& r : catalog_rules())
    if (!short_file_name(*r.rule).starts_with("lib/spec/")) rules_.push_back(r.rule);
  find_rule_targets();
}

void GraphMaker::read_golden_file(const std::string& file) {
  auto reader = std::move(GoldenReader::open(file).value_or_throw());
  bool has_tensor_graphs = reader.header().level == "tensor";
  while (auto record = std::move(reader.next_record().value_or_throw()))
    if (record->num_nodes < (has_tensor_graphs ? 10 : 1) * kMaxNodes)
      (has_tensor_graphs ? tensor_graphs_ : golden_kernels_)
          .push_back({record->ast, tgc::settings_of(reader.header(), *record), record->target});
  // A truncated file would give other graphs.
  if (reader.truncation_error()) throw Failure(*reader.truncation_error());
}

std::string GraphMaker::golden_digest() const {
  std::string all;
  for (auto* list : {&golden_kernels_, &tensor_graphs_})
    for (const KernelText& text : *list) {
      all += text.target + "\n" + text.ast + "\n";
      for (auto& [key, value] : text.settings) all += key + "=" + value + "\n";
    }
  return sha256_hex(sha256(all));
}

void GraphMaker::find_rule_targets() {
  Graph graph;
  for (const char* name : kTargets) {
    auto target = parse_target(name, graph.settings());
    if (!target) continue;
    for (const StageRow& row : stage_rows()) {
      const RuleSet* set = row.kernel ? rules_of_row(row, *target, graph) : nullptr;
      if (!set) continue;
      for (const Rule* rule : set->rules()) rule_targets_[rule].push_back(name);
    }
  }
}

// Returns "NAME#2" for the second rule with this name.
std::string GraphMaker::name_of(const Rule& rule) const {
  size_t nth = 1;
  for (const Rule* r : rules_) {
    if (r == &rule) break;
    nth += r->name == rule.name;
  }
  return std::string(rule.name) + (nth > 1 ? "#" + std::to_string(nth) : "");
}

const Rule* GraphMaker::rule_of_name(std::string_view name) const {
  for (const Rule* r : rules_)
    if (name.starts_with(r->name) && name_of(*r) == name) return r;
  throw Failure("there is no rule '" + std::string(name) + "' that a graph was made from");
}

RandomSource GraphMaker::random_source_of_graph(uint64_t number, uint64_t purpose) const {
  return RandomSource((seed_ * 0x100000001B3ull + number) ^ purpose << 48);
}

RandomSource GraphMaker::random_source_for_recipe(const GraphRecipe& recipe) const {
  const GraphRecipe::RecipeStep& s = recipe.steps[0];
  return random_source_of_graph(s.number, 1 + s.kernel_index.value_or(0));
}

GeneratedGraph GraphMaker::make_graph(uint64_t number, const MakerCallbacks& steering) const {
  CrashContext making("graph " + std::to_string(number) + " of seed " + std::to_string(seed_) + ", as it was made");
  GeneratedGraph out{.recipe = {{{.number = number}}}};
  RandomSource chance = random_source_of_graph(number, 0);
  bool is_parent = number < tensor_graphs_.size();
  if (is_parent || chance.one_in(16)) {
    auto made =
        catch_failures([&] { return make_tensor_graph(is_parent ? &tensor_graphs_[number] : nullptr, chance); });
    if (made) out.tensor_graph = std::move(*made);
    return out;
  }
  auto made = catch_failures([&] { return make_kernel(number - tensor_graphs_.size(), chance, steering, out.recipe); });
  if (made && *made && (*made)->ast && is_kernel((*made)->ast)) out.kernel = std::move(*made);
  return out;
}

GeneratedGraph GraphMaker::remake_graph(const GraphRecipe& recipe) const {
  const GraphRecipe::RecipeStep& step = recipe.steps[0];
  MakerCallbacks as_it_was{
      .choose_rule = [&](RandomSource&) { return rule_of_name(step.rule); },
      .choose_parent = [&](RandomSource&) -> std::optional<ParentGraph> {
        if (recipe.steps.size() < 2) return std::nullopt;
        GeneratedGraph parent = remake_graph(recipe.parent());
        if (!parent.kernel) throw Failure("'" + recipe.parent().text() + "' is no kernel that others are grown from");
        return ParentGraph{recipe.parent(), text_of_graph(*parent.kernel).value_or_throw()};
      }};
  GeneratedGraph out = make_graph(step.number, as_it_was);
  if (step.kernel_index && out.tensor_graph) {
    Compilation whole = std::move(Compilation::begin(std::move(*out.tensor_graph), {}).value_or_throw());
    if (auto& schedule = whole.schedule(); !schedule) throw Failure(schedule.diag());
    out = kernel_of_schedule(whole, step.number, *step.kernel_index);
  }
  if ((!out.kernel && !out.tensor_graph) || out.recipe.text() != recipe.text())
    throw Failure("this seed, with these golden files to grow from, makes no graph '" + recipe.text() + "'");
  return out;
}

GeneratedGraph GraphMaker::kernel_of_schedule(Compilation& whole, uint64_t number, size_t n) const {
  GeneratedGraph out{.recipe = {{{.number = number, .kernel_index = n}}}};
  auto one = whole.kernel(n);
  if (!one) return out;
  RandomSource chance = random_source_of_graph(number, n + 1);
  std::string target = chance.random_item(kTargets);
  InputGraph in = std::move(*one).take_input();
  FuzzKernel kernel{in.graph, in.root, parse_target(target, in.graph->settings()) ? target : "CPU:LLVM"};
  if (toposort(kernel.ast).size() < size_t(kMaxNodes) && is_kernel(kernel.ast)) out.kernel = std::move(kernel);
  return out;
}

std::optional<FuzzKernel> GraphMaker::make_kernel(uint64_t number, RandomSource& chance, const MakerCallbacks& steering,
                                                  GraphRecipe& recipe) const {
  if (number < golden_kernels_.size()) return mutate_kernel(golden_kernels_[number], chance, true);
  std::optional<FuzzKernel> out;
  size_t kind = chance.random_below(12);
  if (kind >= 8) {
    RandomSource choice(chance.next());
    auto rare = chance.one_in(2) ? steering.choose_parent(choice) : std::nullopt;
    const KernelText* golden =
        golden_kernels_.empty() ? nullptr : &golden_kernels_[choice.random_below(golden_kernels_.size())];
    if (rare) recipe.steps.insert(recipe.steps.end(), rare->recipe.steps.begin(), rare->recipe.steps.end());
    if (rare || golden) out = mutate_kernel(rare ? rare->text : *golden, chance, false);
  }
  if (!out) {
    out = FuzzKernel{.graph = make_empty_graph({}, chance), .ast = {}, .target = ""};
    Graph& graph = *out->graph;
    out->ast = chance.one_in(24)   ? random_matmul_kernel(graph, chance)
               : kind < 3          ? kernel_from_rule(*out, chance, steering, recipe)
               : kind >= 7         ? RandomKernelMaker(graph, chance.next()).make_ast()
               : chance.one_in(6)  ? random_edge_kernel(graph, chance)
               : chance.one_in(50) ? make_grid_kernel(*out, chance)
                                   : UOp();
    if (!out->ast && kind >= 3) out->ast = random_algebra_kernel(graph, chance);
  }
  if (out->target.empty() || chance.one_in(8)) out->target = chance.random_item(kTargets);
  if (!parse_target(out->target, out->graph->settings())) out->target = "CPU:LLVM";
  return out;
}

std::optional<FuzzKernel> GraphMaker::mutate_kernel(const KernelText& parent, RandomSource& chance,
                                                    bool is_unchanged) const {
  FuzzKernel out{.graph = make_empty_graph(parent.settings, chance), .ast = {}, .target = parent.target};
  auto ast = read_pyrender(*out.graph, parent.ast, "golden");
  if (!ast) return std::nullopt;
  out.ast = *ast;
  if (is_unchanged) return out;
  for (int64_t most : {32, 8, 4})
    if (is_too_large(out.ast))
      if (UOp smaller = shrink_kernel(out.ast, most)) out.ast = smaller;
  if (!chance.one_in(6)) out.ast = grown_kernel(out.ast, chance);
  if (!out.ast) return std::nullopt;
  return out;
}

// Tries several rules. Sets out.target to a target whose stages have the rule, if there is one. Returns the empty UOp
// if no rule gives a kernel.
UOp GraphMaker::kernel_from_rule(FuzzKernel& out, RandomSource& chance, const MakerCallbacks& steering,
                                 GraphRecipe& recipe) const {
  RandomSource choice(chance.next());
  const RandomSource given(chance.next());
  for (int tries = 0; tries < 16; tries++) {
    const Rule* rule = steering.choose_rule(choice);
    RandomSource own = given;
    bool is_product = rule->left && rule->left->ops.contains(Op::WMMA) && rule->left->ops != OpSet::all();
    UOp ast = is_product ? random_matmul_kernel(*out.graph, own) : random_pattern_kernel(*out.graph, own, *rule);
    if (!ast) continue;
    recipe.steps[0].rule = name_of(*rule);
    if (auto it = rule_targets_.find(rule); it != rule_targets_.end()) out.target = own.random_item(it->second);
    return ast;
  }
  return {};
}

UOp GraphMaker::make_grid_kernel(FuzzKernel& out, RandomSource& chance) const {
  out.target = chance.random_item(kTargetsWithLimits);
  auto target = parse_target(out.target, out.graph->settings());
  return target ? random_grid_kernel(*out.graph, chance, *target) : UOp();
}

std::optional<InputGraph> GraphMaker::make_tensor_graph(const KernelText* parent, RandomSource& chance) const {
  bool is_unchanged = parent;
  if (!parent && !tensor_graphs_.empty() && chance.one_in(3))
    parent = &tensor_graphs_[chance.random_below(tensor_graphs_.size())];
  Settings settings = settings_of(parent ? parent->settings : GoldenSettings());
  if (!is_unchanged && chance.one_in(2)) {
    auto [name, value] = chance.random_item(kTensorSettings);
    (void)settings.set_value(name, value);
  }
  if (!parent) {
    InputGraph out{.graph = std::make_shared<Graph>(settings), .is_tensor_graph = true};
    out.root = random_tensor_graph(*out.graph, chance);
    return is_sound(out.root, Spec::Tensor) ? std::optional(std::move(out)) : std::nullopt;
  }
  auto out = load_graph_text(settings, InputKind::Pyrender, parent->ast, "golden");
  if (!out) return std::nullopt;
  if (!is_unchanged) {
    out->root = mutated_tensor_graph(out->root, chance);
    if (!out->root || !is_sound(out->root, Spec::Tensor)) return std::nullopt;
  }
  return std::move(*out);
}

namespace {

// Returns nullopt if `text` does not begin with a number of at most 64 bits.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return n;
}

std::optional<GraphRecipe::RecipeStep> parse_step(std::string_view text) {
  auto number = take_number(text);
  if (!number) return std::nullopt;
  GraphRecipe::RecipeStep out{.number = *number};
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    auto kernel_index = take_number(text);
    if (!kernel_index) return std::nullopt;
    out.kernel_index = *kernel_index;
  } else if (text.size() > 1 && text.starts_with(':')) {
    out.rule = text.substr(1);
    text = {};
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string GraphRecipe::text() const {
  std::string out;
  for (const RecipeStep& s : steps) {
    out += (out.empty() ? "" : "/") + std::to_string(s.number);
    if (s.kernel_index) out += "." + std::to_string(*s.kernel_index);
    if (!s.rule.empty()) out += ":" + s.rule;
  }
  return out;
}

Result<GraphRecipe> parse_recipe(std::string_view text) {
  GraphRecipe out;
  for (std::string_view rest = text;;) {
    size_t slash = rest.find('/');
    auto step = parse_step(rest.substr(0, slash));
    if (!step)
      return Diag{.message = "'" + std::string(text) + "' names no graph of a campaign",
                  .expected = "its name as `tgc fuzz` tells it: 9411, 9411.2, 9411:RULE, 9411/2077"};
    out.steps.push_back(std::move(*step));
    if (slash == rest.npos) return out;
    rest.remove_prefix(slash + 1);
  }
}

GoldenSettings find_changed_settings(const Settings& settings) {
  GoldenSettings out;
  for (const SettingInfo& s : all_settings())
    if (settings.*s.member != s.default_value) out[std::string(s.name)] = std::to_string(settings.*s.member);
  return out;
}

Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph,
                                           const std::string& name) {
  return catch_failures([&] {
    CheckPlan plan = std::move(make_check_plan("").value_or_throw());
    plan.explains_difference = true;
    InputGraph in =
        std::move(load_recorded_graph(graph.settings, InputKind::Pyrender, graph.ast, name).value_or_throw());
    in.info.name = name, in.info.target = graph.target, in.is_tensor_graph = graph.target.empty();
    auto record = std::move(tinygrad.ask_process(question_about_graph(in)).value_or_throw());
    return check_record(record, in.graph->settings(), plan);
  });
}

}  // namespace tgc
