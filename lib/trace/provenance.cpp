#include "lib/trace/provenance.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "lib/support/json_writer.h"
#include "lib/trace/trace_print.h"

namespace tgc {

void NodeProvenance::begin_kernel(std::string_view id, std::string_view target, UOp ast) {
  kernel_id_ = id, kernel_target_ = target, ast_ = ast;
  trace_events_.clear();
  stage_events_.clear();
}

void NodeProvenance::begin_stage(std::string_view name, UOp input) {
  stage_names_.push_back(std::make_unique<std::string>(name));
  stage_events_.push_back({*stage_names_.back(), input, {}, trace_events_.size(), trace_events_.size()});
}

void NodeProvenance::end_stage(UOp result) {
  stage_events_.back().result = result;
  stage_events_.back().end_event = trace_events_.size();
}

void NodeProvenance::begin_rewrite(const TraceRewrite& rewrite, int, UOp input) {
  if (!stage_events_.empty()) stage_events_.back().rewrite_inputs.push_back({rewrite, input});
}

// Ignores rewrites of the stage's own input.
TraceRewrite NodeProvenance::first_rewrite_of(const StageEvents& stage, UOp node) const {
  for (const RewriteInput& b : stage.rewrite_inputs)
    if (!(b.input == stage.input) && is_below(b.input, node)) return b.rewrite;
  return {};
}

void NodeProvenance::on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) {
  if (stage_events_.empty()) return;
  trace_events_.push_back({before, after, rule, cost.first_made_node_number, cost.end_made_node_number,
                           uint32_t(stage_events_.size() - 1), depth});
}

void NodeProvenance::on_node_rebuilt(int depth, UOp before, UOp after) {
  if (stage_events_.empty()) return;
  trace_events_.push_back({before, after, {}, 0, 0, uint32_t(stage_events_.size() - 1), depth});
}

const NodeProvenance::StageEvents* NodeProvenance::find_stage(std::string_view stage) const {
  for (const StageEvents& s : stage_events_)
    if (s.name == stage) return &s;
  return nullptr;
}

UOp NodeProvenance::stage_result_of(std::string_view stage) const {
  if (stage.empty()) return ast_;
  const StageEvents* s = find_stage(stage);
  return s ? s->result : UOp();
}

std::vector<std::string_view> NodeProvenance::stage_names() const {
  std::vector<std::string_view> out;
  for (const StageEvents& s : stage_events_) out.push_back(s.name);
  return out;
}

bool NodeProvenance::is_below(UOp root, UOp node) { return root && in_backward_slice_with_self(root, node); }

class NodeProvenance::NodeHistory {
 public:
  NodeHistory(const NodeProvenance& p, const StageEvents& stage)
      : provenance_(p), stage_(stage), graph_(stage.input.graph()), input_nodes_(graph_), result_nodes_(graph_),
        producing_events_(graph_), inserting_events_(graph_), replacing_events_(graph_) {
    for (UOp u : toposort(stage.input)) input_nodes_.insert(u);
    if (stage.result)
      for (UOp u : toposort(stage.result)) result_nodes_.insert(u);
    for (size_t i = stage.first_event; i < stage.end_event; i++) {
      const TraceEvent& e = p.trace_events_[i];
      replacing_events_[e.before].push_back(i);
      if (!(e.before == e.after) && !producing_events_.contains(e.after)) producing_events_[e.after] = i;
      if (e.rule.name.empty()) continue;
      if (p.node_number(e.before) < e.first_new_id)
        for (uint32_t n = e.first_new_id; n < e.end_of_new_ids; n++) creating_events_.try_emplace(n, i);
    }
    find_inserting_rewrites();
  }

  bool is_in_input(UOp node) const { return input_nodes_.contains(node); }
  bool is_in_result(UOp node) const { return result_nodes_.contains(node); }

