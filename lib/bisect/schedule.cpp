// Strategy: finds the rewrite of the tensor stages that makes a schedule wrong, if every kernel of the schedule is
// compiled correctly.
#include <algorithm>

#include "lib/bisect/failing_kernel.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"
#include "lib/support/clocks.h"
#include "lib/trace/applications.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;
using IsRight = std::function<bool(const RunOptions&)>;

constexpr double kRuleSeconds = 30;  // time limit for suppressing rules one by one
constexpr size_t kMostSuspects = 8;

// An application without its nodes, because the graph of the nodes is freed as soon as the schedule is made.
struct Suspect {
  uint64_t number, in_stage;
  const StageRow* stage;
  const Rule* rule;
  int points = 0;                      // number of sample points where the sides differ; 0 if under a quarter
  bool nested_differs_as_much = false;
  std::vector<size_t> nested = {};     // indices of the nested applications that differ
  Verdict named = {};                  // stage, rule and sides of the application; set if its sides differ
};

// Compares both sides of every application when the schedule is complete, and then ends the run, because no kernel has
// to run. Suppresses the application numbered `left_out` (0: none).
class SidesWatcher : public ApplicationLog {
 public:
  explicit SidesWatcher(uint64_t left_out = 0) : left_out_(left_out) {}
  std::vector<Suspect> applications;
  size_t compared = 0;

  void end(Compilation& c) override {
    ApplicationLog::end(c);
    for (const Application& a : list()) applications.push_back({a.number, a.in_stage, a.stage, a.rule});
    auto sides = evaluate_sides(c, list(), {}, {});
    for (size_t i = 0; sides && i < applications.size(); i++) {
      if ((*sides)[i].differs_at_one_in(4)) add_difference(i, (*sides)[i].points);
      compared += (*sides)[i].kind != EquivalenceResult::Kind::Open;
    }
    throw Failure("the schedule is made");
  }

 protected:
  UOp decide(const Hit&, UOp, UOp after) override { return number() == left_out_ ? UOp() : after; }

 private:
  void add_difference(size_t i, int points) {
    Suspect& a = applications[i];
    a.points = points;
    name_rewrite(list()[i], a.named);
    for (size_t k = first_part_of(list(), i); k < i; k++) {
      if (applications[k].points) a.nested.push_back(k);
      a.nested_differs_as_much |= applications[k].points >= points;
    }
  }

  const uint64_t left_out_;
};

bool failed(const ModelReport& m) { return !m.error.empty() || m.result() == RunReport::Result::Failed; }

class ScheduleBisection {
 public:
  ScheduleBisection(const ModelRepro& repro, BisectCounts& counts)
      : repro_(repro), counts_(counts), options_(repro.options) {
    options_.compare.reference = "none";
  }

  // Returns the verdict if every kernel of the run was right.
  Verdict check(const ModelReport& model, size_t kernels) {
    out_.detail = std::to_string(kernels) + " kernels, each right";
    if (kernels == 0 || (is_expected() && !failed(model)) || !run_unfused()) return out_;
    std::string difference;
    if (!is_expected() && is_as_unfused(model, difference)) return out_;
    for (const Comparison& c : model.outputs)
      if (difference.empty() && !c.passed()) difference = c.text();
    if (std::string wrong = wrong_kernel(unfused_options()); !wrong.empty()) {
      out_.detail += "; the schedule was not checked: without fusion, kernel " + wrong + " is wrong itself";
      return out_;
    }
    out_.detail += "; the results are right without fusion (" + std::to_string(unfused_.ran.kernels) +
                   " kernels in place of " + std::to_string(model.ran.kernels) +
                   "): " + difference.substr(0, difference.find('\n'));
    out_.kind = Kind::Schedule;
    (void)find_rewrite(true);
    return out_;
  }

