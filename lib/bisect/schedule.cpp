#include <algorithm>
#include <cstring>

#include "lib/bisect/failing_kernel.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/uop/facts.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/perturb_rounding.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;
using IsRightTest = std::function<bool(const RunOptions&)>;

constexpr double kRuleSeconds = 30;
constexpr size_t kMostSuspects = 8;

// A copy of a Rewrite without its nodes, because the graph is freed as soon as the schedule is made.
struct Suspect {
  uint64_t rewrite_number, number_in_stage;
  const StageRow* stage;
  const Rule* rule;
  int points = 0;                      // number of sample points where the sides differ; 0 if less than a quarter
  // true if the sides of an application nested in this one differ at as many points or more
  bool nested_differs_as_much = false;
  std::vector<size_t> nested = {};     // indices in SidesWatcher::applications of the nested ones whose sides differ
  Verdict named_verdict = {};                  // stage, rule and sides of the application; set if its sides differ
};

// Compares both sides of every application when the schedule is complete, and then ends the run. Suppresses the
// application with the number `left_out`; 0 suppresses none.
class SidesWatcher : public RewriteLog {
 public:
  explicit SidesWatcher(uint64_t left_out = 0) : suppressed_number_(left_out) {}
  std::vector<Suspect> applications;
  size_t num_compared = 0;

  void end_compilation(Compilation& c) override {
    RewriteLog::end_compilation(c);
    for (const Rewrite& a : all_rewrites())
      applications.push_back({a.rewrite_number, a.number_in_stage, a.stage, a.rule});
    auto sides = evaluate_sides(c, all_rewrites(), {}, {});
    for (size_t i = 0; sides && i < applications.size(); i++) {
      if ((*sides)[i].differs_at_one_point_in(4)) add_difference(i, (*sides)[i].num_differing_points);
      num_compared += (*sides)[i].kind != EquivalenceResult::Kind::Open;
    }
    throw Failure("the schedule is made");
  }

 protected:
  UOp decide_result(const RuleHit&, UOp, UOp after) override {
    return rewrite_number() == suppressed_number_ ? UOp() : after;
  }

 private:
  void add_difference(size_t i, int points) {
    Suspect& a = applications[i];
    a.points = points;
    describe_rewrite(all_rewrites()[i], a.named_verdict);
    for (size_t k = first_nested_rewrite(all_rewrites(), i); k < i; k++) {
      if (applications[k].points) a.nested.push_back(k);
      a.nested_differs_as_much |= applications[k].points >= points;
    }
  }

  const uint64_t suppressed_number_;
};

// Finds a rewrite that makes a buffer of the graph again after an earlier rewrite removed it: the buffer's number
// seemed free, and a new buffer got it. Ends the run when the schedule is made.
class ReuseWatcher : public RewriteLog {
 public:
  Verdict reuse_verdict, folding_verdict;
  uint64_t folding_number = 0;  // number of the rewrite that `folding_verdict` names; 0 if none was found

  void end_compilation(Compilation& c) override {
    RewriteLog::end_compilation(c);
    UOpSet numbered(c.graph());
    for (auto& input : c.tensor_job().input_buffers) numbered.insert(input.second);
    std::unordered_map<UOp, const Rewrite*> folded;
    for (const Rewrite& a : all_rewrites()) {
      const std::vector<UOp> before = buffers_below(a.before), after = buffers_below(a.after);
      for (UOp b : before)
        if (numbered.contains(b) && !std::ranges::count(after, b)) folded[b] = &a;
      for (UOp b : after)
        if (folded.contains(b) && !std::ranges::count(before, b)) return record_reuse(a, *folded[b]);
    }
    throw Failure("the schedule is made");
  }

 private:
  static std::vector<UOp> buffers_below(UOp u) {
    std::vector<UOp> out = toposort(u);
    std::erase_if(out, [](UOp x) { return !x.is(Op::BUFFER); });
    return out;
  }
  void record_reuse(const Rewrite& again, const Rewrite& folds) {
    describe_rewrite(again, reuse_verdict), describe_rewrite(folds, folding_verdict);
    folding_number = folds.rewrite_number;
    throw Failure("a number is taken again");
  }
};

