#include "lib/rewrite/rewrite.h"

#include <algorithm>
#include <deque>

#include "lib/support/check.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// The work space of one rewrite, pooled per graph: a rewrite inside a rewrite takes another.
struct Workspace {
  struct Slot {
    uint32_t epoch = 0;
    bool queued = false;         // on the stack, or done
    bool bpm_known = false;      // bpm_result is valid
    const Node* replacement = nullptr;
    const Node* bpm_result = nullptr;
  };
  struct Frame {
    UOp n;
    UOp new_n;
    int stage;
  };

  std::vector<Slot> slots;
  uint32_t epoch = 0;
  std::deque<Frame> postponed;  // the bottom of the stack: frames that wait for others
  std::vector<Frame> stack;

  Slot& slot(UOp u) {
    if (u.id() >= slots.size()) slots.resize(u.graph().size() + u.graph().size() / 2 + 64);
    Slot& s = slots[u.id()];
    if (s.epoch != epoch) s = Slot{.epoch = epoch};
    return s;
  }
};

struct Workspaces {
  std::vector<std::unique_ptr<Workspace>> pool;
  RewriteObserver* observer = nullptr;
};

class Rewriter {
 public:
  Rewriter(Graph& graph, const RuleSet& rules, const RewriteOptions& options)
      : graph_(graph),
        spaces_(graph.extension<Workspaces>()),
        ctx_(options.ctx),
        name_(options.name),
        pm_(options.bottom_up ? nullptr : &rules.matcher()),
        bpm_(options.bottom_up ? &rules.matcher() : options.bpm ? &options.bpm->matcher() : nullptr),
        observer_(spaces_.observer) {
    if (spaces_.pool.empty()) {
      w_ = std::make_unique<Workspace>();
    } else {
      w_ = std::move(spaces_.pool.back());
      spaces_.pool.pop_back();
    }
    if (++w_->epoch == 0) {
      w_->slots.clear();
      w_->epoch = 1;
    }
  }
  ~Rewriter() {
    w_->stack.clear();
    w_->postponed.clear();
    spaces_.pool.push_back(std::move(w_));
  }

  UOp run(UOp root) {
    push(root, root, 0);
    w_->slot(root).queued = true;
    const auto limit = size_t(graph_.settings().REWRITE_STACK_LIMIT);
    while (!w_->stack.empty() || !w_->postponed.empty()) {
      if (w_->stack.size() + w_->postponed.size() > limit) endless("the stack grew beyond " + std::to_string(limit) + " nodes");
      Workspace::Frame f = pop();
      if (w_->slot(f.n).replacement) continue;
      if (f.stage == 0) enter(f);
      else if (f.stage == 1) rebuild(f);
      else link(f);
    }
    return UOp(w_->slot(root).replacement);
  }

  // What `u` was rewritten to in an earlier run, else the empty UOp.
  std::string_view name() const { return name_; }

 private:
  void push(UOp n, UOp new_n, int stage) { w_->stack.push_back({n, new_n, stage}); }

  Workspace::Frame pop() {
    Workspace::Frame f;
    if (!w_->stack.empty()) {
      f = w_->stack.back();
      w_->stack.pop_back();
    } else {
      f = w_->postponed.back();
      w_->postponed.pop_back();
    }
    return f;
  }

  // To the far end of the stack: tried again when everything else is done. The stack is `postponed` below `stack`.
  void postpone(const Workspace::Frame& f) { w_->postponed.push_front(f); }

  UOp apply(const Matcher& matcher, UOp u) {
    const Rule* hit = nullptr;
    UOp out;
    try {
      out = observer_ && observer_->stats ? matcher.rewrite_counted(u, ctx_.ptr(), ctx_.type(), hit, *observer_->stats)
                                          : matcher.rewrite(u, ctx_.ptr(), ctx_.type(), hit);
    } catch (Failure& failure) {
      if (hit && failure.diag().context.empty())
        failure.diag().context = "  in stage '" + std::string(name_.empty() ? "(unnamed)" : name_) + "', rule " + describe(*hit) + ", at\n" + describe(u);
      throw;
    }
    if (out) {
      recent_[recent_count_++ % kRecent] = {hit, u};
      if (observer_) observer_->rewritten(*hit, u, out);
    }
    return out;
  }

