#include "lib/execute/execution.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lib/compile/driver_room.h"
#include "lib/contain/bytes.h"
#include "lib/runtime/host_device.h"
#include "lib/runtime/npz.h"
#include "lib/support/deadline.h"

namespace tgc {

namespace {

class BufferList {
 public:
  explicit BufferList(Device& device) : device_(device) {}
  ~BufferList() {
    for (const DeviceBuffer& b : list_) device_.free(b);
  }
  void add(const Array& array) {
    list_.push_back(device_.allocate(array.nbytes()).value_or_throw());
    if (array.nbytes()) device_.copy_in(list_.back(), array.data()).value_or_throw();
  }
  std::span<const DeviceBuffer> list() const { return list_; }

 private:
  Device& device_;
  std::vector<DeviceBuffer> list_;
};

// Leaves out the outputs, which the worker writes to shared memory.
std::string pack_result(const ExecutionResult& e) {
  ByteWriter out;
  out.write_number(e.run_seconds.size()).write_bytes(e.run_seconds.data(), e.run_seconds.size() * sizeof(double));
  return out.write_text(e.notes).write_number(e.makes_nans).write_number(e.num_evaluations).take_bytes();
}

void unpack_result(std::string_view bytes, int repeats, ExecutionResult& e) {
  ByteReader in(bytes);
  e.run_seconds.resize(std::min(in.read_number(), uint64_t(repeats)));
  in.read_bytes(e.run_seconds.data(), e.run_seconds.size() * sizeof(double));
  e.notes = in.read_text();
  e.makes_nans = in.read_number() != 0;
  e.num_evaluations = in.read_number();
}

Arrays allocate_outputs(const std::vector<BufferSpec>& buffers, const Arrays& inputs, bool in_process) {
  Arrays out;
  for (size_t i = 0; i < buffers.size(); i++) {
    if (!buffers[i].is_written) continue;
    const Array& like = inputs[i].array;
    std::vector<int64_t> shape(like.shape().begin(), like.shape().end());
    out.push_back(
        {inputs[i].name, in_process ? Array(like.dtype(), shape) : Array::allocate_shared(like.dtype(), shape)});
  }
  return out;
}

void copy_outputs(Device& device, const std::vector<BufferSpec>& specs, std::span<const DeviceBuffer> buffers,
                  Arrays& outputs) {
  size_t n = 0;
  for (size_t i = 0; i < specs.size(); i++)
    if (specs[i].is_written) device.copy_out(outputs[n++].array.data(), buffers[i]).value_or_throw();
}

// Memory that a confined worker with a compiled kernel may allocate; the kernel needs only its stack.
constexpr uint64_t kKernelMemoryBytes = uint64_t(1) << 30;

std::vector<NamedMemory> named_memory_of(const std::vector<BufferSpec>& specs, std::span<const DeviceBuffer> buffers) {
  std::vector<NamedMemory> out;
  for (size_t i = 0; i < specs.size(); i++)
    out.push_back({specs[i].name(), buffers[i].handle + buffers[i].offset, buffers[i].bytes});
  return out;
}

void check_buffer_guards(Device& device, const std::vector<BufferSpec>& specs, std::span<const DeviceBuffer> buffers) {
  auto* host = dynamic_cast<HostDevice*>(&device);
  for (size_t i = 0; host && i < specs.size(); i++)
    if (auto whole = host->check_guards(buffers[i]); !whole)
      throw Failure(Diag{.message = "the kernel " + whole.diag().message + " of " + specs[i].name() + ", " +
                                    bytes_text(buffers[i].bytes),
                         .is_kernel_fault = true});
}

// Confines `worker`, if not null, unless the device has a driver. `memory` limits what REF may allocate, in bytes.
void run_on_device(Executable& executable, Device& device, const Arrays& inputs, const LaunchArguments& facts,
                   const ExecuteOptions& options, Worker* worker, uint64_t memory, ExecutionResult& out) {
  const Deadline trial = deadline_within(options.timeout_seconds);
  device.open().value_or_throw();
  BufferList buffers(device);
  for (const NamedArray& a : inputs) buffers.add(a.array);
  auto kernel = std::move(executable.load(device).value_or_throw());
  LaunchArguments arguments = facts;
  arguments.buffers = buffers.list();
  device.prepare_launches(facts.launch_size.global_size[0]);
  auto* ref = dynamic_cast<RefKernel*>(kernel.get());
  if (ref) ref->set_time_limit_seconds(options.timeout_seconds);
  std::vector<NamedMemory> names = named_memory_of(executable.buffers(), buffers.list());
  if (worker && !device.has_driver()) {
    worker->watch_memory(names);
    worker->confine_process({.rights = WorkerRights::Compute,
                     .memory_bytes = ref ? memory : kKernelMemoryBytes,
                     .cpu_seconds = trial.limit_seconds * facts.launch_size.global_size[0]});
  }
  const Clock::time_point begin = Clock::now();
  kernel->launch(arguments).value_or_throw();
  device.synchronize().value_or_throw();
  double longest = seconds_since(begin);
  check_buffer_guards(device, executable.buffers(), buffers.list());
  // copy the outputs now, because each later run starts with the results of the run before it
  copy_outputs(device, executable.buffers(), buffers.list(), out.outputs);
  constexpr int kWarmUps = 2;
  for (int i = -kWarmUps; i < options.num_repeats; i++) {
    // another slow run, the comparison of the results and the report must fit into the time limit
    constexpr double kReport = 2e-7;  // seconds that it takes to send and sort the time of one run
    const double rest = 2 * longest + kReport * double(out.run_seconds.size()) + trial.limit_seconds / 10;
    if (options.num_repeats == 0 || trial.seconds_left() < rest) break;
    const Clock::time_point repeat = Clock::now();
    double seconds = kernel->time_launch(arguments).value_or_throw();
    longest = std::max(longest, seconds_since(repeat));
    if (i >= 0) out.run_seconds.push_back(seconds);
  }
  if (ref) {
    const RefResult& result = ref->result();
    out.notes = result.notes.text();
    out.makes_nans = result.notes.num_domain_errors > 0;
    out.num_evaluations = result.num_evaluations;
  }
}

// copies of each array: the input and the output in this process, and the device's buffer
constexpr int kCopiesPerArray = 3;

Diag array_error(const BufferSpec& spec, const std::string& what, const std::string& source) {
  return {.message = spec.name() + " " + what, .file = source, .expected = spec.describe()};
}

Array make_input_array(const BufferSpec& spec, const Array* given, const std::string& source,
                       std::optional<InputDistribution> draw) {
  if (!given) {
    if (spec.is_read && !draw) throw Failure(array_error(spec, "is missing", source));
    if (spec.num_elements < 0) throw Failure(array_error(spec, "has no size of its own: give the array", source));
    Array out(spec.dtype, {spec.num_elements});
    if (spec.is_read) fill_random(out, draw->seed, spec.name(), draw->float_kind_of(spec.name()));
    return out;
  }
  auto array = reinterpret_raw_bits(given->copy(), spec.dtype, spec.name());
  if (!array) throw Failure(array_error(spec, "is " + given->describe(), source));
  if (spec.num_elements >= 0 && array->size() != spec.num_elements)
    throw Failure(array_error(spec, "is " + given->describe(), source));
  return std::move(*array);
}

}  // namespace

Result<Arrays> make_input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                                 std::optional<InputDistribution> draw) {
  return catch_failures([&] {
    double bytes = 0;  // a double, because the size may exceed 64 bits
    for (const BufferSpec& spec : buffers)
      bytes += double(std::max<int64_t>(spec.num_elements, 0)) * spec.dtype.itemsize();
    uint64_t free = available_memory_for(bytes);
    if (bytes * kCopiesPerArray > double(free))
      throw Failure("not enough memory: the kernel's arrays take " + bytes_text(uint64_t(std::min(bytes, 1e18))) +
                    ", each " + std::to_string(kCopiesPerArray) +
                    " times (here, on the device, on the way back), and " + bytes_text(free) + " are free");
    Arrays out;
    for (const BufferSpec& spec : buffers)
      out.push_back({spec.name(), make_input_array(spec, find_array(given, spec.name()), source, draw)});
    return out;
  });
}