  // Returns how `node` was made: by the first event before event `end` that resulted in it, else by the innermost
  // rewrite that created it, else by the rewrite that first used it, else by a rewrite that created it and still runs
  // at `end`, else by code of the stage outside its rules.
  NodeMaker find_maker(UOp node, size_t end) const {
    auto made = [&](TraceStep::Kind kind, size_t i) { return NodeMaker{kind, i, provenance_.trace_events_[i].before}; };
    if (const size_t* i = producing_events_.find(node); i && *i < end)
      return made(provenance_.trace_events_[*i].rule.name.empty() ? TraceStep::Kind::Rebuilt : TraceStep::Kind::Rewrite,
                  *i);
    const auto creation = creating_events_.find(provenance_.node_number(node));
    if (creation != creating_events_.end() && creation->second < end)
      return made(TraceStep::Kind::Part, creation->second);
    if (const size_t* i = inserting_events_.find(node); i && *i < end) return made(TraceStep::Kind::Part, *i);
    if (creation != creating_events_.end()) return made(TraceStep::Kind::Part, creation->second);
    return {TraceStep::Kind::Stage};
  }

  // Returns the node of the stage's input from which `node`, of the stage's result, was made; the empty UOp if there is
  // none. Calls step(maker, node) for each step between the two nodes, the last step first.
  template <class OnStep>
  UOp origin(UOp node, OnStep&& step) const {
    const bool is_root = node == stage_.result;
    for (size_t end = stage_.end_event; !is_in_input(node);) {
      NodeMaker m = find_maker(node, end);
      // code outside of rules, such as the optimizer, made the new root from the old root
      if (m.kind == TraceStep::Kind::Stage && is_root) m.before = stage_.input;
      step(m, node);
      if (!m.before || m.kind == TraceStep::Kind::Stage) return m.before;
      node = m.before, end = std::min(end, m.event);
    }
    return node;
  }

  // Returns the node of the stage's result that was made from `node`, of the stage's input; the empty UOp if there is
  // none. Prefers the same op.
  UOp successor(UOp node) const {
    UOp out;
    if (!stage_.result) return out;
    for (UOp u : toposort(stage_.result))
      if (!(out && out.op() == node.op() && u.op() != node.op()) && origin(u, [](auto&&...) {}) == node) out = u;
    return out;
  }

  // Returns the indices of the events that replace `node` one after another, and sets `node` to the last replacement.
  // First tries the rewrites that the stage itself started. If these do not lead to a node of the result, returns no
  // events if `node` itself is in the result, else tries all rewrites.
  std::vector<size_t> replacement_events(UOp& node) const {
    std::vector<size_t> own;
    UOp start_node = node;
    if (stage_.input == stage_.result) return own;
    for (size_t i = stage_.first_event; (i = next_replacing_event(node, i, true)) != kNoEventIndex; i++)
      own.push_back(i), node = provenance_.trace_events_[i].after;
    if (is_in_result(node)) return own;
    if (is_in_result(start_node)) return node = start_node, std::vector<size_t>();
    std::vector<size_t> inner = path_to_result(start_node);
    if (inner.empty()) return own;
    node = provenance_.trace_events_[inner.back()].after;
    return inner;
  }

 private:
  // For nodes that are not in the stage's input, but may be older than the stage: finds the rewrite that first used
  // them.
  void find_inserting_rewrites() {
    UOpSet seen(graph_);
    for (UOp u : toposort(stage_.input)) seen.insert(u);
    auto add = [&](UOp root, size_t event) {
      for (UOp u : toposort(root, [&](UOp s) { return !seen.contains(s); }))
        if (seen.insert(u) && event != kNoEventIndex) inserting_events_[u] = event;
    };
    for (size_t i = stage_.first_event; i < stage_.end_event; i++)
      if (const TraceEvent& e = provenance_.trace_events_[i]; !e.rule.name.empty())
        add(e.before, kNoEventIndex), add(e.after, i);
  }

