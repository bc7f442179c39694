#include "lib/reduce/reduce.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "lib/reduce/cuts.h"
#include "lib/reduce/ddmin.h"
#include "lib/reduce/initial_case.h"
#include "lib/reduce/slice_to_rewrite.h"
#include "lib/reduce/steps.h"
#include "lib/run/repro_bundle.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

constexpr size_t kFew = 6;        // nodes of a case of which nobody asks for less
constexpr size_t kSmall = 400;    // nodes of a case that is walked down without cuts
constexpr size_t kWorthACut = 6;  // nodes that are there for one node alone: an array in their place is smaller

// The session without what the case itself says: opts are in its graph, settings with it, the target in its info.
Session without_overrides(const Session& session) {
  return {.jobs = session.jobs, .compile = session.compile, .cancel = session.cancel};
}

// One reduction. Throws Failure.
class Reduction {
 public:
  Reduction(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted,
            ReduceReport& report)
      : session_(session),
        own_(without_overrides(session)),
        in_(in),
        options_(with_bundle(options, in)),
        wanted_(wanted),
        oracle_(own_, options_of_cases(), wanted),
        report_(report) {}

  void run() {
    best_ = given_case(session_, in_, options_, wanted_.kind == FailureSignature::Kind::Differs);
    (void)oracle_.first(best_).value_or_throw();
    report_.before = best_.nodes();
    show();
    const TestCase given = best_;
    if (!stopped()) approach();
    if (oracle_.has_glances()) try_smallest_end(given);
    else make_plain(plainer_steps());
    sweep();
    if (oracle_.has_glances()) try_other_ways(given);
    report_.interrupted = session_.cancelled();
    end();
    (void)take_fault_warnings();  // of smaller cases: those of the case itself came with its first look
  }

 private:
  // A case holds its device and its arrays, and REF tells what it should store.
  RunOptions options_of_cases() const {
    RunOptions out{.input = {.seed = options_.input.seed, .variables = options_.input.variables},
                   .device = options_.device,
                   .compare = {.tolerance = options_.compare.tolerance}};
    out.device.name = "";
    return out;
  }
  bool stopped() const { return session_.cancelled(); }
  void show() const {
    session_.progress(std::to_string(best_.nodes()) + " nodes, " + std::to_string(oracle_.calls()) + " tries");
  }

  // The stage that is to blame.
  std::string stage() const {
    const Shown& shown = oracle_.shown();
    if (auto it = shown.blamed.find("stage"); it != shown.blamed.end()) return it->second;
    const std::string& said = shown.symptom.said;  // "stage 'expander': ..."
    if (shown.symptom.kind == FailureSignature::Kind::Differs) return "";  // tinygrad begins with the AST
    size_t at = said.find("stage '"), end = at == said.npos ? at : said.find('\'', at + 7);
    return end == said.npos ? "" : said.substr(at + 7, end - at - 7);
  }
  bool is_rewrite() const { return oracle_.shown().names_rewrite(); }

  // ---- the ways that glances lead

  // Cases, each made from the one before.
  using Way = std::vector<TestCase>;
  // Where a way begins, and how it goes on: thinned, as plain ddmin goes about it, or by single steps.
  struct Start {
    Way way;
    UOp (*instead)(UOp) = nullptr;  // thinned: what a node becomes; where something runs, a loop one of its iterations
  };

  // Beside the way from where the approach led, which leaves that many nodes: from the whole graph of the stage, where
  // that is not much larger; and thinned, which ends elsewhere than single steps after a leap.
  std::vector<Start> other_starts(const TestCase& given, size_t left) {
    std::vector<Start> out;
    if (is_rewrite()) {
      auto later = at_stage(own_, given, stage());
      if (!later) return out;
      later->device = "REF";
      if (later->nodes() < 2 * left) out.push_back({{*later}});
      out.push_back({{*later}, instead_within});
      if (later->fault) {
        later->fault = given.fault;  // at_stage takes the first application from there on for the fault's
        out.push_back({{*later}, instead_within});
      }
      out.push_back({{given}, instead_within});
      return out;
    }
    if (auto ahead = leap_from(given)) out.push_back({{given, std::move(*ahead)}});
    out.push_back({{given}, instead_of});
    out.push_back({{given}, instead_within});
    if (given.nodes() < left) out.push_back({{given}});
    return out;
  }

