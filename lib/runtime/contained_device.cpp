#include "lib/runtime/contained_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "lib/contain/bytes.h"
#include "lib/runtime/array.h"
#include "lib/runtime/host_device.h"

namespace tgc {

enum class ContainedDevice::Call : uint64_t {
  // requests that the worker answers
  Allocate, CopyIn, CopyOut, Load, Time, Synchronize, CheckGuards,
  // requests that the worker does not answer; its next answer returns their error
  Free, CopyFrom, CopyTo, Copy, Unload, Launch, Confine,
};

struct ContainedDevice::SharedState {
  // number of the kernel launched last, from 1; 0: no launch since the last synchronization
  volatile uint64_t running_kernel_number = 0;
  volatile uint64_t num_launches = 0;
};

namespace {

constexpr uint64_t kKernelMemory = uint64_t(1) << 30;
constexpr uint64_t kPiece = 16 << 20;  // most bytes of a copy in one message

ByteWriter& operator<<(ByteWriter& out, const DeviceBuffer& b) {
  return out.write_number(b.handle).write_number(b.offset).write_number(b.bytes);
}
DeviceBuffer read_buffer(ByteReader& in) {
  uint64_t handle = in.read_number(), offset = in.read_number();
  return {handle, offset, in.read_number()};
}
const void* read_address(ByteReader& in) { return reinterpret_cast<const void*>(in.read_number()); }

}  // namespace

// ---- code that runs in the worker
class ContainedDevice::DeviceServer {
 public:
  DeviceServer(ContainedDevice& of, Worker& worker)
      : parent_device_(of),
        device_(of.device_),
        shared_state_(*of.shared_state_),
        worker_(worker),
        kernels_(std::move(of.adopted_kernels_)) {}

  [[noreturn]] void serve_calls() {
    for (;;) {
      std::string message = worker_.next_message();
      ByteReader in(message);
      auto call = Call(in.read_number());
      ByteWriter out;
      auto done = catch_failures([&] { return handle_call(call, in, out), Unit{}; });
      if (!done && !pending_error_) pending_error_ = done.diag();
      if (call >= Call::Free) continue;
      if (pending_error_) worker_.send_answer(*std::exchange(pending_error_, std::nullopt));
      else worker_.send_answer(out.take_bytes());
    }
  }

 private:
  void handle_call(Call call, ByteReader& in, ByteWriter& out) {
    switch (call) {
      case Call::Allocate: out << device_.allocate(in.read_number()).value_or_throw(); break;
      case Call::CopyIn: {
        DeviceBuffer to = read_buffer(in);
        device_.copy_in(to, in.read_text().data()).value_or_throw();
        break;
      }
      case Call::CopyOut: {
        DeviceBuffer from = read_buffer(in);
        std::string bytes(from.bytes, '\0');
        device_.copy_out(bytes.data(), from).value_or_throw();
        out.write_text(bytes);
        break;
      }
      case Call::Load: {
        KernelSource source{in.read_text(), in.read_text(), in.read_text(), in.read_text()};
        if (const uint64_t before = in.read_number()) source.num_variables_before_core = before - 1;
        source.runs_threads_in_turn = in.read_number() != 0;
        kernels_.push_back(std::move(device_.load(source, in.read_text()).value_or_throw()));
        parent_device_.kernel_names_.push_back(source.name);
        break;
      }
      case Call::Time: {
        double seconds =
            run_launch(in, [](Kernel& k, const LaunchArguments& a) { return k.time_launch(a).value_or_throw(); });
        out.write_bytes(&seconds, sizeof seconds);
        break;
      }
      case Call::Synchronize:
        device_.synchronize().value_or_throw();
        shared_state_.running_kernel_number = 0;
        break;
      case Call::CheckGuards: check_all_guards(device_).value_or_throw(); break;
      case Call::Free: device_.free(read_buffer(in)); break;
      case Call::CopyFrom: {
        DeviceBuffer to = read_buffer(in);
        device_.copy_in(to, read_address(in)).value_or_throw();
        break;
      }
      case Call::CopyTo: {
        DeviceBuffer from = read_buffer(in);
        device_.copy_out(const_cast<void*>(read_address(in)), from).value_or_throw();
        break;
      }
      case Call::Copy: {
        DeviceBuffer to = read_buffer(in);
        copy_device_buffer(device_, to, read_buffer(in)).value_or_throw();
        break;
      }
      case Call::Unload: kernels_.at(in.read_number() - 1).reset(); break;
      case Call::Launch:
        run_launch(in, [](Kernel& k, const LaunchArguments& a) { return k.launch(a).value_or_throw(), 0.0; });
        break;
      case Call::Confine:
        if (!is_confined_) start_and_confine(in.read_number());
        break;
    }
  }