// Finds a kernel that should read a buffer before an ASSIGN to the buffer, but is scheduled after the kernel of this
// ASSIGN.
class OrderWatcher : public StageObserver {
 public:
  std::string missing_edge;

  void end_stage(const StageRow& row, UOp result) override {
    if (row.name == "remove all tags") kernels_ = result;
  }
  void end_compilation(Compilation& c) override {
    if (auto& schedule = c.schedule(); schedule && kernels_) find_missing_edge(*schedule, c.tensor_job());
    throw Failure("the schedule is made");
  }

 private:
  void find_missing_edge(const Schedule& schedule, const TensorJob& job) {
    auto item_of = [&](UOp kernel) {
      const UOp buffer = job.original_buffer(buf_uop(kernel.src(0)));
      return std::ranges::find_if(schedule.items, [&](const ScheduleItem& item) {
               return item.ast == kernel.arg()[0].uop() && schedule.buffers[item.buffers[0]].uop == buffer;
             }) - schedule.items.begin();
    };
    std::vector<UOp> writes;
    for (UOp u : toposort(kernels_))
      if (u.is(Op::AFTER) && u.num_src() > 1 && u.src(1).is(Op::KERNEL) && u.src(1).num_src()) writes.push_back(u);
    for (UOp write : writes)
      for (UOp read : writes) {
        const UOp writer = write.src(1), reader = read.src(1), buffer = buf_uop(write);
        if (reader == writer || !std::ranges::count(reader.src(), buffer)) continue;
        const auto first = item_of(writer), second = item_of(reader);
        if (first >= second || size_t(second) == schedule.items.size()) continue;
        const auto& numbers = schedule.items[size_t(first)].buffers;
        missing_edge = "kernel " + std::to_string(second) + " reads data" + std::to_string(numbers[0]) +
                       " as it is before the ASSIGN, but runs after kernel " + std::to_string(first) +
                       ", which assigns to it: the edge from kernel " + std::to_string(second) + " to kernel " +
                       std::to_string(first) + " is missing";
        return;
      }
  }

  UOp kernels_;
};

bool has_failed(const ModelReport& m) { return !m.error.empty() || m.result() == RunReport::Result::Failed; }

class ScheduleBisection {
 public:
  ScheduleBisection(const ModelRepro& repro, BisectCounts& counts)
      : repro_(repro), bisect_counts_(counts), options_(repro.options) {
    options_.compare.reference_device = "none";
  }

  // Returns the verdict for a run in which every one of the `kernels` kernels was right.
  Verdict check_results(const ModelReport& model, size_t kernels) {
    verdict_.detail = count_text(kernels, "kernel") + ", each right";
    if (kernels == 0 || (has_expected_results() && !has_failed(model)) || !run_unscheduled()) return verdict_;
    std::string difference;
    if (!has_expected_results() && matches_unscheduled(model, options_, difference)) return verdict_;
    for (const Comparison& c : model.comparisons)
      if (difference.empty() && !c.has_passed()) difference = c.text();
    if (std::string wrong = kernel_failure_text(unscheduled_options()); !wrong.empty()) {
      verdict_.detail += "; the schedule was not checked: without fusion, kernel " + wrong + " is wrong itself";
      return verdict_;
    }
    difference = difference.substr(0, difference.find('\n'));
    if (unscheduled_report_.is_computed_in_ref)
      verdict_.detail += "; the graph itself, in REF, has other results than its schedule: " + difference;
    else
      verdict_.detail += "; the results are right without fusion (" +
                     std::to_string(unscheduled_report_.schedule_result.num_kernels) + " kernels in place of " +
                     std::to_string(model.schedule_result.num_kernels) + "): " + difference;
    verdict_.kind = Kind::Schedule;
    if (!name_missing_edge()) (void)find_rewrite(true);
    return verdict_;
  }

