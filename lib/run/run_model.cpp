#include "lib/run/run.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_map>

#include "lib/driver/recorded_facts.h"
#include "lib/driver/source.h"
#include "lib/execute/lower.h"
#include "lib/execute/sanitized.h"
#include "lib/model/conformance.h"
#include "lib/model/realize.h"
#include "lib/run/debug_prints.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/run/run_stages.h"
#include "lib/run/tensor_reference.h"
#include "lib/runtime/npz.h"
#include "lib/support/deadline.h"
#include "lib/support/pytext.h"
#include "lib/support/write_file.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

void collect_tensors(const std::string& name, const Value& v, std::vector<std::string>& names, Tensors& tensors) {
  if (v.is_tensor()) {
    names.push_back(name);
    tensors.push_back(v.tensor());
  }
  if (v.is_sequence())
    for (size_t i = 0; i < v.items().size(); i++)
      collect_tensors(name + "[" + std::to_string(i) + "]", v.items()[i], names, tensors);
}

// The dimensions of the arrays in `given` set the symbolic sizes that `sizes` lacks.
void bind_symbolic_sizes(const OnnxModel& model, const Arrays& given, std::map<std::string, int64_t>& sizes) {
  for (auto* info : model.declared_inputs()) {
    const Array* a = find_array(given, info->name);
    if (!a || !info->type.shape || info->type.shape->size() != a->shape().size()) continue;
    for (size_t i = 0; i < a->shape().size(); i++)
      if (auto& dim = (*info->type.shape)[i]; !dim.value && !dim.name.empty())
        sizes.try_emplace(dim.name, a->shape()[i]);
  }
}

std::vector<UOp> assigned_buffers(UOp sink) {
  std::vector<UOp> out;
  for (UOp u : toposort(sink)) {
    if (!u.is(Op::ASSIGN)) continue;
    for (UOp target : toposort(u.src(0)))
      if (target.is(Op::BUFFER)) out.push_back(target);
  }
  return out;
}

std::string data_name(size_t number) { return "data" + std::to_string(number); }

// One run of a model or a tensor graph. Throws Failure.
class ModelRun {
 public:
  ModelRun(const Session& session, const RunOptions& options, ModelReport& report)
      : session_(session), options_(options), report_(report) {}

  void run_model(const std::string& path) {
    Settings settings = session_.merge_settings().value_or_throw();
    placement_ = std::move(placement_for_model(session_, options_.device.name, settings).value_or_throw());
    report_.device = placement_->label, report_.device_option = placement_->device_option();
    auto begin = Clock::now();
    OnnxModel model = std::move(OnnxModel::open(path, session_.overrides.weights_file).value_or_throw());
    report_.load_seconds = seconds_since(begin);
    Graph graph(settings);
    shared_tensor_state(graph).device = placement_->target ? placement_->target->device : "CPU";
    read_given_arrays(fill_in_name(options_.input.arrays_file, options_.input, path, false));
    std::map<std::string, Value> inputs = make_model_inputs(model, graph);
    begin = Clock::now();
    ModelOutputs outputs = model.build_graph(graph, inputs).value_or_throw();
    report_.build_seconds = seconds_since(begin);
    Tensors tensors;
    for (size_t i = 0; i < outputs.names.size(); i++)
      collect_tensors(outputs.names[i], outputs.values[i], report_.result_names, tensors);
    name_ = InputName::parse(path).stem();
    schedule_and_run(settings, false, [&](ScheduleRunner& runner, const ScheduleOptions& options) {
      return realize(tensors, runner, options);
    });
  }

