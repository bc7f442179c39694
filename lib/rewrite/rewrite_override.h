// Lets a client replace or suppress single rule applications: to inject faults (fault.h), or to leave out one rewrite
// in a bisection. With a RewriteOverride, as with a RewriteObserver, rewrites take no fast path and shortcuts apply the
// rules, so overrides and observers see the same applications in order. A graph without an override pays nothing.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

class Graph;
class RewriteObserver;
class SubstituteContext;

class RewriteOverride {
 public:
  virtual ~RewriteOverride() = default;
  // Returns the result of this application: `after` (the node that the rule made), another node, or the empty UOp. With
  // the empty UOp the rule declines: its other alternatives are not tried, but the next rule is.
  virtual UOp replace(const Hit& hit, UOp before, UOp after) = 0;
};

// Sets the graph's RewriteOverride, of which there is at most one; null removes it. It must outlive the rewrites.
void set_rewrite_override(Graph& graph, RewriteOverride* rewrite_override);
RewriteOverride* rewrite_override_of(Graph& graph);

// While this object lives, rewrites in `graph` are not part of a compilation: no observer or RewriteOverride is called,
// and REWRITE_STACK_LIMIT is at least its default, because the user may have lowered it for the compilation.
class UninstrumentedScope {
 public:
  explicit UninstrumentedScope(Graph& graph);
  ~UninstrumentedScope();
  UninstrumentedScope(const UninstrumentedScope&) = delete;

 private:
  Graph& graph_;
  RewriteObserver* observer_;
  RewriteOverride* override_;
  bool was_own_;
};

// Returns the replacements of the innermost running rewrite, for that rewrite's observer. Returns null if the rewrite
// is not a substitution, or if it is not reported to an observer.
const SubstituteContext* substitution_of(Graph& graph);

}  // namespace tgc