  UOp apply_bpm(UOp u) {
    if (auto& s = w_->slot(u); s.bpm_known) return UOp(s.bpm_result);
    UOp out = apply(*bpm_, u);
    auto& s = w_->slot(u);
    s.bpm_known = true;
    s.bpm_result = out.node();
    return out;
  }

  // First visit: bottom-up rules to a fixed point, then the sources.
  void enter(const Workspace::Frame& f) {
    UOp new_n = f.new_n;
    if (bpm_) {
      UOp test = f.n;
      size_t steps = 0;
      UOp checkpoint = test;  // Brent's cycle detection: one node remembered, at growing distances
      size_t next_checkpoint = 1;
      try {
        while (test) {
          new_n = test;
          test = apply_bpm(test);
          if (test && test == checkpoint) endless("a node is rewritten to itself");
          if (++steps == next_checkpoint) {
            checkpoint = test ? test : checkpoint;
            next_checkpoint *= 2;
          }
        }
      } catch (const BottomUpGate&) {
        w_->slot(f.n).replacement = new_n.node();
        return;
      }
    }
    push(f.n, new_n, 1);
    for (size_t i = new_n.num_src(); i-- > 0;) {
      UOp s = new_n.src(i);
      auto& slot = w_->slot(s);
      if (slot.queued) continue;
      slot.queued = true;
      push(s, s, 0);
    }
  }

  // The sources are done: rebuild the node if they changed, else apply the top-down rules.
  void rebuild(const Workspace::Frame& f) {
    sources_.clear();
    bool changed = false;
    for (UOp s : f.new_n.src()) {
      const Node* r = w_->slot(s).replacement;
      if (!r) return postpone(f);
      sources_.push_back(UOp(r));
      changed |= r != s.node();
    }
    UOp next;
    if (changed) {
      next = graph_.node(f.new_n.op(), f.new_n.dtype(), sources_, f.new_n.arg(), f.new_n.tag());
    } else if (pm_) {
      next = apply(*pm_, f.new_n);
    }
    if (!next) {
      w_->slot(f.n).replacement = f.new_n.node();
      return;
    }
    push(f.n, next, 2);
    push(next, next, 0);
  }

  // The result of what this node became is this node's result.
  void link(const Workspace::Frame& f) {
    const Node* r = w_->slot(f.new_n).replacement;
    if (!r) return postpone(f);
    w_->slot(f.n).replacement = r;
  }

  [[noreturn]] void endless(const std::string& why) {
    // the rules that alternate: the distinct ones among the last rewrites
    size_t n = std::min(recent_count_, kRecent);
    std::vector<const Rule*> seen;
    for (size_t k = 0; k < n; k++)
      if (const Rule* r = recent_[(recent_count_ - 1 - k) % kRecent].rule; std::find(seen.begin(), seen.end(), r) == seen.end()) seen.push_back(r);
    Diag diag{"stage '" + std::string(name_.empty() ? "(unnamed)" : name_) + "' does not end: " + why};
    diag.context = "  the rules that alternate:";
    for (const Rule* r : seen) diag.context += "\n    " + describe(*r);
    if (n) diag.context += "\n  on the node\n" + describe(recent_[(recent_count_ - 1) % kRecent].node);
    throw Failure(diag);
  }

  struct Recent {
    const Rule* rule;
    UOp node;
  };
  static constexpr size_t kRecent = 32;

  Graph& graph_;
  Workspaces& spaces_;
  ContextRef ctx_;
  std::string_view name_;
  const Matcher* pm_;
  const Matcher* bpm_;
  RewriteObserver* observer_;
  std::unique_ptr<Workspace> w_;
  std::vector<UOp> sources_;
  Recent recent_[kRecent];
  size_t recent_count_ = 0;
};

