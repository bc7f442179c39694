#include "lib/runtime/backends.h"

#include <algorithm>
#include <cstring>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/gpu_device.h"

namespace tgc {
namespace {

using ObjcHandle = struct ObjcObject*;
using Selector = struct ObjcSelector*;
struct MetalSize {
  uint64_t width, height, depth;
};

struct ObjcApi {
  ObjcHandle (*objc_getClass)(const char*) = nullptr;
  Selector (*sel_registerName)(const char*) = nullptr;
  void (*objc_msgSend)() = nullptr;  // callers cast it to the function type of their message
  ObjcHandle (*MTLCreateSystemDefaultDevice)() = nullptr;

  // Sends a message as Objective-C's [receiver message: arguments...] does; a message to nil returns 0.
  template <class Return = ObjcHandle, class... Arguments>
  Return send(ObjcHandle receiver, const char* message, Arguments... arguments) const {
    return reinterpret_cast<Return (*)(ObjcHandle, Selector, Arguments...)>(objc_msgSend)(
        receiver, sel_registerName(message), arguments...);
  }
  ObjcHandle string(const std::string& text) const {
    return send(objc_getClass("NSString"), "stringWithUTF8String:", text.c_str());
  }
  std::string utf8_text(ObjcHandle string) const {
    const char* bytes = string ? send<const char*>(string, "UTF8String") : nullptr;
    return bytes ? bytes : "";
  }
  std::string error_text(ObjcHandle error) const {
    return error ? utf8_text(send(error, "localizedDescription")) : "no reason given";
  }
  void release(ObjcHandle object) const {
    if (object) send<void>(object, "release");
  }
};

Status load_api(ObjcApi& api) {
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
class AutoreleasePool {
 public:
  explicit AutoreleasePool(const ObjcApi& api)
      : api_(api), pool_(api.send(api.send(api.objc_getClass("NSAutoreleasePool"), "alloc"), "init")) {}
  ~AutoreleasePool() { api_.release(pool_); }

 private:
  const ObjcApi& api_;
  ObjcHandle pool_;
};

class MetalDevice : public Device {
 public:
  ~MetalDevice() override {
    objc.release(last_command_buffer_);
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
    AutoreleasePool pool(objc);
    return objc.utf8_text(objc.send(device_, "name"));
  }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    constexpr uint64_t kStorageShared = 0;
    ObjcHandle buffer =
        objc.send(device_, "newBufferWithLength:options:", std::max<uint64_t>(bytes, 1), kStorageShared);
    if (!buffer) return Diag{"Metal cannot allocate " + std::to_string(bytes) + " bytes"};
    return DeviceBuffer{reinterpret_cast<uint64_t>(buffer), 0, bytes};
  }
  void free(const DeviceBuffer& b) override { objc.release(buffer_object(b)); }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    if (auto status = synchronize(); !status) return status;
    std::memcpy(buffer_address(to), from, to.bytes);
    return Unit{};
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    if (auto status = synchronize(); !status) return status;
    std::memcpy(to, buffer_address(from), from.bytes);
    return Unit{};
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;

  // Command buffers run in order, so waiting for the last one waits for all.
  Status synchronize() override {
    if (!last_command_buffer_) return Unit{};
    objc.send<void>(last_command_buffer_, "waitUntilCompleted");
    AutoreleasePool pool(objc);
    ObjcHandle error = objc.send(last_command_buffer_, "error");
    Status status = error ? Status(Diag{"Metal: " + objc.error_text(error)}) : Status(Unit{});
    objc.release(last_command_buffer_);
    last_command_buffer_ = nullptr;
    return status;
  }

  static ObjcHandle buffer_object(const DeviceBuffer& b) { return reinterpret_cast<ObjcHandle>(b.handle); }
  ObjcHandle queue() const { return queue_; }
  // `buffer` must be retained; this object releases it.
  void set_last_command_buffer(ObjcHandle buffer) {
    objc.release(last_command_buffer_);
    last_command_buffer_ = buffer;
  }

  ObjcApi objc;

 private:
  uint8_t* buffer_address(const DeviceBuffer& b) const {
    return objc.send<uint8_t*>(buffer_object(b), "contents") + b.offset;
  }

  ObjcHandle device_ = nullptr, queue_ = nullptr, last_command_buffer_ = nullptr;
};

class MetalKernel : public Kernel {
 public:
  MetalKernel(MetalDevice& device, ObjcHandle pipeline) : Kernel(device), objc_(device.objc), pipeline_(pipeline) {}
  ~MetalKernel() override { objc_.release(pipeline_); }

  Status launch(const LaunchArguments& a) override {
    AutoreleasePool pool(objc_);
    auto local = a.launch_size.local_size.value_or(std::array<uint32_t, 3>{1, 1, 1});
    uint64_t threads = uint64_t(local[0]) * local[1] * local[2],
             most = objc_.send<uint64_t>(pipeline_, "maxTotalThreadsPerThreadgroup");
    if (threads > most)
      return Diag{"a group of " + std::to_string(threads) + " threads is more than Metal's " + std::to_string(most) +
                  " for this kernel"};
    ObjcHandle commands = objc_.send(objc_.send(device().queue(), "commandBuffer"), "retain");
    if (!commands) return Diag{"Metal gives no command buffer"};
    ObjcHandle encoder = objc_.send(commands, "computeCommandEncoder");
    objc_.send<void>(encoder, "setComputePipelineState:", pipeline_);
    uint64_t n = 0;
    for (const DeviceBuffer& b : a.buffers)
      objc_.send<void>(encoder, "setBuffer:offset:atIndex:", MetalDevice::buffer_object(b), b.offset, n++);
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
    device().set_last_command_buffer(commands);
    return Unit{};
  }

 private:
  MetalDevice& device() { return static_cast<MetalDevice&>(device_); }

  const ObjcApi& objc_;
  ObjcHandle pipeline_;
};

Result<std::unique_ptr<Kernel>> MetalDevice::load(const KernelSource& source, const std::string& code) {
  AutoreleasePool pool(objc);
  ObjcHandle error = nullptr;
  ObjcHandle options = objc.send(objc.send(objc.objc_getClass("MTLCompileOptions"), "alloc"), "init");
  objc.send<void>(options, "setFastMathEnabled:", false);
  ObjcHandle library = objc.send(device_, "newLibraryWithSource:options:error:", objc.string(code), options, &error);
  objc.release(options);
  if (!library) return invalid_source_error("Metal", source, objc.error_text(error));
  ObjcHandle function = objc.send(library, "newFunctionWithName:", objc.string(source.function_name));
  objc.release(library);
  if (!function) return Diag{"the compiled kernel has no function '" + source.function_name + "'"};
  error = nullptr;
  ObjcHandle pipeline = objc.send(device_, "newComputePipelineStateWithFunction:error:", function, &error);
  objc.release(function);
  if (!pipeline) return Diag{"Metal makes no pipeline for the kernel '" + source.name + "': " + objc.error_text(error)};
  return std::unique_ptr<Kernel>(std::make_unique<MetalKernel>(*this, pipeline));
}

}  // namespace

std::unique_ptr<Device> make_metal_device() { return std::make_unique<MetalDevice>(); }

}  // namespace tgc
