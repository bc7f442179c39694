#include "lib/reduce/reduce.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "lib/reduce/cuts.h"
#include "lib/reduce/slice_to_rewrite.h"
#include "lib/reduce/steps.h"
#include "lib/reduce/test_case.h"
#include "lib/run/repro_bundle.h"
#include "lib/support/first_wrong.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

constexpr size_t kMaxSmallCaseNodes = 6;  // a candidate of at most so many nodes is not reduced along other chains
constexpr size_t kMaxNodesForSingleSteps = 400;    // with a prefilter, single steps are fast for fewer nodes
constexpr size_t kMinCutNodes = 6;  // a node that dominates fewer nodes is not replaced by an array

class Reduction {
 public:
  Reduction(const Session& session, InputGraph& in, const RunOptions& options, const FailureCriterion& criterion,
            ReduceReport& report)
      : session_(session),
        own_session_(session_without_overrides(session)),
        input_(in),
        options_(options_with_bundle(options, in)),
        criterion_(criterion),
        test_(own_session_, options_of_cases(), criterion),
        report_(report) {}

  void run() {
    best_ = make_initial_case(session_, input_, options_, criterion_.kind == Kind::Differs);
    (void)test_.find_initial_failure(best_).value_or_throw();
    options_.input.variables = test_.variables();
    best_.inputs = test_.inputs_of(best_);
    report_.num_nodes_before = best_.num_nodes();
    show_progress();
    const TestCase given = best_;
    if (!is_stopped()) make_large_cuts();
    if (test_.has_prefilter()) try_chain_with_smallest_end(given);
    else apply_simplifications(all_simplifications());
    apply_single_steps();
    if (test_.has_prefilter()) try_other_chains(given);
    report_.was_interrupted = session_.is_cancelled();
    write_report();
    (void)extract_fault_warnings();
  }

 private:
  // Test cases have their own device and arrays. The reference is REF.
  RunOptions options_of_cases() const {
    RunOptions out{.device = options_.device, .compare = {.tolerance = options_.compare.tolerance}};
    out.input.seed = options_.input.seed, out.input.variables = options_.input.variables, out.device.name = "";
    return out;
  }
  bool is_stopped() const { return session_.is_cancelled(); }
  void show_progress() const {
    session_.report_progress(
        std::to_string(best_.num_nodes()) + " nodes, " + std::to_string(test_.num_calls()) + " tries");
  }
  // Returns "" if the stage is unknown.
  std::string failing_stage() const {
    const ObservedFailure& failure = test_.failure();
    if (auto it = failure.bisect_facts.find("stage"); it != failure.bisect_facts.end()) return it->second;
    const std::string& said = failure.symptom.message;  // such as "stage 'expander': ..."
    if (failure.symptom.kind == Kind::Differs) return "";  // tinygrad only compiles from the AST, not from a stage on
    size_t at = said.find("stage '"), end = at == said.npos ? at : said.find('\'', at + 7);
    return end == said.npos ? "" : said.substr(at + 7, end - at - 7);
  }
  bool is_rewrite_blamed() const { return test_.failure().has_named_rewrite(); }

  // ---- chains of cases that the prefilter accepts, of which the interestingness test tests only some

  using CaseChain = std::vector<TestCase>;
  // The beginning of a chain. If `replacement` is set, ddmin makes the next cases; then single steps make further ones.
  struct ChainStart {
    CaseChain chain;
    UOp (*replacement)(UOp) = nullptr;  // for ddmin: returns the node that replaces a removed node
  };