  // `own`: only events of rewrites that the stage itself started.
  size_t next_replacing_event(UOp node, size_t from, bool own) const {
    const std::vector<size_t>* list = replacing_events_.find(node);
    if (!list) return kNoEventIndex;
    for (auto at = std::ranges::lower_bound(*list, from); at != list->end(); ++at)
      if (const TraceEvent& e = provenance_.trace_events_[*at]; (!own || !e.depth) && !(e.before == e.after))
        return *at;
    return kNoEventIndex;
  }

  // Returns a chain of events from `node` to a node of the stage's result, each replacing the result of the one before;
  // empty if there is none.
  std::vector<size_t> path_to_result(UOp node) const {
    UOpMap<size_t> made(graph_);  // the first event that made each reached node
    made[node] = kNoEventIndex;
    for (size_t i = stage_.first_event; i < stage_.end_event; i++) {
      const TraceEvent& e = provenance_.trace_events_[i];
      if (!made.contains(e.before) || made.contains(e.after)) continue;
      made[e.after] = i;
      if (!is_in_result(e.after)) continue;
      std::vector<size_t> out;
      for (size_t at = i; at != kNoEventIndex; at = *made.find(provenance_.trace_events_[at].before)) out.push_back(at);
      std::ranges::reverse(out);
      return out;
    }
    return {};
  }

  const NodeProvenance& provenance_;
  const StageEvents& stage_;
  Graph& graph_;
  UOpSet input_nodes_, result_nodes_;
  UOpMap<size_t> producing_events_;    // by node: the first event that resulted in it
  UOpMap<size_t> inserting_events_;  // by node that is not in the input: the first rewrite that used it
  std::unordered_map<uint32_t, size_t>
      creating_events_;  // by number #N of a node: the innermost rewrite that created it
  UOpMap<std::vector<size_t>> replacing_events_;         // by node: the events that replace it
};

TraceStep NodeProvenance::make_step(const NodeMaker& m, const StageEvents& stage, UOp after) const {
  if (m.kind != TraceStep::Kind::Stage) return {m.kind, stage.name, trace_events_[m.event].rule, m.before, after};
  return {m.kind, stage.name, {}, m.before, after, first_rewrite_of(stage, after)};
}

TraceStep NodeProvenance::make_step(const TraceEvent& e, const StageEvents& stage) {
  return {e.rule.name.empty() ? TraceStep::Kind::Rebuilt : TraceStep::Kind::Rewrite, stage.name, e.rule, e.before,
          e.after};
}

std::vector<TraceStep> NodeProvenance::steps_from_ast(UOp node, std::string_view stage, bool& is_from_ast) const {
  std::vector<TraceStep> out;
  is_from_ast = false;
  const StageEvents* s = stage.empty() ? nullptr : find_stage(stage);
  if (!s) {
    is_from_ast = stage.empty() && is_below(ast_, node);
    return out;
  }
  for (size_t k = size_t(s - stage_events_.data()) + 1; node && k-- > 0;) {
    const StageEvents& here = stage_events_[k];
    node = NodeHistory(*this, here).origin(
        node, [&](const NodeMaker& m, UOp after) { out.push_back(make_step(m, here, after)); });
  }
  is_from_ast = node && is_below(ast_, node);
  std::reverse(out.begin(), out.end());
  return out;
}

namespace {

// Compares nodes without their dtypes and without casts.
class DtypelessEquality {
 public:
  bool operator()(UOp a, UOp b) { return are_equal(a, b, kMaxDepth); }

 private:
  static constexpr int kMaxDepth = 500;  // limits the recursion; deeper graphs count as different
  bool are_equal(UOp a, UOp b, int depth) {
    while (a.is(Op::CAST)) a = a.src(0);
    while (b.is(Op::CAST)) b = b.src(0);
    if (a == b) return true;
    if (a.op() != b.op() || !(a.arg() == b.arg()) || a.num_src() != b.num_src() || !depth) return false;
    auto [known, is_new] = compared_pairs_.try_emplace({a.id(), b.id()}, true);
    if (!is_new) return known->second;
    bool out = true;
    for (size_t i = 0; i < a.num_src() && out; i++) out = are_equal(a.src(i), b.src(i), depth - 1);
    return compared_pairs_[{a.id(), b.id()}] = out;
  }
  std::map<std::pair<uint32_t, uint32_t>, bool> compared_pairs_;
};

}  // namespace

