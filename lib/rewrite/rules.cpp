#include "lib/rewrite/rules.h"

#include <atomic>

#include "lib/rewrite/matcher.h"
#include "lib/support/check.h"

namespace tgc {

using pat::PatNode;

namespace {
std::atomic<uint32_t> rule_count{0};

// Every rule that there is, by id.
struct Registry {
  std::mutex lock;
  std::vector<const Rule*> rules;
};
Registry& registry() {
  static Registry* const r = new Registry;  // outlives the sets, which are static too
  return *r;
}

// The node a template makes: names stand for what they bound, a literal is made like the operand beside it (mixin/math.py).
UOp instantiate(const PatNode& n, const UOp* captured);

UOp beside(const PatNode& n, UOp other, const UOp* captured) {
  return n.has_arg && n.capture < 0 ? other.const_like(n.arg.to_const()) : instantiate(n, captured);
}

UOp binary(Op op, UOp a, UOp b) { return op == Op::SUB ? a - b : a.alu(op, b); }

UOp instantiate(const PatNode& n, const UOp* captured) {
  if (n.capture >= 0) return captured[n.capture];
  auto is_literal = [](const PatNode& m) { return m.has_arg && m.capture < 0; };
  switch (n.children.size()) {
    case 1: {
      UOp a = instantiate(*n.children[0], captured);
      return n.ops == OpSet{Op::NEG} ? -a : a.alu(n.ops.first());
    }
    case 2: {
      const PatNode &l = *n.children[0], &r = *n.children[1];
      if (is_literal(l)) {
        UOp b = instantiate(r, captured);
        return binary(n.ops.first(), beside(l, b, captured), b);
      }
      UOp a = instantiate(l, captured);
      return binary(n.ops.first(), a, beside(r, a, captured));
    }
    case 3: {
      UOp cond = instantiate(*n.children[0], captured);
      const PatNode &yes = *n.children[1], &no = *n.children[2];
      if (is_literal(yes)) {
        UOp b = instantiate(no, captured);
        return cond.alu(n.ops.first(), beside(yes, b, captured), b);
      }
      UOp a = instantiate(yes, captured);
      return cond.alu(n.ops.first(), a, beside(no, a, captured));
    }
    default: TGC_CHECK(false, "a rule's right side is no algebra: " + pat::to_text(n)); return {};
  }
}

}  // namespace

UOp call_template(const Rule& rule, const Match& match) { return instantiate(*rule.right, match.captured); }

void detail::wrong_context(const Rule& rule) { TGC_CHECK(false, "rule " + describe(rule) + " ran without its context"); __builtin_unreachable(); }

RuleSet::RuleSet(std::string_view name, std::initializer_list<Rule> rules) : RuleSet(name, std::vector<Rule>(rules)) {}

RuleSet::RuleSet(std::string_view name, std::vector<Rule> rules) : name_(name) {
  for (Rule& rule : rules) {
    TGC_CHECK(!rule.left->ops.empty(), "rule " + describe(rule) + " has no op at its root");
    rule.id = rule_count++;
    rule.set = name_;
    own_.push_back(std::make_unique<const Rule>(rule));
    rules_.push_back(own_.back().get());
  }
  std::lock_guard guard(registry().lock);
  auto& all = registry().rules;
  if (all.size() < rule_count) all.resize(rule_count);
  for (auto& rule : own_) all[rule->id] = rule.get();
}

RuleSet::RuleSet(std::string_view name, std::initializer_list<const RuleSet*> parts) : RuleSet(name, std::vector<const RuleSet*>(parts)) {}

RuleSet::RuleSet(std::string_view name, const std::vector<const RuleSet*>& parts) : name_(name) {
  for (const RuleSet* part : parts) rules_.insert(rules_.end(), part->rules_.begin(), part->rules_.end());
}

RuleSet::~RuleSet() {
  std::lock_guard guard(registry().lock);
  for (auto& rule : own_) registry().rules[rule->id] = nullptr;
}

const Matcher& RuleSet::make_matcher() const {
  std::call_once(once_, [&] {
    owned_ = std::make_unique<const Matcher>(rules_);
    matcher_.store(owned_.get(), std::memory_order_release);
  });
  return *owned_;
}

uint32_t num_rules() { return rule_count; }

const Rule* rule_of(uint32_t id) {
  std::lock_guard guard(registry().lock);
  return id < registry().rules.size() ? registry().rules[id] : nullptr;
}

std::string_view short_file(std::string_view file) {
  for (std::string_view folder : {"passes/", "renderers/", "lib/"})
    if (size_t at = file.rfind(folder); at != file.npos) return file.substr(at);
  return file;
}

std::string describe(const Rule& rule) {
  return std::string(rule.name) + " (" + std::string(short_file(rule)) + ":" + std::to_string(rule.line) + ")";
}

std::string right_text(const Rule& rule) { return rule.right ? pat::to_text(*rule.right) : "{...}"; }

}  // namespace tgc