  void run_graph(const InputGraph& in) {
    Graph& graph = *in.graph;
    placement_ = std::move(placement_for(session_, options_.device.name, in).value_or_throw());
    report_.device = placement_->label, report_.device_option = placement_->device_option();
    report_.graph_device = recorded_device(in);
    nonnegative_buffers_ = arrays_without_negatives(in.root);
    read_given_arrays(fill_in_name(options_.input.arrays_file, options_.input, in));
    name_ = in.info.name;
    schedule_and_run(graph.settings(), is_recorded_in_file(in),
                     [&](ScheduleRunner& runner, const ScheduleOptions& options) {
          if (options_.model.is_unscheduled)
            if (auto computed = compute_in_ref(in, options)) return std::move(*computed);
          auto begin = Clock::now();
          Schedule schedule = [&] {
            const DeadlineScope limit(options_.device.trial_seconds());
            return std::move(runner.schedule(in.root).value_or_throw());
          }();
          report_.build_seconds = seconds_since(begin);
          check_buffer_stores(in.root, schedule);
          set_buffer_arrays(graph, schedule,
                            uses_another_schedule() ? numbers_in_default_schedule(in) : BufferNumbers());
          std::vector<OutputRequest> wanted;
          for (auto& buffers : schedule.output_buffers)
            for (size_t number : buffers) {
              const ScheduleBuffer& b = schedule.buffers[number];
              report_.result_names.push_back(data_name(number));
              wanted.push_back({number, b.dtype, {b.num_elements}});
            }
          auto out = runner.run_schedule(schedule, shared_tensor_state(graph).buffer_data, wanted, options);
          return std::move(out.value_or_throw());
                     });
  }

 private:
  void refuse_kernel_options() const {
    const char* asked = options_.compare.should_run_each_stage ? "--each-stage"
                        : options_.input.should_run_recorded   ? "--recorded"
                                                         : nullptr;
    if (asked)
      throw Failure(Diag{.message = std::string(asked) + " of a model or a tensor graph",
                         .expected = "a kernel, for example one that --kernel=N picks"});
  }

  // `work` schedules and runs the kernels.
  void schedule_and_run(const Settings& settings, bool is_record,
                        const std::function<ScheduleResult(ScheduleRunner&, const ScheduleOptions&)>& work) {
    const std::string save = options_.output.save_path.empty()
                                 ? ""
                                 : reserve_path(options_.output.save_path, options_, name_, is_record).value_or_throw();
    const std::string expect = fill_in_name(options_.compare.expected_file, options_.input, name_, is_record);
    refuse_kernel_options();
    check_emulation(*placement_).value_or_throw();
    bool by_kernel = !options_.compare.reference_device.empty() && options_.compare.reference_device != "none";
    if (!options_.output.repro_path.empty() && !by_kernel)
      throw Failure(Diag{.message = "--repro of a model or a tensor graph keeps the first kernel that differs from REF",
                         .expected = "--reference=REF besides"});
    if (by_kernel && options_.compare.reference_device != "REF")
      throw Failure(Diag{.message = "--reference=" + options_.compare.reference_device + " of a model",
                         .expected = "REF, which is compared kernel by kernel"});
    DebugPrints debug(session_, settings);
    ScheduleRunner runner(*placement_, unsigned(settings.cpu_count()), &debug);
    if (options_.model.is_unscheduled) runner.disable_fusion();
    runner.set_stage_observer(options_.model.stage_observer);
    ScheduleOptions options{.should_run_in_process = options_.device.should_run_in_process,
                            .timeout_seconds = options_.device.timeout_seconds_for(*placement_),
                            .trial_seconds = options_.device.trial_seconds(),
                            .compile_seconds = options_.device.timeout_seconds.value_or(0),
                            .timed_runs = report_.timed_runs = options_.device.timed_runs,
                            .before_kernel = options_.model.before_kernel,
                            .on_kernel = options_.model.on_kernel};
    report_.reference = by_kernel ? "REF" : expect;
    if (options_.device.should_use_sanitizer)
      options.before_kernel = [&](const ScheduledKernelRun& step) { sanitize_kernel(step); };
    if (by_kernel) options.on_kernel = [&](const ScheduledKernelRun& step) { check_kernel(step); };
    auto begin = Clock::now();
    report_.schedule_result = work(runner, options);
    report_.total_seconds = seconds_since(begin);
    if (!expect.empty()) compare_results(expect);
    report_.has_no_stores = !report_.schedule_result.num_kernels && report_.result_names.empty();
    if (by_kernel && report_.result() == RunReport::Result::NotCompared)
      throw Failure("nothing was compared: " + (report_.notes.empty() ? "no kernel ran" : report_.notes[0]));
    if (save.empty()) return;
    Arrays arrays;
    for (size_t i = 0; i < report_.result_names.size(); i++)
      arrays.push_back({report_.result_names[i], report_.schedule_result.values[i].copy()});
    auto saved = write_npz(save, arrays);
    if (!saved && report_.result() != RunReport::Result::Failed) throw Failure(saved.diag());
    if (!saved) report_.not_saved_reason = saved.diag().text();
  }

