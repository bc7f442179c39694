#include "lib/rules/rule_catalog.h"

#include <algorithm>
#include <deque>
#include <map>

#include "lib/compilation/rule_sources.h"
#include "lib/spec/tables.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "passes/kernel/optimizer/optimizer.h"
#include "passes/kernel/stages.h"
#include "passes/symbolic/symbolic.h"
#include "passes/tensor/movement_index.h"
#include "passes/tensor/stages.h"

namespace tgc {

namespace {

// Calls X(NAME) for each rule set whose name in the catalog, NAME, is also the name of tgc's function.
#define TGC_RULE_SETS(X)                                                                                             \
  X(propagate_invalid)                                                                                               \
  X(symbolic_simple) X(commutative) X(div_and_mod_symbolic) X(gep_pushing) X(symbolic) X(pm_simplify_valid) X(sym)   \
      X(pm_drop_and_clauses) X(pm_mops) X(pm_pre_sched_cache) X(replace_allreduce) X(multi_pm) X(add_tags)           \
          X(mop_cleanup) X(earliest_rewrites) X(replace_contiguous) X(pm_generate_realize_map) X(pm_apply_rangeify)  \
              X(pm_const_buffer_folding) X(pm_remove_bufferize) X(pm_limit_bufs) X(pm_flatten_bufferize)             \
                  X(to_bufferview) X(pm_add_buffers) X(pm_add_range_tags) X(to_define_global) X(pm_flatten_range)    \
                      X(rangeify_codegen) X(pm_remove_tags) X(pm_syntactic_sugar) X(pm_reduce_unparented)            \
                          X(pm_reduce_collapse) X(pm_reduce_load_collapse) X(pm_reduce_simplify) X(pm_load_collapse) \
                              X(pm_split_ranges) X(pm_simplify_ranges) X(pm_split_store) X(pm_create_image_buffers)  \
                                  X(pm_remove_unfoldable_image_stores) X(pm_move_where_on_load) X(pm_pre_expander)   \
                                      X(pm_group_for_reduce) X(expander) X(pm_add_buffers_local) X(pm_reduce)        \
                                          X(pm_add_gpudims) X(pm_add_loads) X(devectorize_buf_and_index)             \
                                              X(devectorize) X(load_store_folding) X(correct_load_store)             \
                                                  X(load_store_indexing) X(pm_lower_index_dtype) X(pm_render)        \
                                                      X(pm_split_ends) X(shared_spec) X(tensor_spec)                 \
                                                          X(shared_codegen_spec) X(kernel_spec) X(program_spec)      \
                                                              X(full_spec)

// Adds the rule sets of tinygrad's renderer classes: one per class, but two for AMDLLVMRenderer (RDNA3 and CDNA).
void add_renderer_sets(std::vector<CatalogRuleSet>& out) {
  static std::deque<std::string> names;
  auto add = [&](const std::string& target_name, std::string name) {
    auto target = parse_target(target_name, Settings());
    if (!target || std::ranges::find(names, name) != names.end()) return;
    out.push_back({names.emplace_back(std::move(name)), &extra_matcher(*target)});
  };
  for (const RendererClass& c : renderer_classes()) {
    const std::string target = std::string(c.device) + ":" + std::string(name_of(c.renderer));
    add(target, std::string(c.name) + ".extra_matcher");
    if (c.renderer == RendererKind::LLVM && c.device == "AMD")
      add(target + ":gfx942", std::string(c.name) + "(gfx942).extra_matcher");
  }
}

// Settings that change the rules of stages; the empty text means the default settings.
constexpr std::string_view kSettingsVariants[] = {"", "DEVECTORIZE=0", "DEVECTORIZE=2", "TRANSCENDENTAL=2",
                                                  "DISABLE_FAST_IDIV=1"};

Settings settings_of(std::string_view variant) {
  Settings s;
  if (!variant.empty()) (void)s.set_value(variant);
  return s;
}

// Calls visit(stage, target, rules) for every stage that has rules and every target, with the settings `settings`. For
// the stages of tensor graphs, `target` is empty.
template <class Visit>
void for_each_stage(const Settings& settings, Visit visit) {
  Graph tensors(settings);
  TensorJob tensor_job(tensors);
  for (const TensorStage& stage : tensor_stages())
    if (const RuleSet* set = stage.rules ? stage.rules(tensor_job) : nullptr) visit(stage.name, "", *set);
  for (std::string_view name : known_targets()) {
    auto target = parse_target(name, settings);
    if (!target) continue;
    Graph graph(settings);
    KernelJob job{graph, *target};
    for (const Stage& stage : kernel_stages())
      if (const RuleSet* set = stage.rules ? stage.rules(job) : nullptr) visit(stage.name, name, *set);
  }
}

// Calls visit(stage, rules) for each rule set with which a function or a rule of a stage starts a graph rewrite; the
// stage is "linear" for pm_split_ends.
template <class Visit>
void for_each_inner_set(Visit visit) {
  for (const TensorStage& stage : tensor_stages())
    for (auto* set : stage.nested_rule_sets) visit(stage.name, set());
  for (const Stage& stage : kernel_stages())
    for (auto* set : stage.nested_rule_sets) visit(stage.name, set());
  visit("linear", pm_split_ends());
}

void add_unique_stage(std::vector<std::string_view>& stages, std::string_view name) {
  if (std::find(stages.begin(), stages.end(), name) == stages.end()) stages.push_back(name);
}

std::string op_list_text(OpSet ops) {
  if (ops.size() > 6) return std::to_string(ops.size()) + " ops";
  std::string out;
  ops.for_each([&](Op op) { out += (out.empty() ? "" : ",") + std::string(name_of(op)); });
  return out;
}

bool is_listed(const CatalogRule& r, const PatternListOptions& listing) {
  return listing.ops.empty() || r.rule->left->ops.intersects(listing.ops);
}

const std::vector<std::vector<std::string_view>>& stages_by_rule() {
  static const auto table = [] {
    std::vector<std::vector<std::string_view>> out;
    auto of = [&](const Rule* r) -> auto& {
      if (out.size() < num_rules()) out.resize(num_rules());
      return out[r->rule_id];
    };
    for (std::string_view variant : kSettingsVariants)
      for_each_stage(settings_of(variant), [&](std::string_view stage, std::string_view, const RuleSet& set) {
        for (const Rule* r : set.rules()) add_unique_stage(of(r), stage);
      });
    for_each_inner_set([&](std::string_view stage, const RuleSet& set) {
      for (const Rule* r : set.rules()) add_unique_stage(of(r), stage);
    });
    auto position = [](std::string_view name) {
      size_t i = 0;
      for (const TensorStage& s : tensor_stages()) {
        if (s.name == name) return i;
        i++;
      }
      for (const Stage& s : kernel_stages()) {
        if (s.name == name) break;
        i++;
      }
      return i;
    };
    for (auto& list : out)
      std::stable_sort(list.begin(), list.end(), [&](auto a, auto b) { return position(a) < position(b); });
    return out;
  }();
  return table;
}

CatalogRule make_catalog_rule(const Rule* rule) {
  const auto& stages = stages_by_rule();
  return {rule, rule->rule_id < stages.size() ? stages[rule->rule_id] : std::vector<std::string_view>()};
}

}  // namespace

const std::vector<CatalogRuleSet>& rule_catalog() {
  static const std::vector<CatalogRuleSet> catalog = [] {
    std::vector<CatalogRuleSet> out{
#define X(name) {#name, &name()},
        TGC_RULE_SETS(X)
#undef X
        {"split_kernels", &split_kernels_rules()},
        {"_remove_all_tags", &remove_all_tags()},
        {"movement_ops", &movement_spec()},
        {"_tensor_spec", &untagged_tensor_spec()},
        {"pm_add_control_flow", &add_control_flow_rules()},
        {"_substitute", &substitute_rules()},
    };
    add_renderer_sets(out);
    return out;
  }();
  return catalog;
}

std::vector<CatalogRule> catalog_rules() {
  std::vector<CatalogRule> out;
  std::vector<bool> seen;
  auto add = [&](const RuleSet& set) {
    for (const Rule* r : set.rules()) {
      if (seen.size() <= r->rule_id) seen.resize(num_rules());
      if (seen[r->rule_id]) continue;
      seen[r->rule_id] = true;
      out.push_back(make_catalog_rule(r));
    }
  };
  for (const CatalogRuleSet& s : rule_catalog()) add(*s.rule_set);
  for (std::string_view variant : kSettingsVariants)
    for_each_stage(settings_of(variant), [&](std::string_view, std::string_view, const RuleSet& set) { add(set); });
  for_each_inner_set([&](std::string_view, const RuleSet& set) { add(set); });
  return out;
}

std::vector<CatalogRule> catalog_rules(const RuleSet* set, std::span<const RuleSetFunction> inside) {
  std::vector<CatalogRule> out;
  if (set)
    for (const Rule* r : set->rules()) out.push_back(make_catalog_rule(r));
  for (auto* inner : inside)
    for (const Rule* r : inner().rules()) {
      if (std::ranges::find(out, r, &CatalogRule::rule) != out.end()) continue;
      out.push_back(make_catalog_rule(r));
      out.back().nested_set_name = inner().name();
    }
  return out;
}

std::vector<StageRuleCount> count_stage_rules() {
  std::vector<StageRuleCount> out;
  for_each_stage({}, [&](std::string_view stage, std::string_view target, const RuleSet& set) {
    out.push_back({stage, target, set.rules().size()});
  });
  return out;
}

constexpr size_t kMaxStages = 8;  // if a rule is in more stages, the listing shows only their number

std::string patterns_text(const std::vector<CatalogRule>& rules, const PatternListOptions& listing) {
  std::string out;
  std::string_view set, inside;
  size_t shown = 0, name_width = 0;
  for (const CatalogRule& r : rules)
    if (is_listed(r, listing)) name_width = std::max(name_width, r.rule->name.size());
  for (const CatalogRule& r : rules) {
    if (!is_listed(r, listing)) continue;
    shown++;
    if (r.nested_set_name != inside) {
      inside = r.nested_set_name;
      out += "-- in a rewrite inside, by " + std::string(inside) + ":\n";
      set = {};
    }
    if (r.rule->rule_set_name != set) {
      set = r.rule->rule_set_name;
      out += (listing.uses_color ? "\x1b[1m" : "") + std::string(set) + (listing.uses_color ? "\x1b[0m" : "") + "\n";
    }
    std::string name(r.rule->name), source(tinygrad_source(*r.rule)), verdict(rule_verdict(*r.rule)), stages;
    name.resize(name_width, ' ');
    for (std::string_view s : r.stages) stages += (stages.empty() ? "" : ", ") + std::string(s);
    if (r.stages.size() > kMaxStages) stages = std::to_string(r.stages.size()) + " stages";
    out += "  " + name + "  " + pat::pattern_text(*r.rule->left) + " -> " + right_side_text(*r.rule) + "  " +
           op_list_text(r.rule->left->ops) + "  " + std::string(short_file_name(*r.rule)) + ":" +
           std::to_string(r.rule->line) + (source.empty() ? "" : " (" + source + ")") +
           (verdict.empty() ? "" : "  " + verdict) + (stages.empty() ? "" : "  [" + stages + "]") + "\n";
  }
  return out + count_text(shown, "rule") + "\n";
}

std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListOptions& listing) {
  return json_object([&](JsonWriter& json) {
    auto write_branch = [&](std::string_view name, const std::string& right, const RuleFolding& f) {
      json.object([&] { json.member("name", name).member("right", right).member("guard", guard_text(f)); });
    };
    auto write_rule = [&](const CatalogRule& r) {
      const Rule& rule = *r.rule;
      json.member("name", rule.name).member("set", rule.rule_set_name).member("stages", r.stages);
      json.key("ops").array([&] { rule.left->ops.for_each([&](Op op) { json.value(name_of(op)); }); });
      json.member("pattern", pat::pattern_text(*rule.left)).member("result", right_side_text(rule));
      json.member("kind", name_of(right_side_kind(rule))).key("branches").array([&] {
        for (const RuleFolding& f : foldings_of(rule)) {
          if (f.case_names.empty()) write_branch(f.name, right_side_text(f), f);
          for (const char* name : f.case_names) write_branch(name, "", f);
        }
      });
      json.member("file", short_file_name(rule)).member("line", rule.line).member("tinygrad", tinygrad_source(rule));
      json.member("verdict", rule_verdict(rule));
      if (!r.nested_set_name.empty()) json.member("inside", r.nested_set_name);
    };
    json.key("rules").array([&] {
      for (const CatalogRule& r : rules)
        if (is_listed(r, listing)) json.object([&] { write_rule(r); });
    });
    json.key("sets").array([&] {
      for (const CatalogRuleSet& s : rule_catalog())
        json.object([&] { json.member("name", s.name).member("rules", s.rule_set->rules().size()); });
    });
    json.key("stages").array([&] {
      for (const StageRuleCount& c : count_stage_rules())
        json.object([&] { json.member("name", c.stage).member("target", c.target).member("rules", c.num_rules); });
    });
  });
}

