#include "lib/rewrite/rewrite.h"

#include <algorithm>
#include <chrono>

#include "lib/rewrite/hits.h"
#include "lib/rewrite/stats.h"
#include "lib/rewrite/workspace.h"
#include "lib/support/deadline.h"
#include "lib/support/result.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

Graph& check_release(Graph& graph) {
  if (graph.is_foreign()) throw Failure("the rules are tinygrad 0.12.0's, and the graph is of another release");
  return graph;
}

const Shortcut kAppliesNowhere("applies-nowhere", "walking a graph that lacks the ops that the rules are for");
const Shortcut kKnownResults("known-results",
                             "rewriting again what rules without a context rewrote before, in the same graph");
const Shortcut kTriedRules("tried-rules", "trying rules again on a node to which they did not apply");
const Shortcut kDepthFirst("depth-first",
                           "tinygrad's stack of nodes that wait for others, where no context sees the order");

struct RewriteFastPaths {
  TableResults*
      shared_results;  // results of earlier rewrites with the same rules, to reuse; null to start without results
  bool skips_tried_rules;     // true: use the negative cache
  bool is_depth_first;
};

// Performs one or several rewrites with the same rules. `Where` is the storage of the results: NodeResults or
// TableResults.
template <class Where>
class Rewriter {
 public:
  // `results` must have no valid results (a new epoch), or only results of earlier rewrites with the same rules.
  Rewriter(Graph& graph, const RuleSet& rules, const RewriteOptions& options, RewriteFastPaths paths,
           RewriteState& state, RewriteWorkspace& workspace, Where& results)
      : graph_(check_release(graph)),
        ctx_(options.ctx),
        name_(name_of(options, rules)),
        pm_(options.bottom_up ? nullptr : &rules.matcher()),
        bpm_(options.bottom_up ? &rules.matcher()
             : options.bpm     ? &options.bpm->matcher()
                               : nullptr),
        observer_(state.observer),
        override_(state.rewrite_override),
        is_watched_(state.is_watched()),
        reports_events_(observer_ && !observer_->is_counting_only),
        uses_negative_cache_(paths.skips_tried_rules),
        keeps_order_(!paths.is_depth_first),
        stack_limit_(state.stack_limit(graph)),
        workspace_(workspace),
        results_(results) {}

  UOp run(UOp root) {
    fit_tables();
    if (UOp known = result_of(root)) return known;
    run_mark_ = ++results_.last_epoch_number;
    if (keeps_order_) run_in_order(root);
    else run_depth_first(root);
    return result_of(root);
  }

  void try_rules_on(UOp u) {
    TGC_CHECK(!apply_matcher(*pm_, u), "a rule of try_on_each made a node: " + describe(*tried_hit_.rule));
  }

 private:
  enum FrameStep { kEnter, kRebuild, kLink };
  static constexpr uint32_t kWaitsForReplacement = UINT32_MAX;
  static constexpr size_t kHitsPerCheck = 64;

  void fit_tables() { results_.fit_graph(graph_); }
  bool is_done(UOp u) const { return results_.slot_of(u).slot_mark == results_.epoch_number; }
  UOp result_of(UOp u) const {
    const RewriteSlot& slot = results_.slot_of(u);
    return slot.slot_mark == results_.epoch_number ? UOp(slot.result) : UOp();
  }
  void set_result(UOp u, UOp result) {
    results_.writable_at(u).set(result.node(), results_.epoch_number);
    workspace_.deferred_frames.mark_node_done(u);
  }

  // ---- tinygrad's order, which is used if a context, an observer or a RewriteOverride can see the order. A node that
  // is already on the stack is not pushed again; a frame that needs the node's result earlier is deferred.
  void run_in_order(UOp root) {
    workspace_.deferred_frames.clear();
    push_node(root, results_.writable_at(root));
    do {
      while (!workspace_.stack.empty()) {
        RewriteFrame f = workspace_.stack.back();
        workspace_.stack.pop_back();
        if (!is_done(f.node)) run_frame(f);
      }
    } while (push_ready_frame());
  }

  void run_frame(const RewriteFrame& f) {
    if (f.next_step == kEnter) enter_node(f.node);
    else if (f.next_step == kRebuild) rebuild_from_sources(f.node, f.new_node);
    else set_linked_result(f.node, f.new_node);
  }

  void push_frame(UOp n, UOp new_n, FrameStep next_step) { workspace_.stack.push_back({n, new_n, next_step}); }
  void push_node(UOp u, RewriteSlot& slot) {
    slot.slot_mark = run_mark_;
    push_frame(u, u, kEnter);
  }

