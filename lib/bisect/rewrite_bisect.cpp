#include "lib/bisect/rewrite_bisect.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/compilation/scoped_watch.h"
#include "lib/rewrite/intervention.h"
#include "lib/rewrite/rewrite.h"
#include "lib/support/lines.h"
#include "lib/trace/trace.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

// A tree's lines without its indent; of lines that are the same one, and how many; the end of a long one left out.
std::string folded(std::string_view tree) {
  constexpr size_t kMost = 16;
  std::vector<std::string_view> lines = lines_of(tree);
  size_t indent = lines.empty() ? 0 : std::min(lines[0].find_first_not_of(' '), lines[0].size());
  std::string out;
  size_t shown = 0;
  for (size_t i = 0, next; i < lines.size(); i = next) {
    for (next = i + 1; next < lines.size() && lines[next] == lines[i];) next++;
    if (shown++ == kMost) return out + "\n... " + std::to_string(lines.size() - i) + " lines more";
    out += (out.empty() ? "" : "\n") + std::string(lines[i].substr(std::min(indent, lines[i].size())));
    if (next - i > 1) out += "  (" + std::to_string(next - i) + " times)";
  }
  return out;
}

constexpr size_t kMostInLine = 400;  // letters

// A side of a rewrite for people: algebra in a line, anything larger as a tree.
std::string side_text(UOp u) {
  const bool is_algebra = u.dtype().is(Scalar::Index) || dtypes::is_int(u.dtype()) || dtypes::is_bool(u.dtype());
  if (is_algebra && is_tree_within(u, kMostInLine))
    if (std::string text = render(u, false); text.size() < kMostInLine && text.find("Ops.") == text.npos) return text;
  return tree_text(u, 3);
}

// Of a node and its sources: the first whole number in it that its dtype does not hold, "8193.0 of dtypes.half".
std::string number_beyond(UOp u) {
  std::vector<UOp> nodes{u};
  nodes.insert(nodes.end(), u.src().begin(), u.src().end());
  for (UOp c : nodes) {
    if (!c.in({Op::CONST, Op::VCONST}) || c.is_invalid() || c.dtype().is(Scalar::Index)) continue;
    std::vector<Arg> numbers{c.arg()};
    if (c.is(Op::VCONST)) numbers.assign(c.arg().items().begin(), c.arg().items().end());
    for (Arg n : numbers) {
      const Const number = n.to_const();
      if (number.is_invalid()) continue;
      const double v = number.to_double();
      bool is_whole = std::isfinite(v) && v == std::nearbyint(v);
      if (is_whole && truncate(number, c.dtype().scalar()).to_double() != v)
        return number.str() + " of " + std::string(c.dtype().scalar().repr());
    }
  }
  return "";
}

bool is_unlike(const EquivalenceResult& seen) { return seen.kind == EquivalenceResult::Kind::Unlike; }

std::string how_unlike(UOp before, UOp after) {
  if (before.dtype() == after.dtype()) return "a part of what it makes has not as many elements as what it is made of";
  return "it makes " + std::string(after.dtype().repr()) + " of what was " + std::string(before.dtype().repr());
}

Suspect suspect_of(const Application& a, const EquivalenceResult& seen) {
  // a substitution that does not make what it was told to: that beside what it made
  UOp before = a.told && !(a.told == a.after) ? a.told : a.before;
  std::string beyond = number_beyond(a.before);
  if (beyond.empty() && a.after) beyond = number_beyond(a.after);  // it came about there
  return {a.number, a.in_stage, a.stage, a.rule, a.branch, a.depth, seen,
          side_text(before), side_text(a.after), describe(a.before), beyond,
          is_unlike(seen) ? how_unlike(before, a.after) : ""};
}

// "number 2 of substitute in 'cut store ranges', lib/rewrite/substitute.cpp:37"
std::string described(const Suspect& s) {
  return "number " + std::to_string(s.in_stage) + " of " + std::string(s.rule->name) + " in '" +
         std::string(s.stage->name) + "', " + location_of(*s.rule);
}

