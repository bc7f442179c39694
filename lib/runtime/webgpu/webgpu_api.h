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
inline StringView make_string_view(const std::string& s) { return {s.data(), s.size()}; }

struct ChainedStruct {
  const ChainedStruct* next = nullptr;
  uint32_t type = 0;
};
using ObjectHandle = struct Opaque*;

// The library passes `userdata1` and `userdata2` as the last two arguments of `callback`.
template <class Callback>
struct CallbackInfo {
  const ChainedStruct* next = nullptr;
  uint32_t mode = 3;  // WGPUCallbackMode_AllowSpontaneous
  Callback* callback = nullptr;
  void *userdata1 = nullptr, *userdata2 = nullptr;
};
using RequestCallback = void(uint32_t status, ObjectHandle object, StringView message, void*,
                             void*);  // status 1: success
using BufferMapCallback = void(uint32_t status, StringView message, void*, void*);
using DeviceLostCallback = void(const ObjectHandle* device, uint32_t reason, StringView message, void*, void*);
using UncapturedErrorCallback = void(const ObjectHandle* device, uint32_t type, StringView message, void*, void*);

struct DeviceLimits {
  const ChainedStruct* next = nullptr;
  uint32_t textures[4], bind_group_limits[2], bindings, dynamic_uniforms, dynamic_storages, sampled_textures, samplers,
      storages, storage_textures, uniforms;
  uint64_t uniform_bytes, storage_bytes;
  uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertex_limits[3], attachments[2], workgroup_bytes, workgroup_threads, workgroup_sizes[3], workgroups,
      immediate;
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
  CallbackInfo<DeviceLostCallback> on_lost;
  struct {
    const ChainedStruct* next = nullptr;
    UncapturedErrorCallback* callback = nullptr;
    void *userdata1 = nullptr, *userdata2 = nullptr;
  } on_error;
};
struct BufferDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  uint64_t usage = 0, size = 0;
  uint32_t is_mapped_at_creation = 0;
};
struct WgslSource {
  ChainedStruct chain{nullptr, 2};
  StringView code;
};
struct ShaderModuleDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
};
struct BindGroupLayoutEntry {
  const ChainedStruct* next = nullptr;
  uint32_t binding = 0;
  uint64_t visibility = 4;  // WGPUShaderStage_Compute
  uint32_t array_size = 0;
  struct {
    const ChainedStruct* next = nullptr;
    uint32_t type = 0, has_dynamic_offset = 0;
    uint64_t min_binding_bytes = 0;
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
struct BindGroupLayoutDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  size_t count = 0;
  const BindGroupLayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  size_t count = 0;
  const ObjectHandle* layouts = nullptr;
  uint32_t immediate = 0;
};
struct ComputePipelineDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  ObjectHandle layout = nullptr;
  const ChainedStruct* compute_next = nullptr;
  ObjectHandle module = nullptr;
  StringView entry;
  size_t num_constants = 0;
  const void* constant_entries = nullptr;
};
struct BindGroupEntry {
  const ChainedStruct* next = nullptr;
  uint32_t binding = 0;
  ObjectHandle buffer = nullptr;
  uint64_t offset = 0, size = 0;
  ObjectHandle sampler = nullptr, texture = nullptr;
};
struct BindGroupDescriptor {
  const ChainedStruct* next = nullptr;
  StringView label;
  ObjectHandle layout = nullptr;
  size_t count = 0;
  const BindGroupEntry* entries = nullptr;
};

inline constexpr uint32_t kUniformBinding = 2, kStorageBinding = 3, kShaderF16Feature = 11;
inline constexpr uint64_t kMapRead = 1, kCopyFrom = 4, kCopyTo = 8, kUsesUniform = 64, kUsesStorage = 128;

// The library's names of these functions have the prefix "wgpu".
struct WebgpuApi {
#define TGC_WEBGPU_FUNCTIONS(F) \
  F(ObjectHandle, CreateInstance, const void*) \
  F(uint64_t, InstanceRequestAdapter, ObjectHandle, const void*, CallbackInfo<RequestCallback>) \
  F(uint64_t, AdapterRequestDevice, ObjectHandle, const DeviceDescriptor*, CallbackInfo<RequestCallback>) \
  F(uint32_t, AdapterGetInfo, ObjectHandle, AdapterInfo*) \
  F(uint32_t, AdapterHasFeature, ObjectHandle, uint32_t) \
  F(uint32_t, AdapterGetLimits, ObjectHandle, DeviceLimits*) \
  F(ObjectHandle, DeviceGetQueue, ObjectHandle) \
  F(ObjectHandle, DeviceCreateBuffer, ObjectHandle, const BufferDescriptor*) \
  F(void, QueueWriteBuffer, ObjectHandle, ObjectHandle, uint64_t, const void*, size_t) \
  F(ObjectHandle, DeviceCreateShaderModule, ObjectHandle, const ShaderModuleDescriptor*) \
  F(ObjectHandle, DeviceCreateBindGroupLayout, ObjectHandle, const BindGroupLayoutDescriptor*) \
  F(ObjectHandle, DeviceCreatePipelineLayout, ObjectHandle, const PipelineLayoutDescriptor*) \
  F(ObjectHandle, DeviceCreateComputePipeline, ObjectHandle, const ComputePipelineDescriptor*) \
  F(ObjectHandle, DeviceCreateBindGroup, ObjectHandle, const BindGroupDescriptor*) \
  F(ObjectHandle, DeviceCreateCommandEncoder, ObjectHandle, const void*) \
  F(ObjectHandle, CommandEncoderBeginComputePass, ObjectHandle, const void*) \
  F(void, ComputePassEncoderSetPipeline, ObjectHandle, ObjectHandle) \
  F(void, ComputePassEncoderSetBindGroup, ObjectHandle, uint32_t, ObjectHandle, size_t, const uint32_t*) \
  F(void, ComputePassEncoderDispatchWorkgroups, ObjectHandle, uint32_t, uint32_t, uint32_t) \
  F(void, ComputePassEncoderEnd, ObjectHandle) \
  F(void, CommandEncoderCopyBufferToBuffer, ObjectHandle, ObjectHandle, uint64_t, ObjectHandle, uint64_t, uint64_t) \
  F(ObjectHandle, CommandEncoderFinish, ObjectHandle, const void*) \
  F(void, QueueSubmit, ObjectHandle, size_t, const ObjectHandle*) \
  F(uint64_t, BufferMapAsync, ObjectHandle, uint64_t, size_t, size_t, CallbackInfo<BufferMapCallback>) \
  F(const void*, BufferGetConstMappedRange, ObjectHandle, size_t, size_t) \
  F(void, BufferUnmap, ObjectHandle) \
  F(uint32_t, DevicePoll, ObjectHandle, uint32_t, const void*) \
  F(void, BufferRelease, ObjectHandle) \
  F(void, BindGroupRelease, ObjectHandle) \
  F(void, BindGroupLayoutRelease, ObjectHandle) \
  F(void, PipelineLayoutRelease, ObjectHandle) \
  F(void, ComputePipelineRelease, ObjectHandle) \
  F(void, ShaderModuleRelease, ObjectHandle) \
  F(void, ComputePassEncoderRelease, ObjectHandle) \
  F(void, CommandEncoderRelease, ObjectHandle) \
  F(void, CommandBufferRelease, ObjectHandle)
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
