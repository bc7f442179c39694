#include "lib/run/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "lib/driver/session.h"
#include "lib/driver/source.h"
#include "lib/execute/lower.h"
#include "lib/run/candidate.h"
#include "lib/run/debug_prints.h"
#include "lib/run/recorded_race.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/run/run_stages.h"
#include "lib/runtime/npz.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

namespace {

// Reports as progress, every second from the third on, what runs and for how long.
class ElapsedReporter {
 public:
  ElapsedReporter(const Session& session, std::string what);

 private:
  std::jthread thread_;
};

ElapsedReporter::ElapsedReporter(const Session& session, std::string what) {
  if (!session.events) return;
  auto report = [&session, what = std::move(what)](const std::stop_token& stop) {
    constexpr int kFirst = 3;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    for (int seconds = 1; stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }),
         !stop.stop_requested(); seconds++)
      if (seconds >= kFirst) session.report_progress(what + ": " + std::to_string(seconds) + " s");
  };
  try {
    thread_ = std::jthread(std::move(report));
  } catch (const std::system_error&) {
  }
}

// One run of one kernel. Throws Failure.
class KernelRun {
 public:
  KernelRun(const Session& session, InputGraph& in, const RunOptions& options, RunReport& report)
      : session_(session), input_(in), options_(options), report_(report), debug_(session, in.graph->settings()),
        candidate_(make_candidate(session, in, options.input.should_run_recorded)) {}

  void run() {
    candidate_->check_input().value_or_throw();
    placement_ = std::move(candidate_->choose_place(options_.device.name).value_or_throw());
    Placement& place = *placement_;
    report_.device = place.label;
    check_emulation(place).value_or_throw();
    Executable kernel = std::move(candidate_->prepare_executable(place, lower_options()).value_or_throw());
    report_.run_description = candidate_->run_description();
    report_variables(kernel);
    trial_.emplace(input_.root, input_.list, make_trial_inputs(options_, input_).value_or_throw(),
                   options_.device.make_execute_options(make_ref_placement()));
    trial_->begin_trial(kernel).value_or_throw();
    report_trial_inputs(kernel);
    ExpectedArraysProvider reference = begin_expected_arrays(kernel, place);
    // the reference does not run beside the kernel if --each-stage needs its arrays or it would disturb timed runs
    const bool runs_beside = !options_.compare.should_run_each_stage && !options_for(place).num_repeats;
    if (!runs_beside) expected_ = reference();
    if (options_.compare.should_run_each_stage) {  // first, so that the report has the stage even if the kernel crashes
      const Arrays none;
      // includes the arrays that only dead code of the AST reads
      const Arrays inputs = kernel_inputs_of(Executable::make_for_ref(input_.root).value_or_throw());
      report_.stage_difference = run_stages(session_, input_, lowering_target(place, settings()), options_, inputs,
                                            options_.compare.expected_file.empty() ? none : expected_)
                           .value_or_throw();
    }
    Result<ExecutionResult> ran = execute_candidate(kernel, place, trial_->inputs());
    device_failed_ = !ran;
    if (runs_beside) {
      auto expected = catch_failures(reference);
      // the reference's error is the better one, such as an access out of bounds, unless it is a timeout
      if (expected || ran || !is_out_of_time(expected.diag())) expected_ = std::move(expected.value_or_throw());
    }
    ExecutionResult done = std::move(ran.value_or_throw());
    if (!done.notes.empty()) report_.notes = done.notes;
    if (settings().DEBUG >= 2 && kernel.info())
      debug_.on_kernel_run(*kernel.info(), *place.target, double(total_bytes_of(trial_->inputs())), done.run_seconds);
    compare_outputs(done.outputs, place);
    compare_recorded_list();
    const bool is_compared = report_.result() != RunReport::Result::NotCompared;
    if (auto why = candidate_->not_compared_reason(); why && options_.compare.reference_device.empty() && !is_compared)
      throw Failure(Diag{.message = "nothing was compared: " + (why->empty() ? not_compared_reason(place) : *why),
                         .expected = "--device=DEV or --expect=F.npz"});
    if (auto other = run_on_more_inputs(kernel, place)) done.outputs = std::move(*other);
    if (auto other = run_at_variable_bounds(kernel, place)) done.outputs = std::move(*other);
    if (options_.device.timed_runs > 0) report_timed_runs(kernel, place, std::move(done.run_seconds));
    bool failed = report_.result() == RunReport::Result::Failed;
    auto kept = catch_failures([&] {
      save_outputs(done.outputs);
      if (failed && options_.output.repro_path.empty())
        save_failure(session_, options_, input_, place, trial_->inputs(), expected_, done.outputs, report_)
            .value_or_throw();
      return Unit{};
    });
    if (!kept && !failed) throw Failure(kept.diag());
    if (!kept) report_.not_saved_reason = kept.diag().text();
  }

