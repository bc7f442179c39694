#include "lib/bisect/failure_repro.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "lib/compilation/scoped_watch.h"
#include "lib/compile/process.h"
#include "lib/driver/compile_copy.h"
#include "lib/execute/probe_device.h"
#include "lib/execute/sanitized.h"
#include "lib/rewrite/intervention.h"
#include "lib/rewrite/rewrite.h"
#include "lib/run/failure_signature.h"
#include "lib/run/kernel_variables.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/support/write_file.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/reference_sample.h"
#include "lib/validate/truncate_loops.h"
#include "passes/kernel/optimizer/apply_opts_stage.h"

namespace tgc {
namespace {

Outcome refused(Diag diag) { return {Outcome::Kind::Refused, std::move(diag)}; }

// Ends a compilation, between two rewrites, when the session is cancelled.
class EndsWhenCancelled : public Watcher, public RewriteObserver {
 public:
  explicit EndsWhenCancelled(const Session& session) : session_(session) {}
  using RewriteObserver::begin, RewriteObserver::end;  // of a rewrite: not hidden by those of a compilation
  void begin(Compilation& c) override { set_observer(c.graph(), this); }
  void end(Compilation& c) override { set_observer(c.graph(), nullptr); }
  void rewritten(const Hit&, UOp, UOp, Cost) override {
    if (session_.cancelled()) throw Failure("cancelled");
  }

 private:
  const Session& session_;
};

// Whether that is a kernel's own doing, and no trouble with running it.
bool dies(const Diag& d) { return d.convicts || d.message.starts_with("killed by "); }

}  // namespace

FailureRepro::FailureRepro(const Session& session, InputGraph& in, const RunOptions& spec, BisectReport& report)
    : session_(session), in_(in), o_(spec), report_(report), settings_(in.graph->settings()) {}

std::string bisect_again(const RunOptions& spec, const std::string& options) {
  std::string out = fault_again() + "tgc bisect " + shell_word(spec.input.name) + options;
  auto option = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += " --" + name + "=" + shell_word(value);
  };
  option("inputs", spec.input.arrays), option("expect", spec.compare.expect), option("reference", spec.compare.reference);
  option("seed", spec.input.seed ? std::to_string(*spec.input.seed) : "");
  return out + (spec.device.sanitize ? " --sanitize" : "");
}

void FailureRepro::choose_place() {
  place_ = std::move(placement_for(session_, o_.device.name, in_).value_or_throw());
  place_.target = lowering_target(place_, settings());
  report_.device = place_.is_ref ? "REF, lowered for " + place_.target->name() : place_.label;
  report_.again = bisect_again(o_, options_again(session_, o_, in_, place_));
}

Outcome FailureRepro::prepare(const GivenRun* given) {
  choose_place();
  list_ = in_.list;
  if (o_.input.recorded) {
    if (!in_.record || !in_.record->linear)
      throw Failure(Diag{.message = "'" + in_.info.name + "' holds no recorded list",
                         .file = in_.file,
                         .expected = "a kernel of golden records for --recorded"});
    recorded_ = std::move(read_uops(*in_.graph, *in_.record->linear, in_.file + " (linear)").value_or_throw().list);
    list_ = recorded_;
  }
  if (!given) return expect();
  is_expected_by_ref_ = true;
  inputs_ = copy_of(given->inputs), expected_ = copy_of(given->expected), places_ = given->places;
  is_small_ = places_.empty();
  return {};
}

void FailureRepro::prepare(const std::string& command) {
  choose_place();
  command_ = command;
  report_.again += " --cmd=" + shell_word(command);
}

void FailureRepro::keep() {
  if (o_.output.repro.empty() || failed_.passes()) return;
  FailureSignature::Kind kind = failed_.kind == Outcome::Kind::Dies ? FailureSignature::Kind::Crash : FailureSignature::Kind::Wrong;
  if (failed_.is_refused()) kind = symptom_of(session_, in_, o_).value_or_throw().kind;  // by whom
  Repro bundle{.symptom = std::string(name_of(kind)), .said = report_.failure};
  for (auto& [name, value] : {std::pair("verdict", std::string(name_of(report_.verdict))), {"stage", report_.stage},
                              {"rule", report_.rule}, {"branch", report_.branch}})
    if (!value.empty()) bundle.blamed[name] = value;
  bundle.inputs = bundled(inputs_);
  if (places_.empty()) bundle.expected = bundled(expected_);  // else but some elements are known
  report_.again = "tgc bisect " + shell_word(write_bundle(session_, o_, in_, place_, std::move(bundle)));
}

