#include "lib/execute/schedule_run.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <unordered_set>

#include "lib/compilation/compilation.h"
#include "lib/runtime/contained_device.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/pytext.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/uop.h"

namespace tgc {

namespace {

// ---- unfused schedules (disable_fusion). If every kernel of a fused schedule is right, but its results differ from
// those of the unfused kernels, then the schedule itself is wrong.

bool is_value_operation(UOp u) {
  bool computes = u.in(ops::ALU | OpSet{Op::REDUCE_AXIS, Op::CAST});
  return computes && u.dtype().is_value() && !u.dtype().is(Scalar::Index);
}

// Returns -1 if the node has no shape or a symbolic dimension.
int64_t num_elements_of(UOp u) {
  auto shape = shape_or_none(u);
  if (!shape) return -1;
  Int out = 1;
  for (const Sint& size : *shape) {
    if (size.is_uop()) return -1;
    out *= size.as_int();
  }
  return out.to_int64().value_or(INT64_MAX);
}

// Adds a CONTIGUOUS after operations and reductions on buffers, so that the scheduler makes a kernel for each of them.
// Others, such as those with more than `most_elements` elements, stay fused.
UOp unfuse_operations(UOp sink, int64_t most_elements) {
  std::unordered_map<UOp, UOp> made;
  std::unordered_set<UOp> on_buffers;
  for (UOp u : toposort(sink)) {
    std::vector<UOp> src;
    bool reads = u.is(Op::BUFFER);
    for (UOp s : u.src()) src.push_back(made.at(s)), reads |= on_buffers.contains(s);
    if (reads) on_buffers.insert(u);
    UOp same = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
    int64_t n = reads && is_value_operation(u) ? num_elements_of(u) : -1;
    made[u] = n > 0 && n <= most_elements ? u.graph().node(Op::CONTIGUOUS, u.dtype(), same) : same;
  }
  return made.at(sink);
}

ExecuteObserver& no_observer() {
  static ExecuteObserver observer;
  return observer;
}

Arrays copy_arrays_from_device(Device& device, const std::vector<BufferSpec>& specs,
                               std::span<const DeviceBuffer> buffers) {
  Arrays out;
  for (size_t i = 0; i < specs.size(); i++) {
    Array a(specs[i].dtype, {int64_t(buffers[i].bytes) / specs[i].dtype.itemsize()});
    device.copy_out(a.data(), buffers[i].subbuffer(0, a.nbytes())).value_or_throw();
    out.push_back({specs[i].name(), std::move(a)});
  }
  return out;
}

}  // namespace

// A kernel with its own Graph, so that several kernels can be lowered at once.
struct ScheduleRunner::PreparedKernel {
  std::unique_ptr<Graph> graph;
  std::optional<Executable> executable;
  std::unique_ptr<Kernel> kernel;
  std::optional<Diag> compile_error;

