#include "lib/session/bisect.h"

#include <algorithm>
#include <chrono>

#include "lib/execute/closed.h"
#include "lib/execute/drawing.h"
#include "lib/execute/lower.h"
#include "lib/execute/two_sides.h"
#include "lib/inspect/applications.h"
#include "lib/inspect/trace.h"
#include "lib/runtime/npz.h"
#include "lib/session/again.h"
#include "lib/session/bundle.h"
#include "lib/session/judge.h"
#include "lib/session/stage_trial.h"
#include "lib/uop/copy.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

// An application that is under suspicion, with texts that outlive its graph.
struct Suspect {
  uint64_t number, in_stage;
  const StageRow* stage;
  const Rule* rule;
  const char* branch;
  int depth;
  Seen seen;
  std::string before, after;
};

// A side of a rewrite for people: algebra in a line, anything larger as a tree.
std::string side_text(UOp u) {
  if (u.dtype().is(Scalar::Index) || dtypes::is_int(u.dtype()) || dtypes::is_bool(u.dtype()))
    if (std::string text = render(u, false); text.size() < 400) return text;
  std::string text = describe(u, 3);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    out += (out.empty() ? "" : "\n") + line.substr(std::min(indent, line.size()));
    at = end + 1;
  }
  return out;
}

// One bisection. Throws Failure.
class Bisection {
 public:
  Bisection(const Session& session, Loaded& in, const TrialSpec& spec, BisectReport& report)
      : session_(session), in_(in), o_(spec), report_(report) {}

  void run() {
    place_ = std::move(placement_for(session_, o_.device, in_).value_or_throw());
    if (!place_.target) place_.target = std::move(parse_target("CPU:LLVM", settings()).value_or_throw());
    report_.device = place_.is_ref ? "REF, lowered for " + place_.target->name() : place_.label;
    report_.again = command();
    expect();
    Outcome first = attempt(nullptr), second = attempt(nullptr);
    Compilation compilation = begin();
    Outcome watched = look(compilation);
    if (first.passes() && watched.passes()) return;
    bool flaky = first.passes() != second.passes();
    if (!flaky && first.passes() != watched.passes())
      return blame(Verdict::Shortcut, first.passes() ? "it fails only when watched" : "it passes when watched");
    for (const Suspect& s : suspects_)
      if (confirm(s)) return accuse(s, true);
    for (const Suspect& s : suspects_)
      if (is_in_first_wrong_stage(s)) return accuse(s, false);
    if (flaky) return blame(Verdict::Flaky, first.passes() ? second.error : first.error);
    search(watched);
  }

 private:
  struct Outcome {
    enum class Kind : uint8_t { Passes, Fails, Dies, Refused };
    Kind kind = Kind::Passes;
    std::string error = {};
    bool passes() const { return kind == Kind::Passes; }
  };

  const Settings& settings() const { return in_.graph->settings(); }
  void blame(Verdict verdict, const std::string& detail = {}) { report_.verdict = verdict, report_.detail = detail; }

  std::string command() const {
    const char* fault = std::getenv("TGC_FAULT");
    std::string out = fault && *fault ? "TGC_FAULT=" + shell_word(fault) + " " : "";
    out += "tgc bisect " + shell_word(o_.input) + options_again(session_, o_, in_, place_);
    auto option = [&](const std::string& name, const std::string& value) {
      if (!value.empty()) out += " --" + name + "=" + shell_word(value);
    };
    option("inputs", o_.arrays), option("expect", o_.expect), option("reference", o_.reference);
    option("seed", o_.seed ? std::to_string(*o_.seed) : "");
    return out;
  }

  // ---- running it

  // A compilation of its own, from a graph of its own.
  Compilation begin() const {
    Loaded copy{.graph = std::make_unique<Graph>(settings()), .info = in_.info, .file = in_.file};
    copy.root = copy_into(*copy.graph, in_.root);
    JobSpec job = std::move(session_.job_for(in_).value_or_throw());
    job.target = place_.target->name();
    return std::move(Compilation::begin(std::move(copy), std::move(job)).value_or_throw());
  }

