#include "lib/bisect/schedule_bisect.h"

#include <algorithm>

#include "lib/bisect/failing_kernel.h"
#include "lib/bisect/rewrite_bisect.h"
#include "lib/support/clocks.h"
#include "lib/trace/applications.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

using IsRight = std::function<bool(const RunOptions&)>;  // of a run as it is told

constexpr double kSeconds = 30;    // for leaving out rules
constexpr size_t kMostSuspects = 8;

// An application without its nodes, whose graph is gone when the schedule is made.
struct Place {
  uint64_t number, in_stage;
  const StageRow* stage;
  const Rule* rule;
  int points = 0;  // at how many its sides differ plainly; 0: too few to say so
  bool is_whole = false;  // a part of it differs as much
  std::vector<uint64_t> parts = {};  // that differ
};

// Notes the applications, compares their sides, and ends the run: no kernel is needed. The one of that number is left
// out; 0: none is.
class Look : public ApplicationLog {
 public:
  explicit Look(uint64_t left_out = 0) : left_out_(left_out) {}
  std::vector<Place> places;
  size_t compared = 0;

  void end(Compilation& c) override {
    ApplicationLog::end(c);
    for (const Application& a : list()) places.push_back({a.number, a.in_stage, a.stage, a.rule});
    auto seen = look_at(c, list(), {}, {});
    for (size_t i = 0; seen && i < places.size(); i++) {
      if ((*seen)[i].differs_at_one_in(4)) note(i, (*seen)[i].points);
      compared += (*seen)[i].kind != EquivalenceResult::Kind::Open;
    }
    throw Failure("the schedule is made");
  }

 protected:
  UOp decide(const Hit&, UOp, UOp after) override { return number() == left_out_ ? UOp() : after; }

 private:
  void note(size_t i, int points) {
    places[i].points = points;
    for (const Place& p : std::span(places).subspan(0, i).subspan(first_part_of(list(), i))) {
      if (p.points) places[i].parts.push_back(p.number);
      places[i].is_whole |= p.points >= points;
    }
  }

  const uint64_t left_out_;
};

// Names one application in a report, and ends the run.
class Name : public ApplicationLog {
 public:
  Name(uint64_t number, BisectReport& report) : number_(number), report_(report) {}

  void end(Compilation& c) override {
    ApplicationLog::end(c);
    auto it = std::ranges::find(list(), number_, &Application::number);
    if (it != list().end()) name_application(*it, report_);
    throw Failure("the schedule is made");
  }

 private:
  uint64_t number_;
  BisectReport& report_;
};

class ScheduleBlame {
 public:
  ScheduleBlame(const Session& session, const RunOptions& spec, const WholeRun& run, IsRight is_right,
                BisectReport& report)
      : session_(session), spec_(spec), run_(run), is_right_(std::move(is_right)), report_(report) {}

  // Whether a rewrite is named; else rules are left out.
  bool blame() {
    Look look;
    (void)run_(watched(&look));
    report_.rewrites = look.places.size(), report_.looked_at = look.compared;
    if (accuse_suspect(look.places)) return true;
    leave_out_rules(look.places);
    return false;
  }

 private:
  RunOptions watched(Watcher* watcher) const {
    RunOptions spec = spec_;
    spec.model.watcher = watcher;
    return spec;
  }

  bool is_right_without(const Veto::Test& leaves_out) {
    Veto veto(leaves_out);
    report_.runs++;
    return is_right_(watched(&veto));
  }
  bool is_right_without(uint64_t number) {
    return is_right_without([=](uint64_t n, const Hit&, UOp) { return n == number; });
  }

  void accuse(uint64_t number, bool confirmed) {
    Name name(number, report_);
    (void)run_(watched(&name));
    report_.confirmed = confirmed;
    if (!confirmed) report_.proof = "it alone has sides that differ so, but nothing was found that is right";
  }

  bool accuse_suspect(std::vector<Place> places) {
    std::erase_if(places, [](const Place& p) { return p.points == 0; });
    std::ranges::stable_sort(places, std::greater(), &Place::points);  // some rules hold under a condition around them
    places.resize(std::min(places.size(), kMostSuspects));
    auto it = std::ranges::find_if(places, [&](const Place& p) { return is_right_without(p.number); });
    if (it != places.end()) {
      const uint64_t number = to_blame(*it);
      return accuse(number, number == it->number || is_right_without(number)), true;
    }
    std::erase_if(places, [](const Place& p) { return p.is_whole; });
    bool is_alone = places.size() == 1 ||
                    (places.size() > 1 && places[0].points == ExprIsolator::kPoints && places[1].points < ExprIsolator::kPoints);
    return is_alone && (accuse(to_blame(places[0]), false), true);
  }

  // It, or a part of it: one without which its own sides are the same.
  uint64_t to_blame(const Place& whole) {
    for (size_t i = 0; i < std::min(whole.parts.size(), kMostSuspects); i++) {
      Look look(whole.parts[i]);
      (void)run_(watched(&look));
      bool differs = std::ranges::any_of(look.places, [&](const Place& p) {
        return p.points && p.stage == whole.stage && p.rule == whole.rule && p.in_stage == whole.in_stage;
      });
      if (!differs) return whole.parts[i];
    }
    return whole.number;
  }