// ---- what goes in, what comes out

bool FailureRepro::is_wrong_itself() {
  if (is_expected_by_ref_ || is_list()) return false;
  Outcome o = run_graph(in_.root);
  return !o.passes() && !o.is_refused();
}

bool FailureRepro::expect_all() { return !places_.empty() && expect(true).passes(); }

Outcome FailureRepro::expect(bool all) {
  constexpr double kWork = 1e8, kSampled = 2e7;  // evaluations of UOps: a second or two
  places_.clear(), outcomes_.clear();
  Executable kernel =
      std::move((in_.list.empty() ? Executable::for_ref(in_.root) : Executable::for_ref(in_.list)).value_or_throw());
  report_.variables = bound_variables(kernel, o_.input.variables);
  if (o_.input.is_only_kernel) check_variables(kernel, o_.input.variables).value_or_throw();
  std::string file;
  Arrays given = given_inputs(o_, in_, file);
  std::optional<InputDistribution> draw;
  if (o_.input.seed || o_.input.arrays.empty()) draw = input_distribution(in_.root, o_.input.seed.value_or(0));
  inputs_ = std::move(input_arrays(kernel.buffers(), given, file, draw).value_or_throw());
  is_small_ = !in_.list.empty() || work_of(in_.root) <= kWork;
  expected_ = given_expected(o_, in_, file);
  is_expected_by_ref_ = expected_.empty() && (o_.compare.reference.empty() || o_.compare.reference == "REF");
  const bool is_given = !expected_.empty();
  if (!is_given && !o_.compare.reference.empty() && o_.compare.reference != "REF") {
    Placement other = std::move(choose_placement(o_.compare.reference, "", settings()).value_or_throw());
    KernelGraph graph{.root = in_.root, .stage = in_.info.stage, .list = in_.list, .opts = session_.over.opts};
    Executable same = std::move(make_executable(graph, other).value_or_throw());
    auto done = execute(same, *other.device, inputs_of(same), o_.input.variables, options());
    expected_ = std::move(done.value_or_throw().outputs);
  } else if (!is_given && !is_small_ && !all) {
    auto some = reference_sample(in_.root, inputs_, o_.input.variables, kSampled);
    if (!some && dies(some.diag())) return {Outcome::Kind::Dies, some.diag()};
    Sample sample = std::move(some.value_or_throw());
    expected_ = std::move(sample.values), places_ = std::move(sample.places);
  } else if (!is_given) {
    auto done = run_in_ref(kernel, inputs_);
    if (!done && dies(done.diag())) return {Outcome::Kind::Dies, done.diag()};
    expected_ = std::move(done.value_or_throw().outputs);
  }
  if (expected_.empty()) throw Failure("nothing can be compared: the kernel stores no array");
  return {};
}

Arrays FailureRepro::inputs_of(const Executable& kernel, const Arrays& more) const {
  if (more.empty()) return std::move(input_arrays(kernel.buffers(), inputs_, "", std::nullopt).value_or_throw());
  Arrays all = copy_of(inputs_);
  for (NamedArray& a : copy_of(more)) all.push_back(std::move(a));
  return std::move(input_arrays(kernel.buffers(), all, "", std::nullopt).value_or_throw());
}

ExecuteOptions FailureRepro::options() const {
  return {.in_process = o_.device.in_process, .timeout_seconds = o_.device.timeout_for(place_)};
}

Outcome FailureRepro::judged(const Result<Execution>& done) {
  if (!done) return {Outcome::Kind::Dies, done.diag()};
  Arrays some;
  auto picked = catch_failures([&] {
    for (auto& [name, places] : places_)
      if (const Array* all = find_array(done->outputs, name)) some.push_back({name, elements_of(*all, places)});
    return Unit{};
  });
  if (!picked) return {Outcome::Kind::Fails, picked.diag()};  // a wrong rewrite makes a buffer smaller
  const Arrays& actual = places_.empty() ? done->outputs : some;
  auto arrays = compare_outputs(in_.root, actual, expected_, o_.compare);
  if (!arrays) return {Outcome::Kind::Fails, arrays.diag()};
  auto wrong = std::ranges::find_if_not(*arrays, &Comparison::passed);
  if (wrong == arrays->end()) return {};
  Diag said{.message = wrong->text().substr(0, wrong->text().find('\n'))};
  const bool can_recheck = may_hang_on_rounding_ && is_small_ && in_.list.empty();
  if (!can_recheck || !is_recheck_cheap(in_.root, *arrays)) return {Outcome::Kind::Fails, said};
  const ReferenceRunner ref(inputs_, o_.input.variables);
  arrays = ref.compare(in_.root, actual, expected_, o_.compare);
  if (arrays && std::ranges::all_of(*arrays, &Comparison::passed)) return {};
  may_hang_on_rounding_ = arrays && std::ranges::any_of(*arrays, [](const Comparison& c) { return c.left_out > 0; });
  return {Outcome::Kind::Fails, said};
}