  // Where a leap from the case leads as far as glances tell.
  std::optional<TestCase> leap_from(const TestCase& given) {
    TestCase reduced = std::exchange(best_, given);
    trusts_glances_ = true;
    (void)slice_to_rewrite();
    best_ = std::move(reduced);
    return std::exchange(ahead_, std::nullopt);
  }

  // The way to its end: glances have nothing against what follows its first case.
  Way glanced(const Start& start) {
    auto may = [&](const TestCase& c) { return !stopped() && may_fail(c); };
    Way way = start.instead ? thinned(start.way[0], start.instead, may) : start.way;
    size_t from = 0;
    while (auto next = next_that_may_fail(way.back(), from)) way.push_back(std::move(*next));
    return way;
  }

  // Where several ways lead somewhere the oracle is asked of the smallest end first: so it is mostly asked once.
  void try_smallest_end(const TestCase& given) {
    Way smallest = glanced({ahead_ ? Way{best_, *ahead_} : Way{best_}});
    const size_t left = smallest.back().nodes();
    if (left <= kFew || stopped()) return;
    bool is_own = true;
    for (const Start& start : other_starts(given, left)) {
      Way way = glanced(start);
      if (!is_smaller_than(way.back(), smallest.back())) continue;
      smallest = std::move(way), is_own = false;
    }
    if (is_own || !oracle_.fails(smallest.back())) return;
    ahead_.reset();
    try_way(smallest);
  }

  // The other ways, where they lead to less. Where glances mislead, as of rewrites whose sides have no value, the
  // oracle is asked at each step of a thinned one, once.
  void try_other_ways(const TestCase& given) {
    if (is_few()) return;
    for (const Start& start : other_starts(given, best_.nodes())) {
      if (is_few()) return;
      if (!misled_ || !start.instead) try_way(glanced(start));
      if (!misled_ || !start.instead || is_thinned_ || is_few() || !oracle_.fails(start.way[0])) continue;
      is_thinned_ = true;
      auto fails = [&](const TestCase& c) { return !stopped() && oracle_.fails(c); };
      try_way({thinned(start.way[0], start.instead, fails).back()});
    }
  }
  bool is_few() const { return best_.nodes() <= kFew || stopped(); }

  // Takes what a way, of which the first case fails, leads to, if that is less.
  void try_way(const Way& way) {
    if (!is_smaller(way.back())) return;
    const size_t last = last_that_fails(way);
    misled_ |= last + 1 < way.size();
    if (last == 0 && !(is_smaller(way[0]) && oracle_.fails(way[0]))) return;
    TestCase reduced = std::exchange(best_, way[last]);
    sweep();
    if (!is_smaller_than(best_, reduced)) best_ = std::move(reduced);
  }

  // Of a way whose first case fails: the last that does, as far as halves tell.
  size_t last_that_fails(const Way& way) {
    size_t fails = 0, passes = way.size();
    for (size_t at = way.size() - 1; passes - fails > 1 && !stopped(); at = (fails + passes) / 2)
      (oracle_.fails(way[at]) ? fails : passes) = at;
    return fails;
  }

  // From the whole kernel to where it goes wrong: at once to the rewrite, else to the stage; of what has no rewrite to
  // parts of its AST.
  void approach() {
    if (is_rewrite() && (slice_to_rewrite() || stopped())) return;
    if (is_rewrite()) begin_at_stage();
    else if (!oracle_.has_glances()) try_first_application();
    if (oracle_.has_glances() && (ahead_ || best_.nodes() < kSmall)) return;  // single steps are cheap
    accept_first(single_stores(best_));
    while (descend()) {}
    cut_parts();
    for (size_t depth = 2; cut_level(depth); depth++) {}
  }

  // A seeded fault is counted in each case anew, and what is cut away before it counts, too.
  void try_first_application() {
    if (!best_.fault) return;
    for (uint64_t n : {uint64_t(1), best_.fault->application / 2}) {
      TestCase other = best_;
      other.fault->application = n;
      if (n > 0 && n < best_.fault->application && accept(other)) return;
    }
  }