  // Writes a repro bundle, in place of the npz files of --save-failures, and reports the command that runs it.
  void write_repro_bundle() {
    if (!placement_) return;
    FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
    const bool is_over = current_deadline().is_over();  // no time to run the kernel once more
    if (!report_.error.empty() && is_over && !device_failed_)
      throw Failure("no repro bundle was written: the time limit ended the trial before the kernel failed");
    if (!report_.error.empty() && is_over) kind = FailureSignature::Kind::Crash;
    Arrays inputs = trial_ ? copy_arrays(trial_->inputs()) : Arrays();
    if (!report_.error.empty() && !is_over)
      kind = failure_signature_of(session_, input_, options_, &inputs).value_or_throw().kind;
    std::string said = report_.error;
    for (const Comparison& c : report_.comparisons)
      if (said.empty() && !c.has_passed()) said = c.text();
    Repro bundle{.symptom = std::string(name_of(kind)), .description = said, .inputs = arrays_to_bundle(inputs),
                 .expected = arrays_to_bundle(expected_)};
    InputGraph kept = input_;
    if (auto list = candidate_->recorded_list(); !list.empty()) kept.list.assign(list.begin(), list.end());
    const std::string path = write_bundle(session_, options_, kept, *placement_, std::move(bundle)).value_or_throw();
    if (kind == FailureSignature::Kind::Wrong && !is_over && !options_.device.should_use_sanitizer)
      check_bundle_repeats(path);
    report_.written_files.push_back(path);
    report_.repeat_command = bundle_command(session_, path);
  }

 private:
  const Settings& settings() const { return input_.graph->settings(); }
  static uint64_t total_bytes_of(const Arrays& arrays) {
    uint64_t out = 0;
    for (const NamedArray& a : arrays) out += a.array.nbytes();
    return out;
  }

  // Removes the bundle and throws Failure if a run of it does not repeat the failure: the kernel may fail only
  // sometimes, or another release made its source.
  void check_bundle_repeats(const std::string& path) const {
    auto again = catch_failures([&] {
      auto source = std::move(GraphSource::open(session_, path).value_or_throw());
      auto graph = std::move(source.next_graph().value_or_throw());
      return repeat_failure(session_, *graph, {.device = {.timeout_seconds = options_.device.timeout_seconds}});
    });
    if (again && again->is_still_failing()) return;
    std::filesystem::remove(path);
    const std::string why = !again ? again.diag().text() : !again->error.empty() ? again->error : again->text();
    throw Failure(Diag{.message = "no repro bundle was written, because it does not repeat the failure: " +
                                  why.substr(0, why.find('\n')),
                       .expected = "no --repro, which keeps the arrays in npz files"});
  }

  LowerOptions lower_options() {
    return {.observer = &debug_, .compile_seconds = options_.device.timeout_seconds.value_or(0)};
  }
  std::string not_compared_reason(const Placement& place) const {
    if (!report_.comparisons.empty()) return std::string(kLeftOutReason) + " every element";
    return "the kernel ran on " + place.label + " alone";
  }

  ExecuteOptions options_for(const Placement& place) const {
    ExecuteOptions out = options_.device.make_execute_options(place);
    out.num_repeats = options_.device.timed_runs;
    if (!out.num_repeats) out.num_repeats = settings().DEBUG >= 2;  // tinygrad, too, times kernels if DEBUG >= 2
    return out;
  }

