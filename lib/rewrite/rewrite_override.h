// Lets a client replace or suppress single rule applications: a fault (fault.h), or bisection that leaves one rewrite
// out. Without a RewriteOverride this costs nothing. A RewriteOverride takes the same slow path as a RewriteObserver
// and forces every shortcut to its faithful way, so the applications and their order are the same as for an observer.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

class Graph;
class RewriteObserver;
class SubstituteContext;

class RewriteOverride {
 public:
  virtual ~RewriteOverride() = default;
  // Returns the result of this application: `after` (what the rule made), another node, or the empty UOp to make the
  // rule decline, with all its alternatives, so that the next rule is tried.
  virtual UOp replace(const Hit& hit, UOp before, UOp after) = 0;
};

// Sets the only RewriteOverride of the graph; null removes it. The object must outlive the rewrites.
void set_rewrite_override(Graph& graph, RewriteOverride* replacer);
RewriteOverride* rewrite_override_of(Graph& graph);

// While alive, rewrites in `graph` are not part of a compilation: no observer or rewrite override sees them, and
// REWRITE_STACK_LIMIT is at least its default, because the user may have lowered it for the compilation.
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

// Returns the replacements of the innermost running rewrite, for its observer; null if that rewrite is no substitution
// or is not observed.
const SubstituteContext* substitution_of(Graph& graph);

}  // namespace tgc
