#include "lib/compilation/compilation.h"

#include <utility>

#include "lib/compilation/schedule_text.h"
#include "lib/rewrite/fault.h"
#include "lib/spec/spec.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/log.h"
#include "lib/support/result.h"
#include "lib/target/target.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"
#include "passes/kernel/optimizer/optimizer.h"
#include "passes/tensor/stages.h"

namespace tgc {

using Kind = StageRow::Kind;

struct Compilation::State {
  InputGraph input;
  CompilationSpec spec;
  Target target;
  std::optional<KernelJob> kernel;
  std::optional<TensorJob> tensor;
  UOp ast, current;
  const StageRow* start_row = nullptr;
  const StageRow* last_row = nullptr;
  std::optional<KernelOutputs> outputs;
  std::optional<Result<Schedule>> schedule;
  StageObserver* stage_observer = nullptr;
  std::unique_ptr<FaultOverride> fault;  // the graph has a pointer to the fault
  std::unique_ptr<ShortcutFault> shortcut_fault;
  std::optional<Diag> failure;
  double stage_seconds = 0;
};

namespace {

Diag no_earlier_stages_error(const InputGraph& in) {
  return {.message = "a linear list has no stages before it", .file = in.file, .expected = "a graph"};
}

Diag missing_kernel_error(const Schedule& schedule, const std::string& name, size_t number) {
  size_t n = schedule.items.size();
  if (number >= n)
    return {.message = "the schedule of '" + name + "' has no kernel '" + std::to_string(number) + "'",
            .expected = n ? "0 to " + std::to_string(n - 1) : "a graph with kernels"};
  return {.message = "item " + std::to_string(number) + " of the schedule is a " +
                     std::string(name_of(schedule.items[number].ast.op())) + ", not a kernel",
          .expected = "the number of a kernel"};
}

void log_step(const std::string& name, const Compilation::StepResult& step, double seconds, bool failed) {
  std::string text = name.empty() ? "" : name + ": ";
  text.append(step.row->name).append(formatted(": %.3f ms", seconds * 1e3));
  if (step.row->is_graph_stage()) {
    const size_t before = toposort(step.before).size(), after = toposort(step.after).size();
    text += formatted(before == after ? ", %zu nodes" : ", %zu nodes -> %zu", before, after);
  }
  write_log_entry(LogTopic::Compilation, LogLevel::Debug, text + (failed ? ", failed" : ""));
}

Diag wrong_stage_error(const InputGraph& in, const StageRow& row) {
  const char* what = in.is_tensor_graph ? "a tensor graph" : "a kernel";
  return {.message = std::string(what) + " cannot be the result of '" + std::string(row.name) + "'", .file = in.file,
          .expected = std::string("a stage of ") + (in.is_tensor_graph ? "tensor graphs" : "kernels")};
}

Diag missing_sink_error(const InputGraph& in) {
  Diag out = in.diag_at(in.root, "a kernel ends with a SINK, this one with Ops." + std::string(name_of(in.root.op())));
  out.expected = "what it stores as the sources of Ops.SINK";
  return out;
}

Diag needs_all_stages_error(const InputGraph& in, const StageRow& start_row) {
  return {.message = "the schedule of '" + in.info.name +
                     "' needs data of all stages, but this graph is the result of '" + std::string(start_row.name) +
                     "'",
          .expected = "the tensor graph before its first stage"};
}

// Seeds the faults of TGC_FAULT whose kind is one of `in_rules`, and a fault in a shortcut.
template <class State>
Status seed_faults(State& s, std::initializer_list<FaultSpec::Kind> in_rules) {
  std::optional<FaultSpec> faults;
  for (FaultSpec::Kind in : in_rules) {
    auto some = fault_of_environment(in);
    if (!some) return some.diag();
    if (*some && faults) faults->other_faults.push_back(std::move(**some));
    else if (*some) faults = std::move(**some);
  }
  if (faults) s.fault = std::make_unique<FaultOverride>(*faults), set_rewrite_override(*s.input.graph, s.fault.get());
  auto shortcut = fault_of_environment(FaultSpec::Kind::Shortcut);
  if (!shortcut) return shortcut.diag();
  if (!*shortcut) return Unit{};
  s.shortcut_fault = std::make_unique<ShortcutFault>(std::move(**shortcut));
  set_shortcut_trial(*s.input.graph, s.shortcut_fault.get());
  return Unit{};
}

// Lets extract_fault_warnings() report faults in renderers and LLVM that have no effect.
Status record_backend_faults() {
  for (FaultSpec::Kind in : {FaultSpec::Kind::Renderer, FaultSpec::Kind::Llvm}) {
    auto faults = fault_of_environment(in);
    if (!faults) return faults.diag();
    if (!*faults) continue;
    record_requested_fault(**faults);
    for (const FaultSpec& other : (*faults)->other_faults) record_requested_fault(other);
  }
  return Unit{};
}

// Removes the seeded faults, because the graph may outlive the compilation.
template <class State>
void remove_faults(State& s) {
  if (s.fault) set_rewrite_override(*s.input.graph, nullptr);
  if (s.shortcut_fault) set_shortcut_trial(*s.input.graph, nullptr);
  s.fault.reset(), s.shortcut_fault.reset();
}

// Returns true if the input was taken for a kernel AST, but violates the specification of kernels. A stage's error
// would then mislead the user.
template <class State>
bool violates_kernel_spec(const State& s) {
  return s.kernel && !s.start_row && verify(toposort(s.input.root), Spec::Kernel);
}

}  // namespace

Compilation::Compilation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Compilation::Compilation(Compilation&&) noexcept = default;
Compilation& Compilation::operator=(Compilation&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Compilation::~Compilation() {
  if (!state_) return;
  try {
    set_stage_observer(nullptr);
  } catch (...) {  // drop the exception of StageObserver::end_compilation(), because a destructor must not throw
  }
  remove_faults(*state_);
}

Result<Compilation> Compilation::begin(InputGraph graph, CompilationSpec spec) {
  if (const Graph& g = graph.root.graph(); g.is_foreign())
    return foreign_graph_error(graph.info.producer.empty() ? "tinygrad " + std::string(name_of(g.release()))
                                                      : graph.info.producer, graph.file);
  auto s = std::make_unique<State>();
  s->input = std::move(graph);
  s->spec = std::move(spec);
  s->current = s->input.root;
  if (!s->input.info.stage.empty()) {
    s->start_row = find_stage_row(s->input.info.stage);
    if (!s->start_row) {
      Diag unknown = unknown_stage_error(s->input.info.stage);
      unknown.file = s->input.file;
      return unknown;
    }
    bool fits =
        s->input.is_tensor_graph ? s->start_row->tensor != nullptr : s->start_row->kernel || !s->input.list.empty();
    if (s->start_row->kind == Kind::Ast) s->start_row = nullptr;
    else if (!fits) return wrong_stage_error(s->input, *s->start_row);
  }
  s->last_row = s->start_row;
  if (s->input.is_tensor_graph) {
    if (auto armed = seed_faults(*s, {FaultSpec::Kind::Tensor}); !armed) return armed.diag();
    s->tensor.emplace(*s->input.graph);
    s->ast = s->current;
    return Compilation(std::move(s));
  }
  auto target = parse_recorded_target(s->spec.target.empty() ? "CPU" : s->spec.target, s->input.graph->settings());
  if (!target) return target.diag();
  if (!s->current.is(Op::SINK)) return missing_sink_error(s->input);
  if (auto expected = record_backend_faults(); !expected) return expected.diag();
  s->target = std::move(*target);
  if (!s->input.list.empty()) {
    s->last_row = &get_stage_row(OutputKind::List);
    s->outputs.emplace(s->target, s->input.list, s->spec.compile_options);
    s->ast = s->current;
    return Compilation(std::move(s));
  }
  if (auto armed = seed_faults(*s, {FaultSpec::Kind::Kernel, FaultSpec::Kind::Endless}); !armed) return armed.diag();
  s->kernel.emplace(KernelJob{*s->input.graph, s->target});
  if (s->spec.should_optimize) s->kernel->should_run_optimizer = *s->spec.should_optimize;
  s->kernel->kernel_name_counts = s->spec.kernel_name_counts;
  if (!s->spec.opts.empty()) {
    auto opts = read_opts(*s->input.graph, s->spec.opts, "--opts");
    if (!opts) return opts.diag();
    bool is_optimized = s->start_row && s->start_row >= &get_stage_row(StageKind::Optimizer);
    if (!is_optimized) s->input.root = s->current = sink_with_opts(s->current, *opts);
  }
  if (!s->last_row) s->current = begin_kernel(*s->kernel, s->current);
  s->ast = s->current;
  return Compilation(std::move(s));
}

const std::string& Compilation::name() const { return state_->input.info.name; }
const InputGraph& Compilation::input_graph() const { return state_->input; }
const CompilationSpec& Compilation::spec() const { return state_->spec; }
Graph& Compilation::graph() const { return *state_->input.graph; }
bool Compilation::is_tensor_graph() const { return state_->tensor.has_value(); }
const Target& Compilation::target() const { return state_->target; }
UOp Compilation::ast() const { return state_->ast; }
UOp Compilation::current_graph() const { return state_->current; }
const StageRow* Compilation::input_stage() const { return state_->start_row; }
const StageRow* Compilation::last_row() const { return state_->last_row; }
const std::map<std::string, int>& Compilation::kernel_name_counts() const { return state_->kernel->kernel_name_counts; }
const TensorJob& Compilation::tensor_job() const { return *state_->tensor; }
double Compilation::schedule_seconds() const { return state_->stage_seconds; }

const StageRow* Compilation::next_row() const {
  if (state_->failure) return nullptr;
  const StageRow* row =
      state_->last_row ? state_->last_row + 1 : &get_stage_row(state_->tensor ? Kind::Tensor : Kind::Kernel);
  const StageRow* end = stage_rows().data() + stage_rows().size();
  if (state_->tensor) return row->kind == Kind::Tensor || row->kind == Kind::Schedule ? row : nullptr;
  while (row < end && row->kernel && row->kernel->applies && !row->kernel->applies(*state_->kernel)) row++;
  return row < end && !row->is(OutputKind::Compiled) ? row : nullptr;
}

Result<Compilation::StepResult> Compilation::run_step() {
  const StageRow* row = next_row();
  if (state_->failure) return *state_->failure;
  if (!row) return Diag{"every stage has run"};
  if (state_->stage_observer) state_->stage_observer->begin_stage(*row, state_->current);
  StepResult step{row, state_->current, state_->current};
  const bool is_logged = is_logging(LogTopic::Compilation, LogLevel::Debug);
  auto begin = state_->tensor || is_logged ? Clock::now() : Clock::time_point();
  auto note = [&](const auto& result) {
    if (result) return;
    state_->failure = result.diag();
    if (violates_kernel_spec(*state_))
      state_->failure->expected = "an AST; for the result of a stage, pass --from=STAGE";
  };
  if (row->is_graph_stage()) {
    auto result = row->tensor ? run_stage(*row->tensor, *state_->tensor, state_->current)
                              : run_stage(*row->kernel, *state_->kernel, state_->current);
    note(result);
    if (result) step.after = state_->current = *result;
  } else if (row->kind == Kind::Schedule) {
    state_->schedule = state_->start_row ? needs_all_stages_error(state_->input, *state_->start_row)
                                : catch_failures([&] { return create_schedule(*state_->tensor, state_->current); });
    note(*state_->schedule);
  } else {
    if (!state_->outputs) state_->outputs.emplace(*state_->kernel, state_->current, state_->spec.compile_options);
    if (row->is(OutputKind::List)) note(state_->outputs->list());
  }
  state_->last_row = row;
  if (state_->tensor) state_->stage_seconds += seconds_since(begin);
  if (is_logged) log_step(state_->input.info.name, step, seconds_since(begin), state_->failure.has_value());
  if (state_->stage_observer) state_->stage_observer->end_stage(*row, state_->failure ? UOp() : state_->current);
  if (state_->failure) return *state_->failure;
  return step;
}

Status Compilation::run_through_stage(const StageRow& row) {
  for (const StageRow* n = next_row(); n && n <= &row; n = next_row())
    if (auto step = this->run_step(); !step) return step.diag();
  if (state_->failure) return *state_->failure;
  return Unit{};
}

const Result<std::vector<UOp>>& Compilation::list() {
  TGC_CHECK(!state_->tensor, "a tensor graph has no linear list");
  static const StageRow& linear = get_stage_row(OutputKind::List);
  if (!state_->outputs) (void)run_through_stage(linear);
  if (!state_->outputs)
    return (state_->outputs.emplace(KernelOutputs::make_failed_outputs(state_->target, *state_->failure))).list();
  return state_->outputs->list();
}

const Result<std::string>& Compilation::source() {
  (void)list();
  return state_->outputs->source();
}

Result<KernelOutputs*> Compilation::outputs() {
  if (auto& made = list(); !made) return made.diag();
  return &*state_->outputs;
}

const Result<Schedule>& Compilation::schedule() {
  TGC_CHECK(state_->tensor, "a kernel has no schedule");
  static const StageRow& row = get_stage_row(StageRow::Kind::Schedule);
  if (!state_->schedule && state_->start_row)
    state_->schedule = needs_all_stages_error(state_->input, *state_->start_row);
  if (!state_->schedule) (void)run_through_stage(row);
  if (!state_->schedule) state_->schedule = *state_->failure;
  return *state_->schedule;
}

Result<std::string> Compilation::schedule_text(bool as_json) {
  auto& made = schedule();
  if (!made) return made.diag();
  std::vector<std::string> user_operation;
  for (size_t i = 0; i < made->items.size(); i++) user_operation.push_back(kernel_user_operation(i));
  MemoryPlan plan = plan_memory(*made, graph().settings());
  return as_json ? schedule_json(*made, plan, schedule_key(), user_operation, state_->input.buffer_names)
                 : schedule_listing(*made, plan, schedule_key(), user_operation);
}

Sha256 Compilation::schedule_key() { return sched_cache_key(state_->tensor->normalized_sink); }

Result<std::string> Compilation::schedule_as_json() { return schedule_text(true); }

Result<std::string> Compilation::row_output(const StageRow& row) {
  if (row.kind == Kind::Schedule && state_->tensor) return schedule_text(false);
  if (!row.output || state_->tensor)
    return Diag{.message = "'" + name() + "' is " + (state_->tensor ? "a tensor graph" : "a kernel") + ": it has no '" +
                           std::string(row.name) + "'",
                .expected = state_->tensor ? "a stage of tensor graphs, or one of its kernels" : "a stage of kernels"};
  auto made = outputs();
  return made ? row.output->make_output(**made) : Result<std::string>(made.diag());
}

Result<CompileJob> Compilation::make_compile_job() {
  auto made = outputs();
  return made ? compile_job_of_outputs(**made) : Result<CompileJob>(made.diag());
}

std::vector<size_t> Compilation::kernel_numbers() {
  std::vector<size_t> out;
  if (auto& made = schedule())
    for (size_t i = 0; i < made->items.size(); i++)
      if (made->items[i].ast.is(Op::SINK)) out.push_back(i);
  return out;
}

std::string Compilation::kernel_name(size_t number) const { return name() + "." + std::to_string(number); }

std::string Compilation::kernel_target(size_t number) {
  if (!state_->spec.target.empty()) return state_->spec.target;
  const Schedule& made = *schedule();
  return target_of_device(made.buffers[made.items[number].buffers[0]].device, graph().settings());
}

std::string Compilation::kernel_user_operation(size_t number) const {
  const GoldenRecord* record = state_->input.record.get();
  return record && number < record->kernels.size() ? methods_text(record->kernels[number].metadata) : "";
}

Result<Compilation> Compilation::kernel(size_t number) {
  auto& made = schedule();
  if (!made) return made.diag();
  if (number >= made->items.size() || !made->items[number].ast.is(Op::SINK))
    return missing_kernel_error(*made, name(), number);
  InputGraph own;
  own.graph = std::make_unique<Graph>(graph().settings());
  own.root = copy_into(*own.graph, made->items[number].ast);
  CompilationSpec spec = state_->spec;
  spec.target = kernel_target(number);
  own.info = {.name = kernel_name(number), .target = spec.target, .settings = state_->input.info.settings};
  own.file = state_->input.file;
  own.user_operation = kernel_user_operation(number);
  return begin(std::move(own), std::move(spec));
}

Result<std::vector<Compilation>> Compilation::kernels() {
  auto& made = schedule();
  if (!made) return made.diag();
  std::vector<Compilation> out;
  for (size_t number : kernel_numbers()) {
    auto one = kernel(number);
    if (!one) return one.diag();
    out.push_back(std::move(*one));
  }
  return out;
}

Result<Compilation> Compilation::fork() const {
  if (state_->failure) return *state_->failure;
  InputGraph copy;
  copy.graph = std::make_unique<Graph>(graph().settings());
  copy.info = state_->input.info;
  copy.is_tensor_graph = state_->input.is_tensor_graph;
  copy.file = state_->input.file;
  copy.record = state_->input.record;
  copy.user_operation = state_->input.user_operation;
  if (state_->tensor) {  // later tensor stages need data of earlier ones, so run them again
    copy.root = copy_into(*copy.graph, state_->ast);
    auto again = begin(std::move(copy), state_->spec);
    if (again && state_->last_row)
      if (auto status = again->run_through_stage(*state_->last_row); !status) return status.diag();
    return again;
  }
  if (!state_->kernel) return no_earlier_stages_error(state_->input);
  copy.root = copy_into(*copy.graph, state_->current);
  const StageRow* stage = state_->last_row;
  while (stage && !stage->kernel) stage--;  // go back to the last graph stage, because the fork makes its own outputs
  copy.info.stage = stage ? stage->name : "";
  CompilationSpec spec = state_->spec;
  spec.should_optimize = state_->kernel->should_run_optimizer;
  spec.kernel_name_counts = state_->kernel->kernel_name_counts;
  auto out = begin(std::move(copy), std::move(spec));
  if (!out) return out;
  out->state_->kernel->image_buffer_dtypes = state_->kernel->image_buffer_dtypes;
  if (state_->fault && out->state_->fault) *out->state_->fault = *state_->fault;
  return out;
}

InputGraph Compilation::take_input() && {
  set_stage_observer(nullptr);
  remove_faults(*state_);
  return std::move(state_->input);
}

void Compilation::set_stage_observer(StageObserver* stage_observer) {
  if (StageObserver* before = std::exchange(state_->stage_observer, stage_observer)) before->end_compilation(*this);
  if (stage_observer) stage_observer->begin_compilation(*this);
}

Status run_with_observer(Compilation& compilation, StageObserver& stage_observer) {
  if (!compilation.input_graph().list.empty()) return no_earlier_stages_error(compilation.input_graph());
  compilation.set_stage_observer(&stage_observer);
  if (!compilation.is_tensor_graph()) {
    Status status = compilation.run_through_stage(get_stage_row(OutputKind::List));
    compilation.set_stage_observer(nullptr);
    return status;
  }
  auto& schedule = compilation.schedule();
  compilation.set_stage_observer(nullptr);
  if (!schedule) return schedule.diag();
  for (size_t number : compilation.kernel_numbers()) {
    auto kernel = compilation.kernel(number);
    if (!kernel) return kernel.diag();
    if (auto status = run_with_observer(*kernel, stage_observer); !status) return status;
  }
  return Unit{};
}

}  // namespace tgc