  Result<ExecutionResult> execute_candidate(Executable& kernel, Placement& place, const Arrays& inputs) {
    const ExecuteOptions options = options_for(place);
    return run_with_elapsed_time(place.label, [&] {
      return candidate_->run_executable(kernel, place, inputs, options_.input.variables, options_.device, options);
    });
  }
  // A timeout error suggests --timeout.
  Result<ExecutionResult> run_with_elapsed_time(const std::string& where,
                                                const std::function<Result<ExecutionResult>()>& run) {
    std::optional<ElapsedReporter> elapsed;
    if (options_.input.is_only_kernel) elapsed.emplace(session_, input_.info.name + " on " + where);
    auto done = run();
    return done ? std::move(done) : error_with_time_option(done.diag());
  }

  // If the command runs only this kernel, a --var that names no variable of the kernel is an error.
  void report_variables(const Executable& kernel) {
    report_.variables = bound_variables(kernel, options_.input.variables);
    if (options_.input.is_only_kernel) check_variables(kernel, options_.input.variables).value_or_throw();
  }

  // Also stores the trial's variables in the options, from which the command that repeats the run is made.
  void report_trial_inputs(const Executable& kernel) {
    report_.variable_values = trial_->chosen_variables();
    for (auto& [name, v] : report_.variable_values) options_.input.variables[name] = v.value;
    if (!trial_->has_drawn_arrays(kernel)) return;
    report_.seed = trial_->distribution()->seed;
    report_.float_distribution = float_inputs_note(*trial_->distribution());
  }
  Arrays kernel_inputs_of(const Executable& kernel) {
    return std::move(trial_->inputs_for_kernel(kernel).value_or_throw());
  }

  // Returns the expected arrays, after waiting for them. May be called once.
  using ExpectedArraysProvider = std::function<Arrays()>;
  static ExpectedArraysProvider provide_known_arrays(Arrays arrays) {
    auto shared = std::make_shared<Arrays>(std::move(arrays));
    return [shared] { return std::move(*shared); };
  }

  // Starts the run of the reference, if a device or REF computes it; runs a graph that --reference names.
  ExpectedArraysProvider begin_expected_arrays(const Executable& kernel, const Placement& place) {
    std::string source;
    Arrays out = given_expected_arrays(options_, input_, source).value_or_throw();
    if (!options_.compare.expected_file.empty() || !out.empty()) {
      report_.reference = source;
      take_expected_arrays(out, kernel, source).value_or_throw();
      return provide_known_arrays(std::move(out));
    }
    const bool runs_as_it_stands = place.is_ref && !place.target && report_.run_description.empty();
    std::string reference = options_.compare.reference_device;
    if (reference == "none" || (reference.empty() && runs_as_it_stands)) return provide_known_arrays({});
    if (reference.empty() && has_custom_code())
      throw Failure(Diag{.message = "REF runs no code of CUSTOM nodes, so there is nothing to compare with",
                         .expected = "--reference=none, --expect=F.npz, or --reference=DEV, a device that runs it"});
    if (reference.empty()) reference = "REF";
    if (std::filesystem::exists(InputName::parse(reference).file))
      return provide_known_arrays(run_reference_graph(reference, kernel));
    Placement other = std::move(choose_placement(reference, "", settings()).value_or_throw());
    report_.reference = other.label;
    Executable same =
        std::move(make_executable(make_kernel_graph(session_, input_), other, lower_options()).value_or_throw());
    return begin_reference_run(same, other, kernel_inputs_of(same));
  }

  bool has_custom_code() const {
    auto is_code = [](UOp u) { return u.in({Op::CUSTOM, Op::CUSTOMI}); };
    return std::ranges::any_of(input_.list.empty() ? toposort(input_.root) : input_.list, is_code);
  }

  Arrays run_reference_graph(const std::string& input, const Executable& kernel) {
    report_.reference = input;
    auto source = std::move(GraphSource::open(session_, input).value_or_throw());
    auto graph = std::move(source.next_graph().value_or_throw());
    if (!graph || graph->is_tensor_graph)
      throw Failure(Diag{.message = "there is no kernel to compare with", .file = input});
    const Arrays inputs = kernel_inputs_of(kernel);
    const ReferenceRunner ref(inputs, options_.input.variables,
                              options_.device.make_execute_options(make_ref_placement()));
    Arrays outputs = take_reference_outputs(run_with_elapsed_time(
        "REF", [&] { return graph->list.empty() ? ref.run_reference(graph->root) : ref.run_reference(graph->list); }));
    take_expected_arrays(outputs, kernel, input).value_or_throw();
    return outputs;
  }