  void begin_at_stage() {
    TestCase in_ref = best_;  // a rewrite is wrong wherever it runs, and REF needs no compiler
    in_ref.device = "REF";
    auto later = at_stage(own_, in_ref, stage());
    bool is_likely = later && later->nodes() < kSmall && oracle_.has_glances() && may_fail(*later);
    if (trusts_glances_ && is_likely) {
      ahead_ = std::move(later);
      return;
    }
    if (best_.device != "REF" && oracle_.fails(in_ref)) take(std::move(in_ref));
    later = at_stage(own_, best_, stage());
    if (!later) return;
    if (oracle_.fails(*later)) return take(std::move(*later));
    if (later->fault) later->fault = best_.fault, (void)accept(*later);
  }

  // The nodes around the accused rewrite: those that its rule looks at, or as few more as it takes.
  bool slice_to_rewrite() {
    const Shown& shown = oracle_.shown();
    std::optional<RewriteSlice> slice_to_rewrite;
    if (is_rewrite() && shown.rewrite)
      slice_to_rewrite = RewriteSlice::find(own_, best_, stage(), shown.blamed.at("rule"), shown.rewrite);
    else if (shown.symptom.kind == FailureSignature::Kind::Refused || shown.symptom.kind == FailureSignature::Kind::Endless)
      slice_to_rewrite = RewriteSlice::find_last(own_, best_, stage());
    return slice_to_rewrite && (leap_to(*slice_to_rewrite) || (slice_to_rewrite->outer() && leap_to(*slice_to_rewrite->outer())));
  }

  bool leap_to(const RewriteSlice& slice_to_rewrite) {
    std::optional<TestCase> found;
    auto fails = [&](size_t depth) {
      auto c = catch_failures([&] { return slice_to_rewrite.around(depth, options_.input.variables, options_.device.ref_in_process()); });
      if (!c || !c->root) return false;
      if (is_rewrite()) c->device = "REF";
      if (!is_smaller(*c) || !(trusts_glances_ ? may_fail(*c) : oracle_.fails(*c))) return false;
      found = std::move(*c);
      return true;
    };
    trusts_glances_ &= oracle_.has_glances();
    size_t least = slice_to_rewrite.looked_at(), most = slice_to_rewrite.depth();
    if (!fails(std::min(least, most)) && least < most && fails(most))
      while (most - least > 1 && !stopped()) {
        size_t middle = (least + most) / 2;
        (fails(middle) ? most : least) = middle;
      }
    if (found && trusts_glances_) ahead_ = std::move(found);
    else if (found) take(std::move(*found));
    return found.has_value() || ahead_.has_value();
  }

  // Where a glance had nothing against the leap, and the oracle had.
  void leap_carefully() {
    trusts_glances_ = false;
    if (!slice_to_rewrite()) begin_at_stage();
  }

  // ---- taking what is smaller
  void take(TestCase c) {
    best_ = std::move(c);
    show();
  }
  bool may_fail(const TestCase& c) { return oracle_.known(c).value_or(true); }
  static bool is_smaller_than(const TestCase& a, const TestCase& b) { return a.root && size_of(a) < size_of(b); }
  bool is_smaller(const TestCase& c) const { return is_smaller_than(c, best_); }
  bool accept(const TestCase& c) {
    if (!is_smaller(c)) return false;
    TestCase own = in_own_graph(c);
    if (!oracle_.fails(own)) return false;
    return take(std::move(own)), true;
  }

  // The first of the candidates, from number `from` on and round, that is smaller and fails; as many are tried at once
  // as there are threads.
  std::optional<size_t> accept_first(const Candidates& candidates, size_t from = 0) {
    const size_t n = candidates.size(), width = std::max(1u, session_.jobs);
    for (size_t i = 0; i < n && !stopped();) {
      std::vector<std::pair<size_t, TestCase>> batch;
      for (; i < n && batch.size() < width; i++) {
        size_t number = (from + i) % n;
        auto c = catch_failures([&] { return candidates[number](); });
        if (!c || !is_smaller(*c)) continue;
        TestCase own = in_own_graph(*c);
        if (may_fail(own)) batch.emplace_back(number, std::move(own));
      }
      std::vector<char> fails(batch.size());
      std::vector<std::thread> threads;
      for (size_t k = 1; k < batch.size(); k++)
        threads.emplace_back([&, k] { fails[k] = oracle_.fails(batch[k].second); });
      if (!batch.empty()) fails[0] = oracle_.fails(batch[0].second);
      for (std::thread& t : threads) t.join();
      for (size_t k = 0; k < batch.size(); k++)
        if (fails[k]) return take(std::move(batch[k].second)), batch[k].first;
    }
    return std::nullopt;
  }

  // ---- down: the value that is stored becomes one that it is made of