  // Returns the verdict if the AST of a kernel in the schedule has the error `fault`.
  Verdict check_kernel_fault(const std::string& fault) {
    out_.detail = fault, out_.kind = Kind::Schedule;
    // The unfused results can serve as the reference only if each unfused kernel computes what REF computes.
    const bool has_reference = run_unfused() && wrong_kernel(unfused_options()).empty();
    if (out_.kind == Kind::Schedule) (void)find_rewrite(has_reference);
    return out_;
  }

  // Returns the verdict if the model could not be scheduled or run; nullopt if its schedule did not cause the error.
  std::optional<Verdict> check_error(const std::string& error) {
    out_.detail = error;
    unfused_ = repro_.run(unfused_options());
    const bool has_reference = unfused_.error.empty() && !(is_expected() && failed(unfused_)) &&
                               wrong_kernel(unfused_options()).empty();
    if (has_reference) out_.detail += "; without fusion it runs";
    if (!find_rewrite(has_reference) && !has_reference) return std::nullopt;
    out_.kind = Kind::Schedule;
    return out_;
  }

 private:
  bool is_expected() const { return !options_.compare.expect.empty(); }

  RunOptions unfused_options() const {
    RunOptions out = options_;
    out.model.unfused = true;
    return out;
  }

  RunOptions watched(Watcher* watcher) const {
    RunOptions out = options_;
    out.model.watcher = watcher;
    return out;
  }

  // Runs the model without fusion. Returns whether its results can serve as a reference.
  bool run_unfused() {
    unfused_ = repro_.run(unfused_options());
    if (is_expected() && failed(unfused_)) {
      out_.kind = Kind::Unresolved;
      out_.detail += "; even without fusion the results are not those of " + options_.compare.expect +
                     ": the graph or that file is wrong";
      return false;
    }
    return unfused_.error.empty();
  }

  // Returns whether the results equal the unfused ones. If not, `difference` describes the first result that differs.
  bool is_as_unfused(const ModelReport& model, std::string& difference) const {
    if (!model.error.empty()) return false;
    if (size_t n = model.ran.values.size(); n != unfused_.ran.values.size()) {
      difference = std::to_string(n) + " results, not " + std::to_string(unfused_.ran.values.size());
      return false;
    }
    for (size_t i = 0; i < model.names.size(); i++) {
      const Array& e = unfused_.ran.values[i];
      auto c = compare_arrays(model.names[i], model.ran.values[i], e, tolerance_between_devices(e, e.dtype(), true));
      if (c && c->passed()) continue;
      difference = c ? c->text() : c.diag().text();
      return false;
    }
    return true;
  }

  // Runs with `options`. Returns the first kernel that stores other values than REF, or the error of the run; else "".
  std::string wrong_kernel(const RunOptions& options) const {
    FailingKernelFinder finder(repro_.session);
    RunOptions watched = options;
    watched.model.on_kernel = [&](const KernelStep& step) { finder.end_kernel(step); };
    ModelReport model = repro_.run(watched);
    if (FailingKernel* kernel = finder.found()) return kernel->graph.info.name;
    return finder.kernel_fault().empty() ? model.error : finder.kernel_fault();
  }

  // ---- the rewrite

  // Names the culprit rewrite, and returns whether it found one. If there are no reference results, the results count
  // as right if every kernel computes what REF does.
  bool find_rewrite(bool has_reference) {
    is_right_ = [this, has_reference](const RunOptions& options) {
      if (!has_reference) return wrong_kernel(options).empty();
      std::string ignored;
      ModelReport m = repro_.run(options);
      return is_expected() ? !failed(m) : is_as_unfused(m, ignored);
    };
    SidesWatcher sides;
    (void)repro_.run(watched(&sides));
    counts_.rewrites = sides.applications.size(), counts_.compared = sides.compared;
    if (name_suspect(sides.applications)) return true;
    suppress_rules(sides.applications);
    return false;
  }