  void lower(UOp ast, Placement& place, const LowerOptions& options = {}) {
    const DeadlineScope limit(options.compile_seconds);  // a deadline belongs to a thread, and this may be a new thread
    graph = std::make_unique<Graph>(ast.graph().settings());
    auto made = catch_failures(
        [&] { return std::move(make_executable({.root = copy_into(*graph, ast)}, place, options).value_or_throw()); });
    if (made) executable.emplace(std::move(*made));
    else compile_error = made.diag();
  }
  void load(Device& device) {
    if (compile_error) throw Failure(*compile_error);
    kernel = std::move(executable->load(device).value_or_throw());
  }
};

ScheduleRunner::ScheduleRunner(Placement& place, unsigned num_jobs, ExecuteObserver* observer)
    : placement_(place), num_threads_(num_jobs), observer_(observer ? *observer : no_observer()) {}
ScheduleRunner::~ScheduleRunner() = default;

Result<Schedule> ScheduleRunner::schedule(UOp sink) {
  observer_.on_progress("scheduling");
  auto begin = Clock::now();
  constexpr int64_t kMostElements = 1 << 24;
  if (!should_fuse_kernels_) sink = unfuse_operations(sink, kMostElements);
  auto whole = Compilation::begin({.graph = borrow_graph(sink.graph()), .root = sink, .is_tensor_graph = true}, {});
  if (!whole) return whole.diag();
  if (stage_observer_) whole->set_stage_observer(stage_observer_);
  auto& out = whole->schedule();
  whole->set_stage_observer(nullptr);
  if (out) observer_.on_schedule_made(whole->tensor_job(), *out, seconds_since(begin));
  return out;
}

void ScheduleRunner::prepare_kernels(const Schedule& schedule) {
  std::vector<std::pair<UOp, PreparedKernel*>> work;
  for (const ScheduleItem& item : schedule.items) {
    if (!item.ast.is(Op::SINK)) continue;
    auto& slot = prepared_kernels_[item.ast];
    if (slot) continue;
    slot = std::make_unique<PreparedKernel>();
    work.emplace_back(item.ast, slot.get());
  }
  if (!work.empty()) observer_.on_progress("compiling kernels: " + std::to_string(work.size()));
  auto compile = [&](size_t i) {
    work[i].second->lower(work[i].first, placement_, {.compile_seconds = compile_seconds_});
  };
  auto tell = [&](size_t i) {
    observer_.on_progress("compiling kernels: " + std::to_string(i + 1) + " of " + std::to_string(work.size()));
  };
  parallel_for(work.size(), num_threads_, compile, tell).value_or_throw();
}

ScheduleRunner::PreparedKernel& ScheduleRunner::lowered_kernel(UOp ast) {
  auto& slot = prepared_kernels_[ast];
  if (!slot) {
    slot = std::make_unique<PreparedKernel>();
    slot->lower(
        ast, placement_,
        {.observer = &observer_, .kernel_name_counts = &kernel_name_counts_, .compile_seconds = compile_seconds_});
  }
  return *slot;
}

ScheduleRunner::PreparedKernel& ScheduleRunner::prepare_kernel(UOp ast, Device& device) {
  PreparedKernel& out = lowered_kernel(ast);
  if (!out.kernel) out.load(device);
  return out;
}

// Must be called before the worker is forked, because a REF kernel cannot be sent to the worker later.
void ScheduleRunner::prepare_ref_kernels(ContainedDevice& worker, const Schedule& schedule, double timeout_seconds) {
  size_t number = 0;
  for (const ScheduleItem& item : schedule.items) {
    if (!item.ast.is(Op::SINK) || lowered_kernel(item.ast).kernel) continue;
    PreparedKernel& p = prepare_kernel(item.ast, *placement_.device);
    dynamic_cast<RefKernel&>(*p.kernel).set_time_limit_seconds(timeout_seconds);
    std::string name = ansistrip(p.executable->name());
    p.kernel = worker.adopt_kernel(std::move(p.kernel), name.empty() ? std::to_string(number) : name);
    number++;
  }
}

class ScheduleRunner::Run {
 public:
  Run(ScheduleRunner& owner, Device& device, const Schedule& schedule, const BufferValues& known,
      const ScheduleOptions& options)
      : runner_(owner),
        device_(device),
        schedule_(schedule),
        options_(options),
        memory_(device, owner.placement_.is_ref, schedule, known, schedule.result_sink.graph().settings()),
        bound_variables_(schedule.var_vals.begin(), schedule.var_vals.end()),
        is_buffer_used_(schedule.buffers.size()) {
    for (size_t i = 0; i < schedule.buffers.size(); i++)
      if (schedule.buffers[i].is_input) count_used_bytes(i);
  }

  const ScheduleMemory& memory() const { return memory_; }

  // Runs an item of the schedule. Returns the seconds of a kernel if `timed` is set, else 0.
  double item(const ScheduleItem& item, bool timed) {
    if (item.ast.is(Op::COPY)) return copy_item_buffer(item), 0;
    if (!item.ast.is(Op::SINK)) return 0;  // a view runs no kernel
    VariableValues values = bound_variables_;
    for (auto& [name, value] : item.fixed_vars) values[name] = value;
    if (options_.before_kernel && runner_.lowered_kernel(item.ast).compile_error)
      report_uncompiled_kernel(item, values);
    PreparedKernel& p = runner_.prepare_kernel(item.ast, device_);
    std::vector<DeviceBuffer> buffers;
    for (const BufferSpec& spec : p.executable->buffers())
      buffers.push_back(memory_.at(buffer_of(item, spec)));
    auto variables = p.executable->variable_arguments(values).value_or_throw();
    LaunchArguments arguments{
        .buffers = buffers, .variables = variables, .launch_size = p.executable->launch_size(values).value_or_throw()};
    if (timed) return p.kernel->time_launch(arguments).value_or_throw();
    if (!options_.on_kernel && !options_.before_kernel) return launch(p, item, arguments), 0;
    const DeadlineScope trial(options_.trial_seconds);
    ScheduledKernelRun step{p.executable->name(),
                            num_launched_++,
                            item.ast,
                            values,
                            copy_arrays_from_device(device_, p.executable->buffers(), buffers),
                            {}};
    if (options_.before_kernel) options_.before_kernel(step);
    launch(p, item, arguments);
    if (!options_.on_kernel) return 0;
    device_.synchronize().value_or_throw();
    step.after = copy_arrays_from_device(device_, p.executable->buffers(), buffers);
    options_.on_kernel(step);
    return 0;
  }

