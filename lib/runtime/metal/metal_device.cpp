#include "lib/runtime/backends.h"

#include <algorithm>
#include <cstring>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/gpu_device.h"

namespace tgc {
namespace {

using Object = struct ObjcObject*;
using Selector = struct ObjcSelector*;
struct MetalSize {
  uint64_t width, height, depth;
};

struct Api {
  Object (*objc_getClass)(const char*) = nullptr;
  Selector (*sel_registerName)(const char*) = nullptr;
  void (*objc_msgSend)() = nullptr;  // callers cast it to the function type of their message
  Object (*MTLCreateSystemDefaultDevice)() = nullptr;

  // Sends a message as Objective-C's [receiver message: arguments...] does; a message to nil returns 0.
  template <class Return = Object, class... Arguments>
  Return send(Object receiver, const char* message, Arguments... arguments) const {
    return reinterpret_cast<Return (*)(Object, Selector, Arguments...)>(objc_msgSend)(
        receiver, sel_registerName(message), arguments...);
  }
  Object string(const std::string& text) const {
    return send(objc_getClass("NSString"), "stringWithUTF8String:", text.c_str());
  }
  std::string text(Object string) const {
    const char* bytes = string ? send<const char*>(string, "UTF8String") : nullptr;
    return bytes ? bytes : "";
  }
  std::string error_text(Object error) const {
    return error ? text(send(error, "localizedDescription")) : "no reason given";
  }
  void release(Object object) const {
    if (object) send<void>(object, "release");
  }
};

Status load_api(Api& api) {
  auto objc = DynamicLibrary::open("TGC_OBJC_LIBRARY", {"/usr/lib/libobjc.A.dylib"});
  if (!objc) return Diag{"no Metal: it needs macOS (" + objc.diag().message + ")"};
  auto metal = DynamicLibrary::open("TGC_METAL_LIBRARY", {"/System/Library/Frameworks/Metal.framework/Metal"});
  if (!metal) return Diag{"no Metal: " + metal.diag().message};
  if (auto status = objc->bind_function(api.objc_getClass, "objc_getClass"); !status) return status;
  if (auto status = objc->bind_function(api.sel_registerName, "sel_registerName"); !status) return status;
  if (auto status = objc->bind_function(api.objc_msgSend, "objc_msgSend"); !status) return status;
  return metal->bind_function(api.MTLCreateSystemDefaultDevice, "MTLCreateSystemDefaultDevice");
}

// Holds the "autoreleased" objects that calls return, until the destructor.
class Pool {
 public:
  explicit Pool(const Api& api)
      : api_(api), pool_(api.send(api.send(api.objc_getClass("NSAutoreleasePool"), "alloc"), "init")) {}
  ~Pool() { api_.release(pool_); }

 private:
  const Api& api_;
  Object pool_;
};

class MetalDevice : public Device {
 public:
  ~MetalDevice() override {
    objc.release(in_flight_);
    objc.release(queue_);
    objc.release(device_);
  }

  Status open() override {
    if (queue_) return Unit{};
    if (auto status = load_api(objc); !status) return status;
    device_ = objc.MTLCreateSystemDefaultDevice();
    if (!device_) return Diag{"Metal finds no GPU"};
    queue_ = objc.send(device_, "newCommandQueue");
    if (!queue_) return Diag{"Metal gives no command queue"};
    return Unit{};
  }
  Result<std::string> compile(const KernelSource& source) override { return check_source(source, Language::C); }
  std::string target() const override { return "METAL:METAL"; }
  std::string description() const override {
    Pool pool(objc);
    return objc.text(objc.send(device_, "name"));
  }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    constexpr uint64_t kStorageShared = 0;
    Object buffer = objc.send(device_, "newBufferWithLength:options:", std::max<uint64_t>(bytes, 1), kStorageShared);
    if (!buffer) return Diag{"Metal cannot allocate " + std::to_string(bytes) + " bytes"};
    return DeviceBuffer{reinterpret_cast<uint64_t>(buffer), 0, bytes};
  }
  void free(const DeviceBuffer& b) override { objc.release(object(b)); }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    if (auto status = synchronize(); !status) return status;
    std::memcpy(contents(to), from, to.bytes);
    return Unit{};
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    if (auto status = synchronize(); !status) return status;
    std::memcpy(to, contents(from), from.bytes);
    return Unit{};
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;