  // Returns beginnings of further chains, after a chain ended with a case that has `left` nodes.
  std::vector<ChainStart> other_chain_starts(const TestCase& given, size_t left) {
    std::vector<ChainStart> out;
    if (is_rewrite_blamed()) {
      auto later = case_before_stage(own_session_, given, failing_stage());
      if (!later) return out;
      later->device = "REF";
      if (later->num_nodes() < 2 * left) out.push_back({{*later}});
      out.push_back({{*later}, runnable_replacement_of});
      if (later->fault) later->fault = given.fault;  // case_before_stage() has set the application to 1
      if (later->fault) out.push_back({{*later}, runnable_replacement_of});
      out.push_back({{given}, runnable_replacement_of});
      return out;
    }
    if (auto ahead = untested_slice_of(given)) out.push_back({{given, std::move(*ahead)}});
    out.push_back({{given}, replacement_of_node}), out.push_back({{given}, runnable_replacement_of});
    if (given.num_nodes() < left) out.push_back({{given}});
    return out;
  }

  // Returns the slice (slice_to_rewrite.h) of the case if the prefilter accepts it; else nullopt.
  std::optional<TestCase> untested_slice_of(const TestCase& given) {
    TestCase reduced = std::exchange(best_, given);
    trusts_prefilter_ = true;
    (void)slice_to_rewrite();
    best_ = std::move(reduced);
    return std::exchange(untested_slice_, std::nullopt);
  }

  // Extends the chain that begins with `start` until the prefilter accepts no further case.
  CaseChain filtered_chain(const ChainStart& start) {
    auto may = [&](const TestCase& c) { return !is_stopped() && may_fail(c); };
    CaseChain chain = start.replacement ? ddmin(start.chain[0], start.replacement, may) : start.chain;
    size_t from = 0;
    while (auto next = find_next_candidate(chain.back(), from)) chain.push_back(std::move(*next));
    return chain;
  }

  // If the chain of another beginning than best_ ends with the smallest case, and this case fails, tries that chain.
  void try_chain_with_smallest_end(const TestCase& given) {
    CaseChain smallest = filtered_chain({untested_slice_ ? CaseChain{best_, *untested_slice_} : CaseChain{best_}});
    const size_t left = smallest.back().num_nodes();
    if (left <= kMaxSmallCaseNodes || is_stopped()) return;
    bool is_own = true;
    for (const ChainStart& start : other_chain_starts(given, left)) {
      CaseChain chain = filtered_chain(start);
      if (!is_smaller_than(chain.back(), smallest.back())) continue;
      smallest = std::move(chain), is_own = false;
    }
    if (is_own || !test_.is_interesting(smallest.back())) return;
    untested_slice_.reset();
    try_chain(smallest);
  }

  // Tries the chains that end with a smaller case than best_. If the prefilter accepted a case that does not fail, runs
  // ddmin with the interestingness test instead of the prefilter, at most once.
  void try_other_chains(const TestCase& given) {
    if (is_small_enough()) return;
    for (const ChainStart& start : other_chain_starts(given, best_.num_nodes())) {
      if (is_small_enough()) return;
      if (!prefilter_was_wrong_ || !start.replacement) try_chain(filtered_chain(start));
      const bool needs_exact_ddmin = prefilter_was_wrong_ && start.replacement && !has_run_exact_ddmin_;
      if (!needs_exact_ddmin || is_small_enough() || !test_.is_interesting(start.chain[0])) continue;
      has_run_exact_ddmin_ = true;
      auto fails = [&](const TestCase& c) { return !is_stopped() && test_.is_interesting(c); };
      try_chain({ddmin(start.chain[0], start.replacement, fails).back()});
    }
  }
  bool is_small_enough() const { return best_.num_nodes() <= kMaxSmallCaseNodes || is_stopped(); }

  // If the chain ends with a smaller case than best_, applies single steps to its last failing case.
  void try_chain(const CaseChain& chain) {
    if (!is_smaller(chain.back())) return;
    const size_t last = find_last_failing(chain);
    prefilter_was_wrong_ |= last + 1 < chain.size();
    if (last == 0 && !(is_smaller(chain[0]) && test_.is_interesting(chain[0]))) return;
    TestCase reduced = std::exchange(best_, chain[last]);
    apply_single_steps();
    if (!is_smaller_than(best_, reduced)) best_ = std::move(reduced);
  }