// ---- running it

void FailureRepro::expect_place_works() { probe_device(place_, settings(), options()).value_or_throw(); }

void FailureRepro::raise_stack_limit() {
  settings_.REWRITE_STACK_LIMIT = std::max(settings_.REWRITE_STACK_LIMIT, Settings().REWRITE_STACK_LIMIT);
}

bool FailureRepro::ends_with_limit(int64_t rewrite_stack_limit) const {
  Settings higher = settings();
  higher.REWRITE_STACK_LIMIT = rewrite_stack_limit;
  EndsWhenCancelled watcher(session_);
  Compilation c = begin(place_.target->name(), higher);
  ScopedWatch watched(c, watcher);
  auto& list = c.list();
  const bool ends = list || !is_endless(refused(list.diag()));
  go_on();
  return ends;
}

void FailureRepro::go_on() const {
  if (session_.cancelled()) throw Failure("cancelled");
}

Compilation FailureRepro::begin(const std::string& target, const Settings& settings) const {
  go_on();
  return compile_copy(session_, in_, target, settings);
}

// What the first attempt that did not pass does is what the report tells of.
Outcome FailureRepro::noted(Outcome outcome) {
  if (failed_.passes() && !outcome.passes()) {
    failed_ = outcome;
    report_.failure = outcome.error().substr(0, outcome.error().find('\n'));
  }
  return outcome;
}

Outcome FailureRepro::attempt(Watcher* watcher) {
  if (is_list()) return noted(run_list(list_));
  Compilation c = begin();
  return attempt(c, watcher);
}

Outcome FailureRepro::attempt(Compilation& c, Watcher* watcher) {
  if (watcher) c.watch(watcher);
  Outcome on_the_way = o_.compare.each_stage ? run_stages(c) : Outcome();
  auto& list = c.list();
  if (watcher) c.watch(nullptr);
  if (!list) return noted(refused(list.diag()));
  if (!on_the_way.passes()) return noted(on_the_way);
  return noted(command_.empty() ? run_list(*list) : run_command(c.current()));
}

// The first graph on the way that computes something else.
Outcome FailureRepro::run_stages(Compilation& c) {
  while (c.next() && c.next()->is_graph_stage()) {
    auto step = c.step();
    if (!step) return refused(step.diag());
    if (!step->changed()) continue;
    if (Outcome out = run_graph(step->after); !out.passes()) return out;
  }
  return {};
}

Outcome FailureRepro::run_command(UOp root) const {
  auto text = pyrender(root);
  if (!text) return refused(text.diag());
  TemporaryFolder folder;
  const std::string file = folder.file("graph");
  write_file(file, *text).value_or_throw();
  int status = std::system(with_file(command_, file).c_str());
  if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    throw Failure(Diag{.message = "--cmd could not be run: " + command_, .expected = "a shell command with {}"});
  report_.runs++;
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Outcome::Kind::Fails : Outcome::Kind::Passes, {}};
}

Outcome FailureRepro::run_graph(UOp root) {
  go_on();
  if (!command_.empty()) return run_command(root);
  if (!is_small_) return run_cut_short(root);
  auto kernel = Executable::for_ref(root);
  if (!kernel) return refused(kernel.diag());
  auto inputs = input_arrays(kernel->buffers(), inputs_, "", std::nullopt);
  if (!inputs) return refused(inputs.diag());
  report_.runs++;
  return judged(run_in_ref(*kernel, *inputs));
}