// The first of `n` places, of which the last is wrong, where `is_right` no longer holds.
template <class IsRight>
size_t first_wrong(size_t n, IsRight is_right) {
  size_t right = 0, wrong = n - 1;  // before `right` all are, as far as is known
  while (right < wrong) {
    size_t middle = (right + wrong) / 2;
    if (is_right(middle)) right = middle + 1;
    else wrong = middle;
  }
  return wrong;
}

constexpr size_t kMostPartners = 4;     // suspects that are tried two by two
constexpr size_t kMostPartsTried = 64;  // rewrites inside one that are left out

// The first of list[first..end) that `is_candidate`, and that `is_to_blame`: of each rule and branch one is asked.
// Null: there is none, as far as was tried.
template <class IsCandidate, class IsToBlame>
const Application* first_by_rule(std::span<const Application> list, size_t first, size_t end, IsCandidate is_candidate,
                                 IsToBlame is_to_blame) {
  std::set<std::pair<const Rule*, const char*>> tried;
  for (size_t i = first; i < end && tried.size() < kMostPartsTried; i++)
    if (is_candidate(i) && tried.emplace(list[i].rule, list[i].branch).second && is_to_blame(list[i])) return &list[i];
  return nullptr;
}

bool can_run(const TopRewrite& r) { return r.input.is(Op::SINK); }

}  // namespace

std::string tree_text(UOp u, int depth) { return folded(describe(u, depth)); }

void name_suspect(const Suspect& s, BisectReport& report) {
  report.stage = s.stage ? s.stage->name : "";
  report.rule = s.rule->name;
  report.branch = s.branch ? s.branch : "";
  report.location = location_of(*s.rule);
  report.rewrite = s.in_stage;
  report.before = s.before, report.after = s.after, report.node = s.whole_before;
}

void name_application(const Application& a, BisectReport& report) { name_suspect(suspect_of(a, {}), report); }

// ---- the look

Outcome RewriteBlame::compile() {
  compilation_.watch(&log_);
  auto& list = compilation_.list();
  compilation_.watch(nullptr);
  if (!list) return {Outcome::Kind::Refused, list.diag()};
  list_ = *list;
  return {};
}

Outcome RewriteBlame::look() {
  Outcome out = compile();
  if (out.passes()) out = run_.run_list(list_);
  if (run_.spec().compare.each_stage)
    for (const StageRun& s : log_.stages())
      if (out.passes() && s.row->is_graph_stage() && s.result && !(s.result == s.input)) out = run_graph(s.result);
  if (!out.passes() && !is_endless(out)) compare(log_.list());
  return out;
}

void RewriteBlame::compare(std::span<const Application> list) {
  report_.rewrites = list.size();
  auto seen = look_at(compilation_, list, run_.inputs(), run_.spec().input.variables);
  if (!seen) {
    report_.detail = "the sides of the rewrites were not compared: " + seen.diag().text();
    return;
  }
  seen_ = std::move(*seen);
  for (size_t i = 0; i < list.size(); i++) {
    report_.looked_at += seen_[i].kind != EquivalenceResult::Kind::Open;
    if (seen_[i].kind == EquivalenceResult::Kind::Differ || is_unlike(seen_[i])) suspects_.push_back(suspect_of(list[i], seen_[i]));
  }
  // those that no rounding explains first; of rewrites inside each other the inner one is done first
  std::ranges::stable_sort(suspects_, std::greater(), [](const Suspect& s) { return s.seen.beyond_rounding; });
}

bool RewriteBlame::accuse_suspect() {
  for (const Suspect& s : suspects_)
    if (Proof proof = confirm(s); proof != Proof::None) {
      if (const Suspect* other = proof == Proof::ByGraph ? partner_of(s) : nullptr) return accuse_two(s, *other);
      return accuse_within(s, proof), true;
    }
  if (accuse_unlike() || accuse_two()) return true;
  if (!run_.is_small() && accuse_only_rule()) return true;
  for (const Suspect& s : suspects_)
    if (is_in_first_wrong_stage(s)) return accuse(s, Proof::None), true;
  return false;
}