  // Returns the index of the last failing case of the chain, by binary search. Assumes that the first case fails.
  size_t find_last_failing(const CaseChain& chain) {
    size_t fails = 0, passes = chain.size();
    for (size_t at = chain.size() - 1; passes - fails > 1 && !is_stopped(); at = (fails + passes) / 2)
      (test_.is_interesting(chain[at]) ? fails : passes) = at;
    return fails;
  }

  // Slices the kernel to a rewrite, begins at the graph before a stage, moves the seeded fault, or keeps only parts
  // that still fail.
  void make_large_cuts() {
    const bool has_stages = is_rewrite_blamed() && test_.has_stages();  // a live pipeline only compiles a whole AST
    if (has_stages && (slice_to_rewrite() || is_stopped())) return;
    if (has_stages) begin_at_stage();
    else if (!test_.has_prefilter()) try_first_application();
    if (test_.has_prefilter() && (untested_slice_ || best_.num_nodes() < kMaxNodesForSingleSteps))
      return;  // single steps are fast for such a case
    accept_first_candidate(single_store_cases(best_));
    while (cut_to_descendant()) {}
    cut_parts();
    for (size_t depth = 2; cut_level(depth); depth++) {}
  }

  // Moves the seeded fault to an earlier application of its rule, so that later cuts can remove more nodes.
  void try_first_application() {
    if (!best_.fault) return;
    for (uint64_t n : {uint64_t(1), best_.fault->application_number / 2}) {
      TestCase other = best_;
      other.fault->application_number = n;
      if (n > 0 && n < best_.fault->application_number && accept_case(other)) return;
    }
  }

  void begin_at_stage() {
    TestCase in_ref = best_;  // use REF, because a wrong rewrite is wrong on all devices
    in_ref.device = "REF";
    auto later = case_before_stage(own_session_, in_ref, failing_stage());
    bool is_likely = later && later->num_nodes() < kMaxNodesForSingleSteps && test_.has_prefilter() && may_fail(*later);
    if (trusts_prefilter_ && is_likely) {
      untested_slice_ = std::move(later);
      return;
    }
    if (best_.device != "REF" && test_.is_interesting(in_ref)) set_best(std::move(in_ref));
    later = case_before_stage(own_session_, best_, failing_stage());
    if (!later) return;
    if (test_.is_interesting(*later)) return set_best(std::move(*later));
    if (later->fault) later->fault = best_.fault, (void)accept_case(*later);
  }

  // Slices the kernel to the blamed rewrite or the last one before a stage failed. Returns false if none is accepted.
  bool slice_to_rewrite() {
    const ObservedFailure& failure = test_.failure();
    std::optional<RewriteSlice> slice;
    if (is_rewrite_blamed() && failure.rewrite_number)
      slice = RewriteSlice::find_rewrite(own_session_, best_, failing_stage(), failure.bisect_facts.at("rule"),
                                         failure.rewrite_number);
    else if (failure.symptom.kind == Kind::Refused || failure.symptom.kind == Kind::Endless)
      slice = RewriteSlice::find_last_rewrite(own_session_, best_, failing_stage());
    return slice && (accept_slice(*slice) || (slice->outer_slice() && accept_slice(*slice->outer_slice())));
  }

  bool accept_slice(const RewriteSlice& slice) {
    std::optional<TestCase> found;
    auto fails = [&](size_t depth) {
      auto c = catch_failures([&] { return slice.case_around_rewrite(depth, options_.input.variables, ref_options_); });
      if (!c || !c->root) return false;
      if (is_rewrite_blamed()) c->device = "REF";
      if (!is_smaller(*c) || !(trusts_prefilter_ ? may_fail(*c) : test_.is_interesting(*c))) return false;
      found = std::move(*c);
      return true;
    };
    trusts_prefilter_ &= test_.has_prefilter();
    const size_t least = slice.pattern_depth(), most = slice.graph_depth();
    if (!fails(std::min(least, most)) && least < most && fails(most))
      find_first_wrong(least, most,
                       [&](size_t depth) { return is_stopped() ? std::nullopt : std::optional(fails(depth)); });
    if (found && trusts_prefilter_) untested_slice_ = std::move(found);
    else if (found) set_best(std::move(*found));
    return found.has_value() || untested_slice_.has_value();
  }