  // Returns the verdict for a schedule with a kernel whose AST itself fails with the error `fault`.
  Verdict check_kernel_fault(const std::string& fault) {
    verdict_.detail = fault, verdict_.kind = Kind::Schedule;
    // The results without fusion can serve as the reference only if each kernel computes what REF computes.
    const bool has_reference = run_unscheduled() && kernel_failure_text(unscheduled_options()).empty();
    if (verdict_.kind == Kind::Schedule) (void)find_rewrite(has_reference);
    return verdict_;
  }

  // Returns nullopt if the schedule did not cause the error.
  std::optional<Verdict> check_error(const std::string& error) {
    verdict_.detail = error;
    unscheduled_report_ = repro_.run(unscheduled_options());
    const bool has_reference = unscheduled_report_.error.empty() &&
                               !(has_expected_results() && has_failed(unscheduled_report_)) &&
                               kernel_failure_text(unscheduled_options()).empty();
    if (has_reference) verdict_.detail += unscheduled_report_.is_computed_in_ref ? "" : "; without fusion it runs";
    if (has_reference && name_reuse()) return verdict_;
    if (!find_rewrite(has_reference) && !has_reference) return std::nullopt;
    verdict_.kind = Kind::Schedule;
    return verdict_;
  }

 private:
  bool has_expected_results() const { return !options_.compare.expected_file.empty(); }

  RunOptions unscheduled_options() const {
    RunOptions out = options_;
    out.model.is_unscheduled = true;
    return out;
  }

  RunOptions watched_options(StageObserver* stage_observer) const {
    RunOptions out = options_;
    out.model.stage_observer = stage_observer;
    if (unscheduled_report_.is_computed_in_ref) out.compare.expected_file = "";
    return out;
  }

  // Runs the graph in REF or without fusion. Returns true if the results can serve as the reference.
  bool run_unscheduled() {
    unscheduled_report_ = repro_.run(unscheduled_options());
    if (has_expected_results() && has_failed(unscheduled_report_)) {
      verdict_.kind = Kind::Unresolved;
      const std::string how =
          unscheduled_report_.is_computed_in_ref ? "computed from the graph itself in REF" : "without fusion";
      verdict_.detail += "; even " + how + " the results are not those of " + options_.compare.expected_file +
                     ": the graph or that file is wrong";
      return false;
    }
    return unscheduled_report_.error.empty();
  }

  bool matches_unscheduled(const ModelReport& model, const RunOptions& options, std::string& difference) const {
    if (!model.error.empty()) return false;
    std::optional<ModelReport> in_ref;
    if (size_t n = model.schedule_result.values.size(); n != unscheduled_report_.schedule_result.values.size()) {
      difference =
          std::to_string(n) + " results, not " + std::to_string(unscheduled_report_.schedule_result.values.size());
      return false;
    }
    for (size_t i = 0; i < model.result_names.size(); i++) {
      const Array& e = unscheduled_report_.schedule_result.values[i];
      const ToleranceOptions tolerance = tolerance_between_devices(e, e.dtype(), true);
      auto c = compare_arrays(model.result_names[i], model.schedule_result.values[i], e, tolerance);
      if (c && !c->has_passed() && unscheduled_report_.is_computed_in_ref) {
        if (!in_ref) in_ref = run_in_ref(options);  // where C leaves a result undefined, devices may differ from REF
        if (!in_ref->error.empty() || in_ref->schedule_result.values.size() <= i)
          return difference = in_ref->error, false;
        Array rest = in_ref->schedule_result.values[i].copy();
        leave_out_sensitive_elements(rest, i, tolerance);
        c = compare_arrays(model.result_names[i], rest, e, tolerance);
      }
      if (c && c->has_passed()) continue;
      difference = c ? c->text() : c.diag().text();
      return false;
    }
    return true;
  }

  ModelReport run_in_ref(RunOptions options) const {
    options.device.name = "REF", options.compare.expected_file = "";
    return repro_.run(options);
  }