namespace {

struct VerdictRow {
  std::string_view set, rules;  // `rules` has the names and verdicts of the rules, in order: "add-zero:proven, ..."
};
constexpr VerdictRow kVerdictRows[] = {
#define X(set, rules) {set, rules},
#include "lib/rules/rule_verdicts.def"
#undef X
};

using VerdictTable = std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string_view>>;

const VerdictTable& verdict_table() {
  static const VerdictTable table = [] {
    VerdictTable out;
    for (auto [set, rules] : kVerdictRows)
      while (!rules.empty()) {
        std::string_view rule = rules.substr(0, rules.find(','));
        rules.remove_prefix(std::min(rules.size(), rule.size() + 2));
        size_t colon = rule.rfind(':');
        out[{set, rule.substr(0, colon)}].push_back(rule.substr(colon + 1));
      }
    return out;
  }();
  return table;
}

}  // namespace

std::string_view rule_verdict(const Rule& rule) {
  auto it = verdict_table().find({rule.rule_set_name, rule.name});
  if (it == verdict_table().end()) return {};
  size_t number = 0;  // index of `rule` among the set's rules of this name
  for (uint32_t rule_id = rule.rule_id; rule_id-- > 0;) {
    const Rule* earlier = rule_of_id(rule_id);
    if (!earlier || earlier->rule_set_name != rule.rule_set_name) break;
    number += earlier->name == rule.name;
  }
  return number < it->second.size() ? it->second[number] : std::string_view();
}

}  // namespace tgc
