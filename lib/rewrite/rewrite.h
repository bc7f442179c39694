// graph_rewrite: applies a rule set to a graph until nothing changes (uop/ops.py graph_rewrite,
// RewriteContext.unified_rewrite).
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// The context that a rewrite hands to its actions: any object, known by its type.
class ContextRef {
 public:
  ContextRef() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_const_t<T>, ContextRef>)
  ContextRef(T& object) : ptr_(const_cast<void*>(static_cast<const void*>(&object))), type_(type_key<T>()) {}
  void* ptr() const { return ptr_; }
  const char* type() const { return type_; }

 private:
  void* ptr_ = nullptr;
  const char* type_ = nullptr;
};

struct RewriteOptions {
  ContextRef ctx = {};
  bool bottom_up = false;        // rewrite a node before its sources
  std::string_view name = {};    // for messages and observers; empty: the rule set's. A view that outlives the call
  const RuleSet* bpm = nullptr;  // with a top-down `rules`: rules to apply bottom-up on the way
};

// The graph under `sink` rewritten with `rules`. Throws Failure when a rule throws (the message names stage, rule and
// node) and when the rewrite does not end (the message names the rules that alternate and shows the node).
UOp graph_rewrite(UOp sink, const RuleSet& rules, const RewriteOptions& options = {});

// One rewrite per node under `sink`, sharing work (ops.py graph_rewrite_map); pairs in the order of the nodes.
std::vector<std::pair<UOp, UOp>> graph_rewrite_map(UOp sink, const RuleSet& rules, const RewriteOptions& options = {});

// Tries the rules once on each of `nodes`, in their order: for rules that note something in the context and make
// nothing of a node.
void try_on_each(std::span<const UOp> nodes, const RuleSet& rules, const RewriteOptions& options = {});

// The graph with nodes replaced, bottom-up to a fixed point (UOp.substitute). `rules`, if any, is a set that holds
// substitute_rules() after other rules, which are so tried first on every node.
using Substitution = std::vector<std::pair<UOp, UOp>>;
UOp substitute(UOp u, const Substitution& replacements, const RuleSet* rules = nullptr, std::string_view name = {});

// The rule that replaces (ops.py _substitute), and its context: what is replaced by what.
const RuleSet& substitute_rules();
class SubstituteContext {
 public:
  SubstituteContext(Graph& graph, const Substitution& replacements);  // pairs of a node and itself are left out
  UOp find(UOp u) const;  // what replaces it, else the empty UOp
  std::span<const std::pair<UOp, UOp>> pairs() const { return pairs_; }
  uint32_t first_id() const { return first_id_; }  // the least id of a node that is replaced

 private:
  OpSet ops_;  // of the nodes that are replaced: tells most nodes apart at once
  Substitution pairs_;
  std::unordered_map<const Node*, UOp> many_;
  uint32_t first_id_ = UINT32_MAX;
};

// Returned by an action of a bottom-up rewrite: keep this node as it is and do not go below it (ops.py BottomUpGate).
// It is no node of a graph.
inline const Node kBottomUpGate{};
inline UOp bottom_up_gate() { return UOp(&kBottomUpGate); }

// ---- watching: what `tgc trace`, `tgc stats` and tests hook into. One watcher per graph; null: none, and nothing is
// paid. A rewrite that a rule starts (simplify) begins and ends inside the rewrite that tried the rule.
class RewriteObserver {
 public:
  virtual ~RewriteObserver() = default;
  virtual void begin(std::string_view /*name*/, UOp /*sink*/, const RuleSet& /*rules*/, bool /*bottom_up*/) {}
  // `made_from`: how many nodes the graph had when the rules were tried; what has a greater id was made on the way.
  // `ns`: how long it took.
  struct Cost {
    uint32_t made_from;
    uint64_t ns;
  };
  virtual void rewritten(const Hit& /*hit*/, UOp /*before*/, UOp /*after*/, Cost /*cost*/) {}
  virtual void rebuilt(UOp /*before*/, UOp /*after*/) {}  // the same node with the sources that its sources became
  virtual void gated(UOp /*node*/) {}                     // kept, with everything below it (BottomUpGate)
  virtual void end(std::string_view /*name*/, UOp /*result*/) {}  // no result: an exception ended it
  RuleStats* stats = nullptr;   // counted into when set
  bool counts_only = false;     // none of the functions above is called
};
void set_observer(Graph& graph, RewriteObserver* observer);
RewriteObserver* observer_of(Graph& graph);

// A node with its sources, a few levels deep, one a line: for messages.
std::string describe(UOp u, int depth = 4);

}  // namespace tgc
