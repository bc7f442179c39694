#include "lib/rewrite/rules.h"

#include <algorithm>

#include "lib/rewrite/matcher.h"
#include "lib/support/result.h"

namespace tgc {

using pat::PatNode;

namespace {
std::atomic<uint32_t> rule_count{0};

struct RuleRegistry {
  std::mutex mutex;
  std::vector<const Rule*> rules;
};
RuleRegistry& rule_registry() {
  // never destroyed, because static rule sets use it in their destructors
  static RuleRegistry* const r = new RuleRegistry;
  return *r;
}

}  // namespace

void pat::throw_wrong_context(std::string_view function) {
  TGC_CHECK(false, std::string(function) + " ran without its context");
  __builtin_unreachable();
}

RuleSet::RuleSet(std::string_view name, std::initializer_list<Rule> rules) : RuleSet(name, std::vector<Rule>(rules)) {}

RuleSet::RuleSet(std::string_view name, std::vector<Rule> rules) : set_name_(name) {
  for (Rule& rule : rules) {
    TGC_CHECK(!rule.left->ops.empty(), "rule " + describe(rule) + " has no op at its root");
    rule.rule_id = rule_count++;
    rule.rule_set_name = set_name_;
    owned_rules_.push_back(std::make_unique<const Rule>(rule));
    all_rules_.push_back(owned_rules_.back().get());
  }
  std::lock_guard guard(rule_registry().mutex);
  auto& all = rule_registry().rules;
  if (all.size() < rule_count) all.resize(rule_count);
  for (auto& rule : owned_rules_) all[rule->rule_id] = rule.get();
}

RuleSet::RuleSet(std::string_view name, std::initializer_list<const RuleSet*> parts)
    : RuleSet(name, std::vector<const RuleSet*>(parts)) {}

RuleSet::RuleSet(std::string_view name, const std::vector<const RuleSet*>& parts) : set_name_(name) {
  for (const RuleSet* part : parts)
    all_rules_.insert(all_rules_.end(), part->all_rules_.begin(), part->all_rules_.end());
}

RuleSet::~RuleSet() {
  std::lock_guard guard(rule_registry().mutex);
  for (auto& rule : owned_rules_) rule_registry().rules[rule->rule_id] = nullptr;
}

const Matcher& RuleSet::make_matcher() const {
  std::call_once(matcher_once_, [&] {
    owned_matcher_ = std::make_unique<const Matcher>(all_rules_);
    matcher_.store(owned_matcher_.get(), std::memory_order_release);
  });
  return *owned_matcher_;
}

uint32_t num_rules() { return rule_count; }

const Rule* rule_of_id(uint32_t rule_id) {
  std::lock_guard guard(rule_registry().mutex);
  return rule_id < rule_registry().rules.size() ? rule_registry().rules[rule_id] : nullptr;
}

std::string_view short_file_name(std::string_view file) {
  for (std::string_view folder : {"passes/", "renderers/", "lib/"})
    if (size_t at = file.rfind(folder); at != file.npos) return file.substr(at);
  return file;
}

std::string describe(const Rule& rule) {
  return std::string(rule.name) + " (" + std::string(short_file_name(rule)) + ":" + std::to_string(rule.line) + ")";
}

namespace {
template <class Predicate>
bool has_matching_node(const PatNode& n, Predicate predicate) {
  return predicate(n) ||
         std::ranges::any_of(n.children, [&](const PatNode* child) { return has_matching_node(*child, predicate); });
}
}  // namespace

std::vector<RuleFolding> foldings_of(const Rule& rule) {
  return rule.list_foldings ? rule.list_foldings(rule) : std::vector<RuleFolding>{{"", nullptr}};
}

std::vector<std::string_view> named_branches(const Rule& rule) {
  std::vector<std::string_view> out;
  for (const RuleFolding& f : foldings_of(rule)) {
    if (!f.name.empty()) out.push_back(f.name);
    out.insert(out.end(), f.case_names.begin(), f.case_names.end());
  }
  return out;
}

RightSideKind right_side_kind(const Rule& rule) {
  auto holds = [foldings = foldings_of(rule)](auto predicate) {
    return std::ranges::any_of(
        foldings, [&](const RuleFolding& f) { return !f.right || has_matching_node(*f.right, predicate); });
  };
  if (holds([](const PatNode& n) { return n.listing_name == pat::kLambdaText; })) return RightSideKind::Lambda;
  return holds([](const PatNode& n) { return n.is_function; }) ? RightSideKind::Function : RightSideKind::Algebra;
}

std::string_view name_of(RightSideKind kind) {
  constexpr std::string_view kNames[] = {"algebra", "function", "lambda"};
  return kNames[int(kind)];
}

std::string right_side_text(const RuleFolding& folding) {
  return folding.right ? pat::pattern_text(*folding.right) : std::string(pat::kLambdaText);
}

std::string guard_text(const RuleFolding& folding) {
  std::string out;
  for (const PatNode* guard : folding.guards) out += (out.empty() ? "" : " and ") + pat::pattern_text(*guard);
  return out;
}

std::string right_side_text(const Rule& rule) {
  std::string out;
  for (const RuleFolding& folding : foldings_of(rule)) {
    if (!out.empty()) out += " | ";
    if (!folding.name.empty()) out += std::string(folding.name) + ": ";
    out += right_side_text(folding);
    for (const char* name : folding.case_names)
      out += (name == folding.case_names.front() ? " [" : " | ") + std::string(name);
    if (!folding.case_names.empty()) out += "]";
    if (std::string guards = guard_text(folding); !guards.empty()) out += " when " + guards;
  }
  return out;
}

}  // namespace tgc
