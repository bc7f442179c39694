#include "lib/bisect/bisect.h"

#include "lib/bisect/backend_bisect.h"
#include "lib/bisect/crash.h"
#include "lib/bisect/divergence.h"
#include "lib/bisect/endless.h"
#include "lib/bisect/failing_kernel.h"
#include "lib/bisect/failure_repro.h"
#include "lib/bisect/rewrite_bisect.h"
#include "lib/bisect/schedule_bisect.h"
#include "lib/rewrite/shortcut.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/support/clocks.h"
#include "lib/text/pyrender.h"
#include "passes/kernel/optimizer/apply_opts_stage.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

void blame(BisectReport& report, Verdict verdict, const std::string& detail) {
  report.verdict = verdict;
  if (!detail.empty()) report.detail = detail;
}

// The shortcut that alone, gone the faithful way, makes it another outcome. Hands on to whoever tried before (a fault).
class GoesFaithfully : public ShortcutTrial {
 public:
  GoesFaithfully(const Shortcut& what, Graph& graph) : what_(what), graph_(graph), inner_(trial_of(graph)) {
    set_trial(graph, this);
  }
  ~GoesFaithfully() override { set_trial(graph_, inner_); }
  Way choose(const Shortcut& what, Way usual) override {
    return &what == &what_ ? Way::Faithful : inner_ ? inner_->choose(what, usual) : usual;
  }
  void made(const Shortcut& what, Way way, std::span<UOp> result) override {
    if (inner_) inner_->made(what, way, result);
  }

 private:
  const Shortcut& what_;
  Graph& graph_;
  ShortcutTrial* inner_;
};

void blame_shortcut(FailureRepro& run, bool passes, BisectReport& report) {
  blame(report, Verdict::Shortcut, passes ? "it fails only when watched" : "it passes when watched");
  for (const Shortcut* s : shortcuts()) {
    Compilation c = run.begin();
    GoesFaithfully trial(*s, c.graph());
    if (run.attempt(c, nullptr).passes() == passes) continue;
    report.rule = s->name, report.location = std::string(s->file) + ":" + std::to_string(s->line);
    report.confirmed = true;
    return;
  }
}

void bisect_by_command(FailureRepro& run, BisectReport& report) {
  run.raise_stack_limit();  // the command sees graphs
  RewriteBlame rewrites(run, report);
  if (Outcome made = rewrites.compile(); !made.passes()) return blame_refusal(run, {}, made, report);
  if (!run.run_graph(run.in().root).passes())
    return blame(report, Verdict::Unresolved, "the graph as it came in shows it already");
  if (rewrites.search()) return;
  if (rewrites.all_right()) return blame(report, Verdict::Same, "the last graph does not show it to the command");
  blame(report, Verdict::Unresolved, "it shows behind this stage; none of its rewrites alone makes it so");
}

// One bisection: what is cheap to see first. Throws Failure.
void bisect_kernel(FailureRepro& run, BisectReport& report) {
  Outcome first = run.attempt(), second = run.attempt();
  if (!is_endless(first)) run.raise_stack_limit();
  if (!first.passes() && first.kind != Outcome::Kind::Fails) run.expect_place_works();
  if (run.is_list()) {
    if (!first.passes()) blame(report, Verdict::Unresolved, "a linear list has no rewrites: " + first.error());
    return;
  }
  RewriteBlame rewrites(run, report);
  Outcome watched = rewrites.look();
  if (first.passes() && watched.passes()) return;
  if (!watched.is_refused() && run.is_wrong_itself())
    return blame(report, Verdict::Unresolved, "the graph as it came in does so in REF, before any rewrite: it is wrong "
                                              "itself, or what is expected of it is");
  if (watched.is_refused() && blame_endless(run, rewrites, watched, report)) return;
  bool flaky = first.passes() != second.passes();
  if (!flaky && first.passes() != watched.passes()) return blame_shortcut(run, first.passes(), report);
  if (rewrites.accuse_suspect()) return;
  if (flaky) return blame(report, Verdict::Flaky, first.passes() ? second.error() : first.error());
  if (rewrites.search()) return;
  if (watched.is_refused()) return blame_refusal(run, rewrites.list(), watched, report);
  if (rewrites.all_right()) return blame_below(run, rewrites.list(), watched, report);
  blame(report, Verdict::Unresolved, watched.error());
}

// Does `work` and says how long it took, and what trouble there was.
template <class Work>
BisectReport reported(const Session& session, const std::string& name, Work work) {
  BisectReport report{.kernel = name};
  auto begin = Clock::now();
  auto done = catch_failures([&] { return work(report), Unit{}; });
  report.seconds = seconds_since(begin);
  if (done) return report;
  if (!session.cancelled()) report.error = done.diag().text();
  else blame(report, Verdict::Unresolved, "stopped before it was known");
  return report;
}

