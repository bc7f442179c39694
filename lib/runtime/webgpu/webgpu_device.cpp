#include "lib/runtime/backends.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "lib/runtime/compile_source.h"
#include "lib/runtime/webgpu/webgpu_api.h"

namespace tgc {
namespace {

using namespace webgpu;

class WebGpuDevice : public Device {
 public:
  Status open() override;
  std::string target() const override { return "WEBGPU:WGSL"; }
  std::string description() const override { return name_; }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    auto buffer = make_buffer(bytes, kUsesStorage | kCopyFrom | kCopyTo);
    if (!buffer) return buffer.diag();
    return DeviceBuffer{reinterpret_cast<uint64_t>(*buffer), 0, bytes};
  }
  void free(const DeviceBuffer& b) override { api.BufferRelease(buffer_object(b)); }
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override;
  Status synchronize() override {
    api.DevicePoll(device_, 1, nullptr);
    return take_error("a launch");
  }

  static ObjectHandle buffer_object(const DeviceBuffer& b) { return reinterpret_cast<ObjectHandle>(b.handle); }
  // Buffers have a multiple of 4 bytes, and at least 4: WebGPU copies only whole words.
  static uint64_t word_aligned_bytes(uint64_t bytes) { return std::max<uint64_t>(4, (bytes + 3) / 4 * 4); }
  Result<ObjectHandle> make_buffer(uint64_t bytes, uint64_t usage) {
    BufferDescriptor descriptor{.usage = usage, .size = word_aligned_bytes(bytes)};
    ObjectHandle buffer = api.DeviceCreateBuffer(device_, &descriptor);
    if (auto status = take_error("a buffer of " + std::to_string(bytes) + " bytes"); !status) return status.diag();
    return buffer;
  }
  Result<ObjectHandle> make_uniform_buffer(const void* value) {
    auto buffer = make_buffer(4, kUsesUniform | kCopyTo);
    if (buffer) api.QueueWriteBuffer(queue_, *buffer, 0, value, 4);
    return buffer;
  }
  // Returns the first error that WebGPU reported since the last call, and clears it.
  Status take_error(const std::string& what) {
    std::string error = std::move(error_);
    error_.clear();
    return error.empty() ? Status(Unit{}) : Diag{.message = "WebGPU refuses " + what, .context = error};
  }
  void submit(ObjectHandle encoder) {
    ObjectHandle commands = api.CommandEncoderFinish(encoder, nullptr);
    api.QueueSubmit(queue_, 1, &commands);
    api.CommandBufferRelease(commands);
    api.CommandEncoderRelease(encoder);
  }

  WebgpuApi api;
  ObjectHandle device() const { return device_; }

 private:
  ObjectHandle device_ = nullptr, queue_ = nullptr;
  std::string name_, error_;
};

class WebGpuKernel : public Kernel {
 public:
  WebGpuKernel(WebGpuDevice& device, ObjectHandle layout, ObjectHandle pipeline, size_t bindings)
      : Kernel(device), api_(device.api), layout_(layout), pipeline_(pipeline), num_bindings_(bindings) {}
  ~WebGpuKernel() override {
    api_.ComputePipelineRelease(pipeline_);
    api_.BindGroupLayoutRelease(layout_);
  }

