#include "lib/run/run_kernel.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/driver/elapsed.h"
#include "lib/driver/recorded_device.h"
#include "lib/driver/source.h"
#include "lib/execute/lower.h"
#include "lib/execute/sanitized.h"
#include "lib/run/debug_prints.h"
#include "lib/run/kernel_variables.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/run/run_stages.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/npy.h"
#include "lib/runtime/npz.h"
#include "lib/support/write_file.h"
#include "lib/target/recorded_target.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/expected_divergence.h"
#include "lib/validate/input_distribution.h"

namespace tgc {
namespace {

constexpr uint64_t kDefaultSeed = 0;

bool has_drawn(const std::vector<BufferSpec>& buffers, const Arrays& given) {
  return std::ranges::any_of(buffers, [&](const BufferSpec& b) { return b.read && !find_array(given, b.name()); });
}

// Every array that the file has must be one that the kernel stores, and the other way round; so that nothing is
// compared with nothing.
void check_expected(Arrays& expected, const Executable& kernel, const std::string& file) {
  if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = file});
  for (NamedArray& e : expected) {
    auto spec = std::ranges::find_if(kernel.buffers(), [&](const BufferSpec& b) { return b.name() == e.name; });
    if (spec == kernel.buffers().end() || !spec->written) {
      std::string stores;
      for (const BufferSpec& b : kernel.buffers())
        if (b.written) stores += (stores.empty() ? "" : ", ") + b.name();
      throw Failure(Diag{.message = "the kernel stores no array '" + e.name + "'", .file = file, .expected = stores});
    }
    auto same = adopt_dtype(std::move(e.array), spec->dtype, e.name);
    if (!same || (spec->size >= 0 && same->size() != spec->size))
      throw Failure(Diag{.message = e.name + (same ? " is " + same->describe() : ": " + same.diag().message),
                         .file = file,
                         .expected = spec->describe()});
    e.array = std::move(*same);
  }
  for (const BufferSpec& b : kernel.buffers())
    if (b.written && !find_array(expected, b.name()))
      throw Failure(Diag{.message = "the file lacks '" + b.name() + "', which the kernel stores", .file = file});
}

// One trial. Throws Failure.
class Trial {
 public:
  Trial(const Session& session, InputGraph& in, const RunOptions& spec, RunReport& report)
      : session_(session), in_(in), o_(spec), report_(report), debug_(session, in.graph->settings()) {}

  void run() {
    place_ = std::move(placement_for(session_, o_.device, in_).value_or_throw());
    Placement& place = *place_;
    report_.device = place.label;
    check_emulation(place);
    Executable kernel = prepare(place);
    note_variables(kernel);
    kernel.arguments(o_.variables).value_or_throw();
    choose_inputs(kernel);
    const Arrays& inputs = inputs_ = inputs_of(kernel);
    const Arrays& expected = expected_;
    Expected reference = expected_arrays(kernel, place);
    const bool runs_beside = !o_.each_stage && !options_for(place).repeats;  // nothing does beside what is timed
    if (!runs_beside) expected_ = reference();
    // first: what dies on the device is then named by its stage
    if (o_.each_stage) each_stage(place, inputs, expected);
    Result<Execution> ran = executed(kernel, place, inputs, options_for(place));
    if (runs_beside) expected_ = reference();
    Execution done = std::move(ran.value_or_throw());
    if (!done.notes.empty()) report_.notes = done.notes;
    if (settings().DEBUG >= 2 && kernel.info())
      debug_.kernel_ran(*kernel.info(), *place.target, double(bytes_of(inputs)), done.seconds);
    compare(inputs, done.outputs, expected, place);
    if (o_.bench > 0) bench(kernel, place, inputs, std::move(done.seconds));
    bool failed = report_.result() == RunReport::Result::Failed;
    auto kept = catch_failures([&] {
      save(done.outputs);
      if (failed && o_.keeps && o_.repro.empty())
        keep_failure(session_, o_, in_, place, inputs, expected, done.outputs, report_);
      return Unit{};
    });
    if (!kept && !failed) throw Failure(kept.diag());
    if (!kept) report_.not_kept = kept.diag().text();
  }