  // To be called if the prefilter accepted a slice that does not fail.
  void slice_with_test() {
    trusts_prefilter_ = false;
    if (!slice_to_rewrite()) begin_at_stage();
  }

  void set_best(TestCase c) {
    c.inputs = test_.inputs_of(c);
    best_ = std::move(c);
    show_progress();
  }
  bool may_fail(const TestCase& c) { return test_.cached_answer(c).value_or(true); }
  bool is_smaller_than(const TestCase& a, const TestCase& b) const {
    if (!a.root) return false;
    std::vector<double> one = case_sizes_of(a), other = case_sizes_of(b);
    if (test_.has_drawn_arrays()) one.pop_back(), other.pop_back();  // the bytes of drawn arrays do not count
    return one < other;
  }
  bool is_smaller(const TestCase& c) const { return is_smaller_than(c, best_); }
  bool accept_case(const TestCase& c) {
    if (!is_smaller(c)) return false;
    TestCase own = copy_to_own_graph(c);
    if (!test_.is_interesting(own)) return false;
    return set_best(std::move(own)), true;
  }

  // Accepts the first candidate that is smaller and fails, and returns its index; nullopt if there is none. Begins at
  // index `from` and wraps around at the end. Tests session_.num_jobs candidates in parallel.
  std::optional<size_t> accept_first_candidate(const Candidates& candidates, size_t from = 0) {
    const size_t n = candidates.size(), width = std::max(1u, session_.num_jobs);
    for (size_t i = 0; i < n && !is_stopped();) {
      std::vector<std::pair<size_t, TestCase>> batch;
      for (; i < n && batch.size() < width; i++) {
        size_t number = (from + i) % n;
        auto c = catch_failures([&] { return candidates[number](); });
        if (!c || !is_smaller(*c)) continue;
        TestCase own = copy_to_own_graph(*c);
        if (may_fail(own)) batch.emplace_back(number, std::move(own));
      }
      std::vector<char> fails(batch.size());
      std::vector<std::thread> threads;
      for (size_t k = 1; k < batch.size(); k++)
        threads.emplace_back([&, k] { fails[k] = test_.is_interesting(batch[k].second); });
      if (!batch.empty()) fails[0] = test_.is_interesting(batch[0].second);
      for (std::thread& t : threads) t.join();
      for (size_t k = 0; k < batch.size(); k++)
        if (fails[k]) return set_best(std::move(batch[k].second)), batch[k].first;
    }
    return std::nullopt;
  }

  // ---- replacing the stored value by a node below it

  // Walks from the stored value down, each time to the source with the largest expression tree. Binary-searches this
  // path for the deepest node that fails if stored alone; else tries other sources. Returns true if best_ changed.
  bool cut_to_descendant() {
    UOp value = stored_value(best_.root);
    if (!value || is_stopped()) return false;
    std::map<uint32_t, double> weight;
    for (UOp u : toposort(value)) {
      double& w = weight[u.id()] = 1;
      for (UOp s : u.src()) w = std::min(1e9, w + weight[s.id()]);
    }
    std::vector<UOp> chain;
    for (UOp u = value; u;) {
      if (u == value || is_storable(u)) chain.push_back(u);
      UOp heaviest;
      for (UOp s : u.src())
        if (!heaviest || weight[s.id()] > weight[heaviest.id()]) heaviest = s;
      u = heaviest;
    }
    size_t fails = 0, passes = chain.size();
    std::optional<TestCase> deepest;
    while (passes - fails > 1 && !is_stopped()) {
      size_t middle = (fails + passes) / 2;
      auto c = catch_failures([&] { return copy_to_own_graph(single_store_case(best_, chain[middle])); });
      if (c && is_smaller(*c) && test_.is_interesting(*c)) fails = middle, deepest = std::move(*c);
      else passes = middle;
    }
    UOp at = chain[fails];
    if (deepest) return set_best(std::move(*deepest)), true;
    Candidates others;
    for (UOp s : at.src())
      if (is_storable(s) && s.num_src() > 0 && (fails + 1 >= chain.size() || !(s == chain[fails + 1])))
        others.push_back([this, s] { return single_store_case(best_, s); });
    return accept_first_candidate(others).has_value();
  }