// `run` runs the whole of it as it is told.
void bisect_kernels(const Session& session, const InputGraph& whole, const RunOptions& spec, BisectReport& report,
                    const WholeRun& run) {
  KernelWatch watch(session);
  RunOptions plain = spec;
  plain.output.repro = "";  // of the kernel that is found
  RunOptions watched = plain;
  watched.compare.reference = "none";
  watched.model.before_kernel = [&](const KernelStep& step) { watch.begins(step); };
  watched.model.on_kernel = [&](const KernelStep& step) { watch.see(step); };
  ModelReport model = run(watched);
  report.device = model.device, report.runs = watch.seen();
  RunOptions there = spec;
  there.device.name = model.device_option;
  report.again = bisect_again(there, options_again(session, there, whole, Placement()));
  if (!watch.found() && !model.error.empty()) (void)watch.take_last();
  ScheduleCheck schedule(session, plain, run, report);
  if (!watch.itself().empty()) return schedule.check(watch.itself());
  if (!watch.found() && !model.error.empty()) {
    if (schedule.check_error(model.error)) return;
    throw Failure(model.error);
  }
  if (!watch.found()) return schedule.check(model, watch.seen());
  const std::string again = report.again;
  RunOptions of_kernel = there;
  of_kernel.input.variables = watch.variables();
  of_kernel.input.arrays = of_kernel.compare.expect = of_kernel.compare.reference = "";
  FailureRepro failing(session, watch.kernel(), of_kernel, report);
  (void)failing.prepare(&watch.given());
  report.again = again;
  report.kernel += ", kernel " + std::to_string(watch.number()) + " (" + watch.kernel().info.name + ")";
  bisect_kernel(failing, report);
  failing.keep();
}

// What tgc makes of a kernel, against what tinygrad made or makes of it.
void bisect_divergence(const Session& session, InputGraph& in, const RunOptions& spec, const BisectPlan& plan,
                       BisectReport& report) {
  const bool is_asked = !plan.tinygrad.empty();
  if (is_asked) {
    in.info.target = session.target_for(in);
    if (!session.over.opts.empty())
      in.root = with_opts(in.root, read_opts(*in.graph, session.over.opts, "--opts").value_or_throw());
    TinygradProcess tinygrad(plan.tinygrad, session.stop());
    blame_divergence(session, in, tinygrad, "", report);
    report.device = in.info.target;
  } else {
    auto record = std::move(record_against(session, plan.against, in.info.name).value_or_throw());
    blame_divergence(session, in, *record, report);
    report.device = record->target;
  }
  if (report.verdict == Verdict::Same && report.detail.empty()) report.detail = "tgc makes what tinygrad makes of it";
  report.again = bisect_again(spec, (spec.input.kernel.empty() ? "" : " --kernel=" + shell_word(spec.input.kernel)) +
                                        (is_asked ? " --tinygrad=" + shell_word(plan.tinygrad)
                                                  : " --against=" + shell_word(plan.against)));
}

}  // namespace

BisectReport bisect(const Session& whole, InputGraph& in, const RunOptions& spec, const BisectPlan& plan) {
  Session session = whole;
  Cancel limit(whole.cancel, plan.seconds);
  if (plan.seconds > 0) session.cancel = &limit;
  return reported(session, in.info.name.empty() ? "kernel" : in.info.name, [&](BisectReport& report) {
    if (!plan.against.empty() || !plan.tinygrad.empty()) return bisect_divergence(session, in, spec, plan, report);
    const RunOptions own = with_bundle(spec, in);
    FailureRepro run(session, in, own, report);
    if (!plan.command.empty()) {
      run.prepare(plan.command);
      return bisect_by_command(run, report);
    }
    if (Outcome itself = run.prepare(); !itself.passes())
      return blame(report, Verdict::Crash, "the kernel itself, as it came in, in REF: " + itself.error());
    if (plan.crash && blame_crash(run, own.device.timeout_for(run.place()), report)) return;
    bisect_kernel(run, report);
    if (report.verdict == Verdict::Same && run.expect_all()) bisect_kernel(run, report);
    if (report.verdict == Verdict::Same && is_as_recorded(session, in))
      blame_divergence(session, in, *in.record, report);
    run.keep();
  });
}

BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& spec) {
  return reported(session, path, [&](BisectReport& report) {
    bisect_kernels(session, InputGraph(), spec, report,
                   [&](const RunOptions& watched) { return run_model(session, path, watched); });
  });
}

BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& spec) {
  return reported(session, in.info.name, [&](BisectReport& report) {
    bisect_kernels(session, in, spec, report,
                   [&](const RunOptions& watched) { return run_tensor_graph(session, in, watched); });
  });
}

}  // namespace tgc
