#include <algorithm>
#include <unordered_map>

#include "lib/bisect/veto.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

constexpr int64_t kStackLimitFactor = 64;

// Describes a graph: "its graph has 120000 nodes, 119990 of them one above the other, mostly Ops.ADD".
std::string depth_text(UOp root) {
  std::unordered_map<UOp, std::pair<size_t, UOp>> depths;
  std::vector<UOp> nodes = toposort(root);
  for (UOp u : nodes) {
    auto& [depth, deepest] = depths[u];
    for (UOp s : u.src())
      if (size_t d = depths.at(s).first + 1; d > depth) depth = d, deepest = s;
  }
  std::map<std::string_view, size_t> ops;
  for (UOp u = root; u; u = depths.at(u).second) ops[name_of(u.op())]++;
  auto most = std::ranges::max_element(ops, {}, [](auto& op) { return op.second; });
  return "its graph has " + std::to_string(nodes.size()) + " nodes, " + std::to_string(depths.at(root).first + 1) +
         " of them one above the other, mostly Ops." + std::string(most->first);
}

// Records what each node is rewritten to, and finds a cycle of nodes that wait for each other: the rewriter can finish
// each node of the cycle only after the next node.
class WaitCycleLog : public RewriteLog {
 public:
  using RewriteLog::begin_compilation, RewriteLog::end_compilation;
  void begin_rewrite(std::string_view name, UOp input, const RuleSet& rules, bool bottom_up) override {
    RewriteLog::begin_rewrite(name, input, rules, bottom_up);
    open_replacements_.emplace_back();
  }
  void end_rewrite(std::string_view name, UOp result) override {
    RewriteLog::end_rewrite(name, result);
    if (!result && unfinished_replacements_.empty()) unfinished_replacements_ = std::move(open_replacements_.back());
    open_replacements_.pop_back();
  }
  void on_rule_applied(const RuleHit& hit, UOp before, UOp after, RuleCost cost) override {
    RewriteLog::on_rule_applied(hit, before, after, cost);
    open_replacements_.back().try_emplace(before, after, all_rewrites().size());
  }
  void on_node_rebuilt(UOp before, UOp after) override {
    open_replacements_.back().try_emplace(before, after, size_t(0));
  }

  // Searches for a path from a node back to itself. A node's successor on a path is its replacement or, if the node was
  // not rewritten, one of its sources. Returns the path's applications in the order of the log; none if there is no
  // path.
  std::vector<Rewrite> find_cycle() const {
    enum VisitState : uint8_t { kNew, kOnPath, kDone };
    std::unordered_map<UOp, VisitState> states;
    std::vector<std::pair<UOp, size_t>> path;
    auto successor = [&](UOp u, size_t i) {
      if (auto it = unfinished_replacements_.find(u); it != unfinished_replacements_.end())
        return i == 0 ? it->second.node : UOp();
      return i < u.num_src() ? u.src(i) : UOp();
    };
    for (auto& [start, became] : unfinished_replacements_) {
      if (states[start] == kNew) path = {{start, 0}}, states[start] = kOnPath;
      while (!path.empty()) {
        auto& [at, visited] = path.back();
        UOp next = successor(at, visited++);
        if (!next) {
          states[at] = kDone;
          path.pop_back();
        } else if (VisitState& state = states[next]; state == kNew) {
          state = kOnPath;
          path.emplace_back(next, 0);
        } else if (state == kOnPath) {
          std::vector<Rewrite> out;
          for (auto it = std::ranges::find(path, next, &std::pair<UOp, size_t>::first); it != path.end(); ++it)
            if (auto change = unfinished_replacements_.find(it->first);
                change != unfinished_replacements_.end() && change->second.application_number)
              out.push_back(all_rewrites()[change->second.application_number - 1]);
          std::ranges::sort(out, {}, &Rewrite::rewrite_number);
          return out;
        }
      }
    }
    return {};
  }

 private:
  struct Replacement {
    UOp node;
    size_t application_number;  // number of the application in the log, from 1; 0 if only the node's sources changed
  };
  using ReplacementMap = std::unordered_map<UOp, Replacement>;
  std::vector<ReplacementMap>
      open_replacements_;  // the changes by each graph rewrite in progress, the innermost one last
  ReplacementMap unfinished_replacements_;  // the changes by the innermost graph rewrite that ended without a result
};