  // ---- replacing large parts by buffers with their values: all parts at once, then half of them, down to one part
  void cut_parts() {
    std::set<std::string> needed;  // keys of parts that must not be cut, because the kernel passes without them
    while (!is_stopped()) {
      std::vector<UOp> parts = large_parts(needed);
      bool cut = false;
      while (!parts.empty() && !is_stopped()) {
        auto replace = [&] { return replace_by_buffers(best_, parts, options_.input.variables, ref_options_); };
        auto c = catch_failures(replace);
        if ((cut = c && accept_case(*c))) break;
        if (parts.size() == 1) needed.insert(sha256_hex(key_of(parts[0])));
        parts.resize(parts.size() / 2);
      }
      if (!cut && large_parts(needed).empty()) return;
    }
  }

  // Returns large, storable nodes, except the stored value and `needed`, that are not below an earlier one.
  std::vector<UOp> large_parts(const std::set<std::string>& needed) const {
    std::vector<UOp> out;
    UOp value = stored_value(best_.root);
    UOpSet covered(*best_.graph);
    for (auto& [u, size] : nodes_by_dominated_count(best_.root)) {
      if (size < kMinCutNodes || !is_storable(u) || (value && u == value) || covered.contains(u)) continue;
      if (needed.contains(sha256_hex(key_of(u)))) continue;
      out.push_back(u);
      for (UOp below : toposort(u)) covered.insert(below);
    }
    return out;
  }

