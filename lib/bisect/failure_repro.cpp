#include "lib/bisect/failure_repro.h"

#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/text/print_uops.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

// Returns true if the kernel itself is at fault for the error, and not the environment.
bool is_kernel_death(const Diag& d) { return d.is_kernel_fault || d.message.starts_with("killed by "); }

// Sets the expected results to those that REF computes; if the kernel dies in REF, sets `kernel_fault` instead.
void set_expected_by_ref(FailureRepro& repro, Executable& kernel) {
  auto done = repro.run_in_ref(kernel, repro.arrays.inputs);
  if (!done && is_kernel_death(done.diag())) return void(repro.kernel_fault = done.diag().text());
  repro.arrays.expected = std::move(done.value_or_throw().outputs);
}

Executable executable_for_ref(const InputGraph& in) {
  return std::move(
      (in.list.empty() ? Executable::make_for_ref(in.root) : Executable::make_for_ref(in.list)).value_or_throw());
}

}  // namespace

Arrays selected_elements(const Arrays& arrays, const KnownElements& elements) {
  Arrays out;
  for (auto& [name, indices] : elements)
    if (const Array* all = find_array(arrays, name)) out.push_back({name, elements_at(*all, indices)});
  return out;
}

std::string FailureRepro::device() const {
  return placement.is_ref ? "REF, lowered for " + placement.target->name() : placement.label;
}

ExecuteOptions FailureRepro::execute_options() const {
  return placement.is_ref ? options.device.ref_options_in_process() : options.device.make_execute_options(placement);
}

Result<ExecutionResult> FailureRepro::run_in_ref(Executable& kernel, const Arrays& inputs) const {
  return execute_kernel(kernel, *make_ref_placement().device, inputs, options.input.variables,
                        options.device.ref_options_in_process());
}

Arrays FailureRepro::inputs_for_kernel(const Executable& kernel, const Arrays& more) const {
  Arrays all;
  if (!more.empty()) all = copy_arrays(arrays.inputs);
  for (NamedArray& a : copy_arrays(more)) all.push_back(std::move(a));
  const Arrays& given = more.empty() ? arrays.inputs : all;
  return std::move(make_input_arrays(kernel.buffers(), given, "", std::nullopt).value_or_throw());
}

Arrays FailureRepro::expected_elements(const KnownElements& elements) const {
  if (!arrays.known_elements.empty())
    return std::move(
        compute_values_at(input_graph.root, arrays.inputs, options.input.variables, elements).value_or_throw());
  return selected_elements(arrays.expected, elements);
}

FailureRepro begin_repro(const Session& session, InputGraph& in, const RunOptions& options) {
  FailureRepro out{.session = session,
                   .input_graph = in,
                   .options = options,
                   .placement = std::move(placement_for(session, options.device.name, in).value_or_throw())};
  out.placement.target = lowering_target(out.placement, in.graph->settings());
  out.linear_list = in.list;
  if (options.input.should_run_recorded) {
    if (!in.record || !in.record->linear)
      throw Failure(Diag{.message = "'" + in.info.name + "' holds no recorded list",
                         .file = in.file,
                         .expected = "a kernel of golden records for --recorded"});
    out.linear_list = std::move(read_uops(*in.graph, *in.record->linear, in.file + " (linear)").value_or_throw().list);
  }
  return out;
}