  void leave_out_rules(const std::vector<Place>& places) {
    std::vector<const Rule*> rules;
    for (const Place& p : places)
      if (std::ranges::find(rules, p.rule) == rules.end()) rules.push_back(p.rule);
    auto begin = Clock::now();
    for (size_t i = 0; i < rules.size(); i++) {
      if (seconds_since(begin) > kSeconds) {
        report_.detail += "; " + std::to_string(i) + " of " + std::to_string(rules.size()) + " rules were left out";
        return;
      }
      session_.progress("leaving out rule " + std::to_string(i + 1) + " of " + std::to_string(rules.size()));
      const Rule* rule = rules[i];
      if (!is_right_without([=](uint64_t, const Hit& hit, UOp) { return hit.rule == rule; })) continue;
      report_.detail += "; it is right when " + std::string(rule->name) + " (" + location_of(*rule) + ") is left out";
      return;
    }
    report_.detail += "; no rule was found without which it is right";
  }

  const Session& session_;
  const RunOptions& spec_;
  const WholeRun& run_;
  const IsRight is_right_;
  BisectReport& report_;
};

// Whether each result is what it is when nothing is fused; `said`: the first that is not.
bool is_as_unfused(const ModelReport& model, const ModelReport& unfused, std::string& said) {
  if (!model.error.empty()) return false;
  if (size_t n = model.ran.values.size(); n != unfused.ran.values.size()) {
    said = std::to_string(n) + " results, not " + std::to_string(unfused.ran.values.size());
    return false;
  }
  for (size_t i = 0; i < model.names.size(); i++) {
    const Array& e = unfused.ran.values[i];
    auto c = compare_arrays(model.names[i], model.ran.values[i], e, tolerance_between_devices(e, e.dtype(), true));
    if (c && c->passed()) continue;
    said = c ? c->text() : c.diag().text();
    return false;
  }
  return true;
}

// The first kernel of a run that makes something else than REF, or what ends the run; "" is none.
std::string wrong_kernel(const Session& session, const RunOptions& spec, const WholeRun& run) {
  KernelWatch watch(session);
  RunOptions watched = spec;
  watched.model.on_kernel = [&](const KernelStep& step) { watch.see(step); };
  ModelReport model = run(watched);
  return watch.found() ? watch.kernel().info.name : watch.itself().empty() ? model.error : watch.itself();
}

bool failed(const ModelReport& m) { return !m.error.empty() || m.result() == RunReport::Result::Failed; }

}  // namespace

ScheduleCheck::ScheduleCheck(const Session& session, const RunOptions& spec, const WholeRun& run, BisectReport& report)
    : session_(session), plain_(spec), run_(run), report_(report) {
  plain_.compare.reference = "none";
}

void ScheduleCheck::check(const ModelReport& model, size_t kernels) {
  report_.detail = std::to_string(kernels) + " kernels, each as REF has it";
  if (kernels == 0 || (is_expected() && !failed(model)) || !run_unfused()) return;
  std::string said;
  if (!is_expected() && is_as_unfused(model, unfused_, said)) return;
  for (const Comparison& c : model.outputs)
    if (said.empty() && !c.passed()) said = c.text();
  if (std::string wrong = wrong_kernel(session_, unfused_spec(), run_); !wrong.empty()) {
    report_.detail += "; of the schedule nothing is known: of kernels for each operation " + wrong + " is wrong itself";
    return;
  }
  report_.detail += "; with " + std::to_string(unfused_.ran.kernels) + " in place of " +
                    std::to_string(model.ran.kernels) + ", one for each operation: " + said.substr(0, said.find('\n'));
  report_.verdict = BisectReport::Verdict::Schedule;
  (void)blame_schedule(true);
}

void ScheduleCheck::check(const std::string& wrong_itself) {
  report_.detail = wrong_itself;
  report_.verdict = BisectReport::Verdict::Schedule;
  // Kernels for each operation may be as wrong: then it is right when each of its own can be.
  bool has_reference = run_unfused() && wrong_kernel(session_, unfused_spec(), run_).empty();
  if (report_.verdict == BisectReport::Verdict::Schedule) (void)blame_schedule(has_reference);
}

bool ScheduleCheck::check_error(const std::string& error) {
  report_.detail = error;
  unfused_ = run_(unfused_spec());
  bool has_reference = unfused_.error.empty() && !(is_expected() && failed(unfused_)) &&
                       wrong_kernel(session_, unfused_spec(), run_).empty();
  if (has_reference) report_.detail += "; with a kernel for each operation it runs";
  bool is_schedule = blame_schedule(has_reference) || has_reference;
  if (is_schedule) report_.verdict = BisectReport::Verdict::Schedule;
  return is_schedule;
}

RunOptions ScheduleCheck::unfused_spec() const {
  RunOptions out = plain_;
  out.model.unfused = true;
  return out;
}

// Whether there is something to hold its results against.
bool ScheduleCheck::run_unfused() {
  unfused_ = run_(unfused_spec());
  if (is_expected() && failed(unfused_)) {
    report_.verdict = BisectReport::Verdict::Unresolved;
    report_.detail += ", and with a kernel for each operation the results are not those of " + plain_.compare.expect +
                      ", either: the graph, or that file";
    return false;
  }
  return unfused_.error.empty();
}

// Whether a rewrite is named. What is right: results as with a kernel for each operation, where these have a say
// (`has_reference`); else each kernel as REF has it.
bool ScheduleCheck::blame_schedule(bool has_reference) {
  auto is_right = [&](const RunOptions& spec) {
    if (!has_reference) return wrong_kernel(session_, spec, run_).empty();
    std::string ignored;
    ModelReport m = run_(spec);
    return is_expected() ? !failed(m) : is_as_unfused(m, unfused_, ignored);
  };
  return ScheduleBlame(session_, plain_, run_, is_right, report_).blame();
}

}  // namespace tgc
