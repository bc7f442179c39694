// One-line tests of rules, for tests only:
//
//   RuleTest t(symbolic_simple());
//   UOp x = t.var("x", 0, 10);
//   t.check_rule("add-zero", x + 0, x);                 // rule "add-zero" rewrites x + 0 to x
//   t.check_declines("mul-bool", x * x);                // rule "mul-bool" does not match x * x, or declines it
//   t.check_match_declines("realize", copy, ctx);           // the rule matches `copy` and declines; then inspect ctx
//   t.check_branch("divmod-general", "cancel", x, y);   // folding "cancel" rewrites x to a node that simplifies like y
//   t.check_all_rules_fired();                          // at the end: every rule name and every branch had a check
//
// A check of a rule tries only the rules of one name, on one node: no other rules of the set, and no nodes below it.
// check_rewrite() applies the whole set to a graph.
#pragma once
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "lib/rewrite/hits.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {

class RuleTest {
 public:
  explicit RuleTest(const RuleSet& set, const Settings& settings = {}) : graph(settings), rule_set_(set) {}

  Graph graph;
  UOp var(std::string_view name, Const min, Const max, DType dtype = dtypes::index) {
    return graph.variable(name, min, max, dtype);
  }
  UOp constant(DType dtype, Const value) { return graph.constant(dtype, value); }
  UOp vconst(DType dtype, std::initializer_list<Const> values) {
    return graph.constant(dtype, std::span(values.begin(), values.size()));
  }
  UOp range(Const end, int64_t axis = 0, AxisType type = AxisType::LOOP) { return graph.range(end, axis, type); }
  UOp buffer(int64_t number, DType dtype, int64_t size = 1024) {
    return graph.node(Op::DEFINE_GLOBAL, dtype.ptr(size), {}, number);
  }
  UOp load(int64_t number, DType dtype) { return buffer(number, dtype).index(constant(dtypes::index, 0)).load(); }
  UOp vectorize(UOpSpan src) { return graph.node(Op::VECTORIZE, src[0].dtype().vec(int64_t(src.size())), src); }

  void check_rule(std::string_view rule, UOp from, UOp to, ContextRef ctx = {}, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    UOp got = apply_rule(rule, from, ctx, file, line);
    INFO(std::string(file) << ":" << line << ": rule " << rule << " on\n"
                           << describe(from) << "\nmade\n"
                           << (got ? describe(got) : "    nothing") << "\nnot\n"
                           << describe(to));
    CHECK(got == to);
    if (got == to) mark_rule_fired(rule);
  }
  void check_branch(std::string_view rule, std::string_view branch, UOp from, UOp to, ContextRef ctx = {},
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    UOp got = apply_rule(rule, from, ctx, file, line);
    std::string_view taken = last_hit_.branch ? last_hit_.branch : "none";
    INFO(std::string(file) << ":" << line << ": rule " << rule << " on\n"
                           << describe(from) << "\nmade by " << taken << "\n"
                           << (got ? describe(got) : "    nothing"));
    CHECK(taken == branch);
    CHECK((got && got.simplify() == to.simplify()));
    if (got && taken == branch) mark_rule_fired(rule);
  }
  void check_declines(std::string_view rule, UOp from, ContextRef ctx = {}, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    UOp got = apply_rule(rule, from, ctx, file, line);
    INFO(std::string(file) << ":" << line << ": rule " << rule << " on\n"
                           << describe(from) << "\nmade\n"
                           << (got ? describe(got) : "    nothing"));
    CHECK(!got);
  }
  void check_match_declines(std::string_view rule, UOp from, ContextRef ctx, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
    check_declines(rule, from, ctx, file, line);
    if (last_hit_.rule) mark_rule_fired(rule);
    INFO(std::string(file) << ":" << line << ": rule " << rule << " does not match\n" << describe(from));
    CHECK(last_hit_.rule != nullptr);
  }
  void check_throws(std::string_view rule, UOp from, ContextRef ctx = {}, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    CHECK_THROWS_AS(check_declines(rule, from, ctx, file, line), Failure);
  }
  // Checks that the whole rule set, applied until nothing changes, rewrites `from` to `to`.
  void check_rewrite(UOp from, UOp to, ContextRef ctx = {}, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
    UOp got = graph_rewrite(from, rule_set_, {.ctx = ctx});
    INFO(std::string(file) << ":" << line << ":\n"
                           << describe(from) << "\nbecame\n"
                           << describe(got) << "\nnot\n"
                           << describe(to));
    CHECK(got == to);
  }
  // Checks that check_rule, check_branch or check_match_declines was called for the name of each rule of the set, and
  // check_rule or check_branch for each named branch.
  void check_all_rules_fired() { check_all_rules_fired({&rule_set_}); }
  void check_all_rules_fired(std::initializer_list<const RuleSet*> sets) {
    std::string missing;
    for (const RuleSet* set : sets)
      for (const Rule* r : set->rules()) {
        if (!fired_names_.count(std::string(r->name))) missing += "\n  " + tgc::describe(*r);
        for (std::string_view branch : named_branches(*r))
          if (!fired_names_.count(name_with_branch(r->name, branch)))
            missing += "\n  " + tgc::describe(*r) + ", branch " + std::string(branch);
      }
    INFO("rules without a check:" << missing);
    CHECK(missing.empty());
  }

 private:
  UOp apply_rule(std::string_view name, UOp u, ContextRef ctx, const char* file, int line) {
    auto [it, is_new] = matchers_.try_emplace(std::string(name));
    if (is_new) {
      std::vector<const Rule*> rules;
      for (const Rule* r : rule_set_.rules())
        if (r->name == name) rules.push_back(r);
      if (!rules.empty()) it->second = std::make_unique<const Matcher>(rules);
    }
    INFO(std::string(file) << ":" << line << ": no rule " << name << " in " << rule_set_.name());
    REQUIRE(it->second != nullptr);
    last_hit_ = {};
    return it->second->rewrite(u, ctx.ptr(), ctx.type(), last_hit_);
  }
  static std::string name_with_branch(std::string_view rule, std::string_view branch) {
    return std::string(rule) + ": " + std::string(branch);
  }
  void mark_rule_fired(std::string_view name) {
    fired_names_.insert(std::string(name));
    if (last_hit_.branch) fired_names_.insert(name_with_branch(name, last_hit_.branch));
    note_checked_rule(*last_hit_.rule);
  }

  const RuleSet& rule_set_;
  std::map<std::string, std::unique_ptr<const Matcher>> matchers_;
  std::set<std::string>
      fired_names_;
  RuleHit last_hit_;
};

}  // namespace tgc