  // The arrays, and what is expected of them.
  void expect() {
    Executable kernel = std::move(Executable::for_ref(in_.root).value_or_throw());
    std::string file;
    Arrays given = given_inputs(o_, in_, file);
    std::optional<Drawing> draw;
    if (o_.seed || o_.arrays.empty()) draw = {.seed = o_.seed.value_or(0), .floats = floats_for(in_.root)};
    inputs_ = std::move(input_arrays(kernel.buffers(), given, file, draw).value_or_throw());
    if (expected_ = given_expected(o_, in_, file); !expected_.empty()) {
    } else if (!o_.reference.empty() && o_.reference != "REF") {
      Placement other = std::move(choose_placement(o_.reference, "", settings()).value_or_throw());
      KernelGraph graph{.root = in_.root, .stage = in_.info.stage, .opts = session_.over.opts};
      Executable same = std::move(make_executable(graph, other).value_or_throw());
      auto done = execute(same, *other.device, inputs_of(same), o_.variables, options());
      expected_ = std::move(done.value_or_throw().outputs);
    } else {
      Placement ref = std::move(choose_placement("REF", "", settings()).value_or_throw());
      expected_ =
          std::move(execute(kernel, *ref.device, inputs_, o_.variables, {.in_process = true}).value_or_throw().outputs);
    }
    if (expected_.empty()) throw Failure("nothing can be compared: the kernel stores no array");
  }
  Arrays inputs_of(const Executable& kernel) const {
    return std::move(input_arrays(kernel.buffers(), inputs_, "", std::nullopt).value_or_throw());
  }
  ExecuteOptions options() const {
    return {.in_process = place_.is_ref || o_.in_process, .timeout_seconds = o_.timeout_for(place_)};
  }

  // Compiled with someone watching, or nobody, and run.
  Outcome attempt(Watcher* watcher) {
    Compilation c = begin();
    return attempt(c, watcher);
  }
  Outcome attempt(Compilation& c, Watcher* watcher) {
    if (watcher) c.watch(watcher);
    auto& list = c.list();
    if (watcher) c.watch(nullptr);
    return list ? run_list(*list) : Outcome{Outcome::Kind::Refused, list.diag().text()};
  }

  // A graph at any stage, in REF.
  Outcome run_graph(UOp root) {
    auto [it, is_new] = graphs_.try_emplace(root.id());
    if (!is_new) return it->second;
    auto kernel = Executable::for_ref(root);
    if (!kernel) return it->second = {Outcome::Kind::Refused, kernel.diag().text()};
    auto inputs = input_arrays(kernel->buffers(), inputs_, "", std::nullopt);
    if (!inputs) return it->second = {Outcome::Kind::Refused, inputs.diag().text()};
    Placement ref = std::move(choose_placement("REF", "", settings()).value_or_throw());
    report_.runs++;
    return it->second = judged(execute(*kernel, *ref.device, *inputs, o_.variables, {.in_process = true}));
  }

  Outcome run_list(std::span<const UOp> list) {
    auto kernel =
        place_.is_ref ? Executable::for_ref(list) : Executable::for_device(list, *place_.target, *place_.device);
    if (!kernel) return {Outcome::Kind::Refused, kernel.diag().text()};
    const std::string code = kernel->source().text;
    if (auto it = outcomes_.find(code); !code.empty() && it != outcomes_.end() && it->second.second++ > 0)
      return it->second.first;  // compiled and run twice already
    report_.runs++;
    Outcome out = judged(execute(*kernel, *place_.device, inputs_of(*kernel), o_.variables, options()));
    if (!code.empty()) outcomes_.try_emplace(code, out, 0);
    return out;
  }

