// ContainedDevice: another device in a worker process. What is asked of it is done there, so that a kernel that
// crashes, hangs or means harm is an error here; the kernels of a schedule share one such worker. Launches are not
// waited for.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "lib/compile/driver_room.h"
#include "lib/contain/contain.h"
#include "lib/runtime/device.h"

namespace tgc {

class ContainedDevice : public Device {
 public:
  // `device` is not open and outlives this. The worker may be waited for `timeout_seconds` (0: any time), each kernel
  // that it begins as long. `label` is what messages call it: "CPU:LLVM".
  ContainedDevice(Device& device, std::string label, double timeout_seconds);
  ~ContainedDevice() override;

  // Memory of this process that is there before open() and stays as it is until the worker has read it, or is shared
  // with it (Array::shared) to be written: copies of it need no detour.
  void can_reach(const void* begin, size_t bytes);
  // A kernel of `device` that is no code which could be sent there (REF's): before open(), which takes it along.
  std::unique_ptr<Kernel> adopt(std::unique_ptr<Kernel> kernel, std::string name);

  Result<std::string> compile(const KernelSource& source) override { return device_.compile(source); }
  Status open() override;  // starts the worker
  bool has_driver() const override { return device_.has_driver(); }
  void settle(size_t threads) override;
  std::string target() const override { return device_.target(); }
  std::string description() const override { return device_.description(); }
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override;
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override;

  bool is_host() const;  // addresses of this process that were there before open() are buffers
  Status copy(const DeviceBuffer& to, const DeviceBuffer& from);
  Status check_around();

 private:
  class Server;
  class ProxyKernel;
  enum class Call : uint64_t;
  Status tell(std::string message);
  void give_back(const std::function<std::string()>& message) noexcept;  // for destructors
  Result<std::string> ask(std::string message);
  std::string about(uint64_t kernel) const;  // "kernel 'E_4' on CPU:LLVM: "
  bool reaches(const void* begin, size_t bytes) const;

  Device& device_;
  std::string label_;
  double timeout_;
  std::optional<DriverRoom> room_;  // of one with a driver
  std::optional<WorkerProcess> worker_;
  std::map<uintptr_t, size_t> reach_;
  std::vector<std::string> kernels_;       // names; the number of one is its place
  std::vector<std::unique_ptr<Kernel>> adopted_;
  bool adopted_anything_ = false;
  struct Shared;
  std::unique_ptr<Shared, void (*)(Shared*)> shared_;  // with the worker: which kernel runs
};

// What lib/execute asks of devices by kind: contained or not.
// Whether a buffer may be an address of this process (which was there before the device was opened).
bool takes_host_addresses(const Device& device);
Status copy_between(Device& device, const DeviceBuffer& to, const DeviceBuffer& from);
// That nobody wrote beside any buffer of a device in host memory.
Status check_around_all(Device& device);

}  // namespace tgc
