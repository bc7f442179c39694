#include "lib/compare/replay_culprit.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "lib/compilation/recorded_rewrites.h"
#include "lib/diff/run_diff.h"

namespace tgc {
namespace {

bool same(const Rewrite& x, const Rewrite& y) { return x.before == y.before && x.after == y.after; }

bool is_machinery(const Rewrite& m) { return m.place.starts_with("uop/ops.py:"); }

// One recording: the matches of its stage, and the stage's result.
struct Side {
  std::vector<Rewrite> matches;
  std::set<std::string> places;  // of the rules that matched
  UOpMap<uint8_t> rewritten;     // the nodes that a match replaced
  UOpMap<uint8_t> left;          // the nodes of the stage's result

  Side(std::vector<Rewrite> all, const std::string& stage, UOp result)
      : rewritten(result.graph()), left(result.graph()) {
    for (Rewrite& m : all) {
      if (!m.stage || stage_name(std::string(m.stage->name)) != stage) continue;
      places.insert(m.place);
      if (!is_machinery(m)) rewritten[m.before] = 1;
      matches.push_back(std::move(m));
    }
    for (UOp u : toposort(result)) left[u] = 1;
  }

  // Returns the matches of rules, without those of machinery.
  std::vector<Rewrite> of_rules() const {
    std::vector<Rewrite> out;
    std::ranges::copy_if(matches, std::back_inserter(out), [](const Rewrite& m) { return !is_machinery(m); });
    return out;
  }

  // Returns the match that made the difference, of a rule that matched only here; null if there is none. Prefers a
  // match that does not follow from others which `other` lacks, then one of a node that `other` has in the stage,
  // then a match of the stage itself to one that a rule made while it ran.
  const Rewrite* first_missing_in(const Side& other) const {
    if (matches.empty()) return nullptr;
    Graph& graph = matches[0].before.graph();
    UOpMap<UOp> made_there(graph);
    for (const Rewrite& m : other.matches) made_there[m.before] = m.after;
    UOpMap<uint8_t> seen(graph), made_here(graph);  // made_here: nodes that only matches made which `other` lacks
    const Rewrite* found = nullptr;
    std::tuple<bool, bool, int> least;
    for (const Rewrite& m : matches) {
      bool follows = false;
      for (UOp u : toposort(m.before)) {
        if (made_here.find(u)) follows = true;
        else seen[u] = 1;
      }
      const UOp* there = made_there.find(m.before);
      const bool is_common = there && *there == m.after;
      for (UOp u : toposort(m.after))
        if (!seen.find(u)) (is_common ? seen : made_here)[u] = 1;
      if (is_machinery(m) || other.places.contains(m.place)) continue;
      const bool is_there = other.left.find(m.before) || other.rewritten.find(m.before);
      const std::tuple rank{follows, !is_there, m.depth};
      if (!found || rank < least) found = &m, least = rank;
    }
    return found;
  }
};

ReplayCulprit first_difference(const std::vector<Rewrite>& of_a, const std::vector<Rewrite>& of_b) {
  const size_t common = std::min(of_a.size(), of_b.size());
  for (size_t i = 0; i < common; i++) {
    const Rewrite &x = of_a[i], &y = of_b[i];
    if (same(x, y)) continue;
    if (x.before == y.before) return {.rule = x.place == y.place ? y.place : x.place + " -> " + y.place};
    auto comes = [&](const Rewrite& m, const std::vector<Rewrite>& in) {
      return std::any_of(in.begin() + ptrdiff_t(i), in.end(), [&](const Rewrite& n) { return same(m, n); });
    };
    return {.rule = {}, .first_match = comes(y, of_a) || x.place == y.place ? x.place : y.place};
  }
  if (of_a.size() == of_b.size()) return {};
  return {.rule = {}, .first_match = of_a.size() < of_b.size() ? of_b[common].place : of_a[common].place};
}

}  // namespace

ReplayCulprit find_culprit(const GoldenRecord& a, const GoldenRecord& b, const std::string& producer,
                           const std::string& stage, UOp result_a, UOp result_b) {
  auto of_a = read_rewrites(result_a.graph(), a, producer, ""), of_b = read_rewrites(result_a.graph(), b, producer, "");
  if (!of_a || !of_b) return {};
  const Side in_a(std::move(*of_a), stage, result_a), in_b(std::move(*of_b), stage, result_b);
  const Rewrite *only_a = in_a.first_missing_in(in_b), *only_b = in_b.first_missing_in(in_a);
  if (only_a && only_b) return {.rule = only_a->place + " -> " + only_b->place};
  if (only_a || only_b) return {.rule = (only_a ? only_a : only_b)->place};
  return first_difference(in_a.of_rules(), in_b.of_rules());
}

}  // namespace tgc
