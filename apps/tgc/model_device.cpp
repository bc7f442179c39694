#include "apps/tgc/model_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "apps/tgc/habits.h"
#include "lib/compilation/outputs.h"
#include "lib/model/realize.h"
#include "lib/model/tensor_state.h"
#include "lib/runtime/host_device.h"
#include "lib/uop/copy.h"
#include "passes/tensor/memory_planner.h"
#include "passes/tensor/sched_cache.h"

namespace tgc {
namespace {

constexpr uintptr_t kAlignment = 64;  // vector loads of compiled kernels rely on it

// The memory of a schedule's buffers on a device; freed with this.
class ScheduleMemory {
 public:
  ScheduleMemory(Device& device, Graph& graph, const Schedule& schedule) : device_(device), plan_(plan_memory(schedule, graph.settings())) {
    auto* host = dynamic_cast<HostDevice*>(&device);
    auto& data = tensor_state(graph).data;
    for (auto& shared : plan_.shared) shared_.push_back(allocate(uint64_t(shared.size)));
    places_.resize(schedule.buffers.size());
    for (size_t i = 0; i < places_.size(); i++) {
      auto& b = schedule.buffers[i];
      if (b.view_of) continue;
      auto found = data.find(b.uop);
      if (found != data.end()) {
        places_[i] = known(host, found->second);
      } else if (b.is_input) {
        throw Failure("a buffer has no values");
      } else {
        auto& place = plan_.places[i];
        if (place.shared) places_[i] = shared_[*place.shared].view(uint64_t(place.offset), uint64_t(b.nbytes()));
        else if (!place.same_as) places_[i] = allocate(uint64_t(b.nbytes()));
      }
    }
    for (size_t i = 0; i < places_.size(); i++)
      if (auto same = plan_.places[i].same_as; same && places_[i].bytes == 0) places_[i] = places_[*same];
    for (size_t i = 0; i < places_.size(); i++)
      if (auto& b = schedule.buffers[i]; b.view_of) places_[i] = places_[*b.view_of].view(uint64_t(b.offset), uint64_t(b.nbytes()));
  }
  ~ScheduleMemory() {
    for (auto& b : owned_) device_.free(b);
  }
  ScheduleMemory(const ScheduleMemory&) = delete;

  const DeviceBuffer& at(size_t i) const { return places_[i]; }
  const MemoryPlan& plan() const { return plan_; }

 private:
  DeviceBuffer allocate(uint64_t bytes) {
    owned_.push_back(device_.allocate(std::max<uint64_t>(bytes, 1)).value_or_throw());
    return owned_.back().view(0, bytes);
  }
  DeviceBuffer known(HostDevice* host, const HostData& data) {
    auto address = reinterpret_cast<uintptr_t>(data.data);
    if (host && address % kAlignment == 0) return {address, 0, data.bytes};
    DeviceBuffer out = allocate(data.bytes);
    constexpr uint64_t kPiece = 16 << 20;  // of what is mapped, no more is in memory twice
    for (uint64_t at = 0, size; at < data.bytes; at += size) {
      size = data.mapped ? std::min(kPiece, data.bytes - at) : data.bytes;
      device_.copy_in(out.view(at, size), data.data + at).value_or_throw();
      if (data.mapped) drop_pages(data.data + at, size);
    }
    return out;
  }

  // What was copied need not stay in memory twice: the whole pages of it go back to the system.
  static void drop_pages(const uint8_t* data, uint64_t bytes) {
    auto page = uintptr_t(sysconf(_SC_PAGESIZE)), begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
    uintptr_t end = reinterpret_cast<uintptr_t>(data + bytes) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  Device& device_;
  MemoryPlan plan_;
  std::vector<DeviceBuffer> owned_, shared_, places_;
};

Arrays arrays_in(Device& device, const std::vector<BufferSpec>& specs, std::span<const DeviceBuffer> buffers) {
  Arrays out;
  for (size_t i = 0; i < specs.size(); i++) {
    Array a(specs[i].dtype, {int64_t(buffers[i].bytes) / specs[i].dtype.itemsize()});
    device.copy_out(a.data(), buffers[i].view(0, a.nbytes())).value_or_throw();
    out.push_back({specs[i].name(), std::move(a)});
  }
  return out;
}

}  // namespace

// A kernel in a Graph of its own, compiled and loaded.
struct ModelDevice::Prepared {
  std::unique_ptr<Graph> graph;
  std::optional<Executable> executable;
  std::unique_ptr<Kernel> kernel;
  std::optional<Diag> trouble;