// Whether the graph is right before the rewrite, or the one that it is a part of, and wrong after. Where REF cannot
// run the graph between two rewrites: whether the run passes without that rewrite, or else without its rule.
Proof RewriteBlame::confirm(const Suspect& s) {
  // a graph in which a value has another dtype than its users take it for may be one on the way to a right one
  if (is_unlike(s.seen)) {
    if (Proof proof = proof_without(s); proof != Proof::None) return proof;
    return ends_wrong(s.stage) && stage_without(s).passes() ? Proof::ByStage : Proof::None;
  }
  if (s.seen.differs_at_one_in(2) && without(s).passes()) return Proof::ByRun;
  for (const TopRewrite& r : log_.rewrites())
    for (size_t i = 0; i < r.applications.size(); i++) {
      if (log_.list()[r.applications[i]].number < s.number) continue;
      if (r.stage != s.stage || !can_run(r)) break;
      Outcome before = run_after(r, i);
      if (before.is_refused()) break;
      if (!before.passes() || run_after(r, i + 1).passes()) return Proof::None;
      // the whole of which it is a part is to blame: is it that part? Where it cannot be left out, its sides tell
      if (s.depth == 0) return Proof::ByGraph;
      Outcome other = without(s);
      if (other.passes()) return Proof::ByRun;
      if (other.is_refused() ? s.seen.beyond_rounding : stage_without(s).passes()) return Proof::ByGraph;
      return proof_without_rule(s);  // what it does may be done again, further on
    }
  return proof_without(s);
}

Proof RewriteBlame::proof_without(const Suspect& s) {
  return without(s).passes() ? Proof::ByRun : proof_without_rule(s);
}

Proof RewriteBlame::proof_without_rule(const Suspect& s) {
  Veto all([&](uint64_t, const Hit& hit, UOp) { return hit.rule == s.rule && hit.branch == s.branch; });
  return run_.attempt(&all).passes() ? Proof::ByRule : Proof::None;
}

// A rewrite makes it wrong; which of those that it is made of is to blame? One whose sides differ nearly everywhere,
// and that cannot be left out alone, or that hangs on no loop and no variable, so that nothing around it may make it
// right; or one that has no sides, and without which it passes. None: it is itself, or there is no telling, when it has
// parts that nothing is known of.
void RewriteBlame::accuse_within(const Suspect& whole, Proof proof) {
  const auto& list = log_.list();
  const size_t end = size_t(std::ranges::find(list, whole.number, &Application::number) - list.begin());
  const size_t first = first_part_of(list, end);
  for (const Suspect& s : suspects_)
    if (s.number >= list[first].number && s.number < whole.number && s.seen.differs_at_one_in(2) &&
        (s.seen.point.empty() || without(s).is_refused()))
      return accuse(s, proof);
  if (seen_.empty()) compare(list);  // a command tells what is wrong: there was no look
  std::vector<Suspect> unknown;
  for (size_t i = first; i < end; i++)
    if (i >= seen_.size() || seen_[i].kind == EquivalenceResult::Kind::Open) unknown.push_back(suspect_of(list[i], {}));
  for (size_t i = 0; i < std::min(unknown.size(), kMostPartsTried); i++)
    if (without(unknown[i]).passes()) return accuse(unknown[i], Proof::ByRun);
  look_closer(first, end);
  if (auto part = part_by_rule(whole, first, end)) return accuse(*part, Proof::ByRule);
  if (unknown.empty()) return accuse(whole, proof);
  report_.verdict = BisectReport::Verdict::Unresolved;
  report_.stage = whole.stage->name;
  report_.detail = "it is " + described(whole) + ", or what is done inside it: " + described(unknown[0]) +
                   (unknown.size() > 1 ? " and " + std::to_string(unknown.size() - 1) + " more" : "");
}