  ExpectedArraysProvider begin_reference_run(Executable& kernel, Placement& place, const Arrays& inputs) {
    ExecuteOptions options = options_for(place);
    options.num_repeats = 0;
    auto run = begin_execution(kernel, *place.device, inputs, options_.input.variables, options);
    return [this, run, where = place.label] { return take_reference_outputs(run_with_elapsed_time(where, run)); };
  }
  Arrays take_reference_outputs(Result<ExecutionResult> result) {
    if (!result) throw failure_with_prefix("the reference, " + report_.reference, result.diag());
    report_.notes = result->notes;
    return std::move(result->outputs);
  }

  void compare_outputs(const Arrays& actual, const Placement& place) {
    if (expected_.empty() && !report_.reference.empty())
      throw Failure("nothing was compared: the kernel stores no array");
    report_.comparisons = std::move(trial_->compare_arrays(actual, expected_, options_.compare).value_or_throw());
    if (std::ranges::any_of(report_.comparisons, &Comparison::is_recheck_incomplete))
      report_.left_out_runs.push_back("the rerun that tells rounding from faults");
    std::string renderer = place.target ? std::string(name_of(place.target->renderer)) : "";
    std::string cause = expected_divergence(input_.root, report_.comparisons, renderer);
    if (!cause.empty()) report_.notes += (report_.notes.empty() ? "" : ", ") + cause;
  }

  // If the recorded source ran, also compares what the recorded list computes in REF.
  void compare_recorded_list() {
    if (!candidate_->is_recorded_source_run() || expected_.empty()) return;
    const ReferenceRunner ref(trial_->inputs(), options_.input.variables,
                              options_.device.make_execute_options(make_ref_placement()), trial_->distribution());
    ExecutionResult list = std::move(ref.run_reference(candidate_->recorded_list()).value_or_throw());
    auto arrays = trial_->compare_arrays(list.outputs, expected_, options_.compare, Recheck::Never).value_or_throw();
    for (Comparison& c : arrays) c.name += " of the list", report_.comparisons.push_back(std::move(c));
  }