  // With `names`, those given to kernels before, this one gets another, and what DEBUG shows of it is shown.
  void lower(UOp ast, RunDevice& place, std::map<std::string, int>* names = nullptr) {
    auto status = catch_failures([&] {
      graph = std::make_unique<Graph>(ast.graph().settings());
      UOp own = copy_into(*graph, ast);
      if (!place.target) {
        executable.emplace(std::move(Executable::for_ref(own).value_or_throw()));
        return Unit{};
      }
      KernelJob job{*graph, *place.target};
      if (names) {
        own = begin_kernel(job, own);
        show_ast(job.settings(), own);
        std::swap(job.name_counts, *names);
      }
      UOp sink = run_kernel_stages(job, own).value_or_throw();
      KernelOutputs outputs(job, sink);
      if (names) {
        show_compiled(job.settings(), sink, outputs, true).value_or_throw();
        std::swap(job.name_counts, *names);
      }
      if (!outputs.list()) throw Failure(outputs.list().diag());
      const std::vector<UOp>& list = *outputs.list();
      executable.emplace(std::move((place.is_ref ? Executable::for_ref(list) : Executable::for_device(list, *place.target, *place.device)).value_or_throw()));
      return Unit{};
    });
    if (!status) trouble = status.diag();
  }
};

ModelDevice::ModelDevice(RunDevice& place, int jobs, std::function<void(const std::string&)> progress) : place_(place), jobs_(jobs), progress_(std::move(progress)) {}
ModelDevice::~ModelDevice() = default;

void ModelDevice::prepare_all(const Schedule& schedule) {
  std::vector<std::pair<UOp, Prepared*>> work;
  for (auto& item : schedule.items) {
    if (!item.ast.is(Op::SINK)) continue;
    auto& slot = prepared_[item.ast];
    if (slot) continue;
    slot = std::make_unique<Prepared>();
    work.emplace_back(item.ast, slot.get());
  }
  std::atomic<size_t> next = 0;
  auto worker = [&] {
    for (size_t i; (i = next++) < work.size();) work[i].second->lower(work[i].first, place_);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < std::min<int>(jobs_, int(work.size())); i++) threads.emplace_back(worker);
  for (size_t i; (i = next++) < work.size();) {
    if (progress_) progress_("compiling kernels: " + std::to_string(i + 1) + " of " + std::to_string(work.size()));
    work[i].second->lower(work[i].first, place_);
  }
  for (auto& t : threads) t.join();
  place_.device->open().value_or_throw();
  for (auto& [ast, p] : work) {
    if (p->trouble) throw Failure(*p->trouble);
    p->kernel = std::move(p->executable->load(*place_.device).value_or_throw());
  }
}

// The kernel, made when it is first run, with what DEBUG tells of it on the way (as tinygrad, which compiles between runs).
ModelDevice::Prepared& ModelDevice::prepare_and_tell(UOp ast) {
  auto& slot = prepared_[ast];
  if (slot) return *slot;
  slot = std::make_unique<Prepared>();
  slot->lower(ast, place_, &names_);
  if (slot->trouble) throw Failure(*slot->trouble);
  slot->kernel = std::move(slot->executable->load(*place_.device).value_or_throw());
  return *slot;
}

std::vector<Array> ModelDevice::realize(std::span<const Tensor> tensors, const Options& options) {
  auto [out, graphs, which] = split_plain_values(tensors);
  if (graphs.empty()) return std::move(out);
  Graph& graph = graphs[0].graph();
  Schedule made = schedule(graph, graph.sink(graphs));
  std::vector<Wanted> wanted;
  for (size_t i = 0; i < graphs.size(); i++) {
    const Tensor& t = tensors[which[i]];
    if (made.outputs[i].empty()) throw Failure("a tensor that no kernel makes");
    auto shape = t.shape();
    wanted.push_back({made.outputs[i][0], t.dtype(), {shape.begin(), shape.end()}});
  }
  auto values = run(graph, made, wanted, options);
  for (size_t i = 0; i < values.size(); i++) out[which[i]] = std::move(values[i]);
  return std::move(out);
}

Schedule ModelDevice::schedule(Graph& graph, UOp sink) {
  if (progress_) progress_("scheduling");
  auto begin = std::chrono::steady_clock::now();
  TensorJob job(graph);
  Schedule out = make_schedule(job, sink).value_or_throw();
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (graph.settings().DEBUG >= 1) show_schedule(graph.settings(), out.items.size(), taken.count(), to_hex(sched_cache_key(job.keyed)), graph.size());
  return out;
}

// One run of a schedule.
class ModelDevice::Session {
 public:
  Session(ModelDevice& owner, Graph& graph, const Schedule& schedule, const Options& options)
      : o_(owner), device_(*owner.place_.device), settings_(graph.settings()), schedule_(schedule), options_(options), memory_(device_, graph, schedule),
        bound_(schedule.var_vals.begin(), schedule.var_vals.end()), used_(schedule.buffers.size()) {
    for (size_t i = 0; i < schedule.buffers.size(); i++)
      if (schedule.buffers[i].is_input) use(i);
  }