  // If the device has no driver, the worker loses all rights except computing.
  void start_and_confine(size_t threads) {
    is_confined_ = true;
    device_.prepare_launches(threads);
    // adopted kernels are REF's, which allocate memory while they run
    uint64_t memory = parent_device_.has_adopted_kernels_ ? available_memory_bytes() : kKernelMemory;
    if (!device_.has_driver()) worker_.confine_process({.rights = WorkerRights::Compute, .memory_bytes = memory});
  }

  template <class Work>
  double run_launch(ByteReader& in, Work work) {
    if (!is_confined_) start_and_confine(std::max(1u, std::thread::hardware_concurrency()));
    uint64_t number = in.read_number();
    std::vector<DeviceBuffer> buffers(in.read_number());
    for (DeviceBuffer& b : buffers) b = read_buffer(in);
    std::vector<int64_t> variables(in.read_number());
    in.read_bytes(variables.data(), variables.size() * sizeof(int64_t));
    LaunchSize size;
    in.read_bytes(&size, sizeof size);
    // watch this launch's buffers until the next launch: fault reports name them, and the launch may be asynchronous
    if (is_host_device_) {
      watched_memory_.clear();
      for (size_t i = 0; i < buffers.size(); i++)
        watched_memory_.push_back(
            {"data" + std::to_string(i), buffers[i].handle + buffers[i].offset, buffers[i].bytes});
      Worker::watch_memory(watched_memory_);
    }
    Kernel& kernel = *kernels_.at(number - 1);
    shared_state_.running_kernel_number = number;
    shared_state_.num_launches = shared_state_.num_launches + 1;
    try {
      return work(kernel, {buffers, variables, size});
    } catch (Failure& failure) {
      failure.diag().message = parent_device_.kernel_name_prefix(number) + failure.diag().message;
      throw;
    }
  }

  ContainedDevice& parent_device_;
  Device& device_;
  SharedState& shared_state_;
  Worker& worker_;
  bool is_host_device_ = can_take_host_addresses(device_), is_confined_ = false;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<NamedMemory> watched_memory_;
  std::optional<Diag> pending_error_;
};

// ---- code that runs in the process that uses the device
class ContainedDevice::ProxyKernel : public Kernel {
 public:
  ProxyKernel(ContainedDevice& device, uint64_t number) : Kernel(device), owner_(device), kernel_number_(number) {}
  ~ProxyKernel() override {
    owner_.send_call_quietly(
        [&] { return ByteWriter().write_number(uint64_t(Call::Unload)).write_number(kernel_number_).take_bytes(); });
  }

  Status launch(const LaunchArguments& arguments) override {
    return owner_.send_call(encode_launch(Call::Launch, arguments));
  }
  Result<double> time_launch(const LaunchArguments& arguments) override {
    return catch_failures([&] {
      std::string answer = std::move(owner_.ask_worker(encode_launch(Call::Time, arguments)).value_or_throw());
      double seconds;
      ByteReader(answer).read_bytes(&seconds, sizeof seconds);
      return seconds;
    });
  }

 private:
  std::string encode_launch(Call call, const LaunchArguments& a) const {
    ByteWriter out;
    out.write_number(uint64_t(call)).write_number(kernel_number_).write_number(a.buffers.size());
    for (const DeviceBuffer& b : a.buffers) out << b;
    out.write_number(a.variables.size())
        .write_bytes(a.variables.data(), a.variables.size_bytes())
        .write_bytes(&a.launch_size, sizeof a.launch_size);
    return out.take_bytes();
  }