  void defer_frame(UOp n, UOp new_n, FrameStep next_step, UOp waits_for) {
    workspace_.deferred_frames.add_frame({n, new_n, next_step}, waits_for);
    check_stack_limit(workspace_.stack.size() + workspace_.deferred_frames.size());
  }

  // Pushes the next deferred frame that can proceed. Returns false if no frame is deferred; throws if none can proceed.
  bool push_ready_frame() {
    RewriteFrame next;
    if (!workspace_.deferred_frames.size()) return false;
    if (!workspace_.deferred_frames.take_next_frame(next)) {
      // a nested rewrite may have set results
      workspace_.deferred_frames.recheck_blocked_frames([&](UOp u) { return is_done(u); });
      if (!workspace_.deferred_frames.take_next_frame(next)) throw_endless("nodes wait for each other");
    }
    workspace_.stack.push_back(next);
    return true;
  }

  const Matcher& remaining_rules_for(UOp u) const {
    return uses_negative_cache_
               ? *pm_->remaining_rules_after(RewriterDataAccess::declined_set_number(u)).remaining_matcher
               : *pm_;
  }

  UOp apply_top_down(UOp u) {
    if (!uses_negative_cache_) return apply_matcher(*pm_, u);
    const RemainingRules& after = pm_->remaining_rules_after(RewriterDataAccess::declined_set_number(u));
    UOp out = apply_matcher(*after.remaining_matcher, u);
    if (!out) RewriterDataAccess::declined_set_number(u) = after.new_set_number;
    return out;
  }

  UOp apply_matcher(const Matcher& matcher, UOp u) {
    return matcher.has_rules_for(u.op()) ? try_rules(matcher, u) : UOp();
  }
  UOp try_rules(const Matcher& matcher, UOp u) {
    tried_hit_ = {};
    UOp out;
    try {
      out = is_watched_ ? rewrite_observed(matcher, u, tried_hit_)
                        : matcher.rewrite(u, ctx_.ptr(), ctx_.type(), tried_hit_);
    } catch (Failure& failure) {
      add_failure_context(failure, u);
      throw;
    }
    fit_tables();
    if (!out) return out;
    workspace_.recent_hits[workspace_.num_hits++ % RewriteWorkspace::kMaxRecentHits] = {tried_hit_.rule, u};
    if (workspace_.num_hits % kHitsPerCheck == 0) throw_if_late();
    return out;
  }

  [[gnu::cold, gnu::noinline]] void add_failure_context(Failure& failure, UOp u) {
    if (tried_hit_.rule && failure.diag().context.empty())
      failure.diag().context =
          "  in stage '" + std::string(name_) + "', rule " + describe(*tried_hit_.rule) + ", at\n" + describe(u);
  }

  [[gnu::noinline]] UOp rewrite_observed(const Matcher& matcher, UOp u, RuleHit& hit) {
    using Clock = std::chrono::steady_clock;
    auto size = uint32_t(graph_.size());
    auto begin = reports_events_ ? Clock::now() : Clock::time_point();
    UOp out = matcher.rewrite_watched(u, ctx_.ptr(), ctx_.type(), hit, observer_ ? observer_->rule_stats : nullptr,
                                      override_);
    if (out && reports_events_ && !(out == bottom_up_gate()))
      observer_->on_rule_applied(hit, u, out, {size, uint64_t(std::chrono::nanoseconds(Clock::now() - begin).count())});
    return out;
  }

  UOp apply_bottom_up(UOp u) {
    workspace_.bottom_up_results.fit_graph(graph_);
    const RewriteSlot& known = workspace_.bottom_up_results[u.id()];
    if (known.slot_mark == workspace_.num_rewrites) return UOp(known.result);
    UOp out = apply_matcher(*bpm_, u);
    workspace_.bottom_up_results.writable_at(u.id()).set(out.node(), workspace_.num_rewrites);
    return out;
  }

  // Replaces `u` by the fixed point of the bottom-up rules. Returns false if a rule returned bottom_up_gate().
  bool bottom_up_to_fixed_point(UOp& u) {
    size_t steps = 0, next_checkpoint = 1;
    UOp checkpoint = u;  // an earlier node to compare with, replaced after 1, 2, 4, ... steps (Brent's cycle detection)
    for (UOp next = apply_bottom_up(u); next; next = apply_bottom_up(u)) {
      if (next == bottom_up_gate()) return false;
      u = next;
      if (u == checkpoint) throw_endless("a node is rewritten to itself");
      if (++steps == next_checkpoint) {
        checkpoint = u;
        next_checkpoint *= 2;
      }
    }
    return true;
  }