  // The failure as one file, in place of npz files and a command.
  void keep_bundle() {
    if (!place_) return;  // it did not come so far
    FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
    if (!report_.error.empty()) {
      auto symptom = symptom_of(session_, in_, o_, &inputs_);
      kind = symptom.value_or_throw().kind;
    }
    std::string said = report_.error;
    for (const Comparison& c : report_.arrays)
      if (said.empty() && !c.passed()) said = c.text();
    RunOptions spec = o_;
    spec.save = o_.repro;
    std::string path = path_to_save(spec, in_.info.name, in_.record != nullptr);
    Repro bundle{.symptom = std::string(name_of(kind)),
                 .said = said.substr(0, said.find('\n')),
                 .inputs = bundled(inputs_),
                 .expected = bundled(expected_)};
    write_file(path, bundle_text(session_, o_, in_, *place_, std::move(bundle))).value_or_throw();
    report_.written.push_back(path);
    report_.again = "tgc run " + shell_word(path);
  }

 private:
  const Settings& settings() const { return in_.graph->settings(); }
  static uint64_t bytes_of(const Arrays& arrays) {
    uint64_t out = 0;
    for (const NamedArray& a : arrays) out += a.array.nbytes();
    return out;
  }

  // ---- from a graph to code
  KernelGraph graph() {
    return {.root = in_.root, .stage = in_.info.stage, .list = in_.list, .opts = session_.over.opts};
  }
  LowerOptions lowering() { return {.observer = &debug_, .compile_seconds = o_.timeout_seconds.value_or(0)}; }
  Executable prepare(Placement& place) {
    KernelGraph kernel = graph();
    if (o_.recorded) kernel.list = recorded_list();
    return std::move(make_executable(kernel, place, lowering()).value_or_throw());
  }
  // The linear list that the record holds.
  std::span<const UOp> recorded_list() {
    if (!in_.record || !in_.record->linear)
      throw Failure(Diag{.message = "'" + in_.info.name + "' holds no recorded list", .file = in_.file,
                         .expected = "a kernel of golden records for --recorded"});
    if (recorded_.empty())
      recorded_ = std::move(read_uops(*in_.graph, *in_.record->linear, in_.file + " (linear)").value_or_throw().list);
    return recorded_;
  }

  ExecuteOptions options_for(const Placement& place) const {
    int repeats = o_.bench ? o_.bench : settings().DEBUG >= 2;  // tinygrad's line of DEBUG=2 has a time
    return {.in_process = o_.in_process, .timeout_seconds = o_.timeout_for(place), .repeats = repeats};
  }

  Result<Execution> executed(Executable& kernel, Placement& place, const Arrays& inputs,
                             const ExecuteOptions& options) {
    return waited_for(place.label, [&] {
      return o_.sanitize ? execute_sanitized(kernel, inputs, o_.variables, options)
                         : execute(kernel, *place.device, inputs, o_.variables, options);
    });
  }
  // Tells how long it takes, where it is the only kernel.
  Result<Execution> waited_for(const std::string& where, const std::function<Result<Execution>()>& run) {
    std::optional<Elapsed> elapsed;
    if (o_.alone) elapsed.emplace(session_, in_.info.name + " on " + where);
    auto done = run();
    return done ? std::move(done) : with_time_option(done.diag());
  }

  // A name that the kernel does not have is a mistake when it is the only kernel.
  void note_variables(const Executable& kernel) {
    report_.variables = bound_variables(kernel, o_.variables);
    if (o_.alone) check_variables(kernel, o_.variables).value_or_throw();
  }

  // ---- what goes in
  void choose_inputs(const Executable& kernel) {
    given_ = given_inputs(o_, in_, arrays_file_);
    if (!o_.seed && !o_.arrays.empty()) return;
    draw_ = {.seed = o_.seed.value_or(kDefaultSeed), .floats = floats_for(in_.root)};
    if (!has_drawn(kernel.buffers(), given_)) return;
    report_.seed = draw_->seed;
    if (draw_->floats == Floats::Unit) report_.floats = "between 0 and 1: others make NaNs";
  }
  Arrays inputs_of(const Executable& kernel) {
    return std::move(input_arrays(kernel.buffers(), given_, arrays_file_, draw_).value_or_throw());
  }

  // ---- what should come out

  // What waits for it; called once. Throws Failure.
  using Expected = std::function<Arrays()>;
  static Expected at_once(Arrays arrays) {
    auto shared = std::make_shared<Arrays>(std::move(arrays));
    return [shared] { return std::move(*shared); };
  }