// Looks for a rule that removed `node` and made a node of the same operation with another dtype, as the lowering of
// index dtypes does. Sets `node` to the node of the stage's result that the new node became. Returns false if there is
// none.
bool NodeProvenance::follow_dtype_change(const StageEvents& stage, const NodeHistory& history, UOp& node,
                                         std::vector<TraceStep>& steps) const {
  if (node.is(Op::CAST)) return false;
  DtypelessEquality equal;
  for (size_t i = stage.first_event; i < stage.end_event; i++) {
    const TraceEvent& e = trace_events_[i];
    if (e.depth || e.rule.name.empty() || !is_below(e.before, node) || is_below(e.after, node)) continue;
    for (UOp u : toposort(e.after)) {
      if (u.is(Op::CAST) || !equal(u, node) || is_below(e.before, u)) continue;
      UOp to = u;
      const std::vector<size_t> path = history.replacement_events(to);
      if (!history.is_in_result(to)) continue;
      steps.push_back({TraceStep::Kind::Part, stage.name, e.rule, node, u});
      for (size_t at : path) steps.push_back(make_step(trace_events_[at], stage));
      node = to;
      return true;
    }
  }
  return false;
}

std::vector<TraceStep> NodeProvenance::steps_to_end(UOp node, std::string_view stage, UOp& last) const {
  std::vector<TraceStep> out;
  size_t k = 0;
  if (!stage.empty()) {
    const StageEvents* s = find_stage(stage);
    if (!s) return out;
    k = size_t(s - stage_events_.data()) + 1;
  }
  for (; k < stage_events_.size(); k++) {
    const StageEvents& here = stage_events_[k];
    const NodeHistory history(*this, here);
    const UOp start_node = node;
    const std::vector<size_t> path = history.replacement_events(node);
    UOp successor = history.is_in_result(node) || start_node == here.input ? UOp() : history.successor(start_node);
    if (successor) {
      const size_t first = out.size();
      history.origin(successor, [&](const NodeMaker& m, UOp after) { out.push_back(make_step(m, here, after)); });
      std::reverse(out.begin() + int64_t(first), out.end());
      node = successor;
      continue;
    }
    for (size_t i : path) out.push_back(make_step(trace_events_[i], here));
    if (history.is_in_result(node)) continue;
    if (start_node == here.input) {  // code of the stage outside its rules, such as the optimizer, replaced the root
      out.push_back({TraceStep::Kind::Stage, here.name, {}, node, here.result});
      node = here.result;
      continue;
    }
    if (follow_dtype_change(here, history, node, out)) continue;
    last = UOp();
    UOp root = here.input;
    (void)history.replacement_events(root);
    TraceStep gone{root == here.result ? TraceStep::Kind::Gone : TraceStep::Kind::Unknown, here.name, {}, node, UOp()};
    for (size_t i = here.first_event; i < here.end_event; i++)
      if (const TraceEvent& e = trace_events_[i];
          !e.depth && !e.rule.name.empty() && is_below(e.before, node) && !is_below(e.after, node))
        gone.rule = e.rule;
    out.push_back(gone);
    return out;
  }
  last = node;
  return out;
}