  std::optional<Arrays> run_on_more_inputs(Executable& kernel, Placement& place) {
    if (!trial_->distribution() || !should_try_more_inputs(place)) return std::nullopt;
    for (InputSet set : further_input_sets(input_.root, *trial_->distribution()))
      if (auto out = run_on_input_set(set, kernel, place)) return out;
    return std::nullopt;
  }
  // If the results differ without a known cause, such as rounding, makes this run the reported one and returns its
  // results.
  std::optional<Arrays> run_on_input_set(InputSet set, Executable& kernel, Placement& place) {
    // includes arrays that the kernel does not read: a rule may have removed them because of a wrong bound
    Arrays inputs = std::move(trial_->inputs_of(set).value_or_throw());
    if (inputs.empty()) return std::nullopt;
    KernelTrial wide = make_another_trial();
    wide.begin_trial(trial_->chosen_variables(), std::move(inputs));
    auto expected = wide.run_reference();
    if (!expected) return report_left_out_run(expected.diag(), "inputs " + std::string(name_of(set))), std::nullopt;
    Arrays own = std::move(wide.inputs_for_kernel(kernel).value_or_throw());
    auto done = execute_candidate(kernel, place, own);
    if (!done && expected->notes.empty()) {
      report_.input_set = set, report_.input_set_note = name_of(set);
      trial_->begin_trial(trial_->chosen_variables(), std::move(own));
      throw Failure(done.diag());
    }
    std::string cause = expected->notes;  // a device may give any result for the undefined operations that REF ran
    std::vector<Comparison> arrays;
    if (done) {
      CompareOptions options = options_.compare;
      options.should_accept_rounding = true;
      Arrays settled;
      arrays = std::move(
          wide.compare_arrays(done->outputs, expected->outputs, options, Recheck::Always, &settled).value_or_throw());
      if (std::ranges::all_of(arrays, &Comparison::has_passed)) {
        report_.input_set_note += (report_.input_set_note.empty() ? "also " : ", ") + std::string(name_of(set));
        return std::nullopt;
      }
      cause =
          expected_divergence(input_.root, arrays, place.target ? std::string(name_of(place.target->renderer)) : "");
      if (cause.empty() && has_only_non_finite_differences(settled, expected->outputs))
        cause = "the results that differ are infinite or NaN";
    }
    if (!cause.empty()) {
      cause = "with inputs " + std::string(name_of(set)) + ", " + cause;
      report_.notes += (report_.notes.empty() ? "" : ", ") + cause;
      return std::nullopt;
    }
    report_.input_set = set, report_.input_set_note = name_of(set), report_.seed = trial_->distribution()->seed;
    report_.comparisons = std::move(arrays);
    *trial_ = std::move(wide), expected_ = std::move(expected->outputs);
    return std::move(done->outputs);
  }
  // Reports a run that was left out because no time was left. Ignores a kernel fault, because then the AST has no
  // meaning for these values. Throws any other error.
  void report_left_out_run(const Diag& error, const std::string& values) {
    if (is_out_of_time(error)) report_.left_out_runs.push_back("the run with " + values);
    else if (!error.is_kernel_fault) throw Failure(error);
  }
  // True for a small, untimed kernel that passed a comparison with its AST in REF.
  bool should_try_more_inputs(const Placement& place) const {
    constexpr double kSmall = 4e6;  // number of UOps that REF evaluates in less than 0.1 s
    return report_.reference == "REF" && input_.list.empty() && !options_for(place).num_repeats &&
           report_.result() == RunReport::Result::Passed && work_of(input_.root) <= kSmall;
  }
  KernelTrial make_another_trial() const {
    return KernelTrial(input_.root, input_.list, make_trial_inputs(options_, input_).value_or_throw(),
                       options_.device.make_execute_options(make_ref_placement()));
  }
  // Runs the kernel with the smallest and the largest values of its variables. If the results differ, reports that run
  // and returns its results. Skips values with which the AST has no meaning.
  std::optional<Arrays> run_at_variable_bounds(Executable& kernel, Placement& place) {
    if (!should_try_more_inputs(place)) return std::nullopt;
    const VariableValues usual = options_.input.variables;
    for (ChosenVariables& bound : variables_at_bounds(kernel, trial_->chosen_variables())) {
      KernelTrial trial = make_another_trial();
      trial.begin_trial(std::move(bound), copy_arrays(trial_->inputs()));
      for (auto& [name, value] : trial.variables()) options_.input.variables[name] = value;
      auto expected = trial.run_reference();
      if (!expected) report_left_out_run(expected.diag(), chosen_values_text(trial.chosen_variables()));
      else if (expected->notes.empty()) {
        auto done = execute_candidate(kernel, place, trial.inputs());
        if (!done && is_out_of_time(done.diag())) {
          report_.left_out_runs.push_back("the run with " + chosen_values_text(trial.chosen_variables()));
          options_.input.variables = usual;
          return std::nullopt;
        }
        report_.variable_values = trial.chosen_variables();
        ExecutionResult stored = std::move(done.value_or_throw());
        auto arrays =
            std::move(trial.compare_arrays(stored.outputs, expected->outputs, options_.compare).value_or_throw());
        if (!std::ranges::all_of(arrays, &Comparison::has_passed)) {
          report_.comparisons = std::move(arrays);
          *trial_ = std::move(trial), expected_ = std::move(expected->outputs);
          return std::move(stored.outputs);
        }
        report_.other_tried_values.push_back(trial.chosen_variables());
      }
      report_.variable_values = trial_->chosen_variables(), options_.input.variables = usual;
    }
    return std::nullopt;
  }
  bool has_only_non_finite_differences(const Arrays& actual, const Arrays& expected) const {
    for (const NamedArray& e : expected) {
      const Array& a = *find_array(actual, e.name);
      const ToleranceOptions tolerance = options_.compare.tolerance_for(input_.root, e.array);
      auto differs = std::move(differing_elements(a, e.array, tolerance).value_or_throw());
      auto is_finite = [&](const Array& array, int64_t i) { return std::isfinite(element_as_double(array, i)); };
      for (int64_t i = 0; i < a.size(); i++)
        if (differs[size_t(i)] && is_finite(a, i) && is_finite(e.array, i)) return false;
    }
    return true;
  }