  // A reference that has to be computed begins: a worker's runs beside the kernel's own.
  Expected expected_arrays(const Executable& kernel, const Placement& place) {
    std::string source;
    if (Arrays out = given_expected(o_, in_, source); !o_.expect.empty() || !out.empty()) {
      report_.reference = source;
      check_expected(out, kernel, source);
      return at_once(std::move(out));
    }
    bool runs_as_it_stands = place.is_ref && !place.target && !o_.recorded;
    std::string reference = !o_.reference.empty() ? o_.reference : runs_as_it_stands ? "none" : "REF";
    if (reference == "none") return at_once({});
    if (o_.reference.empty() && has_custom())
      throw Failure(Diag{.message = "REF runs no code of CUSTOM nodes, so there is nothing to compare with",
                         .expected = "--reference=none, --expect=F.npz, or --reference=DEV, a device that runs it"});
    if (std::filesystem::exists(InputName::parse(reference).file)) return at_once(outputs_of_graph(reference, kernel));
    Placement other = std::move(choose_placement(reference, "", settings()).value_or_throw());
    report_.reference = other.label;
    Executable same = std::move(make_executable(graph(), other, lowering()).value_or_throw());
    return begin_reference(same, other, inputs_of(same));
  }

  bool has_custom() const {
    auto is_code = [](UOp u) { return u.in({Op::CUSTOM, Op::CUSTOMI}); };
    return std::ranges::any_of(in_.list.empty() ? toposort(in_.root) : in_.list, is_code);
  }

  // What the graph of another INPUT makes of the same arrays, in REF.
  Arrays outputs_of_graph(const std::string& input, const Executable& kernel) {
    report_.reference = input;
    auto source = std::move(Source::open(session_, input).value_or_throw());
    auto graph = std::move(source.next().value_or_throw());
    if (!graph || graph->is_tensor_graph)
      throw Failure(Diag{.message = "there is no kernel to compare with", .file = input});
    Placement ref = place_in_ref();
    Executable other = std::move(
        (graph->list.empty() ? Executable::for_ref(graph->root) : Executable::for_ref(graph->list)).value_or_throw());
    Arrays inputs = std::move(input_arrays(other.buffers(), inputs_of(kernel), "", {}).value_or_throw());
    Arrays outputs = begin_reference(other, ref, inputs)();
    check_expected(outputs, kernel, input);
    return outputs;
  }

  Expected begin_reference(Executable& kernel, Placement& place, const Arrays& inputs) {
    ExecuteOptions options = options_for(place);
    options.repeats = 0;
    auto run = begin_execution(kernel, *place.device, inputs, o_.variables, options);
    return [this, run, where = place.label] {
      auto result = waited_for(where, run);
      if (!result) throw failure_at("the reference, " + report_.reference, result.diag());
      report_.notes = result->notes;
      return std::move(result->outputs);
    };
  }

  // A file says what exactly should come out; another device may differ by as much as two devices may.
  ToleranceOptions tolerance(const Array& expected) const {
    return o_.expect.empty() ? tolerance_for(o_.tolerance, in_.root, expected) : o_.tolerance;
  }

  void compare(const Arrays& inputs, const Arrays& actual, const Arrays& expected, const Placement& place) {
    if (expected.empty() && !report_.reference.empty())
      throw Failure("nothing was compared: the kernel stores no array");
    CompareContext kernel{in_.list.empty() ? in_.root : UOp(), inputs, o_.variables,
                        {.in_process = o_.in_process, .timeout_seconds = o_.timeout_seconds.value_or(0)}};
    auto allowed = [&](const Array& e) { return tolerance(e); };
    report_.arrays = std::move(judge(kernel, actual, expected, allowed).value_or_throw());
    std::string renderer = place.target ? std::string(name_of(place.target->renderer)) : "";
    std::string cause = known_cause(in_.root, report_.arrays, renderer);
    if (!cause.empty()) report_.notes += (report_.notes.empty() ? "" : ", ") + cause;
  }

  // ---- more to tell
  void save(const Arrays& outputs) {
    if (o_.save.empty()) return;
    report_.written.push_back(path_to_save(o_, in_.info.name, in_.record != nullptr));
    write_npz(report_.written.back(), outputs).value_or_throw();
  }

  void bench(const Executable& kernel, Placement& place, const Arrays& inputs, std::vector<double> seconds) {
    report_.bench = {.seconds = std::move(seconds),
                     .cost = kernel.cost(o_.variables).value_or(Executable::Cost{}),
                     .device = place.label.substr(0, place.label.find_first_of(":,")),
                     .name = kernel.name().empty() ? "kernel" : kernel.name(),
                     .arguments = inputs.size(),
                     .bytes = bytes_of(inputs)};
    if (place.is_ref) report_.bench->evaluations = evaluations(place, inputs);
  }

