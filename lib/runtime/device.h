// Device: what tgc asks of something that runs kernels: memory, copies, compiled kernels, launches and their time. A
// backend is one class derived from Device and one from Kernel; the table in devices.cpp lists those that tgc has, and
// `--device=plugin:PATH` loads another from a shared library (apps/sample_device is one, in under 150 lines). This
// header needs lib/support/result.h alone.
//
// The order of calls is
//   construct   loads and opens nothing, so that making a Device never fails
//   compile     source -> bytes; may come before open,
//               and must not touch the driver: the caller may fork a worker process after it
//   open        finds the driver and the hardware; everything below needs it, in the same process
//   allocate, copy_in, load, settle, launch, ..., synchronize, copy_out, free
// Calls come from one thread. Launches and copies take effect in the order of the calls. What goes wrong is a Diag that
// says what the driver said and for which kernel; nothing throws.
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

// Changes whenever this header does in a way that a plugin notices.
inline constexpr int kDeviceInterfaceVersion = 3;

// A piece of a device's memory. `handle` is the backend's own: an address, an object.
struct DeviceBuffer {
  uint64_t handle = 0;
  uint64_t offset = 0;  // bytes from where the handle points
  uint64_t bytes = 0;

  // A part of it, which shares its memory and is not freed.
  DeviceBuffer view(uint64_t at, uint64_t size) const { return {handle, offset + at, size}; }
};

// A kernel as a renderer printed it.
struct KernelSource {
  std::string name;           // what people call it, for messages
  std::string function_name;  // in the text
  std::string target;         // what it was rendered for: "CUDA:PTX:sm_80"
  std::string text;
  double compile_seconds = 0;  // that its compiler may take; 0: as long as any
};

// How many work groups, and how large each: CUDA's grid and block. With `local` left open `global` counts threads,
// and the device chooses.
struct LaunchSize {
  std::array<uint32_t, 3> global{1, 1, 1};
  std::optional<std::array<uint32_t, 3>> local = std::array<uint32_t, 3>{1, 1, 1};
};

struct LaunchArguments {
  std::span<const DeviceBuffer> buffers;  // in the order of the kernel's parameters
  std::span<const int64_t> variables;     // after them, 32-bit integers each
  LaunchSize size;
};

class Device;

// A kernel that is loaded and can be launched any number of times. It must not outlive its device.
class Kernel {
 public:
  explicit Kernel(Device& device) : device_(device) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Puts one run of the kernel into the device's queue.
  virtual Status launch(const LaunchArguments& arguments) = 0;
  // Runs it and waits: the seconds it took, by the device's own clock where it has one. This default takes the host's.
  virtual Result<double> time(const LaunchArguments& arguments);

 protected:
  Device& device_;
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The bytes that `load` takes. The default hands on the text, for drivers that compile by themselves.
  virtual Result<std::string> compile(const KernelSource& source) { return source.text; }

  // An error says what is missing and how to get it. Opening twice is the same as once.
  virtual Status open() = 0;

  // Whether launches ask a driver for something: its files, threads, calls of the system. Where they do, the process is
  // confined as a driver's, before it is opened. Where they do not it is confined after `settle`, to next to nothing.
  virtual bool has_driver() const { return true; }
  // Starts and loads what launches of up to `threads` groups need, as far as it is not the kernels': from here on the
  // process may not be able to. For devices without a driver.
  virtual void settle(size_t /*threads*/) {}

  // Of an open device. What kernels for it are lowered for when nobody says: "CUDA:CUDA:sm_90";
  // and the hardware in words.
  virtual std::string target() const = 0;
  virtual std::string description() const = 0;

  // Memory, whose content is undefined. More than there is, is an error.
  virtual Result<DeviceBuffer> allocate(uint64_t bytes) = 0;
  virtual void free(const DeviceBuffer& buffer) = 0;  // one that `allocate` gave, not a view
  virtual Status copy_in(const DeviceBuffer& to, const void* from) = 0;  // to.bytes bytes
  // from.bytes bytes, when all launches before it are done
  virtual Status copy_out(void* to, const DeviceBuffer& from) = 0;

  // `code` is what `compile` gave for `source`.
  virtual Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) = 0;

  // Waits for all launches; a fault of one of them is an error here.
  virtual Status synchronize() = 0;
};

inline Result<double> Kernel::time(const LaunchArguments& arguments) {
  if (auto status = device_.synchronize(); !status) return status.diag();
  auto begin = std::chrono::steady_clock::now();
  if (auto status = launch(arguments); !status) return status.diag();
  if (auto status = device_.synchronize(); !status) return status.diag();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tgc

// What a plugin's shared library exports: a new Device that the caller deletes, or null when it does not know that
// version of the interface. `options` is what stands after the path in --device=plugin:PATH:OPTIONS.
//   extern "C" tgc::Device* tgc_device(int version, const char* options)
extern "C" {
using TgcDeviceFunction = tgc::Device*(int version, const char* options);
}