  void enter_node(UOp n) {
    UOp new_n = n;
    if (!apply_bottom_up_rules(new_n)) {
      if (reports_events_) observer_->on_node_gated(new_n);
      return set_result(n, new_n);
    }
    size_t before = workspace_.stack.size();
    push_frame(n, new_n, kRebuild);
    for (size_t i = new_n.num_src(); i-- > 0;) {
      UOp s = new_n.src(i);
      RewriteSlot& slot = results_.writable_at(s);
      if (slot.slot_mark != run_mark_ && slot.slot_mark != results_.epoch_number) push_node(s, slot);
    }
    check_stack_limit(workspace_.stack.size());
    if (workspace_.stack.size() > before + 1) return;
    workspace_.stack.pop_back();  // no source needs a visit, so rebuild the node now
    rebuild_from_sources(n, new_n);
  }

  void rebuild_from_sources(UOp n, UOp new_n) {
    bool changed = false;
    for (UOp s : new_n.src()) {
      const RewriteSlot& slot = results_.slot_of(s);
      if (slot.slot_mark != results_.epoch_number) return defer_frame(n, new_n, kRebuild, s);
      changed |= slot.result != s.node();
    }
    if (changed) return continue_with_rebuilt(n, new_n);
    UOp next = pm_ ? apply_top_down(new_n) : UOp();
    if (!next) return set_result(n, new_n);
    if (UOp r = result_of(next)) return set_result(n, r);
    push_frame(n, next, kLink);
    push_frame(next, next, kEnter);
  }

  // Rebuilds `new_n` with its rewritten sources and continues with the new node. If rewriting these sources again would
  // not change them, and no bottom-up rule applies to the new node, applies the top-down rules to it at once, without a
  // visit of the sources.
  void continue_with_rebuilt(UOp n, UOp new_n) {
    UOp next = rebuild_with_results(new_n);
    inherit_facts(new_n, next);
    if (reports_events_) observer_->on_node_rebuilt(new_n, next);
    if (UOp r = result_of(next)) return set_result(n, r);
    bool settled = std::ranges::all_of(next.src(), [&](UOp s) { return result_of(s) == s; });
    if (!settled || (bpm_ && bpm_->has_rules_for(next.op()) && apply_bottom_up(next))) {
      push_frame(n, next, kLink);
      return push_frame(next, next, kEnter);
    }
    UOp after = pm_ ? apply_top_down(next) : UOp();
    if (UOp known = after ? result_of(after) : next) {
      set_result(next, known);
      return set_result(n, known);
    }
    push_frame(n, next, kLink);
    push_frame(next, after, kLink);
    push_frame(after, after, kEnter);
  }

  void set_linked_result(UOp n, UOp new_n) {
    UOp r = result_of(new_n);
    if (!r) return defer_frame(n, new_n, kLink, new_n);
    set_result(n, r);
  }

  // ---- depth-first order: a node's result is computed when it is first needed, so no frame is deferred. Used for
  // rules that change no context, because their result does not depend on the order.
  void run_depth_first(UOp root) {
    if (!bpm_ && is_unaffected(root)) return set_result(root, root);
    begin_node(root);
    while (!workspace_.node_visits.empty()) advance_visit(workspace_.node_visits.back());
  }

  void begin_node(UOp n) {
    mark_visit_begun(n);
    UOp now = n;
    if (!apply_bottom_up_rules(now)) return set_result(n, now);
    if (bpm_ && now == n && is_unaffected(n)) return set_result(n, n);
    push_visit(n, now, 0);
  }

  [[gnu::always_inline]] void advance_visit(RewriteWorkspace::NodeVisit& v) {
    if (v.next_source == kWaitsForReplacement) return finish_visit(v, result_of(v.replacement));
    const uint32_t epoch_number = results_.epoch_number;
    bool changed = false;
    auto src = v.replacement.src();
    for (size_t i = v.next_source; i < src.size(); i++) {
      UOp s = src[i];
      const RewriteSlot& slot = results_.slot_of(s);
      if (slot.slot_mark == epoch_number) {
        changed |= slot.result != s.node();
      } else if (!bpm_ && is_unaffected(s)) {
        results_.writable_at(s).set(s.node(), epoch_number);
      } else {
        v.next_source = uint32_t(i);
        v.has_changed_source |= changed;
        return begin_node(s);
      }
    }
    if (v.has_changed_source || changed) return continue_visit_with(v, rebuild_with_results(v.replacement));
    UOp next = pm_ ? apply_top_down(v.replacement) : UOp();
    if (!next) return finish_visit(v, v.replacement);
    if (UOp r = result_of(next)) return finish_visit(v, r);
    v.replacement = next;
    v.next_source = kWaitsForReplacement;
    begin_node(next);
  }

