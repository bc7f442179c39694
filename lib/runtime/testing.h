// Helpers for device tests. Failures are exceptions.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "lib/runtime/device.h"

namespace tgc {

struct LoadedKernel {
  std::unique_ptr<Kernel> kernel;
  LoadedKernel(Device& device, const KernelSource& source) {
    kernel = std::move(device.load(source, device.compile(source).value_or_throw()).value_or_throw());
  }
};

struct TestBuffer {
  DeviceBuffer buffer;
  template <class T>
  TestBuffer(Device& device, const std::vector<T>& values)
      : buffer(device.allocate(values.size() * sizeof(T)).value_or_throw()), test_device_(device) {
    if (auto status = device.copy_in(buffer, values.data()); !status) {
      device.free(buffer);
      throw Failure(status.diag());
    }
  }
  ~TestBuffer() { test_device_.free(buffer); }
  template <class T>
  std::vector<T> read(Device& device, const std::vector<T>& like) const {
    std::vector<T> out(like.size());
    device.copy_out(out.data(), buffer).value_or_throw();
    return out;
  }

 private:
  Device& test_device_;
};

// Until its destruction, discards text to standard error, for example from a driver's compiler.
class StandardErrorSilencer {
 public:
  StandardErrorSilencer() : saved_stderr_(::dup(STDERR_FILENO)) {
    int null_device = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null_device, STDERR_FILENO);
    ::close(null_device);
  }
  ~StandardErrorSilencer() {
    ::dup2(saved_stderr_, STDERR_FILENO);
    ::close(saved_stderr_);
  }
  StandardErrorSilencer(const StandardErrorSilencer&) = delete;

 private:
  int saved_stderr_;
};

}  // namespace tgc
