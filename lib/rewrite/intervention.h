// Interventions: someone decides, application by application, what a rule makes: a fault on demand (fault.h), a rewrite
// that is left out to see whether it is to blame. Nobody who does not intervene pays for it: it goes the way of those
// who watch (RewriteObserver), and like those it makes every shortcut take its faithful way, so that applications are
// the same, in the same order, watched or not.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

class Graph;
class RewriteObserver;
class SubstituteContext;

class Intervention {
 public:
  virtual ~Intervention() = default;
  // What this application shall make: `after`, which the rule made, or another node; or the empty UOp: the rule
  // declines, with all its alternatives, and the next rule is tried.
  virtual UOp instead(const Hit& hit, UOp before, UOp after) = 0;
};

// One a graph; null: nobody intervenes. It must outlive the rewrites.
void set_intervention(Graph& graph, Intervention* intervention);
Intervention* intervention_of(Graph& graph);

// For as long as it lives rewrites are of somebody who looks on, and no part of a compilation: nobody intervenes in
// them, or observes them, and REWRITE_STACK_LIMIT, which may be made for the case at hand, lets as many nodes wait as
// tinygrad's own does at least.
class UninstrumentedScope {
 public:
  explicit UninstrumentedScope(Graph& graph);
  ~UninstrumentedScope();
  UninstrumentedScope(const UninstrumentedScope&) = delete;

 private:
  Graph& graph_;
  RewriteObserver* observer_;
  Intervention* intervention_;
  bool was_own_;
};

// What the innermost rewrite that runs replaces by what, for its observer. Null: no substitution, or not observed.
const SubstituteContext* substitution_of(Graph& graph);

}  // namespace tgc