  ContainedDevice& owner_;
  uint64_t kernel_number_;
};

ContainedDevice::ContainedDevice(Device& device, std::string label, double timeout_seconds)
    : device_(device),
      device_label_(std::move(label)),
      timeout_seconds_(timeout_seconds),
      shared_state_(nullptr, [](SharedState* s) { munmap(s, sizeof *s); }) {}
ContainedDevice::~ContainedDevice() = default;

void ContainedDevice::allow_access(const void* begin, size_t bytes) {
  accessible_memory_[reinterpret_cast<uintptr_t>(begin)] = bytes;
}

bool ContainedDevice::can_access(const void* begin, size_t bytes) const {
  auto address = reinterpret_cast<uintptr_t>(begin);
  auto it = accessible_memory_.upper_bound(address);
  if (it == accessible_memory_.begin()) return false;
  --it;
  return address - it->first <= it->second && bytes <= it->second - (address - it->first);
}

Status ContainedDevice::open() {
  if (worker_) return Unit{};
  void* page = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Diag{"not enough memory for a worker process"};
  shared_state_.reset(new (page) SharedState);
  auto made = catch_failures([&] { return device_.has_driver() ? (driver_sandbox_.emplace(), Unit{}) : Unit{}; });
  if (!made) return made;
  uint64_t memory = available_memory_bytes();
  auto worker = WorkerProcess::start([&](Worker& self) -> Status {
    if (driver_sandbox_) driver_sandbox_->confine_process(self, memory);
    if (auto status = device_.open(); !status) return status;
    self.send_answer(std::string());
    DeviceServer(*this, self).serve_calls();
  });
  if (!worker) return worker.diag();
  worker_.emplace(std::move(*worker));
  auto answer = worker_->receive_answer(timeout_seconds_);
  return answer ? Status(Unit{}) : answer.diag();
}

std::unique_ptr<Kernel> ContainedDevice::adopt_kernel(std::unique_ptr<Kernel> kernel, std::string name) {
  adopted_kernels_.push_back(std::move(kernel));
  has_adopted_kernels_ = true;
  kernel_names_.push_back(std::move(name));
  return std::make_unique<ProxyKernel>(*this, kernel_names_.size());
}

Status ContainedDevice::send_call(std::string message) {
  auto sent = worker_->send(message);
  if (sent) return sent;
  return ask_worker("").diag();  // a send fails if the worker died or time ran out; this call returns the cause
}

Result<std::string> ContainedDevice::ask_worker(std::string message) {
  // a failed send is ignored, because receive_answer() returns the cause
  if (!message.empty()) (void)worker_->send(message);
  auto answer = worker_->receive_answer(timeout_seconds_, [this] { return uint64_t(shared_state_->num_launches); });
  uint64_t running_kernel_number = shared_state_->running_kernel_number;
  if (answer || !worker_->worker_exit() || running_kernel_number == 0 || running_kernel_number > kernel_names_.size())
    return answer;
  Diag diag = answer.diag();
  diag.message = kernel_name_prefix(running_kernel_number) + diag.message;
  return diag;
}

std::string ContainedDevice::kernel_name_prefix(uint64_t kernel) const {
  return "kernel '" + kernel_names_.at(kernel - 1) + "' on " + device_label_ + ": ";
}

void ContainedDevice::prepare_launches(size_t threads) {
  (void)send_call(ByteWriter().write_number(uint64_t(Call::Confine)).write_number(threads).take_bytes());
}

Result<DeviceBuffer> ContainedDevice::allocate(uint64_t bytes) {
  return catch_failures([&] {
    std::string answer =
        std::move(ask_worker(ByteWriter().write_number(uint64_t(Call::Allocate)).write_number(bytes).take_bytes())
                  .value_or_throw());
    ByteReader in(answer);
    DeviceBuffer made = read_buffer(in);
    made.bytes = bytes;  // the worker's answer is not trusted: this process copies that many bytes
    return made;
  });
}

void ContainedDevice::send_call_quietly(const std::function<std::string()>& message) noexcept {
  if (!worker_) return;
  try {
    (void)send_call(message());
  } catch (...) {  // the buffer or kernel is released only when the worker ends
  }
}

void ContainedDevice::free(const DeviceBuffer& buffer) {
  send_call_quietly([&] {
    ByteWriter out;
    return (out.write_number(uint64_t(Call::Free)) << buffer).take_bytes();
  });
}

Status ContainedDevice::copy_in(const DeviceBuffer& to, const void* from) {
  ByteWriter out;
  if (can_access(from, to.bytes))
    return send_call(
        (out.write_number(uint64_t(Call::CopyFrom)) << to).write_number(reinterpret_cast<uint64_t>(from)).take_bytes());
  for (uint64_t at = 0, size; at < to.bytes; at += size) {
    size = std::min(kPiece, to.bytes - at);
    std::string_view piece(static_cast<const char*>(from) + at, size);
    ByteWriter part;
    auto answer = ask_worker(
        (part.write_number(uint64_t(Call::CopyIn)) << to.subbuffer(at, size)).write_text(piece).take_bytes());
    if (!answer) return answer.diag();
  }
  return Unit{};
}

Status ContainedDevice::copy_out(void* to, const DeviceBuffer& from) {
  ByteWriter out;
  if (can_access(to, from.bytes)) {
    auto sent = send_call(
        (out.write_number(uint64_t(Call::CopyTo)) << from).write_number(reinterpret_cast<uint64_t>(to)).take_bytes());
    return sent ? synchronize() : sent;
  }
  return catch_failures([&] {
    for (uint64_t at = 0, size; at < from.bytes; at += size) {
      size = std::min(kPiece, from.bytes - at);
      ByteWriter part;
      std::string answer =
          std::move(ask_worker((part.write_number(uint64_t(Call::CopyOut)) << from.subbuffer(at, size)).take_bytes())
                    .value_or_throw());
      ByteReader in(answer);
      if (in.read_number() != size) throw Failure("a worker process sent an answer of the wrong size");
      in.read_bytes(static_cast<char*>(to) + at, size);
    }
    return Unit{};
  });
}

Result<std::unique_ptr<Kernel>> ContainedDevice::load(const KernelSource& source, const std::string& code) {
  ByteWriter out;
  out.write_number(uint64_t(Call::Load))
      .write_text(source.name)
      .write_text(source.function_name)
      .write_text(source.target)
      .write_text(source.text);
  out.write_number(source.num_variables_before_core ? *source.num_variables_before_core + 1 : 0)
      .write_number(source.runs_threads_in_turn);
  auto answer = ask_worker(out.write_text(code).take_bytes());
  if (!answer) return answer.diag();
  kernel_names_.push_back(source.name);
  return std::unique_ptr<Kernel>(std::make_unique<ProxyKernel>(*this, kernel_names_.size()));
}

Status ContainedDevice::synchronize() {
  auto answer = ask_worker(ByteWriter().write_number(uint64_t(Call::Synchronize)).take_bytes());
  return answer ? Status(Unit{}) : answer.diag();
}

bool ContainedDevice::is_host_device() const { return can_take_host_addresses(device_); }

Status ContainedDevice::copy(const DeviceBuffer& to, const DeviceBuffer& from) {
  ByteWriter out;
  return send_call((out.write_number(uint64_t(Call::Copy)) << to << from).take_bytes());
}

Status ContainedDevice::check_guard_bytes() {
  auto answer = ask_worker(ByteWriter().write_number(uint64_t(Call::CheckGuards)).take_bytes());
  return answer ? Status(Unit{}) : answer.diag();
}

bool can_take_host_addresses(const Device& device) {
  if (auto* contained = dynamic_cast<const ContainedDevice*>(&device)) return contained->is_host_device();
  return dynamic_cast<const HostDevice*>(&device) != nullptr;
}

Status copy_device_buffer(Device& device, const DeviceBuffer& to, const DeviceBuffer& from) {
  if (auto* contained = dynamic_cast<ContainedDevice*>(&device)) return contained->copy(to, from);
  if (can_take_host_addresses(device)) return device.copy_in(to, HostDevice::address(from));
  return catch_failures([&] {
    HostMemory bytes(from.bytes);
    device.copy_out(bytes.data(), from).value_or_throw();
    return std::move(device.copy_in(to, bytes.data()).value_or_throw());
  });
}

Status check_all_guards(Device& device) {
  if (auto* contained = dynamic_cast<ContainedDevice*>(&device)) return contained->check_guard_bytes();
  if (auto* host = dynamic_cast<HostDevice*>(&device)) return host->check_all_guards();
  return Unit{};
}

}  // namespace tgc
