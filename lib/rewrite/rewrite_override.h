// Replaces or suppresses single rule applications, for example to seed a fault (fault.h) or to leave out one rewrite.
// In a graph with a RewriteOverride, rewrites take no shortcut (shortcut.h), unless a ShortcutTrial requests one.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

class Graph;
class RewriteObserver;
class SubstituteContext;

class RewriteOverride {
 public:
  virtual ~RewriteOverride() = default;
  // Returns the result of this application: `after` (the node that the rule made), another node, or the empty UOp. The
  // empty UOp makes the rule decline; then the next rule is tried.
  virtual UOp choose_result(const RuleHit& hit, UOp before, UOp after) = 0;
};

// Sets the graph's only RewriteOverride; null removes it. The override must outlive the rewrites.
void set_rewrite_override(Graph& graph, RewriteOverride* rewrite_override);
RewriteOverride* rewrite_override_of(Graph& graph);

// While this object lives, rewrites in `graph` are not part of a compilation, so they call no observer and no
// RewriteOverride. REWRITE_STACK_LIMIT is at least its default, because a user's lower limit is for the compilation.
class UninstrumentedScope {
 public:
  explicit UninstrumentedScope(Graph& graph);
  ~UninstrumentedScope();
  UninstrumentedScope(const UninstrumentedScope&) = delete;

 private:
  Graph& graph_;
  RewriteObserver* observer_;
  RewriteOverride* rewrite_override_;
  bool was_uninstrumented_;
};

// Returns the replacements of the innermost rewrite that is being reported to an observer; null if that rewrite is not
// a substitution, or if there is none.
const SubstituteContext* substitution_of(Graph& graph);

}  // namespace tgc