  // WGSL has no literal for infinity, so infinity is binding 0; then come the buffers and the variables.
  Status launch(const LaunchArguments& a) override {
    if (1 + a.buffers.size() + a.variables.size() != num_bindings_)
      return Diag{"the kernel has " + std::to_string(num_bindings_ - 1) + " arguments, not " +
                  std::to_string(a.buffers.size() + a.variables.size())};
    std::vector<BindGroupEntry> entries;
    std::vector<ObjectHandle> uniforms;
    Status status = Unit{};
    auto add_uniform = [&](const void* value) {
      auto made = device().make_uniform_buffer(value);
      if (!made) return void(status = made.diag());
      uniforms.push_back(*made);
      entries.push_back({.binding = uint32_t(entries.size()), .buffer = *made, .size = 4});
    };
    const float infinity = std::numeric_limits<float>::infinity();
    add_uniform(&infinity);
    for (const DeviceBuffer& b : a.buffers)
      entries.push_back({.binding = uint32_t(entries.size()),
                         .buffer = WebGpuDevice::buffer_object(b),
                         .offset = b.offset,
                         .size = WebGpuDevice::word_aligned_bytes(b.bytes)});
    for (int64_t v : a.variables) {
      auto value = int32_t(v);
      add_uniform(&value);
    }
    if (status) status = submit(entries, a.launch_size.global_size);
    for (ObjectHandle u : uniforms) api_.BufferRelease(u);
    return status;
  }

 private:
  WebGpuDevice& device() { return static_cast<WebGpuDevice&>(device_); }

  Status submit(const std::vector<BindGroupEntry>& entries, const std::array<uint32_t, 3>& groups) {
    BindGroupDescriptor descriptor{.layout = layout_, .count = entries.size(), .entries = entries.data()};
    ObjectHandle group = api_.DeviceCreateBindGroup(device().device(), &descriptor);
    if (auto status = device().take_error("the kernel's arguments"); !status) return status;
    ObjectHandle encoder = api_.DeviceCreateCommandEncoder(device().device(), nullptr);
    ObjectHandle pass = api_.CommandEncoderBeginComputePass(encoder, nullptr);
    api_.ComputePassEncoderSetPipeline(pass, pipeline_);
    api_.ComputePassEncoderSetBindGroup(pass, 0, group, 0, nullptr);
    api_.ComputePassEncoderDispatchWorkgroups(pass, groups[0], groups[1], groups[2]);
    api_.ComputePassEncoderEnd(pass);
    api_.ComputePassEncoderRelease(pass);
    device().submit(encoder);
    api_.BindGroupRelease(group);
    return device().take_error("a launch");
  }