  // By the way down that has most below it: the last node on it that fails when it alone is stored, then, at that node,
  // the other ways. Whether anything was taken.
  bool descend() {
    UOp value = stored_value(best_.root);
    if (!value || stopped()) return false;
    std::map<uint32_t, double> weight;
    for (UOp u : toposort(value)) {
      double& w = weight[u.id()] = 1;
      for (UOp s : u.src()) w = std::min(1e9, w + weight[s.id()]);
    }
    std::vector<UOp> way;
    for (UOp u = value; u;) {
      if (u == value || is_storable(u)) way.push_back(u);
      UOp heaviest;
      for (UOp s : u.src())
        if (!heaviest || weight[s.id()] > weight[heaviest.id()]) heaviest = s;
      u = heaviest;
    }
    size_t fails = 0, passes = way.size();
    std::optional<TestCase> deepest;
    while (passes - fails > 1 && !stopped()) {
      size_t middle = (fails + passes) / 2;
      auto c = catch_failures([&] { return in_own_graph(alone(best_, way[middle])); });
      if (c && is_smaller(*c) && oracle_.fails(*c)) fails = middle, deepest = std::move(*c);
      else passes = middle;
    }
    UOp at = way[fails];
    if (deepest) return take(std::move(*deepest)), true;
    Candidates others;
    for (UOp s : at.src())
      if (is_storable(s) && s.num_src() > 0 && (fails + 1 >= way.size() || !(s == way[fails + 1])))
        others.push_back([this, s] { return alone(best_, s); });
    return accept_first(others).has_value();
  }

  // ---- up: parts that feed it become buffers of what they were: all at once, else half of them, down to one
  void cut_parts() {
    std::set<std::string> needed;  // by key
    while (!stopped()) {
      std::vector<UOp> parts = large_parts(needed);
      bool cut = false;
      while (!parts.empty() && !stopped()) {
        auto c = catch_failures([&] { return with_buffers(best_, parts, options_.input.variables, options_.device.ref_in_process()); });
        if ((cut = c && accept(*c))) break;
        if (parts.size() == 1) needed.insert(to_hex(key_of(parts[0])));
        parts.resize(parts.size() / 2);
      }
      if (!cut && large_parts(needed).empty()) return;
    }
  }

  // The largest that are there for one node alone, none below another.
  std::vector<UOp> large_parts(const std::set<std::string>& needed) const {
    std::vector<UOp> out;
    UOp value = stored_value(best_.root);
    UOpSet covered(*best_.graph);
    for (auto& [u, size] : by_dominated(best_.root)) {
      if (size < kWorthACut || !is_storable(u) || (value && u == value) || covered.contains(u)) continue;
      if (needed.contains(to_hex(key_of(u)))) continue;
      out.push_back(u);
      for (UOp below : toposort(u)) covered.insert(below);
    }
    return out;
  }

  // What lies that many nodes below the stores becomes constants: all of it, else half of it, down to a few. Whether
  // anything lies there.
  bool cut_level(size_t depth) {
    std::vector<UOp> level{best_.root}, values;
    UOpSet seen(*best_.graph);
    for (size_t at = 0; at <= depth; at++) {
      std::vector<UOp> next;
      for (UOp u : level)
        for (UOp s : u.src())
          if (seen.insert(s)) next.push_back(s);
      level = std::move(next);
    }
    for (UOp u : level)
      if (is_storable(u) && u.num_src() > 0) values.push_back(u);
    for (size_t width = values.size(); width > 1 && !stopped(); width /= 2)
      for (size_t from = 0; from < values.size() && !stopped(); from += width) {
        auto some = std::span(values).subspan(from, std::min(width, values.size() - from));
        auto c = catch_failures([&] { return with_constants(best_, some); });
        if (!c || !is_smaller(*c) || !oracle_.fails(*c)) continue;
        take(std::move(*c));  // in the same graph: the other values are still nodes of it
        values.erase(values.begin() + ptrdiff_t(from), values.begin() + ptrdiff_t(from + some.size()));
        from -= width;
      }
    return !level.empty() && !stopped();
  }