  void read_given_arrays(const std::string& file) {
    arrays_file_ = file;
    if (!file.empty()) given_arrays_ = std::move(read_arrays(report_.arrays_file = file).value_or_throw());
    if (options_.input.seed || file.empty()) seed_ = options_.input.seed.value_or(0);
  }

  void draw_array(Array& array, const std::string& name, const std::string& what,
                  FloatKind floats = FloatKind::Normal) {
    if (!seed_) throw Failure(Diag{.message = what + " is missing", .file = arrays_file_});
    report_.seed = seed_;
    fill_random(array, *seed_, name, floats);
    if (floats == FloatKind::Unit) input_distribution_.unit_inputs.insert(name);
    report_.float_distribution = float_inputs_note(input_distribution_);
  }
  void check_given_names(const std::set<std::string>& used, const std::string& whose) const {
    check_array_names(given_arrays_, used, arrays_file_, whose).value_or_throw();
  }

  // Numbers of the buffers in the schedule that the default options make. They name the arrays, so that runs with
  // another schedule get the same arrays.
  using BufferNumbers = std::unordered_map<UOp, size_t>;
  bool uses_another_schedule() const { return options_.model.is_unscheduled || options_.model.stage_observer; }
  // Schedules a copy of the graph, because scheduling caches facts that change later rewrites. `outputs` receives the
  // buffers of each output.
  BufferNumbers numbers_in_default_schedule(const InputGraph& in, std::vector<std::vector<size_t>>* outputs = nullptr) {
    Graph graph(in.graph->settings());
    UOp same = copy_into(graph, in.root);
    ScheduleRunner runner(*placement_);
    Schedule plain = std::move(runner.schedule(same).value_or_throw());
    std::unordered_map<UOp, UOp> own;  // the original node of each node of the copy
    std::vector<UOp> copies = toposort(same), nodes = toposort(in.root);
    for (size_t i = 0; i < nodes.size(); i++) own.emplace(copies[i], nodes[i]);
    BufferNumbers out;
    for (size_t i = 0; i < plain.buffers.size(); i++)
      if (auto it = own.find(plain.buffers[i].uop); it != own.end()) out.try_emplace(it->second, i);
    if (outputs) *outputs = std::move(plain.output_buffers);
    return out;
  }

  // Throws Failure if a kernel of the schedule stores to a buffer of the graph that the graph does not assign to.
  void check_buffer_stores(UOp sink, const Schedule& schedule) const {
    const std::vector<UOp> assigned = assigned_buffers(sink);
    size_t kernel = 0;
    for (const ScheduleItem& item : schedule.items) {
      const auto accesses = accesses_of(item);
      for (size_t i = 0; i < item.buffers.size(); i++) {
        const size_t root = schedule.buffers[item.buffers[i]].view_of.value_or(item.buffers[i]);
        const ScheduleBuffer& b = schedule.buffers[root];
        if (item.ast.is(Op::BUFFER_VIEW)) continue;
        if (!accesses[i].is_written || !b.is_input || std::ranges::count(assigned, b.uop)) continue;
        throw Failure(Diag{.message = "kernel " + std::to_string(kernel) + " of the schedule overwrites " +
                                      data_name(root) + ", a buffer of the graph that no ASSIGN stores to",
                           .is_kernel_fault = true});
      }
      kernel += item.ast.is(Op::SINK);
    }
  }