bool repeats_node(std::span<const Rewrite> cycle, std::span<const Rewrite> all) {
  return cycle.size() < all.size() && all[all.size() - 1 - cycle.size()].before == cycle.back().before;
}

const Rewrite& first_same_application(const Rewrite& a, std::span<const Rewrite> all) {
  return *std::ranges::find_if(all, [&](const Rewrite& b) { return b.before == a.before && b.rule == a.rule; });
}

std::optional<Verdict> find_wrong_rewrite(const FailureRepro& repro, BisectExecutor& executor) {
  // small, because the cause is early in the log
  constexpr size_t kMostCompared = 4000, kMostProven = 16;
  executor.compare_sides(kMostCompared);
  const ObservedRun& watched = executor.observed_run();
  std::vector<const Rewrite*> suspect_rewrites = watched.suspect_rewrites();
  std::erase_if(suspect_rewrites, [&](auto* a) { return !watched.side_equivalence(*a).differs_at_one_point_in(2); });
  suspect_rewrites.resize(std::min(suspect_rewrites.size(), kMostProven));
  CulpritProver prover(repro, executor);
  for (const Rewrite* a : suspect_rewrites) {
    const CulpritProof proof = prover.prove_culprit(*a);
    if (proof == CulpritProof::None) continue;
    Verdict out = prover.make_verdict(*a, proof);
    if (proof == CulpritProof::ByGraph)
      out.proof = "in REF the graph is right before it, and with it the rewrite does not end";
    return out;
  }
  return std::nullopt;
}

}  // namespace

std::span<const Rewrite> last_rewrite_cycle(std::span<const Rewrite> all) {
  if (all.empty()) return {};
  constexpr size_t kMostRules = 64;
  for (size_t n = 1; n <= std::min(kMostRules, all.size() - 1); n++)
    if (all[all.size() - 1 - n].before == all.back().before) return all.last(n);
  for (size_t n = 1; n <= kMostRules && 3 * n <= all.size(); n++) {
    std::span<const Rewrite> end = all.last(3 * n);
    bool repeats = true;
    for (size_t i = 0; repeats && i + n < end.size(); i++) repeats = end[i].rule == end[i + n].rule;
    if (repeats) return all.last(n);
  }
  return all.last(std::min<size_t>(all.size(), 4));
}

std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!watched.outcome.is_refused() || !is_endless(watched.outcome)) return std::nullopt;
  const StageRun* stage = nullptr;
  for (const StageRun& s : watched.application_log.stage_runs())
    if (!s.result) stage = &s;
  if (!stage) return std::nullopt;
  const std::string& message = watched.outcome.diag.message;
  Verdict out{.kind = Verdict::Kind::Endless,
              // the part of the message about the innermost stage
              .detail = message.substr(std::min(message.rfind("stage '"), message.size())),
              .stage = std::string(stage->row->name)};
  std::span<const Rewrite> all = watched.application_log.all_rewrites();
  WaitCycleLog log;
  Compilation c = executor.begin_compilation();
  c.set_stage_observer(&log);
  (void)c.list();
  c.set_stage_observer(nullptr);
  const std::vector<Rewrite> waiting = log.find_cycle();
  std::span<const Rewrite> cycle = waiting.empty() ? last_rewrite_cycle(all) : waiting;
  const int64_t limit = repro.input_graph.graph->settings().REWRITE_STACK_LIMIT;
  if (waiting.empty() && !repeats_node(cycle, all) && executor.fits_stack_limit(limit * kStackLimitFactor)) {
    out.kind = Verdict::Kind::Deep;
    out.detail = depth_text(stage->input) + "; with REWRITE_STACK_LIMIT=" + std::to_string(limit * kStackLimitFactor) +
                 " in place of " + std::to_string(limit) + " it ends";
    return out;
  }
  if (auto wrong = find_wrong_rewrite(repro, executor)) {
    if (wrong->detail.empty()) wrong->detail = out.detail;
    return wrong;
  }
  for (const Rewrite& a : cycle) {
    describe_rewrite(a, out);
    if (out.before == out.after) out.after += "  (with another tag)";
    out.rule_cycle.push_back({out.rule, out.branch, out.location, out.before, out.after});
  }
  if (!cycle.empty())
    describe_rewrite(waiting.empty() ? first_same_application(cycle.front(), all) : cycle.front(), out);
  return out;
}

}  // namespace tgc