std::function<Result<ExecutionResult>()> begin_execution(Executable& kernel, Device& device, const Arrays& inputs,
                                                   const VariableValues& variables, const ExecuteOptions& options) {
  struct StartedRun {
    ExecutionResult result;
    std::optional<DriverSandbox> sandbox;
    std::optional<WorkerProcess> worker;
  };
  auto begun = std::make_shared<StartedRun>();
  auto done = catch_failures([&] {
    auto values = std::move(kernel.variable_arguments(variables).value_or_throw());
    LaunchArguments arguments{
        .buffers = {}, .variables = values, .launch_size = kernel.launch_size(variables).value_or_throw()};
    ExecutionResult& result = begun->result;
    result.outputs = allocate_outputs(kernel.buffers(), inputs, options.should_run_in_process);
    if (options.should_run_in_process) {
      run_on_device(kernel, device, inputs, arguments, options, nullptr, 0, result);
      return Unit{};
    }
    if (device.has_driver()) begun->sandbox.emplace();
    uint64_t memory = available_memory_bytes();
    auto worker = begin_contained_worker([&](Worker& self) {
      return catch_failures([&] {
        if (begun->sandbox) begun->sandbox->confine_process(self, memory);
        run_on_device(kernel, device, inputs, arguments, options, &self, memory, result);
        return pack_result(result);
      });
    });
    begun->worker.emplace(std::move(worker.value_or_throw()));
    return Unit{};
  });
  if (!done) return [diag = done.diag()] { return Result<ExecutionResult>(diag); };
  return [begun, options] {
    return catch_failures([&] {
      if (begun->worker) {
        auto answer = begun->worker->receive_answer(options.timeout_seconds);
        unpack_result(answer.value_or_throw(), options.num_repeats, begun->result);
        begun->worker.reset();
      }
      return std::move(begun->result);
    });
  };
}

Result<ExecutionResult> execute_kernel(Executable& kernel, Device& device, const Arrays& inputs,
                                       const VariableValues& variables, const ExecuteOptions& options) {
  return begin_execution(kernel, device, inputs, variables, options)();
}

Status run_in_worker(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables) {
  const uint64_t memory = available_memory_bytes();
  auto answer = run_in_sandbox(
      [&](Worker& worker) -> Result<std::string> {
        return catch_failures([&] {
          worker.confine_process({.rights = WorkerRights::Compute, .memory_bytes = memory});
          program.run(buffers, variables).value_or_throw();
          return std::string();
        });
      },
      {});
  return answer ? Status(Unit{}) : Status(answer.diag());
}

Status run_ref_program(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables,
                       bool in_process) {
  if (!in_process) return run_in_worker(program, buffers, variables);
  auto done = program.run(buffers, variables);
  return done ? Status(Unit{}) : Status(done.diag());
}

Array copy_to_shared_memory(const Array& array) {
  Array out = Array::allocate_shared(array.dtype(), {array.shape().begin(), array.shape().end()});
  if (array.nbytes()) std::memcpy(out.data(), array.data(), array.nbytes());
  return out;
}

}  // namespace tgc