// Whether both sides of an application were seen to be the same to the last bit, the sign of a zero, too.
bool RewriteBlame::makes_the_same(size_t i) const {
  return i < seen_.size() && seen_[i].kind == EquivalenceResult::Kind::Same && seen_[i].exactly;
}

// Where none of the rewrites from `first` up to `end` was seen to differ: a look at more points, as far as needed. One
// that is wrong at few, as a quotient that is negative is, may have been right at all of the first look's.
void RewriteBlame::look_closer(size_t first, size_t end) {
  constexpr uint64_t kMostLooks = 9;
  const auto& list = log_.list();
  end = std::min(end, seen_.size());
  auto is_known = [&] {
    return first >= end || std::any_of(seen_.begin() + ptrdiff_t(first), seen_.begin() + ptrdiff_t(end),
                                       [](const EquivalenceResult& s) { return s.kind == EquivalenceResult::Kind::Differ; });
  };
  auto is_part = [&](const Application& a) {
    return a.number >= list[first].number && a.number <= list[end - 1].number;
  };
  for (uint64_t seed = 2; seed <= kMostLooks && !is_known(); seed++) {
    auto seen = look_at(compilation_, list, run_.inputs(), run_.spec().input.variables, is_part, seed);
    if (!seen) return;
    for (size_t i = first; i < end; i++)
      if ((*seen)[i - first].kind == EquivalenceResult::Kind::Differ) seen_[i] = (*seen)[i - first];
  }
}

// A rule of which a few last bits, or the sign of a zero, are another after it, and that makes it fail all the same: a
// sign is that of an infinity, further on.
std::optional<Suspect> RewriteBlame::nearly_same_by_rule() {
  auto is_near = [&](size_t i) { return seen_[i].kind == EquivalenceResult::Kind::Same && !seen_[i].exactly; };
  auto passes_without = [&](const Application& a) { return proof_without_rule(suspect_of(a, {})) == Proof::ByRule; };
  const Application* a = first_by_rule(log_.list(), 0, seen_.size(), is_near, passes_without);
  return a ? std::optional(suspect_of(*a, {})) : std::nullopt;
}

// Of the rewrites from `first` up to `end`, which are parts of `whole`: one without whose rule it passes, though that
// which it is a part of is still done. What is off by little shows in the end alone; and what the one leaves another
// may do, further on.
std::optional<Suspect> RewriteBlame::part_by_rule(const Suspect& whole, size_t first, size_t end) {
  auto is_other = [&](size_t i) { return !makes_the_same(i) && log_.list()[i].rule != whole.rule; };
  auto passes_without = [&](const Application& a) {
    bool whole_is_done = false;
    Veto veto([&](uint64_t, const Hit& hit, UOp before) {
      whole_is_done |= hit.rule == whole.rule && describe(before) == whole.whole_before;
      return hit.rule == a.rule && hit.branch == a.branch;
    });
    return run_.attempt(&veto).passes() && whole_is_done;
  };
  const Application* a = first_by_rule(log_.list(), first, end, is_other, passes_without);
  if (!a) return std::nullopt;
  const size_t i = size_t(a - log_.list().data());
  return suspect_of(*a, i < seen_.size() ? seen_[i] : EquivalenceResult{});
}

// Of a rewrite that makes the graph wrong: another one, when it still fails without the first and passes without both.
const Suspect* RewriteBlame::partner_of(const Suspect& s) {
  if (without(s).kind != Outcome::Kind::Fails) return nullptr;
  size_t tries = 0;
  for (const Suspect& other : suspects_)
    if (&other != &s && other.seen.beyond_rounding && tries++ < kMostPartners && without(s, &other).passes()) return &other;
  return nullptr;
}