  // Computes the outputs directly from the graph, without a schedule (lib/import/tensor_graph.h). Returns nullopt if
  // the graph cannot be imported, if REF would take too long, or if the graph has variables.
  std::optional<ScheduleResult> compute_in_ref(const InputGraph& in, const ScheduleOptions& options) {
    constexpr double kMostWork = 1e9;  // number of UOps that REF evaluates in about 7 s
    std::vector<UOp> values;  // a buffer holds the value before its movement ops
    for (UOp value : in.root.src()) {
      while (value.in(ops::Movement)) value = value.src(0);
      values.push_back(value);
    }
    auto program = import_tensor_graph(in.graph->sink(values), {});
    if (!program) return std::nullopt;
    double work = 0;
    for (const TensorKernel& k : program->kernels) work += work_of(k.ast);
    const bool is_symbolic = std::ranges::any_of(toposort(in.root), [](UOp u) { return u.is(Op::DEFINE_VAR); });
    if (work > kMostWork || is_symbolic) return std::nullopt;
    std::vector<std::vector<size_t>> outputs;
    const BufferNumbers numbers = numbers_in_default_schedule(in, &outputs);
    std::map<size_t, std::shared_ptr<Array>> contents;
    for (size_t i = 0; i < program->memories.size(); i++) {
      const TensorMemory& m = program->memories[i];
      if (!m.buffer || m.view_of) continue;
      auto known = numbers.find(m.buffer);
      // a buffer that no kernel reads may not be in the schedule
      const std::string name = known == numbers.end() ? "unread" + std::to_string(i) : data_name(known->second);
      contents[i] = make_buffer_array(m.buffer, name, m.dtype, m.num_elements);
    }
    Placement ref = make_ref_placement();
    ScheduleOptions in_ref{.should_run_in_process = options.should_run_in_process,
                           .timeout_seconds = options_.device.timeout_seconds_for(ref)};
    const auto way = options_.model.perturbation;
    auto arrays = std::move(run_tensor_program(*program, contents, in_ref, way, &ref).value_or_throw());
    report_.is_computed_in_ref = true;
    ScheduleResult out{.num_kernels = program->kernels.size()};
    for (size_t i = 0; i < arrays.size(); i++) {
      if (values[i].is(Op::CONST)) continue;  // a constant needs no buffer
      std::vector<size_t> buffers = i < outputs.size() ? outputs[i] : std::vector<size_t>();
      if (buffers.empty()) buffers.push_back(0);
      for (size_t d = 0; d < buffers.size(); d++) {
        Array part(arrays[i].dtype(), {arrays[i].size() / int64_t(buffers.size())});
        std::memcpy(part.data(), arrays[i].data() + d * part.nbytes(), part.nbytes());
        report_.result_names.push_back(data_name(buffers[d]));
        out.values.push_back(std::move(part));
      }
    }
    return out;
  }

  std::shared_ptr<Array> make_buffer_array(UOp buffer, const std::string& name, DType dtype, int64_t size) {
    auto array = std::make_shared<Array>(dtype, std::vector<int64_t>{size});
    const Array* a = find_array(given_arrays_, name);
    const FloatKind floats = std::ranges::count(nonnegative_buffers_, buffer) ? FloatKind::Unit : FloatKind::Normal;
    if (!a) return draw_array(*array, name, "the buffer '" + name + "' of the graph", floats), array;
    if (a->dtype() != dtype || a->size() != size)
      throw Failure(
          Diag{.message = "the buffer '" + name + "' is " + array->describe() + ", the file has " + a->describe(),
               .file = arrays_file_});
    *array = a->copy();
    return array;
  }

  void set_buffer_arrays(Graph& graph, const Schedule& schedule, const BufferNumbers& numbers) {
    std::set<std::string> used;
    for (size_t i = 0; i < schedule.buffers.size(); i++) {
      const ScheduleBuffer& b = schedule.buffers[i];
      if (!b.is_input || b.view_of) continue;
      auto known = numbers.find(b.uop);
      std::string name = data_name(known == numbers.end() ? i : known->second);
      used.insert(name);
      auto array = make_buffer_array(b.uop, name, b.dtype, b.num_elements);
      shared_tensor_state(graph).buffer_data[b.uop] = {array->data(), array->nbytes(), array};
    }
    check_given_names(used, "the graph reads no buffer");
  }

  std::map<std::string, Value> make_model_inputs(const OnnxModel& model, Graph& graph) {
    std::map<std::string, int64_t> sizes = options_.input.variables;
    bind_symbolic_sizes(model, given_arrays_, sizes);
    std::map<std::string, Value> out;
    std::set<std::string> used;
    auto declared = std::move(model.inputs(sizes).value_or_throw());
    for (auto& input : declared) used.insert(input.name);
    check_given_names(used, "the model has no input");
    for (auto& input : declared) {
      if (const Array* a = find_array(given_arrays_, input.name)) {
        out[input.name] = make_input_value(graph, copy_checked_input(*a, input));
      } else if (input.type.kind == onnx::TypeProto::Kind::Optional) {
        out[input.name] = Value();
      } else {
        if (!input.shape || input.dtype == dtypes::void_)
          throw Failure("the model's input '" + input.name +
                        "' is no tensor of numbers of a known shape: it cannot be drawn");
        Array a(input.dtype, *input.shape);
        draw_array(a, input.name, "the model's input '" + input.name + "'");
        out[input.name] = make_input_value(graph, a);
      }
    }
    return out;
  }