 private:
  void report_uncompiled_kernel(const ScheduleItem& item, const VariableValues& values) {
    std::vector<UOp> nodes = toposort(item.ast);
    std::vector<BufferSpec> specs = buffers_of_nodes(nodes);
    std::vector<DeviceBuffer> buffers;
    for (const BufferSpec& spec : specs) buffers.push_back(memory_.at(buffer_of(item, spec)));
    options_.before_kernel({"", num_launched_, item.ast, values, copy_arrays_from_device(device_, specs, buffers), {}});
  }

  static size_t buffer_of(const ScheduleItem& item, const BufferSpec& spec) {
    if (spec.argument_number < 0 || size_t(spec.argument_number) >= item.buffers.size())
      throw Failure("the kernel has " + spec.name() + ", but only " + count_text(item.buffers.size(), "buffer"));
    return item.buffers[size_t(spec.argument_number)];
  }

  void copy_item_buffer(const ScheduleItem& item) {
    if (item.buffers.size() < 2) throw Failure("a copy has no source or no target");
    copy_device_buffer(device_, memory_.at(item.buffers[0]), memory_.at(item.buffers[1])).value_or_throw();
  }

  void launch(PreparedKernel& p, const ScheduleItem& item, const LaunchArguments& arguments) {
    if (!runner_.observer_.should_time_kernels() || !p.executable->info())
      return p.kernel->launch(arguments).value_or_throw(), void();
    for (size_t buffer : item.buffers) count_used_bytes(buffer);
    double seconds = p.kernel->time_launch(arguments).value_or_throw();
    runner_.observer_.on_kernel_run(*p.executable->info(), *runner_.placement_.target, used_bytes_, {&seconds, 1});
  }

  // Adds a buffer's bytes to used_bytes_ once: for an input before the first kernel runs, else when a kernel first uses
  // the buffer, because tinygrad allocates it then. Ignores views.
  void count_used_bytes(size_t buffer) {
    if (schedule_.buffers[buffer].view_of || is_buffer_used_[buffer]) return;
    is_buffer_used_[buffer] = true;
    used_bytes_ += double(schedule_.buffers[buffer].nbytes());
  }