FailureRepro add_expected_results(FailureRepro repro) {
  // In UOps: REF runs a graph of up to kSmall whole. For a larger graph, it computes only a sample of the elements,
  // with up to kSample.
  constexpr double kSmall = 1e8, kSample = 2e7;
  RunOptions& o = repro.options;
  const InputGraph& in = repro.input_graph;
  Executable kernel = executable_for_ref(in);
  repro.variables = bound_variables(kernel, o.input.variables);
  if (o.input.is_only_kernel) check_variables(kernel, o.input.variables).value_or_throw();
  KernelTrial trial(in.root, in.list, make_trial_inputs(o, in).value_or_throw());
  trial.begin_trial(kernel).value_or_throw();
  o.input.variables = trial.variables();
  repro.arrays.inputs = copy_arrays(trial.inputs());
  if (o.input.input_set != InputSet::Usual)
    if (Arrays other = std::move(trial.inputs_of(o.input.input_set).value_or_throw()); !other.empty())
      repro.arrays.inputs = std::move(other);
  std::string file;
  repro.arrays.expected = given_expected_arrays(o, in, file).value_or_throw();
  repro.is_small = !in.list.empty() || work_of(in.root) <= kSmall;
  const bool by_ref = o.compare.reference_device.empty() || o.compare.reference_device == "REF";
  repro.is_expected_by_ref = repro.arrays.expected.empty() && by_ref;
  if (repro.arrays.expected.empty() && !by_ref) {
    Placement other =
        std::move(choose_placement(o.compare.reference_device, "", in.graph->settings()).value_or_throw());
    KernelGraph graph{
        .root = in.root, .stage = in.info.stage, .linear_list = in.list, .opts = repro.session.overrides.opts};
    Executable same = std::move(make_executable(graph, other).value_or_throw());
    auto done =
        execute_kernel(same, *other.device, repro.inputs_for_kernel(same), o.input.variables, repro.execute_options());
    repro.arrays.expected = std::move(done.value_or_throw().outputs);
  } else if (repro.is_expected_by_ref && repro.is_small) {
    set_expected_by_ref(repro, kernel);
  } else if (repro.is_expected_by_ref) {
    auto sample = make_reference_sample(in.root, repro.arrays.inputs, o.input.variables, kSample);
    if (!sample && is_kernel_death(sample.diag())) repro.kernel_fault = sample.diag().text();
    else sample.value_or_throw();
    if (sample)
      repro.arrays.expected = std::move(sample->values), repro.arrays.known_elements = std::move(sample->flat_indices);
  }
  if (repro.arrays.expected.empty() && repro.kernel_fault.empty())
    throw Failure("nothing can be compared: the kernel stores no array");
  return repro;
}

std::optional<FailureRepro> add_all_expected_elements(FailureRepro repro) {
  if (repro.arrays.known_elements.empty()) return std::nullopt;
  repro.arrays.known_elements.clear(), repro.arrays.expected.clear();
  Executable kernel = executable_for_ref(repro.input_graph);
  set_expected_by_ref(repro, kernel);
  if (!repro.kernel_fault.empty()) return std::nullopt;
  return repro;
}

std::string bisect_command(const RunOptions& options, const std::string& more_options) {
  std::string out = fault_command_prefix() + "tgc bisect " + quote_for_shell(options.input.name) + more_options;
  auto option = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += " --" + name + "=" + quote_for_shell(value);
  };
  option("inputs", options.input.arrays_file), option("expect", options.compare.expected_file);
  option("reference", options.compare.reference_device);
  option("seed", options.input.seed ? std::to_string(*options.input.seed) : "");
  return out;
}

std::string write_bundle(const FailureRepro& repro, const KernelOutcome& failure, const std::string& failure_text,
                         const Verdict& verdict) {
  using Kind = FailureSignature::Kind;
  Kind kind = failure.kind == KernelOutcome::Kind::Dies ? Kind::Crash : Kind::Wrong;
  if (failure.is_refused())
    kind = failure_signature_of(repro.session, repro.input_graph, repro.options).value_or_throw().kind;
  Repro bundle{.symptom = std::string(name_of(kind)), .description = failure_text};
  for (auto& [name, value] : {std::pair("verdict", std::string(name_of(verdict.kind))), {"stage", verdict.stage},
                              {"rule", verdict.rule}, {"branch", verdict.branch}})
    if (!value.empty()) bundle.blamed_rewrite[name] = value;
  bundle.inputs = arrays_to_bundle(repro.arrays.inputs);
  if (repro.arrays.known_elements.empty()) bundle.expected = arrays_to_bundle(repro.arrays.expected);
  return write_bundle(repro.session, repro.options, repro.input_graph, repro.placement, std::move(bundle))
      .value_or_throw();
}

}  // namespace tgc
