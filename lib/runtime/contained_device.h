// ContainedDevice: runs another device in a worker process, so that a kernel's crash, hang or malice becomes an error
// of this process.
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
  // `device` must not be open yet and must outlive this object. `timeout_seconds` limits each wait for the worker (0:
  // no limit); the clock restarts when the worker starts another kernel. `label` names the device in messages.
  ContainedDevice(Device& device, std::string label, double timeout_seconds);
  ~ContainedDevice() override;

  // Declares memory of this process that the worker can access directly. Call before open(). The memory must be shared
  // (Array::allocate_shared) if the worker writes to it. Otherwise it must not change between open() and the worker's
  // reads.
  void allow_access(const void* begin, size_t bytes);
  // Moves a kernel that has no code to send (REF's) into the worker, and returns a proxy. Call before open(), which
  // forks.
  std::unique_ptr<Kernel> adopt_kernel(std::unique_ptr<Kernel> kernel, std::string name);

  Result<std::string> compile(const KernelSource& source) override { return device_.compile(source); }
  Status open() override;
  bool has_driver() const override { return device_.has_driver(); }
  void prepare_launches(size_t threads) override;
  std::string target() const override { return device_.target(); }
  std::string description() const override { return device_.description(); }
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override;
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override;

  bool is_host_device() const;  // returns whether the device works in host memory
  Status copy(const DeviceBuffer& to, const DeviceBuffer& from);
  Status check_guard_bytes();

 private:
  class DeviceServer;
  class ProxyKernel;
  enum class Call : uint64_t;
  Status send_call(std::string message);
  void send_call_quietly(const std::function<std::string()>& message) noexcept;
  Result<std::string> ask_worker(std::string message);
  std::string kernel_name_prefix(uint64_t kernel) const;
  bool can_access(const void* begin, size_t bytes) const;

  Device& device_;
  std::string device_label_;
  double timeout_seconds_;
  std::optional<DriverSandbox> driver_sandbox_;
  std::optional<WorkerProcess> worker_;
  std::map<uintptr_t, size_t> accessible_memory_;  // size in bytes by address
  std::vector<std::string> kernel_names_;       // a kernel's number is its index plus 1
  std::vector<std::unique_ptr<Kernel>> adopted_kernels_;
  bool has_adopted_kernels_ = false;
  struct SharedState;
  std::unique_ptr<SharedState, void (*)(SharedState*)> shared_state_;
};

// Returns whether a DeviceBuffer of the device may have the address of memory that this process allocated before
// open().
bool can_take_host_addresses(const Device& device);
Status copy_device_buffer(Device& device, const DeviceBuffer& to, const DeviceBuffer& from);
// Returns an error if a kernel wrote just before or after a buffer of a device in host memory.
Status check_all_guards(Device& device);

}  // namespace tgc