struct Observed {
  Observed(UOp sink, const RuleSet& rules, const RewriteOptions& o) : observer(observer_of(sink.graph())), name(o.name) {
    if (observer) observer->begin(name, sink, rules, o.bottom_up);
  }
  UOp done(UOp result) {
    if (observer) observer->end(name, result);
    return result;
  }
  RewriteObserver* observer;
  std::string_view name;
};

}  // namespace

UOp graph_rewrite(UOp sink, const RuleSet& rules, const RewriteOptions& options) {
  Observed observed(sink, rules, options);
  return observed.done(Rewriter(sink.graph(), rules, options).run(sink));
}

std::vector<std::pair<UOp, UOp>> graph_rewrite_map(UOp sink, const RuleSet& rules, const RewriteOptions& options) {
  Observed observed(sink, rules, options);
  Rewriter rewriter(sink.graph(), rules, options);
  auto nodes = toposort(sink);
  if (options.bottom_up) std::reverse(nodes.begin(), nodes.end());
  std::vector<std::pair<UOp, UOp>> out;
  for (UOp u : nodes) out.emplace_back(u, rewriter.run(u));
  for (auto& [from, to] : out)
    if (from == sink) observed.done(to);
  return out;
}

struct SubstituteContext::Table {
  UOpMap<UOp> to;
};

SubstituteContext::SubstituteContext(Graph& graph, const Substitution& replacements) {
  for (auto& pair : replacements)
    if (!(pair.first == pair.second)) pairs_.push_back(pair);
  constexpr size_t kFew = 8;  // a scan of so many is faster than a table as wide as the graph
  if (pairs_.size() <= kFew) return;
  table_.reset(new Table{UOpMap<UOp>(graph)});
  for (auto [from, to] : pairs_) table_->to[from] = to;
}

SubstituteContext::~SubstituteContext() = default;

UOp SubstituteContext::find(UOp u) const {
  if (table_) {
    const UOp* to = table_->to.find(u);
    return to ? *to : UOp();
  }
  for (size_t i = pairs_.size(); i-- > 0;)  // of a node given twice the last counts
    if (pairs_[i].first == u) return pairs_[i].second;
  return {};
}

const RuleSet& substitute_rules() {
  using namespace pat;
  static const RuleSet set("substitute", {
      rule("substitute", node(OpSet::all()).as(x), with_ctx<SubstituteContext>(x, [](SubstituteContext& ctx, UOp x) { return ctx.find(x); })),
  });
  return set;
}

UOp substitute(UOp u, const Substitution& replacements, const RuleSet* rules, std::string_view name) {
  SubstituteContext ctx(u.graph(), replacements);
  if (ctx.pairs().empty()) return u;
  return graph_rewrite(u, rules ? *rules : substitute_rules(), {.ctx = ctx, .bottom_up = true, .name = name});
}

void set_observer(Graph& graph, RewriteObserver* observer) { graph.extension<Workspaces>().observer = observer; }
RewriteObserver* observer_of(Graph& graph) { return graph.extension<Workspaces>().observer; }

std::string describe(UOp root, int depth) {
  std::string out;
  struct Frame {
    UOp u;
    int level;
  };
  std::vector<Frame> stack{{root, 0}};
  int lines = 0;
  while (!stack.empty()) {
    auto [u, level] = stack.back();
    stack.pop_back();
    if (++lines > 40) return out + "    ...";
    out += std::string(size_t(4 + 2 * level), ' ') + "Ops." + std::string(name_of(u.op())) + " " + std::string(u.dtype().repr());
    if (!u.arg().is_none()) out += " " + u.arg().repr();
    if (level >= depth && u.num_src()) out += " ...";
    if (!stack.empty() || level < depth) out += "\n";
    if (level < depth)
      for (size_t i = u.num_src(); i-- > 0;) stack.push_back({u.src(i), level + 1});
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace tgc