  // Overwrites elements of `to`, the values of result `i`, by the reference's, so that they are not compared: those
  // that depend on how REF rounds, and those that equal, within the tolerance, the elements of a run that sums in
  // float64.
  void leave_out_sensitive_elements(Array& to, size_t i, const ToleranceOptions& tolerance) const {
    const Array& expected = unscheduled_report_.schedule_result.values[i];
    const auto bytes = size_t(to.dtype().itemsize());
    for (int way = 0; way <= kWideSumsPerturbation; way++) {
      if (perturbed_reports_.size() <= size_t(way)) {
        RunOptions options = unscheduled_options();
        options.model.perturbation = kRoundingPerturbationOffset + way, options.compare.expected_file = "";
        perturbed_reports_.push_back(repro_.run(options));
      }
      const auto& values = perturbed_reports_[size_t(way)].schedule_result.values;
      if (values.size() <= i) continue;
      const bool is_wide = way == kWideSumsPerturbation;
      auto differs = differing_elements(is_wide ? to : expected, values[i], tolerance);
      for (size_t k = 0; differs && k < differs->size(); k++)
        if ((*differs)[k] != is_wide) std::memcpy(to.data() + k * bytes, expected.data() + k * bytes, bytes);
    }
  }

  // Returns the name of the first kernel that stores other values than its AST in REF; if there is none, the kernel
  // fault; if there is none, the error of the run, or "".
  std::string kernel_failure_text(const RunOptions& options) const {
    FailingKernelFinder finder(repro_.session);
    RunOptions watched = options;
    watched.model.on_kernel = [&](const ScheduledKernelRun& step) { finder.end_kernel(step); };
    ModelReport model = repro_.run(watched);
    if (FailingKernel* kernel = finder.found_kernel()) return kernel->graph.info.name;
    return finder.kernel_fault().empty() ? model.error : finder.kernel_fault();
  }

  bool find_rewrite(bool has_reference) {
    is_right_ = [this, has_reference](const RunOptions& options) {
      if (!has_reference) return kernel_failure_text(options).empty();
      std::string ignored;
      ModelReport m = repro_.run(options);
      return has_expected_results() && !unscheduled_report_.is_computed_in_ref
                 ? !has_failed(m)
                 : matches_unscheduled(m, options, ignored);
    };
    SidesWatcher sides;
    (void)repro_.run(watched_options(&sides));
    bisect_counts_.num_rewrites = sides.applications.size(), bisect_counts_.num_compared = sides.num_compared;
    if (name_suspect(sides.applications)) return true;
    try_without_each_rule(sides.applications);
    return false;
  }

  bool name_missing_edge() {
    OrderWatcher order;
    (void)repro_.run(watched_options(&order));
    if (order.missing_edge.empty()) return false;
    verdict_.stage = "fix_assign", verdict_.detail += "; " + order.missing_edge;
    return true;
  }

  bool name_reuse() {
    ReuseWatcher stage_observer;
    (void)repro_.run(watched_options(&stage_observer));
    if (!stage_observer.folding_number) return false;
    const std::string detail = verdict_.detail;
    verdict_ = stage_observer.reuse_verdict;
    const Verdict& folds = stage_observer.folding_verdict;
    verdict_.kind = Kind::Schedule;
    verdict_.detail = detail + "; " + folds.rule + ", " + folds.location +
                      ", folds the last reader of this buffer in '" + folds.stage +
                      "', and the new buffer takes its number again";
    bisect_counts_.num_runs++;
    RewriteVeto veto([&](uint64_t n, const RuleHit&, UOp) { return n == stage_observer.folding_number; });
    std::string ignored;
    const RunOptions options = watched_options(&veto);
    verdict_.is_confirmed = matches_unscheduled(repro_.run(options), options, ignored);
    verdict_.proof = "it is right without the application of " + folds.rule;
    return true;
  }

  bool is_right_without(const RewriteVeto::VetoPredicate& leaves_out) {
    RewriteVeto veto(leaves_out);
    bisect_counts_.num_runs++;
    return is_right_(watched_options(&veto));
  }
  bool is_right_without(uint64_t number) {
    return is_right_without([=](uint64_t n, const RuleHit&, UOp) { return n == number; });
  }