  Array copy_checked_input(const Array& a, const ModelInput& input) const {
    bool fits = input.dtype == a.dtype() && (!input.shape || std::ranges::equal(*input.shape, a.shape()));
    if (fits) return a.copy();
    throw Failure(
        Diag{.message = "the input '" + input.name + "' is " + a.describe(),
             .file = arrays_file_,
             .expected = std::string(dtype_text(input.dtype)) + (input.shape ? " " + shape_text(*input.shape) : "")});
  }

  void compare_results(const std::string& file) {
    Arrays expected = std::move(read_arrays(file).value_or_throw());
    if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = file});
    for (auto& e : expected) {
      auto found = std::ranges::find(report_.result_names, e.name);
      if (found == report_.result_names.end())
        throw Failure(Diag{.message = "the model has no output '" + e.name + "'", .file = file});
      const Array& a = report_.schedule_result.values[size_t(found - report_.result_names.begin())];
      if (!std::ranges::equal(a.shape(), e.array.shape()))
        throw Failure(
            Diag{.message = "the output '" + e.name + "' is " + a.describe() + ", the file has " + e.array.describe(),
                 .file = file});
      auto compared = compare_arrays(e.name, a, e.array, options_.compare.tolerance);
      report_.comparisons.push_back(std::move(compared.value_or_throw()));
    }
    for (const std::string& name : report_.result_names)
      if (!find_array(expected, name))
        throw Failure(Diag{.message = "the file lacks the output '" + name + "'", .file = file});
  }
  void sanitize_kernel(const ScheduledKernelRun& step) {
    session_.report_progress("kernel " + std::to_string(step.kernel_number + 1) + " under AddressSanitizer");
    Executable kernel = std::move(make_executable({.root = step.ast}, *placement_).value_or_throw());
    const ExecuteOptions options{.timeout_seconds = options_.device.timeout_seconds_for(*placement_)};
    auto done = execute_with_sanitizer(kernel, step.before, step.variables, options);
    std::string where = "kernel " + std::to_string(step.kernel_number) + " (" + ansistrip(step.name) + ")";
    if (!done) throw failure_with_prefix(where, done.diag());
    report_.num_clean_sanitized_kernels++;
  }
  void check_kernel(const ScheduledKernelRun& step) {
    constexpr double kMostWork = 1e9;  // number of UOps that REF evaluates in about 7 s
    if (!report_.first_different_kernel.empty()) return;
    if (!options_.device.timeout_seconds && work_of(step.ast) > kMostWork) {
      report_.notes.push_back("kernel " + std::to_string(step.kernel_number) + " (" + ansistrip(step.name) +
                              ") was not compared: it is too large for REF; --timeout=S allows it");
      return;
    }
    session_.report_progress("comparing kernel " + std::to_string(step.kernel_number + 1) + " with REF");
    const ReferenceRunner ref(step.before, step.variables, options_.device.make_execute_options(make_ref_placement()));
    ExecutionResult done = std::move(ref.run_reference(step.ast).value_or_throw());
    Arrays expected;
    for (const NamedArray& before : step.before) {
      const Array* stored = find_array(done.outputs, before.name);
      expected.push_back({before.name, (stored ? *stored : before.array).copy()});
    }
    const CompareOptions compare{.tolerance = options_.compare.tolerance};
    auto arrays = std::move(ref.compare_arrays(step.ast, step.after, expected, compare).value_or_throw());
    auto differs = std::ranges::find_if_not(arrays, &Comparison::has_passed);
    if (differs != arrays.end()) return save_wrong_kernel(step, *differs);
    report_.num_confirmed_kernels++;
  }

  void save_wrong_kernel(const ScheduledKernelRun& step, const Comparison& c) {
    std::string again;
    auto kept = catch_failures([&] {
      if (!options_.output.repro_path.empty()) again = write_failure_bundle(step, c);
      else if (!options_.output.failures_folder.empty()) again = write_failure_files(step);
      return Unit{};
    });
    report_.first_different_kernel = "kernel " + std::to_string(step.kernel_number) + " (" + ansistrip(step.name) +
                                     ") differs from REF: " + c.text();
    if (c.is_recheck_incomplete)
      report_.first_different_kernel += "\n  left out for lack of time: the rerun that tells rounding from faults";
    if (!again.empty()) report_.first_different_kernel += "\n  again: " + again;
    if (!kept) report_.first_different_kernel += "\n  it could not be kept: " + kept.diag().text();
  }
  // Returns a command that repeats the failure.
  std::string write_failure_files(const ScheduledKernelRun& step) {
    const std::string stem =
        failure_file_stem(options_, name_ + ".kernel" + std::to_string(step.kernel_number)).value_or_throw();
    write_npz(stem + "-inputs.npz", step.before).value_or_throw();
    write_file(stem + ".txt", pyrender(step.ast).value_or_throw()).value_or_throw();
    std::string again = "tgc run " + quote_for_shell(stem + ".txt") +
                        " --inputs=" + quote_for_shell(stem + "-inputs.npz") + placement_options(*placement_);
    for (auto& [name, value] : step.variables) again += " --var " + name + "=" + std::to_string(value);
    return again + session_.overrides.other_options;
  }
  std::string write_failure_bundle(const ScheduledKernelRun& step, const Comparison& c) {
    RunOptions options = options_;
    options.input.variables = step.variables;
    InputGraph in{.graph = borrow_graph(step.ast.graph()), .root = step.ast, .info = {.name = ansistrip(step.name)}};
    Repro bundle{.symptom = "wrong", .description = c.text(), .inputs = arrays_to_bundle(step.before)};
    const std::string path =
        write_bundle(session_, options, in, *placement_, std::move(bundle), name_).value_or_throw();
    return bundle_command(session_, path);
  }

  const Session& session_;
  const RunOptions& options_;
  ModelReport& report_;
  std::optional<Placement> placement_;
  std::string name_;
  std::string arrays_file_;
  Arrays given_arrays_;
  std::optional<uint64_t> seed_;   // unset if every array must be in the file
  std::vector<UOp> nonnegative_buffers_;
  InputDistribution input_distribution_;
};

