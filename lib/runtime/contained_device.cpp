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
  Allocate, CopyIn, CopyOut, Load, Time, Synchronize, CheckAround,
  // requests that the worker does not answer; the next answer returns their error
  Free, CopyFrom, CopyTo, Copy, Unload, Launch, Settle,
};

struct ContainedDevice::Shared {
  volatile uint64_t running = 0;   // number of the kernel that runs, from 1; 0: no kernel runs
  volatile uint64_t launches = 0;  // number of launches so far
};

namespace {

// Memory limit for kernels on the CPU, which need little more than their stack.
constexpr uint64_t kKernelMemory = uint64_t(1) << 30;
constexpr uint64_t kPiece = 16 << 20;  // a copy is sent in messages of at most this many bytes

ByteWriter& operator<<(ByteWriter& out, const DeviceBuffer& b) {
  return out.number(b.handle).number(b.offset).number(b.bytes);
}
DeviceBuffer buffer_in(ByteReader& in) {
  uint64_t handle = in.number(), offset = in.number();
  return {handle, offset, in.number()};
}
const void* address_in(ByteReader& in) { return reinterpret_cast<const void*>(in.number()); }

}  // namespace

// ---- code that runs in the worker
class ContainedDevice::Server {
 public:
  Server(ContainedDevice& of, Worker& worker)
      : of_(of), device_(of.device_), shared_(*of.shared_), worker_(worker), kernels_(std::move(of.adopted_)) {}

  [[noreturn]] void serve() {
    for (;;) {
      std::string message = worker_.next_message();
      ByteReader in(message);
      auto call = Call(in.number());
      ByteWriter out;
      auto done = catch_failures([&] { return take(call, in, out), Unit{}; });
      if (!done && !trouble_) trouble_ = done.diag();
      if (call >= Call::Free) continue;
      if (trouble_) worker_.answer(*std::exchange(trouble_, std::nullopt));
      else worker_.answer(out.take());
    }
  }

 private:
  void take(Call call, ByteReader& in, ByteWriter& out) {
    switch (call) {
      case Call::Allocate: out << device_.allocate(in.number()).value_or_throw(); break;
      case Call::CopyIn: {
        DeviceBuffer to = buffer_in(in);
        device_.copy_in(to, in.text().data()).value_or_throw();
        break;
      }
      case Call::CopyOut: {
        DeviceBuffer from = buffer_in(in);
        std::string bytes(from.bytes, '\0');
        device_.copy_out(bytes.data(), from).value_or_throw();
        out.text(bytes);
        break;
      }
      case Call::Load: {
        KernelSource source{in.text(), in.text(), in.text(), in.text()};
        if (const uint64_t before = in.number()) source.variables_before_core = before - 1;
        source.threads_in_turn = in.number() != 0;
        kernels_.push_back(std::move(device_.load(source, in.text()).value_or_throw()));
        of_.kernels_.push_back(source.name);
        break;
      }
      case Call::Time: {
        double seconds = launched(in, [](Kernel& k, const LaunchArguments& a) { return k.time(a).value_or_throw(); });
        out.raw(&seconds, sizeof seconds);
        break;
      }
      case Call::Synchronize:
        device_.synchronize().value_or_throw();
        shared_.running = 0;
        break;
      case Call::CheckAround: check_around_all(device_).value_or_throw(); break;
      case Call::Free: device_.free(buffer_in(in)); break;
      case Call::CopyFrom: {
        DeviceBuffer to = buffer_in(in);
        device_.copy_in(to, address_in(in)).value_or_throw();
        break;
      }
      case Call::CopyTo: {
        DeviceBuffer from = buffer_in(in);
        device_.copy_out(const_cast<void*>(address_in(in)), from).value_or_throw();
        break;
      }
      case Call::Copy: {
        DeviceBuffer to = buffer_in(in);
        copy_between(device_, to, buffer_in(in)).value_or_throw();
        break;
      }
      case Call::Unload: kernels_.at(in.number() - 1).reset(); break;
      case Call::Launch:
        launched(in, [](Kernel& k, const LaunchArguments& a) { return k.launch(a).value_or_throw(), 0.0; });
        break;
      case Call::Settle:
        if (!settled_) settle(in.number());
        break;
    }
  }

  // Prepares the device for launches of `threads` groups (Device::settle). If it has no driver, drops all rights of the
  // worker except computing.
  void settle(size_t threads) {
    settled_ = true;
    device_.settle(threads);
    // adopted kernels are REF's, which allocate memory while they run; other kernels need little more than their stack
    uint64_t memory = of_.adopted_anything_ ? available_memory() : kKernelMemory;
    if (!device_.has_driver()) worker_.confine({.rights = Rights::Compute, .memory = memory});
  }

