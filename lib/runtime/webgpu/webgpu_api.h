// The part of WebGPU's C interface (webgpu.h of 2025) that the backend uses, declared here so that building needs no
// WebGPU header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "lib/runtime/gpu_device.h"

namespace tgc::webgpu {

struct StringView {
  const char* data = nullptr;
  size_t length = std::numeric_limits<size_t>::max();  // the maximum: `data` ends with a zero byte
  std::string string() const {
    return !data ? "" : length == std::numeric_limits<size_t>::max() ? std::string(data) : std::string(data, length);
  }
};
inline StringView text_of(const std::string& s) { return {s.data(), s.size()}; }

struct ChainedStruct {
  const ChainedStruct* next = nullptr;
  uint32_t type = 0;
};
using Object = struct Opaque*;

// The library passes `first` and `second` as the last two arguments of `callback`.
template <class Callback>
struct CallbackInfo {
  const ChainedStruct* next = nullptr;
  uint32_t mode = 3;  // WGPUCallbackMode_AllowSpontaneous
  Callback* callback = nullptr;
  void *first = nullptr, *second = nullptr;
};
using OnObject = void(uint32_t status, Object object, StringView message, void*, void*);  // status 1: success
using OnMapped = void(uint32_t status, StringView message, void*, void*);
using OnLost = void(const Object* device, uint32_t reason, StringView message, void*, void*);
using OnError = void(const Object* device, uint32_t type, StringView message, void*, void*);

struct DeviceLimits {
  const ChainedStruct* next = nullptr;
  uint32_t textures[4], groups[2], bindings, dynamic_uniforms, dynamic_storages, sampled, samplers, storages,
      storage_textures, uniforms;
  uint64_t uniform_bytes, storage_bytes;
  uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertex[3], attachments[2], workgroup_bytes, workgroup_threads, workgroup[3], workgroups, immediate;
};
struct AdapterInfo {
  const ChainedStruct* next = nullptr;
  StringView vendor, architecture, device, description;
  uint32_t backend, type, vendor_id, device_id, subgroups[2];
};
struct DeviceDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const DeviceLimits* limits = nullptr;
  const ChainedStruct* queue_next = nullptr;
  StringView queue_label;
  CallbackInfo<OnLost> on_lost;
  struct {
    const ChainedStruct* next = nullptr;
    OnError* callback = nullptr;
    void *first = nullptr, *second = nullptr;
  } on_error;
};
struct BufferDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  uint64_t usage = 0, size = 0;
  uint32_t mapped = 0;
};
struct WgslSource {
  ChainedStruct chain{nullptr, 2};
  StringView code;
};
struct ShaderModuleDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
};
struct LayoutEntry {
  const ChainedStruct* next = nullptr;
  uint32_t binding = 0;
  uint64_t visibility = 4;  // WGPUShaderStage_Compute
  uint32_t array_size = 0;
  struct {
    const ChainedStruct* next = nullptr;
    uint32_t type = 0, dynamic = 0;
    uint64_t least_bytes = 0;
  } buffer;
  struct {
    const ChainedStruct* next = nullptr;
    uint32_t type = 0;
  } sampler;
  struct {
    const ChainedStruct* next = nullptr;
    uint32_t type = 0, dimension = 0, multisampled = 0;
  } texture;
  struct {
    const ChainedStruct* next = nullptr;
    uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture;
};
struct LayoutDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  size_t count = 0;
  const LayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  size_t count = 0;
  const Object* layouts = nullptr;
  uint32_t immediate = 0;
};
struct PipelineDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  Object layout = nullptr;
  const ChainedStruct* compute_next = nullptr;
  Object module = nullptr;
  StringView entry;
  size_t constants = 0;
  const void* constant = nullptr;
};
struct GroupEntry {
  const ChainedStruct* next = nullptr;
  uint32_t binding = 0;
  Object buffer = nullptr;
  uint64_t offset = 0, size = 0;
  Object sampler = nullptr, texture = nullptr;
};
struct GroupDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  Object layout = nullptr;
  size_t count = 0;
  const GroupEntry* entries = nullptr;
};

