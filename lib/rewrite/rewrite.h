// Applies a rule set to a graph until nothing changes (uop/ops.py:graph_rewrite, RewriteContext.unified_rewrite), and
// reports rewrites to observers.
#pragma once
#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// A reference to the rewrite's context: an object of any type, passed to rule functions that take that type.
class ContextRef {
 public:
  ContextRef() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_const_t<T>, ContextRef>)
  ContextRef(T& object)
      : context_ptr_(const_cast<void*>(static_cast<const void*>(&object))), type_key_(type_key<T>()) {}
  void* ptr() const { return context_ptr_; }
  const char* type() const { return type_key_; }

 private:
  void* context_ptr_ = nullptr;
  const char* type_key_ = nullptr;
};

struct RewriteOptions {
  ContextRef ctx = {};
  bool bottom_up = false;        // true: apply the rules to a node before its sources are rewritten
  // the rewrite's name in messages and for observers; if empty, the rule set's name is used
  std::string_view name = {};
  const RuleSet* bpm = nullptr;  // rules to apply bottom-up in the same rewrite; requires bottom_up == false
};

// Rewrites the graph under `sink` with `rules` and returns the new root. Throws a Failure if the rewrite fails, does
// not end, or passes the deadline. Also throws a Failure if the graph is of another release than tinygrad 0.12.0,
// unless a fast path finds that no rule can apply.
UOp graph_rewrite(UOp sink, const RuleSet& rules, const RewriteOptions& options = {});

// Rewrites `sink` and each node under it. Returns (node, result) pairs in toposort order, reversed if bottom-up. The
// rewrites share one cache of results (ops.py:graph_rewrite_map). Throws a Failure as graph_rewrite() does, and always
// for a graph of another release.
std::vector<std::pair<UOp, UOp>> graph_rewrite_map(UOp sink, const RuleSet& rules, const RewriteOptions& options = {});

// Tries the rules once on each of `nodes`, in order. The rules must decline every node; they may only change the
// context. Throws a Failure if a rule returns another node.
void try_rules_on_each(std::span<const UOp> nodes, const RuleSet& rules, const RewriteOptions& options = {});

// Replaces nodes in the graph under `u`, bottom-up to a fixed point (UOp.substitute). Throws a Failure if the rewrite
// fails or does not end. If `rules` is set, it must end with the rules of substitute_rules(). If no pair of
// `replacements` has two different nodes, returns `u` and applies no rules.
using Substitution = std::vector<std::pair<UOp, UOp>>;
UOp substitute(UOp u, const Substitution& replacements, const RuleSet* rules = nullptr, std::string_view name = {});

// Returns the rule set of substitutions (ops.py:_substitute). SubstituteContext is the context of these rules.
const RuleSet& substitute_rules();
class SubstituteContext {
 public:
  SubstituteContext(Graph& graph, const Substitution& replacements);  // ignores pairs of a node and itself
  UOp find_replacement(UOp u) const;  // returns the replacement of `u`; the empty UOp if `u` has none
  std::span<const std::pair<UOp, UOp>> replacement_pairs() const { return replacement_pairs_; }
  uint32_t first_node_id() const { return first_node_id_; }

 private:
  OpSet ops_;
  Substitution replacement_pairs_;
  std::unordered_map<const Node*, UOp> replacement_map_;
  uint32_t first_node_id_ = UINT32_MAX;
};

// A bottom-up rule returns bottom_up_gate() to leave a node and all nodes below it unchanged (ops.py:BottomUpGate). The
// gate is a marker, not a node of any graph.
inline const Node kBottomUpGate{};
inline UOp bottom_up_gate() { return UOp(&kBottomUpGate); }

// Receives the events of the rewrites in one graph, which has at most one observer. The events of a nested rewrite in
// this graph are reported between the begin and end of the outer rewrite.
class RewriteObserver {
 public:
  virtual ~RewriteObserver() = default;
  virtual void begin_rewrite(std::string_view /*name*/, UOp /*sink*/, const RuleSet& /*rules*/, bool /*bottom_up*/) {}
  // `num_nodes_before` is the number of nodes in the graph before the rules were tried: nodes with ids from
  // `num_nodes_before` on are new. `time_ns` is the time in nanoseconds that trying the rules took; 0 if not measured.
  struct RuleCost {
    uint32_t num_nodes_before;
    uint64_t time_ns;
  };
  virtual void on_rule_applied(const RuleHit& /*hit*/, UOp /*before*/, UOp /*after*/, RuleCost /*cost*/) {}
  virtual void on_node_rebuilt(UOp /*before*/, UOp /*after*/) {}  // `after` is `before` with its rewritten sources
  virtual void on_node_gated(UOp /*node*/) {}                      // a rule returned bottom_up_gate() for the node
  // `result` is empty if an exception ended the rewrite
  virtual void end_rewrite(std::string_view /*name*/, UOp /*result*/) {}
  RuleStats* rule_stats = nullptr;  // if set, tries and hits are counted here
  bool is_counting_only = false;    // true: rewrites only fill `rule_stats` and call none of the functions above
};
void set_observer(Graph& graph, RewriteObserver* observer);
RewriteObserver* rewrite_observer_of(Graph& graph);

// Returns a text for messages that shows the node `u` and its sources down to `depth` levels, one node per line. A long
// text is cut.
std::string describe(UOp u, int depth = 4);

}  // namespace tgc
