// The exported libcuda functions of the emulated GPU. All work is synchronous, and all streams are one queue.
#include <chrono>
#include <cstring>
#include <memory>

#include "lib/emulate/cuda/driver.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using namespace tgc::ptx;
using Address = unsigned long long;

struct Event {
  std::chrono::steady_clock::time_point time;
};
struct GraphNode {
  LaunchNode launch;
  bool is_copy = false;
  Address to = 0, from = 0;
  size_t bytes = 0;
};
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

int the_context;
thread_local void* current_context = nullptr;
bool is_started = false;

EmulatedGpu& gpu() { return EmulatedGpu::get_gpu(); }

int copy_to_device(Address to, const void* from, size_t bytes) {
  if (!is_started) return kNotInitialized;
  if (int wrong = gpu().check_range("cuMemcpyHtoD", to, bytes)) return wrong;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
int copy_from_device(void* to, Address from, size_t bytes) {
  if (!is_started) return kNotInitialized;
  if (int wrong = gpu().check_range("cuMemcpyDtoH", from, bytes)) return wrong;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
int copy_on_device(Address to, Address from, size_t bytes) {
  if (!is_started) return kNotInitialized;
  if (int wrong = gpu().check_range("cuMemcpyDtoD", to, bytes)) return wrong;
  if (int wrong = gpu().check_range("cuMemcpyDtoD", from, bytes)) return wrong;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

constexpr int kErrorLog = 5, kErrorLogBytes = 6;  // values of CUDA's enum CUjit_option

int load_module(void** module, const void* image, unsigned n, const int* options, void** values) {
  if (!is_started) return kNotInitialized;
  if (!module || !image) return kInvalidValue;
  LoadedModule* loaded = nullptr;
  std::string log;
  const char* text = static_cast<const char*>(image);
  int code = gpu().load_code({text, std::strlen(text)}, loaded, log);
  char* buffer = nullptr;
  size_t room = 0;
  for (unsigned k = 0; k < n; k++) {
    if (options[k] == kErrorLog) buffer = static_cast<char*>(values[k]);
    if (options[k] == kErrorLogBytes) room = reinterpret_cast<size_t>(values[k]);
  }
  if (buffer && room) std::snprintf(buffer, room, "%s", log.c_str());
  *module = loaded;
  return code;
}

}  // namespace

EXPORT int cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  if (int wrong = gpu().check_processor()) return wrong;
  is_started = true;
  return kSuccess;
}
EXPORT int cuDriverGetVersion(int* version) { return *version = 12040, kSuccess; }
EXPORT int cuGetErrorName(int code, const char** name) {
  *name = gpu().error_name(code);
  return *name ? kSuccess : kInvalidValue;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = gpu().text_of_error(code);
  return *text ? kSuccess : kInvalidValue;
}
EXPORT int cuDeviceGetCount(int* count) { return *count = 1, is_started ? kSuccess : kNotInitialized; }
EXPORT int cuDeviceGet(int* device, int n) {
  if (!is_started) return kNotInitialized;
  *device = 0;
  return n == 0 ? kSuccess : int(kInvalidDevice);
}
EXPORT int cuDeviceGetName(char* name, int room, int device) {
  if (device != 0) return kInvalidDevice;
  std::snprintf(name, size_t(room), "%s", gpu().name().c_str());
  return kSuccess;
}
EXPORT int cuDeviceComputeCapability(int* major, int* minor, int device) {
  *major = gpu().architecture() / 10, *minor = gpu().architecture() % 10;
  return device == 0 ? kSuccess : int(kInvalidDevice);
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device != 0) return kInvalidDevice;
  switch (attribute) {
    case 1:
    case 2:
    case 3: *value = 1024; break;  // maximum number of threads of a block, and its sizes in x and y
    case 4: *value = 64; break;
    case 5:
    case 6:
    case 7: *value = attribute == 5 ? INT32_MAX : 65535; break;      // maximum grid size per dimension
    case 8: *value = 48 << 10; break;                                               // shared memory per block
    case 10: *value = 32; break;                                                    // warp size
    case 16: *value = 1; break;                                                     // number of multiprocessors
    case 75: *value = gpu().architecture() / 10; break;
    case 76: *value = gpu().architecture() % 10; break;
    case 97: *value = 227 << 10; break;  // opt-in shared memory per block
    default: *value = 0;
  }
  return kSuccess;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = gpu().memory().limit_bytes(), kSuccess; }