// Several that make unlike values, of which none alone is to blame, nor its rule: the first, when it passes without all
// of their rules.
bool RewriteBlame::accuse_unlike() {
  std::vector<const Suspect*> unlike;
  for (const Suspect& s : suspects_)
    if (is_unlike(s.seen)) unlike.push_back(&s);
  auto is_of_one = [&](const Hit& hit) {
    return std::ranges::any_of(unlike, [&](auto* s) { return s->rule == hit.rule && s->branch == hit.branch; });
  };
  Veto all([&](uint64_t, const Hit& hit, UOp) { return is_of_one(hit); });
  if (unlike.size() < 2 || !run_.attempt(&all).passes()) return false;
  accuse(*unlike[0], Proof::ByRule);
  report_.proof = "it passes when neither that rule applies nor the others that make such values";
  return true;
}

// Two that are only wrong together.
bool RewriteBlame::accuse_two() {
  for (size_t b = 1; b < std::min(suspects_.size(), kMostPartners); b++)
    for (size_t a = 0; a < b; a++)
      if (without(suspects_[a], &suspects_[b]).passes()) return accuse_two(suspects_[a], suspects_[b]);
  return false;
}

bool RewriteBlame::accuse_two(const Suspect& first, const Suspect& second) {
  accuse(first, Proof::ByRun);
  report_.detail = "it is one of two, and passes without both: the other is " + described(second);
  report_.proof = "it fails without this one alone, and passes without both";
  return true;
}

bool RewriteBlame::accuse_of_endless() {
  constexpr size_t kMostCompared = 4000, kMostTried = 16;
  std::span<const Application> list = log_.list();
  compare(list.first(std::min(list.size(), kMostCompared)));  // what goes on for ever has gone wrong long before
  std::erase_if(suspects_, [](const Suspect& s) { return !s.seen.differs_at_one_in(2); });
  for (size_t i = 0; i < std::min(suspects_.size(), kMostTried); i++)
    if (Proof proof = confirm(suspects_[i]); proof != Proof::None) {
      accuse(suspects_[i], proof);
      if (proof == Proof::ByGraph) report_.proof = "in REF the graph is right before it, and with it does not end";
      return true;
    }
  return false;
}

// Of a kernel that is too large for REF: the first suspect, when all that differ plainly are of its rule.
bool RewriteBlame::accuse_only_rule() {
  const Suspect* first = nullptr;
  for (const Suspect& s : suspects_) {
    if (!s.seen.differs_at_one_in(4)) continue;
    if (!first) first = &s;
    if (s.rule != first->rule) return false;
  }
  if (first) accuse(*first, Proof::None);
  return first;
}

// Of sides that differ nearly everywhere: whether the stage's graph is right before, and wrong after.
bool RewriteBlame::is_in_first_wrong_stage(const Suspect& s) {
  if (!s.seen.differs_at_one_in(4)) return false;
  for (const StageRun& run : log_.stages())
    if (run.row == s.stage) return run_graph(run.input).passes() && !(run.result && run_graph(run.result).passes());
  return false;
}

// Whether the stage's graph can be run in REF, and is wrong.
bool RewriteBlame::ends_wrong(const StageRow* stage) {
  return std::ranges::any_of(log_.stages(), [&](const StageRun& run) {
    if (run.row != stage || !run.result) return false;
    Outcome after = run_graph(run.result);
    return !after.passes() && !after.is_refused();
  });
}

// Behind the first that is left out numbers are others: a second one is known by its rule and what it rewrites.
Outcome RewriteBlame::without(const Suspect& s, const Suspect* second) {
  Veto veto([&](uint64_t number, const Hit& hit, UOp before) {
    return number == s.number || (second && hit.rule == second->rule && describe(before) == second->whole_before);
  });
  return run_.attempt(&veto);
}

// The graph after its stage with it left out, in REF: later stages may do the same again.
Outcome RewriteBlame::stage_without(const Suspect& s) {
  Veto veto([&](uint64_t number, const Hit&, UOp) { return number == s.number; });
  Compilation c = run_.begin();
  ScopedWatch watched(c, veto);
  if (auto done = c.run_through(*s.stage); !done) return {Outcome::Kind::Refused, done.diag()};
  const UOp after = c.current();
  c.watch(nullptr);
  return run_.run_graph(after);
}