  ScheduleRunner& runner_;
  Device& device_;
  const Schedule& schedule_;
  const ScheduleOptions& options_;
  ScheduleMemory memory_;
  VariableValues bound_variables_;
  std::vector<bool> is_buffer_used_;
  double used_bytes_ = 0;
  size_t num_launched_ = 0;
};

Result<ScheduleResult> ScheduleRunner::run_schedule(const Schedule& schedule, const BufferValues& known,
                                           std::span<const OutputRequest> wanted, const ScheduleOptions& options) {
  return catch_failures([&] { return run_all_kernels(schedule, known, wanted, options); });
}

ScheduleResult ScheduleRunner::run_all_kernels(const Schedule& schedule, const BufferValues& known,
                                               std::span<const OutputRequest> wanted, const ScheduleOptions& options) {
  compile_seconds_ = options.compile_seconds;
  if (!observer_.observes_kernels()) prepare_kernels(schedule);
  bool contained = !options.should_run_in_process;
  std::vector<Array> values;
  for (const OutputRequest& w : wanted)
    values.push_back(contained ? Array::allocate_shared(w.dtype, w.shape) : Array(w.dtype, w.shape));
  if (!contained) return run_on_device(*placement_.device, std::move(values), schedule, known, wanted, options);

  ContainedDevice worker(*placement_.device, placement_.label, options.timeout_seconds);
  for (const Array& a : values) worker.allow_access(a.data(), a.nbytes());
  for (auto& [buffer, data] : known) worker.allow_access(data.data, data.bytes);
  struct KernelUnloader {  // unloads the kernels before the worker ends
    ScheduleRunner& runner;
    ~KernelUnloader() {
      for (auto& [ast, p] : runner.prepared_kernels_) p->kernel.reset();
    }
  } unload{*this};
  if (placement_.is_ref) prepare_ref_kernels(worker, schedule, options.timeout_seconds);
  return run_on_device(worker, std::move(values), schedule, known, wanted, options);
}

ScheduleResult ScheduleRunner::run_on_device(Device& device, std::vector<Array> values, const Schedule& schedule,
                                             const BufferValues& known, std::span<const OutputRequest> wanted,
                                             const ScheduleOptions& options) {
  ScheduleResult out;
  out.num_kernels =
      size_t(std::ranges::count_if(schedule.items, [](const ScheduleItem& item) { return item.ast.is(Op::SINK); }));
  device.open().value_or_throw();
  if (!observer_.observes_kernels())
    for (const ScheduleItem& item : schedule.items)
      if (item.ast.is(Op::SINK) && !(options.before_kernel && lowered_kernel(item.ast).compile_error))
        prepare_kernel(item.ast, device);
  Run run(*this, device, schedule, known, options);
  const MemoryPlan& plan = run.memory().plan();
  out.unplanned_bytes = uint64_t(plan.planned_bytes_before), out.planned_bytes = uint64_t(plan.planned_bytes_after);

  if (!observer_.observes_kernels()) observer_.on_progress("running the kernels: " + std::to_string(out.num_kernels));
  auto begin = Clock::now();
  for (const ScheduleItem& item : schedule.items) run.item(item, false);
  device.synchronize().value_or_throw();
  out.run_seconds = seconds_since(begin);
  check_all_guards(device).value_or_throw();
  for (size_t i = 0; i < wanted.size(); i++)
    device.copy_out(values[i].data(), run.memory().at(wanted[i].buffer).subbuffer(0, values[i].nbytes()))
        .value_or_throw();
  out.values = std::move(values);
  for (int n = 0; n < options.timed_runs; n++) {
    for (size_t i = 0, k = 0; i < schedule.items.size(); i++) {
      double seconds = run.item(schedule.items[i], true);
      if (!schedule.items[i].ast.is(Op::SINK)) continue;
      if (n == 0)
        out.timed_kernels.push_back({prepare_kernel(schedule.items[i].ast, device).executable->name(), i, seconds});
      out.timed_kernels[k].run_seconds = std::min(out.timed_kernels[k].run_seconds, seconds);
      k++;
    }
  }
  return out;
}

namespace {

// Alignment in bytes of values that are used in place: compiled kernels load vectors, REF loads single elements.
constexpr uintptr_t kCompiledAlignment = 64, kRefAlignment = 8;

// Initial values with fewer bytes are copied, unless they are mapped from a file.
constexpr uint64_t kMinBytesInPlace = 1 << 20;

// Releases the whole pages of mapped data to the operating system.
void drop_pages(const uint8_t* data, uint64_t bytes) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE)), begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(data + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

ScheduleMemory::ScheduleMemory(Device& device, bool is_ref, const Schedule& schedule, const BufferValues& known,
                               const Settings& settings)
    : device_(device),
      is_ref_(is_ref),
      memory_plan_(plan_memory(schedule, settings)),
      device_buffers_(schedule.buffers.size()) {
  std::vector<DeviceBuffer> shared;
  for (const SharedBuffer& s : memory_plan_.shared_buffers) shared.push_back(allocate(uint64_t(s.size_bytes)));
  for (size_t i = 0; i < device_buffers_.size(); i++) {
    const ScheduleBuffer& b = schedule.buffers[i];
    if (b.view_of) continue;
    const BufferPlace& planned = memory_plan_.buffer_places[i];
    if (auto found = known.find(b.uop); found != known.end()) device_buffers_[i] = store_data(found->second);
    else if (b.is_input) throw Failure("a buffer has no values");
    else if (planned.shared_index)
      device_buffers_[i] =
          shared[*planned.shared_index].subbuffer(uint64_t(planned.offset_bytes), uint64_t(b.nbytes()));
    else if (!planned.reused_buffer) device_buffers_[i] = allocate(uint64_t(b.nbytes()));
  }
  for (size_t i = 0; i < device_buffers_.size(); i++)
    if (auto same = memory_plan_.buffer_places[i].reused_buffer; same && device_buffers_[i].bytes == 0)
      device_buffers_[i] = device_buffers_[*same];
  for (size_t i = 0; i < device_buffers_.size(); i++)
    if (const ScheduleBuffer& b = schedule.buffers[i]; b.view_of)
      device_buffers_[i] = device_buffers_[*b.view_of].subbuffer(uint64_t(b.offset_bytes), uint64_t(b.nbytes()));
}

ScheduleMemory::~ScheduleMemory() {
  for (const DeviceBuffer& b : owned_buffers_) device_.free(b);
}

DeviceBuffer ScheduleMemory::allocate(uint64_t bytes) {
  owned_buffers_.push_back(device_.allocate(std::max<uint64_t>(bytes, 1)).value_or_throw());
  return owned_buffers_.back().subbuffer(0, bytes);
}

DeviceBuffer ScheduleMemory::store_data(const HostData& data) {
  auto address = reinterpret_cast<uintptr_t>(data.data);
  bool worth_it = data.is_mapped || data.bytes >= kMinBytesInPlace;
  if (worth_it && can_take_host_addresses(device_) && address % (is_ref_ ? kRefAlignment : kCompiledAlignment) == 0)
    return {address, 0, data.bytes};
  DeviceBuffer out = allocate(data.bytes);
  constexpr uint64_t kPiece = 16 << 20;  // dropping mapped pages after each piece limits memory use
  for (uint64_t at = 0, size; at < data.bytes; at += size) {
    size = data.is_mapped ? std::min(kPiece, data.bytes - at) : data.bytes;
    device_.copy_in(out.subbuffer(at, size), data.data + at).value_or_throw();
    if (data.is_mapped) drop_pages(data.data + at, size);
  }
  return out;
}

}  // namespace tgc