  // ---- the end
  // What is odd and no matter: all at once, else halves.
  void make_plain(std::span<const Plainer> steps) {
    if (steps.empty() || stopped()) return;
    TestCase c = best_;
    size_t made = 0;
    for (Plainer step : steps) {
      auto plainer = catch_failures([&] { return step(c); });
      if (plainer && plainer->root) c = std::move(*plainer), made++;
    }
    if (made == 0 || accept(c) || made == 1) return;
    make_plain(steps.first(steps.size() / 2)), make_plain(steps.subspan(steps.size() / 2));
  }

  // No single step is possible: each was tried since the last one that was taken. Likely steps are made one after the
  // other, and the oracle is asked of the last case alone, else of those on the way, by halves; then fewer are made at
  // once. The others are tried one by one. Likely is what glances have nothing against; without them, what leaves at
  // least one of the ops that went with each step that made the failure go away.
  void sweep() {
    const bool has_glances = oracle_.has_glances();
    for (size_t most = SIZE_MAX, from = 0; !stopped();) {
      std::vector<TestCase> way{best_};
      const bool leaped = ahead_.has_value();
      if (leaped) way.push_back(std::move(*std::exchange(ahead_, std::nullopt)));
      while (way.size() - 1 < most)
        if (auto next = next_that_may_fail(way.back(), from)) way.push_back(std::move(*next));
        else break;
      if (way.size() > 1) {
        const size_t fails = last_that_fails(way);
        most = fails == 0 ? 1 : 2 * fails;
        if (fails + 1 < way.size()) learn(way[fails], way[fails + 1]);
        if (fails) take(std::move(way[fails]));
        else if (leaped && !stopped()) leap_carefully(), most = SIZE_MAX;
      } else {
        auto taken = has_glances ? std::nullopt : accept_first(all_steps(best_), from);
        if (!taken) return;
        from = *taken, most = SIZE_MAX;
      }
    }
  }

  // Of two cases, the second a step from the first: the failure went away with these ops, so that one of them matters.
  void learn(const TestCase& fails, const TestCase& passes) {
    if (OpSet gone = ops_of(fails.root) - ops_of(passes.root); !gone.empty()) needed_.push_back(gone);
  }
  bool is_likely(const TestCase& c) const {
    const OpSet there = ops_of(c.root);
    return std::ranges::all_of(needed_, [&](OpSet ops) { return there.intersects(ops); });
  }

  // The first likely step from number `from` on and round that may fail; `from` receives its number.
  std::optional<TestCase> next_that_may_fail(const TestCase& c, size_t& from) {
    Candidates steps = all_steps(c);
    for (size_t i = 0; i < steps.size() && !stopped(); i++) {
      size_t number = (from + i) % steps.size();
      auto next = catch_failures([&] { return steps[number](); });
      if (!next || !is_smaller_than(*next, c) || !(oracle_.has_glances() || is_likely(*next))) continue;
      if (may_fail(*next)) return from = number, std::move(*next);
    }
    return std::nullopt;
  }

  void end() {
    report_.after = best_.nodes();
    report_.calls = oracle_.calls(), report_.glances = oracle_.glances();
    report_.verdict = oracle_.shown().text();
    InputGraph in = best_.loaded();
    const RunOptions options = with_bundle(options_of_cases(), in);
    Placement place = std::move(placement_for(own_, options.device.name, in).value_or_throw());
    Repro repro{.symptom = std::string(name_of(oracle_.symptom_in(best_))),
                .said = oracle_.shown().text(),
                .script = wanted_.script,
                .blamed = oracle_.shown().blamed,
                .inputs = best_.inputs};
    if (best_.fault) repro.fault = best_.fault->text();
    report_.bundle = bundle_text(own_, options, in, place, std::move(repro));
  }

  const Session& session_;
  Session own_;
  InputGraph& in_;
  RunOptions options_;
  Wanted wanted_;
  Oracle oracle_;
  ReduceReport& report_;
  TestCase best_;
  bool trusts_glances_ = true;     // of the first leap: the oracle is asked later, of the last step of a walk
  std::optional<TestCase> ahead_;  // where that leap leads
  std::vector<OpSet> needed_;      // of each set at least one op, as it seems
  bool misled_ = false;            // glances led to a case that does not fail
  bool is_thinned_ = false;        // the oracle was asked as plain ddmin asks it
};

}  // namespace

ReduceReport reduce(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted) {
  ReduceReport report;
  auto begin = std::chrono::steady_clock::now();
  auto done = catch_failures([&] { return Reduction(session, in, options, wanted, report).run(), Unit{}; });
  if (!done) report.error = done.diag().text();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace tgc