  const ScheduleMemory& memory() const { return memory_; }

  // Seconds, when it is timed.
  double run(const ScheduleItem& item, bool timed) {
    if (item.ast.is(Op::COPY)) return copy(item);
    if (!item.ast.is(Op::SINK)) return 0;  // a view
    Prepared& p = has_habits(settings_) ? o_.prepare_and_tell(item.ast) : *o_.prepared_.at(item.ast);
    VariableValues values = bound_;
    for (auto& [name, value] : item.fixed_vars) values[name] = value;
    std::vector<DeviceBuffer> buffers;
    for (auto& spec : p.executable->buffers()) buffers.push_back(memory_.at(item.buffers[size_t(spec.number)]));
    auto variables = p.executable->arguments(values).value_or_throw();
    LaunchArguments arguments{.buffers = buffers, .variables = variables, .size = p.executable->launch_size(values).value_or_throw()};
    if (timed) return p.kernel->time(arguments).value_or_throw();
    if (options_.on_kernel) {
      KernelTrial trial{p.executable->name(), launched_++, item.ast, values, arrays_in(device_, p.executable->buffers(), buffers), {}};
      launch(p, item, arguments);
      device_.synchronize().value_or_throw();
      trial.after = arrays_in(device_, p.executable->buffers(), buffers);
      options_.on_kernel(trial);
    } else {
      launch(p, item, arguments);
    }
    return 0;
  }

 private:
  double copy(const ScheduleItem& item) {
    HostMemory bytes(memory_.at(item.buffers[1]).bytes);
    device_.copy_out(bytes.data(), memory_.at(item.buffers[1])).value_or_throw();
    device_.copy_in(memory_.at(item.buffers[0]), bytes.data()).value_or_throw();
    return 0;
  }

  // With DEBUG=2 each kernel is timed, and its line printed.
  void launch(Prepared& p, const ScheduleItem& item, const LaunchArguments& arguments) {
    if (settings_.DEBUG < 2 || !p.executable->info()) return p.kernel->launch(arguments).value_or_throw(), void();
    for (size_t buffer : item.buffers) use(buffer);
    double seconds = p.kernel->time(arguments).value_or_throw();
    seconds_in_all_ += seconds;
    show_kernel(settings_, *p.executable->info(), o_.place_.target->device, used_bytes_, KernelTime{seconds, seconds_in_all_});
  }

  // tinygrad allocates a buffer when a kernel first wants it.
  void use(size_t buffer) {
    if (schedule_.buffers[buffer].view_of || used_[buffer]) return;
    used_[buffer] = true;
    used_bytes_ += double(schedule_.buffers[buffer].nbytes());
  }

  ModelDevice& o_;
  Device& device_;
  const Settings& settings_;
  const Schedule& schedule_;
  const Options& options_;
  ScheduleMemory memory_;
  VariableValues bound_;
  std::vector<bool> used_;
  double used_bytes_ = 0, seconds_in_all_ = 0;
  size_t launched_ = 0;
};

std::vector<Array> ModelDevice::run(Graph& graph, const Schedule& schedule, std::span<const Wanted> wanted, const Options& options) {
  runs_.clear();
  kernels_ = size_t(std::ranges::count_if(schedule.items, [](const ScheduleItem& item) { return item.ast.is(Op::SINK); }));
  if (has_habits(graph.settings())) place_.device->open().value_or_throw();  // DEBUG wants to see kernels one after another
  else prepare_all(schedule);
  Session session(*this, graph, schedule, options);
  const MemoryPlan& plan = session.memory().plan();
  bytes_before_ = uint64_t(plan.planned_before), bytes_after_ = uint64_t(plan.planned_after);

  if (progress_ && !has_habits(graph.settings())) progress_("running " + std::to_string(kernels_) + " kernels");
  auto begin = std::chrono::steady_clock::now();
  for (auto& item : schedule.items) session.run(item, false);
  place_.device->synchronize().value_or_throw();
  run_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<Array> out;
  for (const Wanted& w : wanted) {
    out.emplace_back(w.dtype, w.shape);
    place_.device->copy_out(out.back().data(), session.memory().at(w.buffer).view(0, out.back().nbytes())).value_or_throw();
  }
  for (int n = 0; n < options.timed_runs; n++) {
    for (size_t i = 0, k = 0; i < schedule.items.size(); i++) {
      auto& item = schedule.items[i];
      double seconds = session.run(item, true);
      if (!item.ast.is(Op::SINK)) continue;
      if (n == 0) runs_.push_back({prepared_.at(item.ast)->executable->name(), i, seconds});
      runs_[k].seconds = std::min(runs_[k].seconds, seconds);
      k++;
    }
  }
  return out;
}

}  // namespace tgc