  template <class Work>
  double launched(ByteReader& in, Work work) {
    if (!settled_) settle(std::max(1u, std::thread::hardware_concurrency()));
    uint64_t number = in.number();
    std::vector<DeviceBuffer> buffers(in.number());
    for (DeviceBuffer& b : buffers) b = buffer_in(in);
    std::vector<int64_t> variables(in.number());
    in.raw(variables.data(), variables.size() * sizeof(int64_t));
    LaunchSize size;
    in.raw(&size, sizeof size);
    // Watch this launch's buffers until the next launch: fault reports name them, and the launch may be asynchronous.
    if (is_host_) {
      watched_.clear();
      for (size_t i = 0; i < buffers.size(); i++)
        watched_.push_back({"data" + std::to_string(i), buffers[i].handle + buffers[i].offset, buffers[i].bytes});
      Worker::watch(watched_);
    }
    Kernel& kernel = *kernels_.at(number - 1);
    shared_.running = number;
    shared_.launches = shared_.launches + 1;
    try {
      return work(kernel, {buffers, variables, size});
    } catch (Failure& failure) {
      failure.diag().message = of_.kernel_prefix(number) + failure.diag().message;
      throw;
    }
  }

  ContainedDevice& of_;  // the worker's forked copy; the worker records in it the kernels that it loads
  Device& device_;
  Shared& shared_;
  Worker& worker_;
  bool is_host_ = takes_host_addresses(device_), settled_ = false;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<NamedMemory> watched_;
  std::optional<Diag> trouble_;
};

// ---- code that runs in the process that uses the device
class ContainedDevice::ProxyKernel : public Kernel {
 public:
  ProxyKernel(ContainedDevice& device, uint64_t number) : Kernel(device), owner_(device), number_(number) {}
  ~ProxyKernel() override {
    owner_.give_back([&] { return ByteWriter().number(uint64_t(Call::Unload)).number(number_).take(); });
  }

  Status launch(const LaunchArguments& arguments) override { return owner_.tell(message(Call::Launch, arguments)); }
  Result<double> time(const LaunchArguments& arguments) override {
    return catch_failures([&] {
      std::string answer = std::move(owner_.ask(message(Call::Time, arguments)).value_or_throw());
      double seconds;
      ByteReader(answer).raw(&seconds, sizeof seconds);
      return seconds;
    });
  }

 private:
  std::string message(Call call, const LaunchArguments& a) const {
    ByteWriter out;
    out.number(uint64_t(call)).number(number_).number(a.buffers.size());
    for (const DeviceBuffer& b : a.buffers) out << b;
    out.number(a.variables.size()).raw(a.variables.data(), a.variables.size_bytes()).raw(&a.size, sizeof a.size);
    return out.take();
  }

  ContainedDevice& owner_;
  uint64_t number_;
};

ContainedDevice::ContainedDevice(Device& device, std::string label, double timeout_seconds)
    : device_(device),
      label_(std::move(label)),
      timeout_(timeout_seconds),
      shared_(nullptr, [](Shared* s) { munmap(s, sizeof *s); }) {}
ContainedDevice::~ContainedDevice() = default;

void ContainedDevice::can_reach(const void* begin, size_t bytes) { reach_[reinterpret_cast<uintptr_t>(begin)] = bytes; }

bool ContainedDevice::reaches(const void* begin, size_t bytes) const {
  auto address = reinterpret_cast<uintptr_t>(begin);
  auto it = reach_.upper_bound(address);
  if (it == reach_.begin()) return false;
  --it;
  return address - it->first <= it->second && bytes <= it->second - (address - it->first);
}

Status ContainedDevice::open() {
  if (worker_) return Unit{};
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Diag{"not enough memory for a worker process"};
  shared_.reset(new (page) Shared);
  auto made = catch_failures([&] { return device_.has_driver() ? (room_.emplace(), Unit{}) : Unit{}; });
  if (!made) return made;
  uint64_t memory = available_memory();
  auto worker = WorkerProcess::start([&](Worker& self) -> Status {
    if (room_) room_->confine(self, memory);
    if (auto status = device_.open(); !status) return status;
    self.answer(std::string());
    Server(*this, self).serve();
  });
  if (!worker) return worker.diag();
  worker_.emplace(std::move(*worker));
  auto answer = worker_->receive(timeout_);
  return answer ? Status(Unit{}) : answer.diag();
}

std::unique_ptr<Kernel> ContainedDevice::adopt(std::unique_ptr<Kernel> kernel, std::string name) {
  adopted_.push_back(std::move(kernel));
  adopted_anything_ = true;
  kernels_.push_back(std::move(name));
  return std::make_unique<ProxyKernel>(*this, kernels_.size());
}

Status ContainedDevice::tell(std::string message) {
  auto sent = worker_->send(message);
  if (sent) return sent;
  return ask("").diag();  // the send failed because the worker died: return why it died
}

Result<std::string> ContainedDevice::ask(std::string message) {
  if (!message.empty()) (void)worker_->send(message);  // ignore a failed send: receive() returns why the worker died
  auto answer = worker_->receive(timeout_, [this] { return uint64_t(shared_->launches); });
  uint64_t running = shared_->running;
  if (answer || !worker_->death() || running == 0 || running > kernels_.size()) return answer;
  Diag diag = answer.diag();
  diag.message = kernel_prefix(running) + diag.message;
  return diag;
}