  Outcome judged(const Result<Execution>& done) {
    if (!done) return {Outcome::Kind::Dies, done.diag().text()};
    auto tolerance = [&](const Array& e) {
      return o_.expect.empty() ? tolerance_for(o_.tolerance, in_.root, e) : o_.tolerance;
    };
    JudgedKernel kernel{UOp(), inputs_, o_.variables, true};
    auto arrays = judge(kernel, done->outputs, expected_, tolerance);
    if (!arrays) return {Outcome::Kind::Fails, arrays.diag().text()};
    if (std::ranges::all_of(*arrays, &Comparison::passed)) return {};
    // what hangs on rounding is left out: five more runs in REF, so that they are done where few elements differ, and
    // not again when nothing was left out
    bool few = std::ranges::all_of(*arrays, [](const Comparison& c) { return 10 * c.different <= c.size; });
    if (!few || !may_hang_on_rounding_) return {Outcome::Kind::Fails, ""};
    kernel.root = in_.root;
    arrays = judge(kernel, done->outputs, expected_, tolerance);
    if (arrays && std::ranges::all_of(*arrays, &Comparison::passed)) return {};
    may_hang_on_rounding_ = arrays && std::ranges::any_of(*arrays, [](const Comparison& c) { return c.left_out > 0; });
    return {Outcome::Kind::Fails, ""};
  }

  // ---- the look

  // Compiles it watched, compares both sides of every rewrite, and runs what comes out.
  Outcome look(Compilation& compilation) {
    Outcome out = attempt(compilation, &log_);
    if (!out.passes()) compare(log_.list());
    return out;
  }

  void compare(const std::vector<Application>& list) {
    report_.rewrites = list.size();
    std::vector<Sides> sides;
    for (const Application& a : list) sides.push_back({a.before, a.after});
    auto seen = compare_sides(sides, inputs_, o_.variables);
    if (!seen) {
      report_.detail = "the sides of the rewrites were not compared: " + seen.diag().text();
      return;
    }
    for (size_t i = 0; i < list.size(); i++) {
      const Application& a = list[i];
      report_.looked_at += (*seen)[i].kind != Seen::Kind::Open;
      if ((*seen)[i].kind == Seen::Kind::Same) continue;
      if ((*seen)[i].kind == Seen::Kind::Differ) suspects_.push_back(suspect_of(a, (*seen)[i]));
    }
    // those that no rounding explains first; of rewrites inside each other the inner one is done first
    std::ranges::stable_sort(suspects_, std::greater(), [](const Suspect& s) { return s.seen.plainly; });
  }

  static Suspect suspect_of(const Application& a, const Seen& seen) {
    return {a.number, a.in_stage, a.stage, a.rule, a.branch, a.depth, seen, side_text(a.before), side_text(a.after)};
  }

  // Whether the graph is right before the rewrite, or the one that it is a part of, and wrong after. Where REF cannot
  // run the graph between two rewrites: whether the run passes without that rewrite, or else without its rule.
  bool confirm(const Suspect& s) {
    if (s.seen.plainly && 2 * s.seen.points >= Closing::kPoints && passes_without(s)) return true;
    for (const TopRewrite& r : log_.rewrites())
      for (size_t i = 0; i < r.applications.size(); i++) {
        if (log_.list()[r.applications[i]].number < s.number) continue;
        if (r.stage != s.stage || !can_run(r)) break;
        Outcome before = run_after(r, i);
        if (before.kind == Outcome::Kind::Refused) break;
        if (!before.passes()) return false;
        return !run_after(r, i + 1).passes() && (s.depth == 0 || passes_without(s));
      }
    if (passes_without(s)) return true;
    Veto all([&](uint64_t, const Hit& hit, UOp) { return hit.rule == s.rule && hit.branch == s.branch; });
    return attempt(&all).passes();
  }

  // Of sides that differ nearly everywhere: whether the stage's graph is right before, and wrong after.
  bool is_in_first_wrong_stage(const Suspect& s) {
    if (!s.seen.plainly || 2 * s.seen.points < Closing::kPoints) return false;
    for (const StageRun& run : log_.stages())
      if (run.row == s.stage)
        return run_graph(run.input).passes() && !(run.result && run_graph(run.result).passes());
    return false;
  }

  bool passes_without(const Suspect& s) {
    Veto one([&](uint64_t number, const Hit&, UOp) { return number == s.number; });
    return attempt(&one).passes();
  }