  const WebgpuApi& api_;
  ObjectHandle layout_, pipeline_;
  size_t num_bindings_;
};

// Stores a requested object (null on failure) where `userdata1` points, and the message where `userdata2` points.
void store_request_result(uint32_t status, ObjectHandle object, StringView message, void* userdata1, void* userdata2) {
  *static_cast<ObjectHandle*>(userdata1) = status == 1 ? object : nullptr;
  *static_cast<std::string*>(userdata2) = message.string();
}

Status WebGpuDevice::open() {
  if (queue_) return Unit{};
  if (auto status = api.load(); !status) return status;
  setenv("XDG_RUNTIME_DIR", "/", 0);  // otherwise Mesa warns that the variable is missing
  ObjectHandle instance = api.CreateInstance(nullptr), adapter = nullptr;
  std::string message;
  api.InstanceRequestAdapter(instance, nullptr,
                             {.callback = store_request_result, .userdata1 = &adapter, .userdata2 = &message});
  if (!adapter)
    return Diag{.message = "WebGPU finds no device: " + message,
                .expected = "on Debian: apt install mesa-vulkan-drivers"};
  AdapterInfo info{};
  DeviceLimits limits{};
  api.AdapterGetInfo(adapter, &info);
  api.AdapterGetLimits(adapter, &limits);
  name_ = info.device.string() + ", " + info.description.string();
  const uint32_t half = kShaderF16Feature;
  DeviceDescriptor wanted{.feature_count = api.AdapterHasFeature(adapter, half) ? size_t(1) : 0,
                          .features = &half,
                          .limits = &limits,
                          .on_lost = {},
                          .on_error = {}};
  wanted.on_error.userdata1 = &error_;
  wanted.on_error.callback = [](const ObjectHandle*, uint32_t, StringView text, void* to, void*) {
    auto& error = *static_cast<std::string*>(to);
    if (error.empty()) error = text.string();
  };
  api.AdapterRequestDevice(adapter, &wanted,
                           {.callback = store_request_result, .userdata1 = &device_, .userdata2 = &message});
  if (!device_) return Diag{"WebGPU gives no device: " + message};
  queue_ = api.DeviceGetQueue(device_);
  return Unit{};
}

Status WebGpuDevice::copy_in(const DeviceBuffer& to, const void* from) {
  if (to.bytes == 0) return Unit{};
  std::vector<uint8_t> whole(word_aligned_bytes(to.bytes));
  std::memcpy(whole.data(), from, to.bytes);
  api.QueueWriteBuffer(queue_, buffer_object(to), to.offset, whole.data(), whole.size());
  return take_error("a copy");
}

Status WebGpuDevice::copy_out(void* to, const DeviceBuffer& from) {
  if (from.bytes == 0) return Unit{};
  auto staging = make_buffer(from.bytes, kMapRead | kCopyTo);
  if (!staging) return staging.diag();
  ObjectHandle encoder = api.DeviceCreateCommandEncoder(device_, nullptr);
  api.CommandEncoderCopyBufferToBuffer(encoder, buffer_object(from), from.offset, *staging, 0,
                                       word_aligned_bytes(from.bytes));
  submit(encoder);
  uint32_t mapped = 0;
  auto on_mapped = [](uint32_t status, StringView, void* out, void*) { *static_cast<uint32_t*>(out) = status; };
  api.BufferMapAsync(*staging, kMapRead, 0, word_aligned_bytes(from.bytes),
                     {.callback = on_mapped, .userdata1 = &mapped});
  api.DevicePoll(device_, 1, nullptr);
  Status status = take_error("a copy");
  if (status && mapped != 1) status = Diag{"WebGPU does not map a buffer"};
  if (status) {
    std::memcpy(to, api.BufferGetConstMappedRange(*staging, 0, word_aligned_bytes(from.bytes)), from.bytes);
    api.BufferUnmap(*staging);
  }
  api.BufferRelease(*staging);
  return status;
}

Result<std::unique_ptr<Kernel>> WebGpuDevice::load(const KernelSource& source, const std::string& code) {
  std::vector<BindGroupLayoutEntry> entries;  // one per declared binding, used or not, as in tinygrad
  for (size_t at = 0; (at = code.find("@binding(", at)) != code.npos; at++) {
    entries.push_back({.binding = uint32_t(entries.size())});
    bool is_uniform = code.substr(code.find("var<", at), 11) == "var<uniform";
    entries.back().buffer.type = is_uniform ? kUniformBinding : kStorageBinding;
  }
  WgslSource text{.code = make_string_view(code)};
  ShaderModuleDescriptor module_descriptor{.next = &text.chain};
  ObjectHandle module = api.DeviceCreateShaderModule(device_, &module_descriptor);
  if (auto status = take_error("the source"); !status)
    return invalid_source_error("WGSL", source, status.diag().context);
  BindGroupLayoutDescriptor group{.count = entries.size(), .entries = entries.data()};
  ObjectHandle layout = api.DeviceCreateBindGroupLayout(device_, &group);
  PipelineLayoutDescriptor all{.count = 1, .layouts = &layout};
  ObjectHandle pipeline_layout = api.DeviceCreatePipelineLayout(device_, &all);
  ComputePipelineDescriptor descriptor{
      .layout = pipeline_layout, .module = module, .entry = make_string_view(source.function_name)};
  ObjectHandle pipeline = api.DeviceCreateComputePipeline(device_, &descriptor);
  api.PipelineLayoutRelease(pipeline_layout);
  api.ShaderModuleRelease(module);
  if (auto status = take_error("the kernel '" + source.name + "'"); !status) return status.diag();
  return std::unique_ptr<Kernel>(std::make_unique<WebGpuKernel>(*this, layout, pipeline, entries.size()));
}

}  // namespace

std::unique_ptr<Device> make_webgpu_device() { return std::make_unique<WebGpuDevice>(); }

}  // namespace tgc