  // Command buffers run in order, so waiting for the last one waits for all.
  Status synchronize() override {
    if (!in_flight_) return Unit{};
    objc.send<void>(in_flight_, "waitUntilCompleted");
    Pool pool(objc);
    Object error = objc.send(in_flight_, "error");
    Status status = error ? Status(Diag{"Metal: " + objc.error_text(error)}) : Status(Unit{});
    objc.release(in_flight_);
    in_flight_ = nullptr;
    return status;
  }

  static Object object(const DeviceBuffer& b) { return reinterpret_cast<Object>(b.handle); }
  Object queue() const { return queue_; }
  // `buffer` must be retained.
  void set_in_flight(Object buffer) {
    objc.release(in_flight_);
    in_flight_ = buffer;
  }

  Api objc;

 private:
  uint8_t* contents(const DeviceBuffer& b) const { return objc.send<uint8_t*>(object(b), "contents") + b.offset; }

  Object device_ = nullptr, queue_ = nullptr, in_flight_ = nullptr;
};

class MetalKernel : public Kernel {
 public:
  MetalKernel(MetalDevice& device, Object pipeline) : Kernel(device), objc_(device.objc), pipeline_(pipeline) {}
  ~MetalKernel() override { objc_.release(pipeline_); }

  Status launch(const LaunchArguments& a) override {
    Pool pool(objc_);
    auto local = a.launch_size.local_size.value_or(std::array<uint32_t, 3>{1, 1, 1});
    uint64_t threads = uint64_t(local[0]) * local[1] * local[2],
             most = objc_.send<uint64_t>(pipeline_, "maxTotalThreadsPerThreadgroup");
    if (threads > most)
      return Diag{"a group of " + std::to_string(threads) + " threads is more than Metal's " + std::to_string(most) +
                  " for this kernel"};
    Object commands = objc_.send(objc_.send(device().queue(), "commandBuffer"), "retain");
    if (!commands) return Diag{"Metal gives no command buffer"};
    Object encoder = objc_.send(commands, "computeCommandEncoder");
    objc_.send<void>(encoder, "setComputePipelineState:", pipeline_);
    uint64_t n = 0;
    for (const DeviceBuffer& b : a.buffers)
      objc_.send<void>(encoder, "setBuffer:offset:atIndex:", MetalDevice::object(b), b.offset, n++);
    for (int64_t v : a.variables) {
      auto value = int32_t(v);
      objc_.send<void>(encoder, "setBytes:length:atIndex:", static_cast<const void*>(&value), uint64_t(sizeof value),
                       n++);
    }
    auto [gx, gy, gz] = a.launch_size.global_size;
    objc_.send<void>(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", MetalSize{gx, gy, gz},
                     MetalSize{local[0], local[1], local[2]});
    objc_.send<void>(encoder, "endEncoding");
    objc_.send<void>(commands, "commit");
    device().set_in_flight(commands);
    return Unit{};
  }

 private:
  MetalDevice& device() { return static_cast<MetalDevice&>(device_); }

  const Api& objc_;
  Object pipeline_;
};

Result<std::unique_ptr<Kernel>> MetalDevice::load(const KernelSource& source, const std::string& code) {
  Pool pool(objc);
  Object error = nullptr;
  Object options = objc.send(objc.send(objc.objc_getClass("MTLCompileOptions"), "alloc"), "init");
  objc.send<void>(options, "setFastMathEnabled:", false);
  Object library = objc.send(device_, "newLibraryWithSource:options:error:", objc.string(code), options, &error);
  objc.release(options);
  if (!library) return invalid_source_error("Metal", source, objc.error_text(error));
  Object function = objc.send(library, "newFunctionWithName:", objc.string(source.function_name));
  objc.release(library);
  if (!function) return Diag{"the compiled kernel has no function '" + source.function_name + "'"};
  error = nullptr;
  Object pipeline = objc.send(device_, "newComputePipelineStateWithFunction:error:", function, &error);
  objc.release(function);
  if (!pipeline) return Diag{"Metal makes no pipeline for the kernel '" + source.name + "': " + objc.error_text(error)};
  return std::unique_ptr<Kernel>(std::make_unique<MetalKernel>(*this, pipeline));
}

}  // namespace

std::unique_ptr<Device> make_metal_device() { return std::make_unique<MetalDevice>(); }

}  // namespace tgc
