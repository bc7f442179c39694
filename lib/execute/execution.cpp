#include "lib/execute/execution.h"

#include <algorithm>
#include <cstring>

#include "lib/runtime/npy.h"
#include "lib/runtime/random.h"
#include "lib/runtime/ref/ref_device.h"

namespace tgc {
namespace {

// Buffers of a device that are freed at the end.
class Buffers {
 public:
  explicit Buffers(Device& device) : device_(device) {}
  ~Buffers() {
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

// What comes back from the process: the times, the notes, the bytes of the outputs.
std::string pack(const Execution& e) {
  std::string out;
  auto number = [&](uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); };
  number(e.seconds.size());
  out.append(reinterpret_cast<const char*>(e.seconds.data()), e.seconds.size() * sizeof(double));
  number(e.notes.size());
  out += e.notes;
  number(e.makes_nans);
  for (const NamedArray& a : e.outputs) out.append(reinterpret_cast<const char*>(a.array.data()), a.array.nbytes());
  return out;
}

void unpack(std::string_view bytes, Execution& e) {
  auto take = [&](void* to, size_t n) {
    if (n > bytes.size()) throw Failure("the kernel's process sent an answer that is cut short");
    if (n) std::memcpy(to, bytes.data(), n);
    bytes.remove_prefix(n);
  };
  uint64_t n;
  take(&n, sizeof n);
  e.seconds.resize(n);
  take(e.seconds.data(), n * sizeof(double));
  take(&n, sizeof n);
  e.notes.resize(n);
  take(e.notes.data(), n);
  take(&n, sizeof n);
  e.makes_nans = n != 0;
  for (NamedArray& a : e.outputs) take(a.array.data(), a.array.nbytes());
}

Arrays empty_outputs(const std::vector<BufferSpec>& buffers, const Arrays& inputs) {
  Arrays out;
  for (size_t i = 0; i < buffers.size(); i++)
    if (buffers[i].written)
      out.push_back({inputs[i].name,
                     Array(inputs[i].array.dtype(), {inputs[i].array.shape().begin(), inputs[i].array.shape().end()})});
  return out;
}

void copy_outputs(Device& device, const std::vector<BufferSpec>& specs, std::span<const DeviceBuffer> buffers,
                  Arrays& outputs) {
  size_t n = 0;
  for (size_t i = 0; i < specs.size(); i++)
    if (specs[i].written) device.copy_out(outputs[n++].array.data(), buffers[i]).value_or_throw();
}

// In the process that holds the device.
void run_on(Executable& executable, Device& device, const Arrays& inputs, const LaunchArguments& facts, int repeats,
            Execution& out) {
  device.open().value_or_throw();
  Buffers buffers(device);
  for (const NamedArray& a : inputs) buffers.add(a.array);
  auto kernel = std::move(executable.load(device).value_or_throw());
  LaunchArguments arguments = facts;
  arguments.buffers = buffers.list();
  kernel->launch(arguments).value_or_throw();
  device.synchronize().value_or_throw();
  // what it made of the inputs, before it runs on its own outputs
  copy_outputs(device, executable.buffers(), buffers.list(), out.outputs);
  constexpr int kWarmUps = 2;
  for (int i = -kWarmUps; i < repeats; i++) {
    if (repeats == 0) break;
    double seconds = kernel->time(arguments).value_or_throw();
    if (i >= 0) out.seconds.push_back(seconds);
  }
  if (auto* ref = dynamic_cast<RefKernel*>(kernel.get())) {
    out.notes = ref->notes().text();
    out.makes_nans = ref->notes().outside_domain > 0;
  }
}

constexpr int kCopies = 3;  // of each array: here, on the device, on its way back

Diag misfit(const BufferSpec& spec, const std::string& what, const std::string& source) {
  return {.message = spec.name() + " " + what, .file = source, .expected = spec.describe()};
}

Array array_for(const BufferSpec& spec, const Array* given, const std::string& source, std::optional<Drawing> draw) {
  if (!given) {
    if (spec.read && !draw) throw Failure(misfit(spec, "is missing", source));
    if (spec.size < 0) throw Failure(misfit(spec, "has no size of its own: give the array", source));
    Array out(spec.dtype, {spec.size});
    if (spec.read) fill_random(out, draw->seed, spec.name(), draw->floats);
    return out;
  }
  auto array = adopt_dtype(given->copy(), spec.dtype, spec.name());
  if (!array) throw Failure(misfit(spec, "is " + given->describe(), source));
  if (spec.size >= 0 && array->size() != spec.size) throw Failure(misfit(spec, "is " + given->describe(), source));
  return std::move(*array);
}

}  // namespace

Result<Arrays> input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                            std::optional<Drawing> draw) {
  return catch_failures([&] {
    double bytes = 0;  // a double, for sizes that do not fit 64 bits
    for (const BufferSpec& spec : buffers) bytes += double(std::max<int64_t>(spec.size, 0)) * spec.dtype.itemsize();
    uint64_t free = available_memory();
    if (bytes * kCopies > double(free))
      throw Failure("not enough memory: the kernel's arrays take " + bytes_text(uint64_t(std::min(bytes, 1e18))) +
                    ", each " + std::to_string(kCopies) + " times (here, on the device, on the way back), and " +
                    bytes_text(free) + " are free");
    Arrays out;
    for (const BufferSpec& spec : buffers)
      out.push_back({spec.name(), array_for(spec, find_array(given, spec.name()), source, draw)});
    return out;
  });
}

Result<Execution> execute(Executable& kernel, Device& device, const Arrays& inputs, const VariableValues& variables,
                          const ExecuteOptions& options) {
  return catch_failures([&] {
    auto values = std::move(kernel.arguments(variables).value_or_throw());
    LaunchArguments arguments{
        .buffers = {}, .variables = values, .size = kernel.launch_size(variables).value_or_throw()};
    Execution out;
    out.outputs = empty_outputs(kernel.buffers(), inputs);
    if (options.in_process) {
      run_on(kernel, device, inputs, arguments, options.repeats, out);
      return out;
    }
    auto answer = contain(
        [&]() -> Result<std::string> {
          return catch_failures([&] {
            run_on(kernel, device, inputs, arguments, options.repeats, out);
            return pack(out);
          });
        },
        {.timeout_seconds = options.timeout_seconds});
    unpack(answer.value_or_throw(), out);
    return out;
  });
}

}  // namespace tgc