  // How many UOps REF evaluates in one run.
  uint64_t evaluations(Placement& place, const Arrays& inputs) {
    RefOptions counting{.count_evaluations = true};
    std::vector<UOp> list = in_.list;
    if (list.empty() && place.target) list = std::move(lower_kernel(graph(), *place.target).value_or_throw());
    auto made = list.empty() ? Executable::for_ref(in_.root, counting) : Executable::for_ref(list, counting);
    Executable& kernel = made.value_or_throw();
    ExecuteOptions options = options_for(place);
    options.repeats = 0;
    return execute(kernel, *place.device, inputs, o_.variables, options).value_or_throw().evaluations;
  }

  void each_stage(const Placement& place, const Arrays& inputs, const Arrays& expected) {
    Target target = place.target ? *place.target : std::move(parse_target("CPU:LLVM", settings()).value_or_throw());
    auto allowed = [&](const Array& e) { return tolerance(e); };
    report_.stages =
        run_stages(session_, in_, target, o_, inputs, o_.expect.empty() ? Arrays() : copy_of(expected), allowed);
  }

  const Session& session_;
  InputGraph& in_;
  const RunOptions& o_;
  RunReport& report_;
  DebugPrints debug_;
  std::optional<Placement> place_;
  Arrays inputs_, expected_;     // as it ran
  std::string arrays_file_;
  Arrays given_;                 // of that file
  std::optional<Drawing> draw_;  // the others
  std::vector<UOp> recorded_;    // the record's list
};

}  // namespace

double RunOptions::timeout_for(const Placement& place) const {
  constexpr double kOfADevice = 60, kOfAnEmulator = 600, kAnyTime = 1e9;
  if (!timeout_seconds) return place.is_ref ? 0 : is_emulated(place.label) ? kOfAnEmulator : kOfADevice;
  return *timeout_seconds > 0 ? *timeout_seconds : kAnyTime;
}

Diag with_time_option(Diag error, std::string_view who) {
  if (!error.message.starts_with("did not end within")) return error;
  error.message.insert(0, who);
  error.expected = "--timeout=S where it may take longer";
  return error;
}

ExecuteOptions RunOptions::in_ref() const {
  return {.in_process = true, .timeout_seconds = timeout_for(place_in_ref())};
}

Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in) {
  const Settings& settings = in.graph->settings();
  const bool is_bundles = in.report.repro && device == in.report.repro->device;
  if (is_bundles && session.over.target.empty() && (device == "REF" || device.starts_with("plugin:")))
    return choose_placement(device, in.info.target, settings, recorded_target);
  if (!device.empty()) return choose_placement(device, session.over.target, settings);
  const std::string tensors_on = in.info.target.empty() ? recorded_device(in) : "";
  if (session.over.target.empty() && !tensors_on.empty() && works_here(tensors_on) && !settings.IMAGE)
    return choose_placement("", tensors_on, settings);
  if (!session.over.target.empty() || in.info.target.empty())
    return choose_placement("", session.default_target(), settings);
  bool runs_there = works_here(in.info.target) && !settings.IMAGE;  // REF alone takes images
  return choose_placement(runs_there ? "" : "REF", in.info.target, settings, recorded_target);
}

void check_emulation(const Placement& place) {
  if (emulation_was_asked_for() && !is_emulated(place.label))
    throw Failure(Diag{.message = "--emulate does nothing for " + place.label,
                       .expected = "a device that is emulated, for example --device=CUDA"});
}

RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& spec) {
  RunReport report{
      .input = spec.one_of_several ? spec.input : "", .made_for = in.made_for, .kernel = in.info.name};
  auto done = catch_failures([&] {
    const RunOptions own = with_bundle(spec, in);
    Trial trial(session, in, own, report);
    auto ran = catch_failures([&] { return trial.run(), Unit{}; });
    if (!ran) report.error = ran.diag().text(), report.convicted = ran.diag().convicts;
    if (!spec.repro.empty() && report.exit_code() != 0) trial.keep_bundle();
    return Unit{};
  });
  if (!done) {  // trouble even when the kernel had failed: the bundle that was asked for is not there
    report.error += (report.error.empty() ? "" : "\n") + done.diag().text();
    report.convicted = false;
  }
  return report;
}

Result<VariableValues> parse_variables(const std::vector<std::string>& texts) {
  VariableValues out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    int64_t value = 0;
    const char* begin = text.data() + std::min(text.size(), equals + 1);
    auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (equals == text.npos || equals == 0 || error != std::errc() || end != text.data() + text.size())
      return Diag{.message = "--var takes NAME=INTEGER, not '" + text + "'"};
    if (!out.emplace(text.substr(0, equals), value).second)
      return Diag{.message = "--var gives '" + text.substr(0, equals) + "' twice"};
  }
  return out;
}

}  // namespace tgc