  void name_culprit(const Suspect& culprit, bool confirmed) {
    Verdict named_verdict = culprit.named_verdict;
    named_verdict.kind = verdict_.kind, named_verdict.detail = verdict_.detail, named_verdict.is_confirmed = confirmed;
    if (!confirmed) named_verdict.proof = "no other rewrite has sides that differ so, but no run without it is right";
    verdict_ = std::move(named_verdict);
  }

  bool name_suspect(const std::vector<Suspect>& applications) {
    std::vector<Suspect> suspects = applications;
    std::erase_if(suspects, [](const Suspect& s) { return s.points == 0; });
    std::ranges::stable_sort(suspects, std::greater(), &Suspect::points);
    suspects.resize(std::min(suspects.size(), kMostSuspects));
    auto it = std::ranges::find_if(suspects, [&](const Suspect& s) { return is_right_without(s.rewrite_number); });
    if (it != suspects.end()) {
      const Suspect& culprit = narrowest_culprit(*it, applications);
      return name_culprit(culprit,
                          culprit.rewrite_number == it->rewrite_number || is_right_without(culprit.rewrite_number)),
             true;
    }
    constexpr int kAll = ExprIsolator::kPointsPerRun;
    std::erase_if(suspects, [](const Suspect& s) { return s.nested_differs_as_much; });
    const bool is_alone = suspects.size() == 1 ||
                          (suspects.size() > 1 && suspects[0].points == kAll && suspects[1].points < kAll);
    return is_alone && (name_culprit(narrowest_culprit(suspects[0], applications), false), true);
  }

  // Returns an application nested in `whole` without which the sides of `whole` do not differ; else `whole`.
  const Suspect& narrowest_culprit(const Suspect& whole, const std::vector<Suspect>& applications) {
    for (size_t i = 0; i < std::min(whole.nested.size(), kMostSuspects); i++) {
      const Suspect& nested = applications[whole.nested[i]];
      SidesWatcher sides(nested.rewrite_number);
      (void)repro_.run(watched_options(&sides));
      bool differs = std::ranges::any_of(sides.applications, [&](const Suspect& s) {
        return s.points && s.stage == whole.stage && s.rule == whole.rule && s.number_in_stage == whole.number_in_stage;
      });
      if (!differs) return nested;
    }
    return whole;
  }

  void try_without_each_rule(const std::vector<Suspect>& applications) {
    std::vector<const Rule*> rules;
    for (const Suspect& a : applications)
      if (std::ranges::find(rules, a.rule) == rules.end()) rules.push_back(a.rule);
    auto begin = Clock::now();
    for (size_t i = 0; i < rules.size(); i++) {
      if (seconds_since(begin) > kRuleSeconds) {
        verdict_.detail += "; " + std::to_string(i) + " of " + std::to_string(rules.size()) + " rules were suppressed";
        return;
      }
      repro_.session.report_progress("suppressing rule " + std::to_string(i + 1) + " of " +
                                     std::to_string(rules.size()));
      const Rule* rule = rules[i];
      if (!is_right_without([=](uint64_t, const RuleHit& hit, UOp) { return hit.rule == rule; })) continue;
      verdict_.detail += "; it is right without rule " + std::string(rule->name) + " (" + location_of_rule(*rule) + ")";
      return;
    }
    verdict_.detail += "; it is wrong without any single rule";
  }

  const ModelRepro& repro_;
  BisectCounts& bisect_counts_;
  RunOptions options_;  // the options of the run, with --reference=none
  ModelReport unscheduled_report_;
  mutable std::vector<ModelReport>
      perturbed_reports_;  // runs of the graph in REF, each with its own perturbation of roundings
  IsRightTest is_right_;
  Verdict verdict_;
};

}  // namespace

std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts) {
  ScheduleBisection schedule(repro, counts);
  if (!outcome.kernel_fault.empty()) return schedule.check_kernel_fault(outcome.kernel_fault);
  if (!outcome.report.error.empty()) return schedule.check_error(outcome.report.error);
  return schedule.check_results(outcome.report, outcome.num_compared_kernels);
}

}  // namespace tgc
