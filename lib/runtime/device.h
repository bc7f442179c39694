// Device: the interface to hardware or software that runs kernels. A backend is one class derived from Device and one
// from Kernel. devices.cpp lists tgc's own backends; `--device=plugin:PATH` loads one from a shared library (example:
// apps/sample_device). Of tgc's headers, this one includes only lib/support/result.h.
//
// Call order:
//   construct   loads and opens nothing, so it cannot fail
//   compile     source -> bytes; may come before open, and must not touch the driver,
//               because the caller may fork a worker process afterwards
//   open        finds the driver and the hardware; everything below needs it, in the same process
//   allocate, copy_in, load, prepare_launches, launch, ..., synchronize, copy_out, free
// Several threads may call compile at the same time; all other calls come from one thread. Launches and copies take
// effect in call order. Functions return errors as a Diag, with the driver's message if there is one.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// The version of the interface for plugins, incremented when this header changes incompatibly.
inline constexpr int kDeviceInterfaceVersion = 3;

// A region of device memory. `handle` is an address, or a pointer to an object of the driver.
struct DeviceBuffer {
  uint64_t handle = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  // Returns a view of `size` bytes from byte `at` on, which shares the memory and must not be freed.
  DeviceBuffer subbuffer(uint64_t at, uint64_t size) const { return {handle, offset + at, size}; }
};

struct KernelSource {
  std::string name;           // name in messages
  std::string function_name;  // name of the function in `text`
  std::string target;         // such as "CUDA:PTX:sm_80"
  std::string text;
  double compile_timeout_seconds = 0;  // time limit of the kernel's compiler; 0: the default
  // CPU only: the number of variables before the core number among the arguments; nullopt: the core number is last
  std::optional<size_t> num_variables_before_core = std::nullopt;
  bool runs_threads_in_turn = false;  // CPU only: the threads of a launch run one after another, on one thread
};

// Work groups (CUDA's grid) and threads per group (CUDA's block). If `local_size` is not set, `global_size` counts
// threads and the device chooses the group size.
struct LaunchSize {
  std::array<uint32_t, 3> global_size{1, 1, 1};
  std::optional<std::array<uint32_t, 3>> local_size = std::array<uint32_t, 3>{1, 1, 1};
};

struct LaunchArguments {
  std::span<const DeviceBuffer> buffers;
  std::span<const int64_t> variables;     // passed after the buffers, as 32-bit integers
  LaunchSize launch_size;
};

class Device;

// Must not outlive its device.
class Kernel {
 public:
  explicit Kernel(Device& device) : device_(device) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Enqueues one run of the kernel.
  virtual Status launch(const LaunchArguments& arguments) = 0;
  // Runs the kernel, waits, and returns its run time in seconds. The default uses the host's clock.
  virtual Result<double> time_launch(const LaunchArguments& arguments);

 protected:
  Device& device_;
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Returns the bytes that `load` takes; by default the text, for drivers that compile it.
  virtual Result<std::string> compile(const KernelSource& source) { return source.text; }

  // Opening an open device has no effect. An error says what is missing.
  virtual Status open() = 0;

  // Returns whether launches use a driver (its files, threads, system calls). If not, the worker process of a
  // ContainedDevice may only compute after prepare_launches().
  virtual bool has_driver() const { return true; }
  // Starts threads and loads everything that launches of up to `threads` groups need, except the kernels. Afterwards, a
  // worker process without a driver loses the right to do so.
  virtual void prepare_launches(size_t /*threads*/) {}

  // For an open device: the default target of kernels ("CUDA:CUDA:sm_90"), and a description of the hardware.
  virtual std::string target() const = 0;
  virtual std::string description() const = 0;

  // Allocates memory with undefined contents.
  virtual Result<DeviceBuffer> allocate(uint64_t bytes) = 0;
  virtual void free(const DeviceBuffer& buffer) = 0;  // takes a buffer that `allocate` returned, not a view
  virtual Status copy_in(const DeviceBuffer& to, const void* from) = 0;  // copies to.bytes bytes
  // Copies from.bytes bytes after all earlier launches have completed.
  virtual Status copy_out(void* to, const DeviceBuffer& from) = 0;

  // `code` is the result of `compile` for `source`.
  virtual Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) = 0;

  // Waits for all launches and returns an error if one of them failed.
  virtual Status synchronize() = 0;
};

inline Result<double> Kernel::time_launch(const LaunchArguments& arguments) {
  if (auto status = device_.synchronize(); !status) return status.diag();
  auto begin = std::chrono::steady_clock::now();
  if (auto status = launch(arguments); !status) return status.diag();
  if (auto status = device_.synchronize(); !status) return status.diag();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tgc

// A plugin's shared library exports this function. It returns a new Device that the caller deletes, or null if it does
// not support that version of the interface. `options` is the OPTIONS of --device=plugin:PATH:OPTIONS.
//   extern "C" tgc::Device* tgc_device(int version, const char* options)
extern "C" {
using TgcDeviceFunction = tgc::Device*(int version, const char* options);
}
