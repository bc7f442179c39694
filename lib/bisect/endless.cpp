#include "lib/bisect/endless.h"

#include <algorithm>
#include <unordered_map>

namespace tgc {
namespace {

constexpr int64_t kHigher = 64;  // times the limit

// "120000 nodes, 119990 of them one above the other, mostly Ops.ADD"
std::string depth_text(UOp root) {
  std::unordered_map<UOp, std::pair<size_t, UOp>> depths;  // and the source that makes it
  std::vector<UOp> nodes = toposort(root);
  for (UOp u : nodes) {
    auto& [depth, through] = depths[u];
    for (UOp s : u.src())
      if (size_t d = depths.at(s).first + 1; d > depth) depth = d, through = s;
  }
  std::map<std::string_view, size_t> ops;
  for (UOp u = root; u; u = depths.at(u).second) ops[name_of(u.op())]++;
  auto most = std::ranges::max_element(ops, {}, [](auto& op) { return op.second; });
  return "its graph has " + std::to_string(nodes.size()) + " nodes, " + std::to_string(depths.at(root).first + 1) +
         " of them one above the other, mostly Ops." + std::string(most->first);
}

// Whether the node that was rewritten last had been rewritten before: then it goes on for ever.
bool comes_back(std::span<const Application> turn, std::span<const Application> all) {
  return turn.size() < all.size() && all[all.size() - 1 - turn.size()].before == turn.back().before;
}

// Where the nodes of that turn were first rewritten so.
const Application& first_like(const Application& a, std::span<const Application> all) {
  return *std::ranges::find_if(all, [&](const Application& b) { return b.before == a.before && b.rule == a.rule; });
}

}  // namespace

// ---- nodes that wait for each other

void CircleLog::begin(std::string_view name, UOp input, const RuleSet& rules, bool bottom_up) {
  ApplicationLog::begin(name, input, rules, bottom_up);
  open_.emplace_back();
}

void CircleLog::rewritten(const Hit& hit, UOp before, UOp after, Cost cost) {
  ApplicationLog::rewritten(hit, before, after, cost);
  open_.back().try_emplace(before, after, list().size());  // the first time it is rewritten
}

void CircleLog::rebuilt(UOp before, UOp after) { open_.back().try_emplace(before, after, size_t(0)); }

void CircleLog::end(std::string_view name, UOp result) {
  ApplicationLog::end(name, result);
  if (!result && given_up_.empty()) given_up_ = std::move(open_.back());
  open_.pop_back();
}

std::vector<Application> CircleLog::circle() const {
  // Depth first, from each node to what it became, else to its sources; `way` leads to the node that is looked at.
  enum State : uint8_t { kNew, kOnTheWay, kDone };
  std::unordered_map<UOp, State> states;
  std::vector<std::pair<UOp, size_t>> way;  // and how many of its next ones have been looked at
  auto next_of = [&](UOp u, size_t i) {
    if (auto it = given_up_.find(u); it != given_up_.end()) return i == 0 ? it->second.node : UOp();
    return i < u.num_src() ? u.src(i) : UOp();
  };
  for (auto& [start, became] : given_up_) {
    if (states[start] == kNew) way = {{start, 0}}, states[start] = kOnTheWay;
    while (!way.empty()) {
      auto& [at, looked_at] = way.back();
      UOp next = next_of(at, looked_at++);
      if (!next) {
        states[at] = kDone;
        way.pop_back();
      } else if (State& state = states[next]; state == kNew) {
        state = kOnTheWay;
        way.emplace_back(next, 0);
      } else if (state == kOnTheWay) {
        std::vector<Application> out;
        for (auto it = std::ranges::find(way, next, &std::pair<UOp, size_t>::first); it != way.end(); ++it)
          if (auto became = given_up_.find(it->first); became != given_up_.end() && became->second.place)
            out.push_back(list()[became->second.place - 1]);
        std::ranges::sort(out, {}, &Application::number);
        return out;
      }
    }
  }
  return {};
}

std::span<const Application> last_turn(std::span<const Application> all) {
  if (all.empty()) return {};
  constexpr size_t kMost = 64;
  for (size_t n = 1; n <= std::min(kMost, all.size() - 1); n++)
    if (all[all.size() - 1 - n].before == all.back().before) return all.last(n);
  for (size_t n = 1; n <= kMost && 3 * n <= all.size(); n++) {
    std::span<const Application> end = all.last(3 * n);
    bool repeats = true;
    for (size_t i = 0; repeats && i + n < end.size(); i++) repeats = end[i].rule == end[i + n].rule;
    if (repeats) return all.last(n);
  }
  return all.last(std::min<size_t>(all.size(), 4));
}

bool blame_endless(FailureRepro& run, RewriteBlame& rewrites, const Outcome& refused, BisectReport& report) {
  if (!is_endless(refused)) return false;
  const StageRun* stage = nullptr;
  for (const StageRun& s : rewrites.log().stages())
    if (!s.result) stage = &s;
  if (!stage) return false;
  report.stage = stage->row->name;
  const std::string& said = refused.diag.message;
  report.detail = said.substr(std::min(said.rfind("stage '"), said.size()));  // the innermost rewrite's own name
  std::span<const Application> all = rewrites.log().list();
  CircleLog log;
  Compilation again = run.begin();  // whose nodes the circle is made of
  again.watch(&log);
  (void)again.list();
  again.watch(nullptr);
  const std::vector<Application> circle = log.circle();
  std::span<const Application> turn = circle.empty() ? last_turn(all) : circle;
  int64_t limit = run.in().graph->settings().REWRITE_STACK_LIMIT;
  if (circle.empty() && !comes_back(turn, all) && run.ends_with_limit(limit * kHigher)) {
    report.verdict = BisectReport::Verdict::Deep;
    report.detail = depth_text(stage->input) + "; with REWRITE_STACK_LIMIT=" + std::to_string(limit * kHigher) +
                    " in place of " + std::to_string(limit) + " it ends";
    return true;
  }
  if (rewrites.accuse_of_endless()) return true;
  report.verdict = BisectReport::Verdict::Endless;
  for (const Application& a : turn) {
    name_application(a, report);
    if (report.before == report.after) report.after += "  (with another tag)";
    report.cycle.push_back({report.rule, report.branch, report.location, report.before, report.after});
  }
  if (!turn.empty()) name_application(circle.empty() ? first_like(turn.front(), all) : turn.front(), report);
  return true;
}

}  // namespace tgc