  void save_outputs(const Arrays& outputs) {
    if (options_.output.save_path.empty()) return;
    report_.written_files.push_back(
        reserve_path(options_.output.save_path, options_, input_.info.name, is_recorded_in_file(input_))
            .value_or_throw());
    write_npz(report_.written_files.back(), outputs).value_or_throw();
  }

  void report_timed_runs(const Executable& kernel, Placement& place, std::vector<double> seconds) {
    if (size_t wanted = size_t(options_.device.timed_runs); seconds.size() < wanted)
      report_.left_out_runs.push_back(std::to_string(wanted - seconds.size()) + " of " +
                                      count_text(wanted, "timed run"));
    if (seconds.empty()) return;
    report_.timed_runs = {.run_seconds = std::move(seconds),
                          .kernel_cost = kernel.cost(options_.input.variables).value_or(Executable::Cost{}),
                          .device = place.label.substr(0, place.label.find_first_of(":,")),
                          .name = kernel.name().empty() ? "kernel" : kernel.name(),
                          .num_arguments = trial_->inputs().size(),
                          .buffer_bytes = total_bytes_of(trial_->inputs())};
    if (!place.is_ref) return;
    auto evaluated = catch_failures([&] { return count_evaluations(place); });
    if (evaluated) report_.timed_runs->num_evaluations = *evaluated;
    else if (!is_out_of_time(evaluated.diag())) throw Failure(evaluated.diag());
    else report_.left_out_runs.push_back("the number of evaluations");
  }
  uint64_t count_evaluations(Placement& place) {
    RefOptions counting{.should_count_evaluations = true};
    std::vector<UOp> list = input_.list;
    if (list.empty() && place.target)
      list = std::move(lower_kernel(make_kernel_graph(session_, input_), *place.target).value_or_throw());
    auto made =
        list.empty() ? Executable::make_for_ref(input_.root, counting) : Executable::make_for_ref(list, counting);
    Executable& kernel = made.value_or_throw();
    ExecuteOptions options = options_for(place);
    options.num_repeats = 0;
    auto done = execute_kernel(kernel, *place.device, trial_->inputs(), options_.input.variables, options);
    return done.value_or_throw().num_evaluations;
  }

  const Session& session_;
  InputGraph& input_;
  RunOptions options_;
  RunReport& report_;
  DebugPrints debug_;
  std::optional<Placement> placement_;
  bool device_failed_ = false;
  std::optional<KernelTrial> trial_;
  Arrays expected_;
  const std::unique_ptr<RunCandidate> candidate_;
};

// Finds missing barriers, which results cannot show: REF runs the threads of a work group in lockstep.
void check_barriers(const Session& session, const InputGraph& in, RunReport& report) {
  if (!in.record || session.compiler()->can_compile(in) || report.result() != RunReport::Result::Passed) return;
  auto pipeline = make_recorded_pipeline(in);
  if (auto race = find_recorded_race(*pipeline)) report.error = race->text(), report.is_kernel_fault = true;
}

}  // namespace

RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& options) {
  RunReport report{.input = options.input.is_one_of_several ? options.input.name : "",
                   .user_operation = in.user_operation,
                   .kernel = in.info.name};
  const DeadlineScope trial(options.device.trial_seconds());
  auto done = catch_failures([&] {
    const RunOptions own = options_with_bundle(options, in);
    KernelRun run(session, in, own, report);
    auto ran = catch_failures([&] { return run.run(), Unit{}; });
    if (!ran)
      report.error = error_with_time_option(ran.diag()).text(), report.is_kernel_fault = ran.diag().is_kernel_fault;
    if (ran && own.compare.reference_device != "none") check_barriers(session, in, report);
    if (!options.output.repro_path.empty() && report.exit_code() != 0) run.write_repro_bundle();
    return Unit{};
  });
  if (!done) {  // the result is Trouble even if the kernel failed
    report.error += (report.error.empty() ? "" : "\n") + done.diag().text();
    report.is_kernel_fault = false;
  }
  return report;
}

}  // namespace tgc