EXPORT int cuDeviceCanAccessPeer(int* can, int, int) { return *can = 0, kSuccess; }

EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = &the_context, is_started ? kSuccess : kNotInitialized;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
EXPORT int cuCtxCreate_v2(void** context, unsigned, int device) {
  if (!is_started) return kNotInitialized;
  if (device != 0) return kInvalidDevice;
  *context = current_context = &the_context;
  return kSuccess;
}
EXPORT int cuCtxDestroy_v2(void*) { return kSuccess; }
EXPORT int cuCtxSetCurrent(void* context) {
  if (context && context != &the_context) return kInvalidContext;
  current_context = context;
  return kSuccess;
}
EXPORT int cuCtxGetCurrent(void** context) { return *context = current_context, kSuccess; }
EXPORT int cuCtxSynchronize() { return is_started ? kSuccess : kNotInitialized; }
EXPORT int cuCtxEnablePeerAccess(void*, unsigned) { return kSuccess; }

EXPORT int cuMemAlloc_v2(Address* address, size_t bytes) {
  if (!is_started) return kNotInitialized;
  if (bytes == 0) return gpu().set_error(kInvalidValue, "an allocation of no bytes");
  *address = gpu().memory().allocate(bytes);
  return *address ? kSuccess : gpu().set_error(kOutOfMemory, std::to_string(bytes) + " bytes");
}
EXPORT int cuMemFree_v2(Address address) {
  return address == 0 || gpu().memory().free(address)
             ? kSuccess
             : gpu().set_error(kInvalidValue, "what is freed was not allocated");
}
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = gpu().memory().limit_bytes();
  *free = *total - gpu().memory().used_bytes();
  return kSuccess;
}
EXPORT int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  Address at = gpu().memory().allocate(bytes ? bytes : 1);
  *address = reinterpret_cast<void*>(at);
  return at ? kSuccess : kOutOfMemory;
}
EXPORT int cuMemFreeHost(void* address) {
  return gpu().memory().free(reinterpret_cast<Address>(address)) ? kSuccess : kInvalidValue;
}
EXPORT int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) { return copy_to_device(to, from, bytes); }
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void*) {
  return copy_to_device(to, from, bytes);
}
EXPORT int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) { return copy_from_device(to, from, bytes); }
EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void*) {
  return copy_from_device(to, from, bytes);
}
EXPORT int cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) { return copy_on_device(to, from, bytes); }
EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void*) {
  return copy_on_device(to, from, bytes);
}
EXPORT int cuMemsetD8_v2(Address to, unsigned char value, size_t bytes) {
  if (int wrong = gpu().check_range("cuMemsetD8", to, bytes)) return wrong;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return kSuccess;
}

EXPORT int cuModuleLoadData(void** module, const void* image) {
  return load_module(module, image, 0, nullptr, nullptr);
}
EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options, void** values) {
  return load_module(module, image, n, options, values);
}
EXPORT int cuModuleUnload(void* module) { return gpu().modules().unload(static_cast<LoadedModule*>(module)); }
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  Kernel* kernel = nullptr;
  int code = gpu().modules().find_kernel(static_cast<LoadedModule*>(module), name, kernel);
  *function = kernel;
  return code;
}
EXPORT int cuModuleGetGlobal_v2(Address* address, size_t* bytes, void* module, const char* name) {
  if (!gpu().modules().contains(static_cast<LoadedModule*>(module))) return kInvalidHandle;
  const LoadedModule::VariableSpan* place = static_cast<LoadedModule*>(module)->variable(name);
  if (!place) return kNotFound;
  if (address) *address = place->address;
  if (bytes) *bytes = place->bytes;
  return kSuccess;
}
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  constexpr int kMostDynamicShared = 8;
  if (!gpu().modules().contains(static_cast<Kernel*>(function))) return kInvalidHandle;
  if (attribute == kMostDynamicShared) static_cast<Kernel*>(function)->max_dynamic_shared_bytes = uint64_t(value);
  return kSuccess;
}
EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void*, void** parameters, void** extra) {
  LaunchNode node{.kernel = static_cast<Kernel*>(function),
                  .grid = {gx, gy, gz},
                  .block = {bx, by, bz},
                  .dynamic_shared_bytes = shared};
  if (!gpu().modules().contains(node.kernel)) return kInvalidHandle;
  int code = gpu().pack_parameters(*node.kernel, parameters, extra, node.parameters);
  return code ? code : gpu().launch(node);
}