  // Replaces the nodes `depth` levels below the SINK's sources by constants: all at once, then halves of them, down to
  // pairs. Returns false if there are no nodes at this depth, or if the session is cancelled.
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
    for (size_t width = values.size(); width > 1 && !is_stopped(); width /= 2)
      for (size_t from = 0; from < values.size() && !is_stopped(); from += width) {
        auto some = std::span(values).subspan(from, std::min(width, values.size() - from));
        auto c = catch_failures([&] { return replace_by_constants(best_, some); });
        if (!c || !is_smaller(*c) || !test_.is_interesting(*c)) continue;
        set_best(std::move(*c));  // the case has the same Graph, so the nodes in `values` stay valid
        values.erase(values.begin() + ptrdiff_t(from), values.begin() + ptrdiff_t(from + some.size()));
        from -= width;
      }
    return !level.empty() && !is_stopped();
  }

  // ---- the last steps
  // Applies all of `steps`. If the result does not fail, tries each half.
  void apply_simplifications(std::span<const Simplification> steps) {
    if (steps.empty() || is_stopped()) return;
    TestCase c = best_;
    size_t made = 0;
    for (Simplification step : steps) {
      auto plainer = catch_failures([&] { return step(c); });
      if (plainer && plainer->root) c = std::move(*plainer), made++;
    }
    if (made == 0 || accept_case(c) || made == 1) return;
    apply_simplifications(steps.first(steps.size() / 2)), apply_simplifications(steps.subspan(steps.size() / 2));
  }

  // Applies single steps until none gives a failing case. Chains steps whose cases may_fail() and, without a prefilter,
  // has_needed_ops() accept, and tests only the last case. If it passes, binary-searches the chain for the last failing
  // case, and makes the next chains shorter. If no step is accepted and there is no prefilter, tests each step.
  void apply_single_steps() {
    const bool has_prefilter = test_.has_prefilter();
    for (size_t most = SIZE_MAX, from = 0; !is_stopped();) {
      std::vector<TestCase> chain{best_};
      const bool is_sliced = untested_slice_.has_value();
      if (is_sliced) chain.push_back(std::move(*std::exchange(untested_slice_, std::nullopt)));
      while (chain.size() - 1 < most)
        if (auto next = find_next_candidate(chain.back(), from)) chain.push_back(std::move(*next));
        else break;
      if (chain.size() > 1) {
        const size_t fails = find_last_failing(chain);
        most = fails == 0 ? 1 : 2 * fails;
        if (fails + 1 < chain.size()) note_needed_ops(chain[fails], chain[fails + 1]);
        if (fails) set_best(std::move(chain[fails]));
        else if (is_sliced && !is_stopped()) slice_with_test(), most = SIZE_MAX;
      } else {
        auto taken = has_prefilter ? std::nullopt : accept_first_candidate(all_candidates(best_), from);
        if (!taken) return;
        from = *taken, most = SIZE_MAX;
      }
    }
  }

  // `fails` fails, and `passes` does not. Records that the failure seems to need one of the ops that `passes` lacks.
  void note_needed_ops(const TestCase& fails, const TestCase& passes) {
    if (OpSet gone = ops_of_graph(fails.root) - ops_of_graph(passes.root); !gone.empty()) needed_ops_.push_back(gone);
  }
  bool has_needed_ops(const TestCase& c) const {
    const OpSet there = ops_of_graph(c.root);
    return std::ranges::all_of(needed_ops_, [&](OpSet ops) { return there.intersects(ops); });
  }

  // Tries the steps from index `from` on, then the others. Returns the first smaller case that may fail, and sets
  // `from` to the index of its step.
  std::optional<TestCase> find_next_candidate(const TestCase& c, size_t& from) {
    Candidates steps = all_candidates(c);
    for (size_t i = 0; i < steps.size() && !is_stopped(); i++) {
      size_t number = (from + i) % steps.size();
      auto next = catch_failures([&] { return steps[number](); });
      if (!next || !is_smaller_than(*next, c) || !(test_.has_prefilter() || has_needed_ops(*next))) continue;
      if (may_fail(*next)) return from = number, std::move(*next);
    }
    return std::nullopt;
  }

  void write_report() {
    report_.num_nodes_after = best_.num_nodes();
    report_.num_calls = test_.num_calls(), report_.num_prefiltered = test_.num_prefiltered();
    report_.verdict = test_.failure().text();
    InputGraph in = best_.input_graph();
    const RunOptions options = options_with_bundle(options_of_cases(), in);
    Placement place = std::move(placement_for(own_session_, options.device.name, in).value_or_throw());
    Repro repro{.symptom = std::string(name_of(test_.failure_kind_of(best_))),
                .description = test_.failure().text(),
                .script = criterion_.script_command,
                .blamed_rewrite = test_.failure().bisect_facts,
                .inputs = best_.inputs};
    if (best_.fault) repro.seeded_fault = best_.fault->text();
    report_.bundle_text = bundle_text(own_session_, options, in, place, std::move(repro));
  }

  const Session& session_;
  Session own_session_;
  InputGraph& input_;
  RunOptions options_;
  ExecuteOptions ref_options_ = options_.device.ref_options_in_process();
  FailureCriterion criterion_;
  InterestingnessTest test_;
  ReduceReport& report_;
  TestCase best_;
  bool trusts_prefilter_ = true;  // the prefilter decides on slices, instead of the interestingness test
  std::optional<TestCase> untested_slice_;  // a slice or stage's input that only the prefilter accepted
  std::vector<OpSet> needed_ops_;  // the failure seems to need an op of each of these sets
  bool prefilter_was_wrong_ = false;  // the prefilter accepted a case that does not fail
  bool has_run_exact_ddmin_ = false;  // ddmin has run with the interestingness test instead of the prefilter
};

}  // namespace

ReduceReport reduce_graph(const Session& session, InputGraph& in, const RunOptions& options,
                          const FailureCriterion& criterion) {
  ReduceReport report;
  auto begin = Clock::now();
  auto done = catch_failures([&] { return Reduction(session, in, options, criterion, report).run(), Unit{}; });
  if (!done) report.error = done.diag().text();
  report.wall_seconds = seconds_since(begin);
  return report;
}

}  // namespace tgc