  bool is_right_without(const Veto::Test& leaves_out) {
    Veto veto(leaves_out);
    counts_.runs++;
    return is_right_(watched(&veto));
  }
  bool is_right_without(uint64_t number) {
    return is_right_without([=](uint64_t n, const Hit&, UOp) { return n == number; });
  }

  void name(const Suspect& culprit, bool confirmed) {
    Verdict named = culprit.named;
    named.kind = out_.kind, named.detail = out_.detail, named.confirmed = confirmed;
    if (!confirmed) named.proof = "no other rewrite has sides that differ so, but no run without it is right";
    out_ = std::move(named);
  }

  bool name_suspect(const std::vector<Suspect>& applications) {
    std::vector<Suspect> suspects = applications;
    std::erase_if(suspects, [](const Suspect& s) { return s.points == 0; });
    std::ranges::stable_sort(suspects, std::greater(), &Suspect::points);  // few points: maybe right in its context
    suspects.resize(std::min(suspects.size(), kMostSuspects));
    auto it = std::ranges::find_if(suspects, [&](const Suspect& s) { return is_right_without(s.number); });
    if (it != suspects.end()) {
      const Suspect& culprit = narrowed(*it, applications);
      return name(culprit, culprit.number == it->number || is_right_without(culprit.number)), true;
    }
    constexpr int kAll = ExprIsolator::kPoints;
    std::erase_if(suspects, [](const Suspect& s) { return s.nested_differs_as_much; });
    const bool is_alone = suspects.size() == 1 ||
                          (suspects.size() > 1 && suspects[0].points == kAll && suspects[1].points < kAll);
    return is_alone && (name(narrowed(suspects[0], applications), false), true);
  }

  // Returns the application nested in `whole` without which both sides of `whole` are equal; if there is none, `whole`.
  const Suspect& narrowed(const Suspect& whole, const std::vector<Suspect>& applications) {
    for (size_t i = 0; i < std::min(whole.nested.size(), kMostSuspects); i++) {
      const Suspect& nested = applications[whole.nested[i]];
      SidesWatcher sides(nested.number);
      (void)repro_.run(watched(&sides));
      bool differs = std::ranges::any_of(sides.applications, [&](const Suspect& s) {
        return s.points && s.stage == whole.stage && s.rule == whole.rule && s.in_stage == whole.in_stage;
      });
      if (!differs) return nested;
    }
    return whole;
  }

  void suppress_rules(const std::vector<Suspect>& applications) {
    std::vector<const Rule*> rules;
    for (const Suspect& a : applications)
      if (std::ranges::find(rules, a.rule) == rules.end()) rules.push_back(a.rule);
    auto begin = Clock::now();
    for (size_t i = 0; i < rules.size(); i++) {
      if (seconds_since(begin) > kRuleSeconds) {
        out_.detail += "; " + std::to_string(i) + " of " + std::to_string(rules.size()) + " rules were suppressed";
        return;
      }
      repro_.session.progress("suppressing rule " + std::to_string(i + 1) + " of " + std::to_string(rules.size()));
      const Rule* rule = rules[i];
      if (!is_right_without([=](uint64_t, const Hit& hit, UOp) { return hit.rule == rule; })) continue;
      out_.detail += "; it is right without rule " + std::string(rule->name) + " (" + location_of(*rule) + ")";
      return;
    }
    out_.detail += "; it is wrong without any single rule";
  }

  const ModelRepro& repro_;
  BisectCounts& counts_;
  RunOptions options_;  // the run's options, without a reference to compare with
  ModelReport unfused_;
  IsRight is_right_;
  Verdict out_;
};

}  // namespace

std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts) {
  ScheduleBisection schedule(repro, counts);
  if (!outcome.kernel_fault.empty()) return schedule.check_kernel_fault(outcome.kernel_fault);
  if (!outcome.report.error.empty()) return schedule.check_error(outcome.report.error);
  return schedule.check(outcome.report, outcome.kernels);
}

}  // namespace tgc
