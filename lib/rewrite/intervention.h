// Lets a client replace or suppress single rule applications: a fault (fault.h), or bisection that leaves one rewrite
// out. Rewrites without an intervention pay nothing. An intervention takes the same slow path as a RewriteObserver and
// also forces every shortcut to its faithful way, so the applications and their order are the same with or without it.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

class Graph;
class RewriteObserver;
class SubstituteContext;

class Intervention {
 public:
  virtual ~Intervention() = default;
  // Returns the result of this application: `after` (what the rule made), another node, or the empty UOp to make the
  // rule decline, with all its alternatives, so that the next rule is tried.
  virtual UOp instead(const Hit& hit, UOp before, UOp after) = 0;
};

// Sets the graph's only intervention; null removes it. The object must outlive the rewrites.
void set_intervention(Graph& graph, Intervention* intervention);
Intervention* intervention_of(Graph& graph);

// While alive, rewrites in `graph` are not part of a compilation: no observer or intervention sees them, and
// REWRITE_STACK_LIMIT is at least its default, because the user may have lowered it for the compilation.
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

// Returns the replacements of the innermost running rewrite, for its observer; null if that rewrite is no substitution
// or is not observed.
const SubstituteContext* substitution_of(Graph& graph);

}  // namespace tgc