std::string ContainedDevice::kernel_prefix(uint64_t kernel) const {
  return "kernel '" + kernels_.at(kernel - 1) + "' on " + label_ + ": ";
}

void ContainedDevice::settle(size_t threads) {
  (void)tell(ByteWriter().number(uint64_t(Call::Settle)).number(threads).take());
}

Result<DeviceBuffer> ContainedDevice::allocate(uint64_t bytes) {
  return catch_failures([&] {
    std::string answer =
        std::move(ask(ByteWriter().number(uint64_t(Call::Allocate)).number(bytes).take()).value_or_throw());
    ByteReader in(answer);
    DeviceBuffer made = buffer_in(in);
    made.bytes = bytes;  // do not trust the size in the worker's answer, because this process copies that many bytes
    return made;
  });
}

void ContainedDevice::give_back(const std::function<std::string()>& message) noexcept {
  if (!worker_) return;  // the device was not opened, so there is nothing to release
  try {
    (void)tell(message());
  } catch (...) {  // if memory runs out, the buffer or kernel is released only when the worker ends
  }
}

void ContainedDevice::free(const DeviceBuffer& buffer) {
  give_back([&] {
    ByteWriter out;
    return (out.number(uint64_t(Call::Free)) << buffer).take();
  });
}

Status ContainedDevice::copy_in(const DeviceBuffer& to, const void* from) {
  ByteWriter out;
  if (reaches(from, to.bytes))
    return tell((out.number(uint64_t(Call::CopyFrom)) << to).number(reinterpret_cast<uint64_t>(from)).take());
  for (uint64_t at = 0, size; at < to.bytes; at += size) {
    size = std::min(kPiece, to.bytes - at);
    std::string_view piece(static_cast<const char*>(from) + at, size);
    ByteWriter part;
    auto answer = ask((part.number(uint64_t(Call::CopyIn)) << to.view(at, size)).text(piece).take());
    if (!answer) return answer.diag();
  }
  return Unit{};
}

Status ContainedDevice::copy_out(void* to, const DeviceBuffer& from) {
  ByteWriter out;
  if (reaches(to, from.bytes)) {
    auto sent = tell((out.number(uint64_t(Call::CopyTo)) << from).number(reinterpret_cast<uint64_t>(to)).take());
    return sent ? synchronize() : sent;
  }
  return catch_failures([&] {
    for (uint64_t at = 0, size; at < from.bytes; at += size) {
      size = std::min(kPiece, from.bytes - at);
      ByteWriter part;
      std::string answer =
          std::move(ask((part.number(uint64_t(Call::CopyOut)) << from.view(at, size)).take()).value_or_throw());
      ByteReader in(answer);
      if (in.number() != size) throw Failure("a worker process sent an answer of the wrong size");
      in.raw(static_cast<char*>(to) + at, size);
    }
    return Unit{};
  });
}

Result<std::unique_ptr<Kernel>> ContainedDevice::load(const KernelSource& source, const std::string& code) {
  ByteWriter out;
  out.number(uint64_t(Call::Load)).text(source.name).text(source.function_name).text(source.target).text(source.text);
  out.number(source.variables_before_core ? *source.variables_before_core + 1 : 0).number(source.threads_in_turn);
  auto answer = ask(out.text(code).take());
  if (!answer) return answer.diag();
  kernels_.push_back(source.name);
  return std::unique_ptr<Kernel>(std::make_unique<ProxyKernel>(*this, kernels_.size()));
}

Status ContainedDevice::synchronize() {
  auto answer = ask(ByteWriter().number(uint64_t(Call::Synchronize)).take());
  return answer ? Status(Unit{}) : answer.diag();
}

bool ContainedDevice::is_host() const { return takes_host_addresses(device_); }

Status ContainedDevice::copy(const DeviceBuffer& to, const DeviceBuffer& from) {
  ByteWriter out;
  return tell((out.number(uint64_t(Call::Copy)) << to << from).take());
}

Status ContainedDevice::check_around() {
  auto answer = ask(ByteWriter().number(uint64_t(Call::CheckAround)).take());
  return answer ? Status(Unit{}) : answer.diag();
}

bool takes_host_addresses(const Device& device) {
  if (auto* contained = dynamic_cast<const ContainedDevice*>(&device)) return contained->is_host();
  return dynamic_cast<const HostDevice*>(&device) != nullptr;
}

Status copy_between(Device& device, const DeviceBuffer& to, const DeviceBuffer& from) {
  if (auto* contained = dynamic_cast<ContainedDevice*>(&device)) return contained->copy(to, from);
  if (takes_host_addresses(device)) return device.copy_in(to, HostDevice::address(from));
  return catch_failures([&] {
    HostMemory bytes(from.bytes);
    device.copy_out(bytes.data(), from).value_or_throw();
    return std::move(device.copy_in(to, bytes.data()).value_or_throw());
  });
}

Status check_around_all(Device& device) {
  if (auto* contained = dynamic_cast<ContainedDevice*>(&device)) return contained->check_around();
  if (auto* host = dynamic_cast<HostDevice*>(&device)) return host->check_around_all();
  return Unit{};
}

}  // namespace tgc
