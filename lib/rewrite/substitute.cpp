#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/stats.h"
#include "lib/rewrite/workspace.h"

namespace tgc {

SubstituteContext::SubstituteContext(Graph&, const Substitution& replacements) {
  for (auto& pair : replacements) {
    if (pair.first == pair.second) continue;
    replacement_pairs_.push_back(pair);
    ops_.add(pair.first.op());
    first_node_id_ = std::min(first_node_id_, pair.first.id());
  }
  constexpr size_t kFew = 8;  // a scan of up to this many pairs is faster than a hash lookup
  if (replacement_pairs_.size() > kFew)
    for (auto [from, to] : replacement_pairs_) replacement_map_[from.node()] = to;
}

UOp SubstituteContext::find_replacement(UOp u) const {
  if (!ops_.contains(u.op())) return {};
  if (!replacement_map_.empty()) {
    auto it = replacement_map_.find(u.node());
    return it == replacement_map_.end() ? UOp() : it->second;
  }
  for (size_t i = replacement_pairs_.size(); i-- > 0;)  // if several pairs have the same node, the last pair is used
    if (replacement_pairs_[i].first == u) return replacement_pairs_[i].second;
  return {};
}

const RuleSet& substitute_rules() {
  using namespace pat;
  static const RuleSet set(
      "substitute", {
                        rule("substitute", node(OpSet::all()).as(x),
                             with_ctx<const SubstituteContext>(
                                 x, [](const SubstituteContext& ctx, UOp x) { return ctx.find_replacement(x); })),
                    });
  return set;
}

namespace {

// Performs a rewrite whose only rules are substitute_rules(), with the same result as Rewriter (rewrite.cpp), but
// faster.
template <class Where>
class Substituter {
 public:
  Substituter(Graph& graph, const SubstituteContext& replacements, std::string_view name, const RewriteState& state,
              RewriteWorkspace& workspace, Where& results)
      : graph_(graph),
        replacements_(replacements),
        stats_(state.observer ? state.observer->rule_stats : nullptr),
        observer_(state.observer && !state.observer->is_counting_only ? state.observer : nullptr),
        override_(state.rewrite_override),
        first_replaced_id_(stats_ ? 0 : replacements.first_node_id()),
        name_(name),
        stack_limit_(state.stack_limit(graph)),
        workspace_(workspace),
        results_(results) {}
  ~Substituter() {
    if (stats_) stats_->add_counts(rule(), num_replaced_, num_lookups_);
  }

  UOp run(UOp root) {
    if (root.id() < first_replaced_id_) return root;
    results_.fit_graph(graph_);
    run_mark_ = ++results_.last_epoch_number;
    begin_node(root);
    while (!workspace_.node_visits.empty()) advance_visit(workspace_.node_visits.back());
    return UOp(results_.slot_of(root).result);
  }

 private:
  using NodeVisit = RewriteWorkspace::NodeVisit;
  // NodeVisit::next_source of a visit that waits for the result of NodeVisit::replacement
  static constexpr uint32_t kWaitsForReplacement = UINT32_MAX;
  static const Rule& rule() { return *substitute_rules().rules()[0]; }

  void begin_node(UOp n) {
    UOp now = last_replacement(n);
    if (now.num_src() == 0 || now.id() < first_replaced_id_)
      return results_.writable_at(n).set(now.node(), results_.epoch_number);
    push_visit(n, now);
  }

  void push_visit(UOp n, UOp now) {
    RewriteSlot& slot = results_.writable_at(n);
    if (slot.slot_mark == run_mark_) [[unlikely]]
      fail_endless_rewrite(workspace_, name_, "a node is made of itself", n);
    slot.slot_mark = run_mark_;
    workspace_.node_visits.push_back({n, now, 0, false});
    if (workspace_.node_visits.size() > stack_limit_) [[unlikely]]
      fail_endless_rewrite(workspace_, name_,
                           "more than " + std::to_string(stack_limit_) + " nodes wait (REWRITE_STACK_LIMIT)", {});
  }