  // Continues the visit `v` with `next`, which is `v.replacement` with rewritten sources. Rewriting these sources again
  // would not change them, so only the rules for `next` itself remain.
  void continue_visit_with(RewriteWorkspace::NodeVisit& v, UOp next) {
    if (UOp r = result_of(next)) return finish_visit(v, r);
    mark_visit_begun(next);
    UOp now = next;
    bool gated = !apply_bottom_up_rules(now);
    UOp after = !gated && now == next && pm_ ? apply_top_down(next) : UOp();
    UOp known = after ? result_of(after) : gated || now == next ? now : UOp();
    if (known) {
      set_result(next, known);
      return finish_visit(v, known);
    }
    v.replacement = next;
    v.next_source = kWaitsForReplacement;
    if (!after) return push_visit(next, now, 0);
    push_visit(next, after, kWaitsForReplacement);
    begin_node(after);
  }

  void mark_visit_begun(UOp n) {
    RewriteSlot& slot = results_.writable_at(n);
    if (slot.slot_mark == run_mark_) throw_endless("a node is made of itself", n);
    slot.slot_mark = run_mark_;
  }

  bool apply_bottom_up_rules(UOp& now) {
    return !bpm_ || !bpm_->has_rules_for(now.op()) || bottom_up_to_fixed_point(now);
  }

  // True if a cheap test shows that no top-down rule applies to `u` or to a node below `u`.
  bool is_unaffected(UOp u) const {
    if (!pm_) return u.num_src() == 0;
    const Matcher& rest = remaining_rules_for(u);
    return rest.rules().empty() || (u.num_src() == 0 && !rest.has_rules_for(u.op()));
  }

  [[gnu::always_inline]] void push_visit(UOp n, UOp now, uint32_t next) {
    workspace_.node_visits.push_back({n, now, next, false});
    check_stack_limit(workspace_.node_visits.size());
  }

  void finish_visit(const RewriteWorkspace::NodeVisit& v, UOp result) {
    set_result(v.node, result);
    workspace_.node_visits.pop_back();
  }

  UOp rebuild_with_results(UOp u) {
    UOp out = workspace_.rebuild_node_with(u, [this](UOp s) { return result_of(s); });
    fit_tables();
    return out;
  }

  void check_stack_limit(size_t waiting) {
    if (waiting > stack_limit_) [[unlikely]] throw_too_many_waiting();
  }
  [[noreturn, gnu::noinline]] void throw_too_many_waiting() {
    throw_endless("more than " + std::to_string(stack_limit_) + " nodes wait (REWRITE_STACK_LIMIT)");
  }

  [[noreturn, gnu::noinline]] void throw_endless(std::string_view why, UOp start = {}) {
    fail_endless_rewrite(workspace_, name_, why, start);
  }

  Graph& graph_;
  ContextRef ctx_;
  std::string_view name_;
  const Matcher* pm_;
  const Matcher* bpm_;
  RewriteObserver* observer_;
  RewriteOverride* override_;
  bool is_watched_;
  bool reports_events_;  // true if there is an observer that receives events, not only counts
  bool uses_negative_cache_;
  bool keeps_order_;
  size_t stack_limit_;
  RewriteWorkspace& workspace_;
  Where& results_;
  uint32_t run_mark_ = 0;
  RuleHit tried_hit_;
};

// Returns the table of results that rewrites with these rules share; null for bottom-up rules, for rules that use a
// context, and on the first call for a rule set in a graph.
TableResults* shared_results_of(RewriteState& state, const RuleSet& rules, const RewriteOptions& options) {
  if (options.bottom_up || options.bpm || rules.matcher().is_context_used()) return nullptr;
  uint32_t number = rules.matcher().matcher_number();
  if (number >= state.shared_results.size()) state.shared_results.resize(2 * number + 64);
  auto& known = state.shared_results[number];
  if (!std::exchange(known.was_requested, true)) return nullptr;
  if (!known.results) {
    known.results = std::make_unique<TableResults>();
    known.results->begin_epoch();
  }
  return known.results.get();
}

