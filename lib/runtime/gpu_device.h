// GpuDevice: base class of the CUDA and HIP devices, whose drivers have similar functions. DynamicLibrary loads drivers
// and plugins.
#pragma once
#include <span>
#include <string>

#include "lib/runtime/device.h"
#include "lib/support/result.h"

namespace tgc {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // Loads the first of `names` that can be loaded; the error lists the reasons. The library stays loaded until the
  // process ends, because drivers start threads and register exit handlers.
  static Result<DynamicLibrary> open(std::span<const std::string> names);
  // Loads the file that the environment variable `variable` names. If it is unset or empty, returns open(names).
  static Result<DynamicLibrary> open(const char* variable, std::initializer_list<std::string> names);

  // Returns null if the library does not have the function.
  void* find_symbol(const char* name) const;
  // Returns an error if the library does not have the function.
  template <class Function>
  Status bind_function(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find_symbol(name));
    if (!function) return Diag{"'" + path_ + "' has no function '" + name + "'"};
    return Unit{};
  }
  const std::string& path() const { return path_; }

 private:
  void* library_handle_ = nullptr;
  std::string path_;
};

// A function of a driver, which returns 0 or an error code. Handles and device addresses are void*, because the
// drivers' headers are not used.
template <class... Parameters>
struct DriverFunction {
  const char* name;
  int (*call_driver)(Parameters...) = nullptr;
};

struct GpuFunctions {
  DriverFunction<unsigned> init;
  DriverFunction<int*> count_devices;
  DriverFunction<void**, size_t> allocate;
  DriverFunction<void*> free;
  DriverFunction<void*> unload_module;
  DriverFunction<void**, void*, const char*> get_function;
  DriverFunction<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**>
      launch;
  DriverFunction<> synchronize;
  DriverFunction<void*, void*> record_event;
  DriverFunction<void*> await_event;
  DriverFunction<float*, void*, void*> elapsed_time;
  DriverFunction<void*> destroy_event;
};

class GpuDevice : public Device {
 public:
  std::string description() const override { return name_; }
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override {
    driver_functions_.free.call_driver(reinterpret_cast<void*>(buffer.handle));
  }
  Status synchronize() override { return call_driver(driver_functions_.synchronize); }

  const GpuFunctions& functions() const { return driver_functions_; }
  virtual std::string error_text(int code) const = 0;
  virtual Status create_event(void** event) const = 0;
  // Returns 0 or the driver's error code.
  virtual int launch(void* function, const LaunchArguments& arguments) = 0;

  // An error consists of the function's name and the driver's text: "cuInit: ...".
  template <class... Parameters, class... Arguments>
  Status call_driver(const DriverFunction<Parameters...>& function, Arguments... arguments) const {
    if (int code = function.call_driver(arguments...)) return make_call_error(function.name, code);
    return Unit{};
  }

 protected:
  explicit GpuDevice(const GpuFunctions& functions) : driver_functions_(functions) {}

  // `own`: the functions of this driver that GpuFunctions does not have.
  template <class... Own>
  Status bind_functions(const DynamicLibrary& library, Own&... own) {
    auto bind_each = [&](auto&... functions) {
      Status done = Unit{};
      ((done = done ? library.bind_function(functions.call_driver, functions.name) : done), ...);
      return done;
    };
    auto& [init, count, allocate, free, unload, function, launch, synchronize, record, await, elapsed, destroy] =
        driver_functions_;
    return bind_each(init, count, allocate, free, unload, function, launch, synchronize, record, await, elapsed,
                     destroy, own...);
  }
  // Fails if the driver fails or finds no GPU. `maker` names the driver in messages.
  Status init_driver(const std::string& maker);
  Diag make_call_error(std::string_view function, int code) const;
  int launch(void* function, const LaunchSize& size, void** parameters, void** extra) const;
  // The kernel's destructor unloads the module.
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelSource& source, void* module);

  static void* address_of(const DeviceBuffer& b) { return reinterpret_cast<void*>(b.handle + b.offset); }

  std::string name_;

 private:
  GpuFunctions driver_functions_;
};

}  // namespace tgc