EXPORT int cuStreamCreate(void** stream, unsigned) { return *stream = &the_context, kSuccess; }
EXPORT int cuStreamDestroy_v2(void*) { return kSuccess; }
EXPORT int cuStreamSynchronize(void*) { return kSuccess; }
EXPORT int cuStreamWaitEvent(void*, void*, unsigned) { return kSuccess; }
EXPORT int cuEventCreate(void** event, unsigned) { return *event = new Event{}, kSuccess; }
EXPORT int cuEventRecord(void* event, void*) {
  return static_cast<Event*>(event)->time = std::chrono::steady_clock::now(), kSuccess;
}
EXPORT int cuEventSynchronize(void*) { return kSuccess; }
EXPORT int cuEventQuery(void*) { return kSuccess; }
EXPORT int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  std::chrono::duration<float, std::milli> time = static_cast<Event*>(to)->time - static_cast<Event*>(from)->time;
  return *milliseconds = time.count(), kSuccess;
}
EXPORT int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), kSuccess; }

// ---- graphs: kernel launches and copies, which run in the order in which they were added
struct KernelNodeParams {
  void* function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void **parameters, **extra;
};
struct MemcpyParams {
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void* from_host;
  Address from;
  void *from_array, *reserved0;
  size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
  int to_type;
  void* to_host;
  Address to;
  void *to_array, *reserved1;
  size_t to_pitch, to_height, width, height, depth;
};

namespace {
int set_launch_node(GraphNode& node, const KernelNodeParams& p) {
  node.launch = {.kernel = static_cast<Kernel*>(p.function),
                 .grid = {p.grid_x, p.grid_y, p.grid_z},
                 .block = {p.block_x, p.block_y, p.block_z},
                 .dynamic_shared_bytes = p.shared_bytes};
  if (!gpu().modules().contains(node.launch.kernel)) return kInvalidHandle;
  return gpu().pack_parameters(*node.launch.kernel, p.parameters, p.extra, node.launch.parameters);
}
int set_copy_node(GraphNode& node, const MemcpyParams& p) {
  constexpr int kDevice = 2;
  if (p.from_type != kDevice || p.to_type != kDevice || p.height != 1 || p.depth != 1) return kNotSupported;
  node.is_copy = true, node.to = p.to + p.to_x, node.from = p.from + p.from_x, node.bytes = p.width;
  return kSuccess;
}
}  // namespace

EXPORT int cuGraphCreate(void** graph, unsigned) { return *graph = new Graph, kSuccess; }
EXPORT int cuGraphAddKernelNode(void** node, void* graph, void* const*, size_t, const KernelNodeParams* p) {
  auto made = std::make_unique<GraphNode>();
  if (int code = set_launch_node(*made, *p)) return code;
  *node = made.get();
  return static_cast<Graph*>(graph)->nodes.push_back(std::move(made)), kSuccess;
}
EXPORT int cuGraphAddMemcpyNode(void** node, void* graph, void* const*, size_t, const MemcpyParams* p, void*) {
  auto made = std::make_unique<GraphNode>();
  if (int code = set_copy_node(*made, *p)) return code;
  *node = made.get();
  return static_cast<Graph*>(graph)->nodes.push_back(std::move(made)), kSuccess;
}
// The executable graph is `graph` itself, so the handles of its nodes stay valid.
EXPORT int cuGraphInstantiate_v2(void** instance, void* graph, void**, char*, size_t) {
  return *instance = graph, kSuccess;
}
EXPORT int cuGraphExecKernelNodeSetParams(void*, void* node, const KernelNodeParams* p) {
  return set_launch_node(*static_cast<GraphNode*>(node), *p);
}
EXPORT int cuGraphExecMemcpyNodeSetParams(void*, void* node, const MemcpyParams* p, void*) {
  return set_copy_node(*static_cast<GraphNode*>(node), *p);
}
EXPORT int cuGraphLaunch(void* instance, void*) {
  for (auto& n : static_cast<Graph*>(instance)->nodes)
    if (int code = n->is_copy ? copy_on_device(n->to, n->from, n->bytes) : gpu().launch(n->launch)) return code;
  return kSuccess;
}
EXPORT int cuGraphExecDestroy(void*) { return kSuccess; }
EXPORT int cuGraphDestroy(void*) { return kSuccess; }  // keeps the graph, because executable graphs share its nodes