// Chooses the fast paths of a rewrite. In a graph with an observer or RewriteOverride, chooses none, except those that
// a ShortcutTrial requests and, if there is only an observer that counts, the depth-first order.
RewriteFastPaths choose_fast_paths(RewriteState& state, const RuleSet& rules, const RewriteOptions& options) {
  constexpr size_t kWorthRemembering = 32;  // with fewer rules, the negative cache saves no time
  auto quick = [&](const Shortcut& what) { return state.choose_way(what).chosen_way == ShortcutWay::Quick; };
  bool one_set = !options.bottom_up && !options.bpm;
  bool shows_order =
      rules.matcher().is_context_changed() || (options.bpm && options.bpm->matcher().is_context_changed());
  bool only_counted = state.observer && state.observer->is_counting_only && !state.rewrite_override &&
                      !state.trial;  // then take the depth-first order: it gives the same counts
  return {quick(kKnownResults) ? shared_results_of(state, rules, options) : nullptr,
          one_set && rules.rules().size() >= kWorthRemembering && quick(kTriedRules),
          !shows_order && (only_counted || quick(kDepthFirst))};
}

template <class Use>
auto call_with_rewriter(Graph& graph, RewriteState& state, const RuleSet& rules, const RewriteOptions& options,
                        RewriteFastPaths paths, Use use) {
  PooledWorkspace workspace(state);
  auto with_results_in = [&](auto& results) {
    Rewriter rewriter(graph, rules, options, paths, state, *workspace, results);
    return use(rewriter);
  };
  return paths.shared_results ? with_results_in(*paths.shared_results)
                             : run_with_new_results(state, *workspace, with_results_in);
}

bool applies_nowhere(const Graph& graph, const RuleSet& rules, const RewriteOptions& options) {
  return !rules.matcher().may_apply(graph.ops()) && !(options.bpm && options.bpm->matcher().may_apply(graph.ops()));
}

UOp run_rewrite(UOp u, RewriteState& state, const RuleSet& rules, const RewriteOptions& options) {
  RewriteFastPaths paths = choose_fast_paths(state, rules, options);
  UOp out =
      call_with_rewriter(u.graph(), state, rules, options, paths, [&](auto& rewriter) { return rewriter.run(u); });
  if (state.trial) [[unlikely]] {
    auto tell = [&](const Shortcut& what, bool quick) {
      state.trial->review_result(what, quick ? ShortcutWay::Quick : ShortcutWay::Faithful, {&out, 1});
    };
    tell(kKnownResults, paths.shared_results != nullptr);
    tell(kTriedRules, paths.skips_tried_rules);
    tell(kDepthFirst, paths.is_depth_first);
  }
  return out;
}

}  // namespace

UOp graph_rewrite(UOp sink, const RuleSet& rules, const RewriteOptions& options) {
  Graph& graph = sink.graph();
  auto& state = graph.extension<RewriteState>();
  RewriteReporter scope(state, sink, rules, options);
  auto none_applies = [&] { return applies_nowhere(graph, rules, options) ? std::optional(sink) : std::nullopt; };
  return scope.finish_rewrite(detail::run_chosen_way(state.choose_way(kAppliesNowhere), kAppliesNowhere, none_applies,
                              [&] { return run_rewrite(sink, state, rules, options); }));
}

std::vector<std::pair<UOp, UOp>> graph_rewrite_map(UOp sink, const RuleSet& rules, const RewriteOptions& options) {
  auto& state = sink.graph().extension<RewriteState>();
  RewriteReporter scope(state, sink, rules, options);
  auto nodes = toposort(sink);
  if (options.bottom_up) std::reverse(nodes.begin(), nodes.end());
  std::vector<std::pair<UOp, UOp>> out;
  call_with_rewriter(sink.graph(), state, rules, options, choose_fast_paths(state, rules, options),
                     [&](auto& rewriter) {
                       for (UOp u : nodes) out.emplace_back(u, rewriter.run(u));
                     });
  for (auto& [from, to] : out)
    if (from == sink) scope.finish_rewrite(to);
  return out;
}

void try_rules_on_each(std::span<const UOp> nodes, const RuleSet& rules, const RewriteOptions& options) {
  if (nodes.empty()) return;
  UOp last = nodes.back();
  auto& state = last.graph().extension<RewriteState>();
  RewriteReporter scope(state, last, rules, options);
  call_with_rewriter(last.graph(), state, rules, options, {}, [&](auto& rewriter) {
    for (UOp u : nodes) rewriter.try_rules_on(u);
  });
  scope.finish_rewrite(last);
}

void set_observer(Graph& graph, RewriteObserver* observer) { graph.extension<RewriteState>().observer = observer; }
RewriteObserver* rewrite_observer_of(Graph& graph) { return graph.extension<RewriteState>().observer; }

}  // namespace tgc