  void advance_visit(NodeVisit& v) {
    const uint32_t epoch_number = results_.epoch_number;
    if (v.next_source == kWaitsForReplacement) return finish_visit(v, UOp(results_.slot_of(v.replacement).result));
    bool changed = v.has_changed_source;
    auto src = v.replacement.src();
    for (size_t i = v.next_source; i < src.size(); i++) {
      UOp s = src[i];
      if (s.id() < first_replaced_id_) continue;
      const RewriteSlot& slot = results_.slot_of(s);
      if (slot.slot_mark == epoch_number) {
        changed |= slot.result != s.node();
        continue;
      }
      v.next_source = uint32_t(i);
      v.has_changed_source = changed;
      return begin_node(s);
    }
    if (!changed) return finish_visit(v, v.replacement);
    UOp made = rebuild_with_results(v.replacement);
    if (observer_) [[unlikely]] observer_->on_node_rebuilt(v.replacement, made);
    const RewriteSlot& known = results_.slot_of(made);
    if (known.slot_mark == epoch_number) return finish_visit(v, UOp(known.result));
    UOp now = last_replacement(made);
    if (now == made) return finish_visit(v, made);
    v.replacement = made;
    v.next_source = kWaitsForReplacement;
    push_visit(made, now);
  }

  void finish_visit(const NodeVisit& v, UOp result) {
    results_.writable_at(v.node).set(result.node(), results_.epoch_number);
    workspace_.node_visits.pop_back();
  }

  UOp look_up_replacement(UOp u) {
    UOp out = replacements_.find_replacement(u);
    if (out && override_) [[unlikely]] out = override_->choose_result({&rule()}, u, out);
    num_lookups_++;
    num_replaced_ += bool(out);
    if (out && observer_) [[unlikely]] observer_->on_rule_applied({&rule()}, u, out, {uint32_t(graph_.size()), 0});
    return out;
  }

  UOp last_replacement(UOp u) {
    size_t steps = 0;
    for (UOp next = look_up_replacement(u); next; next = look_up_replacement(u)) {
      u = next;
      if (++steps > replacements_.replacement_pairs().size())
        fail_endless_rewrite(workspace_, name_, "a node is rewritten to itself", {});
    }
    return u;
  }

  UOp rebuild_with_results(UOp u) {
    UOp out = workspace_.rebuild_node_with(
        u, [this](UOp s) { return s.id() < first_replaced_id_ ? s : UOp(results_.slot_of(s).result); });
    results_.fit_graph(graph_);
    return out;
  }

  Graph& graph_;
  const SubstituteContext& replacements_;
  RuleStats* stats_;
  RewriteObserver* observer_;
  RewriteOverride* override_;
  // smallest id of a replaced node, or 0 to count all lookups; nodes with smaller ids do not change
  uint32_t first_replaced_id_;
  std::string_view name_;
  size_t stack_limit_;
  RewriteWorkspace& workspace_;
  Where& results_;
  uint32_t run_mark_ = 0;
  uint64_t num_lookups_ = 0, num_replaced_ = 0;
};

}  // namespace

UOp substitute(UOp u, const Substitution& replacements, const RuleSet* rules, std::string_view name) {
  Graph& graph = u.graph();
  SubstituteContext ctx(graph, replacements);
  if (ctx.replacement_pairs().empty()) return u;
  RewriteOptions options{.ctx = ctx, .bottom_up = true, .name = name};
  if (rules) return graph_rewrite(u, *rules, options);
  auto& state = graph.extension<RewriteState>();
  RewriteReporter scope(state, u, substitute_rules(), options);
  PooledWorkspace workspace(state);
  return scope.finish_rewrite(run_with_new_results(state, *workspace, [&](auto& results) {
    return Substituter(graph, ctx, name_of(options, substitute_rules()), state, *workspace, results).run(u);
  }));
}

}  // namespace tgc