void RewriteBlame::accuse(const Suspect& s, Proof proof) {
  report_.verdict = BisectReport::Verdict::Rewrite;
  name_suspect(s, report_);
  report_.witness = s.seen.point;
  if (s.seen.kind == EquivalenceResult::Kind::Differ)
    report_.witness["before"] = s.seen.before, report_.witness["after"] = s.seen.after;
  if (is_unlike(s.seen)) report_.detail = s.unlike;
  if (!s.beyond.empty()) report_.detail = "it has " + std::string(kWildConstant) + ": " + s.beyond;
  report_.confirmed = proof != Proof::None;
  report_.proof = proof == Proof::ByRule    ? "it passes when that rule never applies"
                  : proof == Proof::ByGraph ? "in REF the graph is right before it, and wrong after it"
                  : proof == Proof::ByStage ? "in REF the graph after its stage is wrong, and right without it"
                  : proof == Proof::None    ? "its sides differ, but nothing was found that passes"
                                            : "";
}

// ---- the search

Outcome RewriteBlame::run_graph(UOp root) {
  auto [it, is_new] = graphs_.try_emplace(root.id());
  if (is_new) it->second = run_.run_graph(root);
  return it->second;
}

// The graph after the first `n` of the applications, in REF.
Outcome RewriteBlame::run_after(const TopRewrite& r, size_t n) {
  std::vector<std::pair<UOp, UOp>> first;
  for (size_t i = 0; i < n; i++) {
    const Application& a = log_.list()[r.applications[i]];
    first.emplace_back(a.before, a.after);
  }
  auto graph = catch_failures([&] { return apply_rewrites(r.input, r.bottom_up, first, r.gates); });
  return graph ? run_graph(*graph) : Outcome{Outcome::Kind::Refused, graph.diag()};
}

bool RewriteBlame::search() {
  std::vector<StageRun> stages;
  for (const StageRun& s : log_.stages())
    if (s.row->is_graph_stage() && (!s.result || !(s.result == s.input))) stages.push_back(s);
  auto is_right = [&](size_t i) { return stages[i].result && run_graph(stages[i].result).passes(); };
  auto is_unknown = [&](UOp result) { return !run_.is_small() && result && run_graph(result).is_refused(); };
  size_t first = stages.size();
  if (run_.spec().compare.each_stage)  // one that is wrong may be followed by others that are right
    for (first = 0; first < stages.size() && is_right(first);) first++;
  else if (!stages.empty() && !is_right(stages.size() - 1) && !is_unknown(stages.back().result))
    first = first_wrong(stages.size(), is_right);
  all_right_ = first == stages.size();
  if (all_right_) return false;
  const StageRun& stage = stages[first];
  report_.stage = stage.row->name;
  return search_stage(stage.row);
}

bool RewriteBlame::search_stage(const StageRow* stage) {
  for (const TopRewrite& r : log_.rewrites()) {
    size_t n = r.applications.size();
    if (r.stage != stage || !can_run(r) || n == 0) continue;
    if (!run_after(r, 0).passes() || run_after(r, n).passes()) continue;
    size_t i = first_wrong(n, [&](size_t k) { return run_after(r, k + 1).passes(); });
    if (!run_after(r, i).passes()) continue;
    const bool is_refused = run_after(r, i + 1).is_refused();
    if (is_refused && !run_after(r, n).is_refused()) continue;  // what is on its way says nothing
    if (!is_refused && makes_the_same(r.applications[i]))  // what was done before comes to light there
      if (auto other = nearly_same_by_rule()) return accuse(*other, Proof::ByRule), true;
    accuse_within(suspect_of(log_.list()[r.applications[i]], {}), Proof::ByGraph);
    if (is_refused) report_.proof = "in REF the graph is right before it, and cannot be run after it";
    return true;
  }
  return false;
}

}  // namespace tgc