Outcome FailureRepro::run_cut_short(UOp root) {
  constexpr double kWork = 1.6e7;  // evaluations of UOps, of the graph and of what is expected of it
  constexpr size_t kMost = 512;  // elements of each array
  auto done = catch_failures([&]() -> Outcome {
    Graph graph(settings());
    UninstrumentedScope own(graph);
    report_.runs++;
    Stored stored =
        std::move(stored_in_ref(truncate_loops(graph, root, kWork), inputs_, o_.input.variables, kMost).value_or_throw());
    auto arrays = std::move(compare_outputs(in_.root, stored.values, expected_at(stored.places),
                                            {.tolerance = o_.compare.tolerance}).value_or_throw());
    if (std::ranges::all_of(arrays, &Comparison::passed)) return {};
    return {Outcome::Kind::Fails, {}};
  });
  return done ? *done : refused(done.diag());
}

Arrays FailureRepro::expected_at(const KnownPlaces& places) const {
  if (!places_.empty()) return std::move(values_at(in_.root, inputs_, o_.input.variables, places).value_or_throw());
  Arrays out;
  for (auto& [name, list] : places)
    if (const Array* all = find_array(expected_, name)) out.push_back({name, elements_of(*all, list)});
  return out;
}

std::optional<Arrays> FailureRepro::stored_by_device(std::span<const UOp> list, const Arrays& more) {
  go_on();
  auto kernel = executable(list);
  if (!kernel) return std::nullopt;
  report_.runs++;
  auto done = execute(*kernel, *place_.device, inputs_of(*kernel, more), o_.input.variables, options());
  return done ? std::optional(std::move(done->outputs)) : std::nullopt;
}

std::optional<Arrays> FailureRepro::stored_by_ref(std::span<const UOp> list, const Arrays& more) {
  go_on();
  auto kernel = Executable::for_ref(list);
  if (!kernel) return std::nullopt;
  report_.runs++;
  auto done = run_in_ref(*kernel, inputs_of(*kernel, more));
  return done ? std::optional(std::move(done->outputs)) : std::nullopt;
}

bool FailureRepro::is_alike(std::span<const UOp> list, const Arrays& more) {
  auto actual = stored_by_device(list, more), expected = stored_by_ref(list, more);
  if (!actual || !expected) return false;
  auto arrays = compare_outputs(in_.root, *actual, *expected);
  return arrays && std::ranges::all_of(*arrays, &Comparison::passed);
}

std::optional<int64_t> FailureRepro::first_difference(const Array& actual, const Array& expected) const {
  auto c = compare_arrays("", actual, expected, CompareOptions().tolerance_for(in_.root, expected));
  return c && c->first ? std::optional(c->first->index) : std::nullopt;
}

Result<Executable> FailureRepro::executable(std::span<const UOp> list) {
  return place_.is_ref ? Executable::for_ref(list) : Executable::for_device(list, *place_.target, *place_.device);
}

Outcome FailureRepro::run_list(std::span<const UOp> list) {
  auto kernel = executable(list);
  if (!kernel) return refused(kernel.diag());
  const std::string code = kernel->source().text;
  if (auto it = outcomes_.find(code); !code.empty() && it != outcomes_.end() && it->second.second++ > 0)
    return it->second.first;  // compiled and run twice already
  Outcome out = run(*kernel, *place_.device);
  if (!code.empty()) outcomes_.try_emplace(code, out, 0);
  return out;
}

bool FailureRepro::is_right_in_ref(std::span<const UOp> list, std::string& notes) {
  auto kernel = Executable::for_ref(list);
  if (!kernel) return true;
  report_.runs++;
  auto done = run_in_ref(*kernel, inputs_of(*kernel));
  if (done) notes = done->notes;
  return judged(done).passes();
}

Result<Execution> FailureRepro::run_in_ref(Executable& kernel, const Arrays& inputs) const {
  Placement ref = place_in_ref();
  return execute(kernel, *ref.device, inputs, o_.input.variables,
                 {.in_process = o_.device.in_process, .timeout_seconds = o_.device.timeout_for(ref)});
}

Outcome FailureRepro::run(Executable& kernel, Device& device) {
  // a variable without a value: it stood for something, and what puts that back was left out
  if (auto arguments = kernel.arguments(o_.input.variables); !arguments) return refused(arguments.diag());
  report_.runs++;
  Arrays inputs = inputs_of(kernel);
  return judged(o_.device.sanitize ? execute_sanitized(kernel, inputs, o_.input.variables, options())
                            : execute(kernel, device, inputs, o_.input.variables, options()));
}

}  // namespace tgc