std::string NodeProvenance::to_json() const {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", kernel_id_)
        .member("target", kernel_target_)
        .member("ast", node_number(ast_))
        .key("stages")
        .array([&] {
          for (const StageEvents& stage : stage_events_) {
            if (!stage.result) continue;
            const NodeHistory history(*this, stage);
            auto pair = [&](UOp from, UOp to) {
              json.array([&] { json.value(node_number(from)).value(to ? int64_t(node_number(to)) : -1); });
            };
            json.object([&] {
              json.member("name", stage.name).key("origins").array([&] {
                for (UOp u : toposort(stage.result))
                  if (!history.is_in_input(u)) pair(u, history.origin(u, [](auto&&...) {}));
              });
              json.key("became").array([&] {
                for (UOp u : toposort(stage.input)) {
                  UOp to = u;
                  (void)history.replacement_events(to);
                  if (!history.is_in_result(to)) to = u == stage.input ? stage.result : UOp();
                  if (!(to == u)) pair(u, to);
                }
              });
            });
          }
        });
  });
}

namespace {

class ProvenancePrinter {
 public:
  ProvenancePrinter(const NodeProvenance& p, bool color) : provenance_(p), uses_color_(color) {}

  std::string print_history(UOp node, std::string_view stage) {
    bool is_from_ast = false;
    auto before = provenance_.steps_from_ast(node, stage, is_from_ast);
    append_heading(stage.empty() ? "the AST's node" : "the node of '" + std::string(stage) + "'");
    append_node_line("    ", node);
    append_heading("where it comes from");
    if (before.empty())
      out_ +=
          is_from_ast ? "    it is a node of the AST as it stands\n" : "    unknown: the trace does not reach back\n";
    else if (is_from_ast) out_ += "    in the AST:\n", append_node_line("    ", before.front().before);
    append_steps(before);
    UOp last;
    auto after = provenance_.steps_to_end(node, stage, last);
    append_heading("what becomes of it");
    if (after.empty()) out_ += "    nothing changes it\n";
    append_steps(after);
    return std::move(out_);
  }

 private:
  void append_heading(const std::string& text) {
    out_ += (uses_color_ ? "\x1b[1m" : "") + text + (uses_color_ ? "\x1b[0m" : "") + "\n";
  }
  void append_node_line(std::string_view prefix, UOp u) {
    out_ += std::string(prefix) + trace_line_text(u, provenance_) + "\n";
  }

  void append_steps(const std::vector<TraceStep>& list) {
    std::string_view stage;
    for (const TraceStep& s : list) {
      if (s.stage != stage) out_ += "  " + std::string(s.stage) + "\n";
      stage = s.stage;
      switch (s.kind) {
        case TraceStep::Kind::Rewrite:
          out_ += "    " + name_with_location(s.rule) + "\n";
          break;
        case TraceStep::Kind::Part:
          out_ += "    a part of what " + name_with_location(s.rule) + " made of\n";
          append_node_line("      ", s.before);
          break;
        case TraceStep::Kind::Rebuilt: out_ += "    with the sources that its sources became\n"; break;
        case TraceStep::Kind::Stage:
          out_ += "    made by the stage itself" + rewrite_purpose(s.rewrite) + (s.before ? ", of" : "") + "\n";
          if (s.before) append_node_line("      ", s.before);
          break;
        case TraceStep::Kind::Gone:
          out_ += s.rule.name.empty() ? "    gone: nothing uses it any more\n"
                                      : "    gone: " + name_with_location(s.rule) +
                                            " made something else of what used it\n";
          break;
        case TraceStep::Kind::Unknown:
          out_ += "    not followed further: code of this stage made its result, and no rewrite shows what the node "
                  "became\n";
          break;
      }
      if (s.after) append_node_line("      ", s.after);
    }
  }

  static std::string rewrite_purpose(const TraceRewrite& rewrite) {
    if (rewrite.name.empty()) return "";
    bool own_set = rewrite.rule_set == rewrite.name;
    return ", for the rewrite '" + std::string(rewrite.name) + "'" +
           (own_set ? "" : " by " + std::string(rewrite.rule_set));
  }

  const NodeProvenance& provenance_;
  bool uses_color_;
  std::string out_;
};

}  // namespace

std::string provenance_text(const NodeProvenance& provenance, UOp node, std::string_view stage, bool color) {
  return ProvenancePrinter(provenance, color).print_history(node, stage);
}

}  // namespace tgc
