#include "lib/recordings/replay_culprit.h"

#include <algorithm>
#include <set>

#include "lib/diff/run_diff.h"
#include "lib/text/recorded_rewrites.h"

namespace tgc {
namespace {

bool same(const RecordedMatch& x, const RecordedMatch& y) { return x.before == y.before && x.after == y.after; }

// One recording: the matches of its stage that rules of their own made, and the stage's result.
struct Side {
  std::vector<RecordedMatch> matches;
  std::set<std::string> places;  // of the rules that matched
  UOpMap<uint8_t> rewritten;        // the nodes that a match replaced
  UOpMap<uint8_t> left;             // the nodes of the stage's result

  Side(const GoldenRecord& record, std::vector<RecordedMatch> all, const std::string& stage, UOp result)
      : rewritten(result.graph()), left(result.graph()) {
    for (RecordedMatch& m : all) {
      const bool is_of_stage = m.stage < record.stages.size() && stage_name(record.stages[m.stage].name) == stage;
      if (!is_of_stage || m.place.starts_with("uop/ops.py:")) continue;
      places.insert(m.place), rewritten[m.before] = true;
      matches.push_back(std::move(m));
    }
    for (UOp u : toposort(result)) left[u] = true;
  }

  // Returns the match that made the difference, of a rule that matched only here; null if there is none. Prefers a
  // match of a node that `other` has after the stage, then a match of the stage itself, not one that another rule made.
  const RecordedMatch* first_missing_in(const Side& other) const {
    const RecordedMatch* found = nullptr;
    auto rank = [&](const RecordedMatch& m) { return std::pair(!other.left.find(m.before), m.depth); };
    for (const RecordedMatch& m : matches)
      if (!other.places.contains(m.place) && !other.rewritten.find(m.before) && other.has_variables_of(m.before) &&
          (!found || rank(m) < rank(*found)))
        found = &m;
    return found;
  }

  // Returns false if `u` has variables that this side does not have: such a graph exists only while a rule runs, which
  // put variables in the place of nodes.
  bool has_variables_of(UOp u) const {
    return std::ranges::all_of(toposort(u), [&](UOp v) { return !v.in({Op::PARAM, Op::DEFINE_VAR}) || left.find(v); });
  }
};

ReplayCulprit first_difference(const std::vector<RecordedMatch>& of_a, const std::vector<RecordedMatch>& of_b) {
  const size_t common = std::min(of_a.size(), of_b.size());
  for (size_t i = 0; i < common; i++) {
    const RecordedMatch &x = of_a[i], &y = of_b[i];
    if (same(x, y)) continue;
    if (x.before == y.before) return {.rule = x.place == y.place ? y.place : x.place + " -> " + y.place};
    auto comes = [&](const RecordedMatch& m, const std::vector<RecordedMatch>& in) {
      return std::any_of(in.begin() + ptrdiff_t(i), in.end(), [&](const RecordedMatch& n) { return same(m, n); });
    };
    return {.rule = {}, .first_match = comes(y, of_a) || x.place == y.place ? x.place : y.place};
  }
  if (of_a.size() == of_b.size()) return {};
  return {.rule = {}, .first_match = of_a.size() < of_b.size() ? of_b[common].place : of_a[common].place};
}

}  // namespace

ReplayCulprit find_culprit(const GoldenRecord& a, const GoldenRecord& b, const std::string& producer,
                           const std::string& stage, UOp result_a, UOp result_b) {
  auto of_a = read_rewrites(result_a.graph(), a.rewrites, producer, ""),
       of_b = read_rewrites(result_a.graph(), b.rewrites, producer, "");
  if (!of_a || !of_b) return {};
  const Side in_a(a, std::move(*of_a), stage, result_a), in_b(b, std::move(*of_b), stage, result_b);
  const RecordedMatch *only_a = in_a.first_missing_in(in_b), *only_b = in_b.first_missing_in(in_a);
  if (only_a && only_b) return {.rule = only_a->place + " -> " + only_b->place};
  if (only_a || only_b) return {.rule = (only_a ? only_a : only_b)->place};
  return first_difference(in_a.matches, in_b.matches);
}

}  // namespace tgc