template <class Work>
ModelReport run_and_report(const Session& session, const std::string& name, const RunOptions& options, Work work) {
  ModelReport report{.model = name};
  auto done = catch_failures([&] {
    ModelRun run(session, options, report);
    return work(run), Unit{};
  });
  if (!done) report.error = done.diag().text(), report.is_kernel_fault = done.diag().is_kernel_fault;
  return report;
}

}  // namespace

// In a recorded graph, the BUFFERs have LUNIQUE in place of UNIQUE, because tinygrad 0.12.0 renumbers them for its
// schedule cache before it calls get_rangeify_map. With UNIQUE, they are buffers of the program again, not memory
// between kernels.
static UOp with_unique_buffers(UOp root) {
  std::unordered_map<UOp, UOp> made;
  for (UOp u : toposort(root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(made.at(s));
    if (u.is(Op::BUFFER) && u.num_src() && u.src(0).is(Op::LUNIQUE))
      src[0] = u.graph().node(Op::UNIQUE, u.src(0).dtype(), {}, u.src(0).arg());
    made[u] = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
  }
  return made.at(root);
}

ModelReport run_model(const Session& session, const std::string& path, const RunOptions& options) {
  return run_and_report(session, path, options, [&](ModelRun& run) { run.run_model(path); });
}

ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& options) {
  if (in.graph->is_foreign()) return run_recorded_schedule(session, in, options);
  auto own = session.compiler()->require_scheduler(
      "--live runs tensor graphs of tinygrad 0.13 and later; without it, tgc "
      "runs the schedule of 0.12.0, which is its own");
  if (!own) return {.model = in.info.name, .error = own.diag().message};
  return run_and_report(session, in.info.name, options, [&](ModelRun& run) {
    InputGraph copy = in;
    copy.graph = std::make_shared<Graph>(in.graph->settings());
    copy.root = with_unique_buffers(copy_into(*copy.graph, in.root));
    run.run_graph(copy);
  });
}

}  // namespace tgc