  void accuse(const Suspect& s, bool confirmed) {
    report_.verdict = Verdict::Rewrite;
    report_.stage = s.stage ? s.stage->name : "";
    report_.rule = s.rule->name;
    report_.branch = s.branch ? s.branch : "";
    report_.location = std::string(short_file(*s.rule)) + ":" + std::to_string(s.rule->line);
    report_.rewrite = s.in_stage;
    report_.before = s.before, report_.after = s.after;
    report_.witness = s.seen.point;
    if (s.seen.kind == Seen::Kind::Differ)
      report_.witness["before"] = s.seen.before, report_.witness["after"] = s.seen.after;
    report_.confirmed = confirmed;
  }

  // ---- the search: where no look tells, the first stage, and the first of its rewrites, after which the graph
  // computes something else in REF

  static bool can_run(const TopRewrite& r) { return r.input.is(Op::SINK); }

  // The graph after the first `n` of the applications, in REF.
  Outcome run_after(const TopRewrite& r, size_t n) {
    std::vector<std::pair<UOp, UOp>> first;
    for (size_t i = 0; i < n; i++) {
      const Application& a = log_.list()[r.applications[i]];
      first.emplace_back(a.before, a.after);
    }
    auto graph = catch_failures([&] { return replayed(r.input, r.bottom_up, first, r.gates); });
    return graph ? run_graph(*graph) : Outcome{Outcome::Kind::Refused, graph.diag().text()};
  }
  bool is_right(const TopRewrite& r, size_t n) { return run_after(r, n).passes(); }

  // The first of `n` places, of which the last is wrong, where `is_right` no longer holds.
  template <class IsRight>
  static size_t first_wrong(size_t n, IsRight is_right) {
    size_t right = 0, wrong = n - 1;  // before `right` all are, as far as is known
    while (right < wrong) {
      size_t middle = (right + wrong) / 2;
      if (is_right(middle)) right = middle + 1;
      else wrong = middle;
    }
    return wrong;
  }

  void search(const Outcome& watched) {
    std::vector<StageRun> stages;
    for (const StageRun& s : log_.stages())
      if (s.row->is_graph_stage() && (!s.result || !(s.result == s.input))) stages.push_back(s);
    auto is_stage_right = [&](size_t i) { return stages[i].result && run_graph(stages[i].result).passes(); };
    if (stages.empty() || is_stage_right(stages.size() - 1))
      return watched.kind == Outcome::Kind::Refused ? blame(Verdict::Crash, watched.error)
                                                    : blame(Verdict::Unresolved, "every stage is right in REF");
    const StageRun& stage = stages[first_wrong(stages.size(), is_stage_right)];
    report_.stage = stage.row->name;
    for (const TopRewrite& r : log_.rewrites()) {
      size_t n = r.applications.size();
      if (r.stage != stage.row || !can_run(r) || n == 0 || !is_right(r, 0) || is_right(r, n)) continue;
      size_t i = first_wrong(n, [&](size_t k) { return is_right(r, k + 1); });
      Outcome after = run_after(r, i + 1);
      if (is_right(r, i) && after.kind != Outcome::Kind::Refused)
        return accuse(suspect_of(log_.list()[r.applications[i]], {}), true);
    }
    blame(watched.kind == Outcome::Kind::Refused ? Verdict::Crash : Verdict::Unresolved, watched.error);
  }

  const Session& session_;
  Loaded& in_;
  const TrialSpec& o_;
  BisectReport& report_;
  Placement place_;
  Arrays inputs_, expected_;
  bool may_hang_on_rounding_ = true;
  std::map<std::string, std::pair<Outcome, int>> outcomes_;  // by source: and how often it was asked for again
  std::map<uint32_t, Outcome> graphs_;  // of the watched compilation, by id of the sink
  ApplicationLog log_;
  std::vector<Suspect> suspects_;
};

}  // namespace

BisectReport bisect(const Session& session, Loaded& in, const TrialSpec& spec) {
  BisectReport report{.kernel = in.info.name.empty() ? "kernel" : in.info.name};
  auto begin = std::chrono::steady_clock::now();
  auto done = catch_failures([&] {
    const TrialSpec own = with_bundle(spec, in);
    Bisection(session, in, own, report).run();
    return Unit{};
  });
  if (!done) report.error = done.diag().text();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace tgc