inline constexpr uint32_t kUniform = 2, kStorage = 3, kShaderF16 = 11;
inline constexpr uint64_t kMapRead = 1, kCopyFrom = 4, kCopyTo = 8, kUsesUniform = 64, kUsesStorage = 128;

// The library's names of these functions have the prefix "wgpu".
struct WebgpuApi {
#define TGC_WEBGPU_FUNCTIONS(F) \
  F(Object, CreateInstance, const void*) \
  F(uint64_t, InstanceRequestAdapter, Object, const void*, CallbackInfo<OnObject>) \
  F(uint64_t, AdapterRequestDevice, Object, const DeviceDescriptor*, CallbackInfo<OnObject>) \
  F(uint32_t, AdapterGetInfo, Object, AdapterInfo*) \
  F(uint32_t, AdapterHasFeature, Object, uint32_t) \
  F(uint32_t, AdapterGetLimits, Object, DeviceLimits*) \
  F(Object, DeviceGetQueue, Object) \
  F(Object, DeviceCreateBuffer, Object, const BufferDescriptor*) \
  F(void, QueueWriteBuffer, Object, Object, uint64_t, const void*, size_t) \
  F(Object, DeviceCreateShaderModule, Object, const ShaderModuleDescriptor*) \
  F(Object, DeviceCreateBindGroupLayout, Object, const LayoutDescriptor*) \
  F(Object, DeviceCreatePipelineLayout, Object, const PipelineLayoutDescriptor*) \
  F(Object, DeviceCreateComputePipeline, Object, const PipelineDescriptor*) \
  F(Object, DeviceCreateBindGroup, Object, const GroupDescriptor*) \
  F(Object, DeviceCreateCommandEncoder, Object, const void*) \
  F(Object, CommandEncoderBeginComputePass, Object, const void*) \
  F(void, ComputePassEncoderSetPipeline, Object, Object) \
  F(void, ComputePassEncoderSetBindGroup, Object, uint32_t, Object, size_t, const uint32_t*) \
  F(void, ComputePassEncoderDispatchWorkgroups, Object, uint32_t, uint32_t, uint32_t) \
  F(void, ComputePassEncoderEnd, Object) \
  F(void, CommandEncoderCopyBufferToBuffer, Object, Object, uint64_t, Object, uint64_t, uint64_t) \
  F(Object, CommandEncoderFinish, Object, const void*) \
  F(void, QueueSubmit, Object, size_t, const Object*) \
  F(uint64_t, BufferMapAsync, Object, uint64_t, size_t, size_t, CallbackInfo<OnMapped>) \
  F(const void*, BufferGetConstMappedRange, Object, size_t, size_t) \
  F(void, BufferUnmap, Object) \
  F(uint32_t, DevicePoll, Object, uint32_t, const void*) \
  F(void, BufferRelease, Object) \
  F(void, BindGroupRelease, Object) \
  F(void, BindGroupLayoutRelease, Object) \
  F(void, PipelineLayoutRelease, Object) \
  F(void, ComputePipelineRelease, Object) \
  F(void, ShaderModuleRelease, Object) \
  F(void, ComputePassEncoderRelease, Object) \
  F(void, CommandEncoderRelease, Object) \
  F(void, CommandBufferRelease, Object)
#define TGC_DECLARE(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  TGC_WEBGPU_FUNCTIONS(TGC_DECLARE)
#undef TGC_DECLARE

  Status load() {
    auto library = DynamicLibrary::open("TGC_WEBGPU_LIBRARY", {"libwgpu_native.so", "libwgpu_native-release.so"});
    if (!library)
      return Diag{.message = "no WebGPU: " + library.diag().message,
                  .expected = "TGC_WEBGPU_LIBRARY=libwgpu_native-release.so of PyPI's package wgpu"};
#define TGC_BIND(result, name, ...) \
  if (auto status = library->bind_function(name, "wgpu" #name); !status) return status;
    TGC_WEBGPU_FUNCTIONS(TGC_BIND)
#undef TGC_BIND
    return Unit{};
  }
};

}  // namespace tgc::webgpu
