// The exported functions of AMD's code object manager (comgr 2) by which tinygrad's HIP runtime compiles HIP sources.
// The first action compiles the source to a code object with clang and lld (lib/compile); the actions that follow, code
// generation and linking, pass the code object on.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lib/compile/backends.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

enum Status { kSuccess = 0, kError = 1, kInvalidArgument = 2 };
enum Kind { kSource = 1, kLog = 5, kBitcode = 6, kRelocatable = 7, kExecutable = 8 };
enum Action { kCodegen = 6, kLink = 9, kCompileWithLibraries = 15 };

struct Data {
  int kind = 0;
  std::string bytes;
};
// A handle of the interface is a pointer to a DataHandle, DataSet or ActionInfo. A set and several handles can share
// the same data.
struct DataHandle {
  std::shared_ptr<Data> data;
};
struct DataSet {
  std::vector<std::shared_ptr<Data>> items;

  std::shared_ptr<Data> find(int kind, size_t index) const {
    for (const auto& d : items)
      if (d->kind == kind && index-- == 0) return d;
    return nullptr;
  }
  void add(int kind, std::string bytes) { items.push_back(std::make_shared<Data>(Data{kind, std::move(bytes)})); }
};
struct ActionInfo {
  std::string arch;
};

template <class T>
T& object_of_handle(uint64_t handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T>
int create_handle(uint64_t* handle, T made) {
  return *handle = reinterpret_cast<uint64_t>(new T(std::move(made))), kSuccess;
}
template <class T>
int destroy_handle(uint64_t handle) {
  return delete &object_of_handle<T>(handle), kSuccess;
}

int compile_hip(const ActionInfo& info, const DataSet& in, DataSet& out) {
  auto source = in.find(kSource, 0);
  if (!source) return kInvalidArgument;
  tgc::CompileJob job{.language = tgc::Language::Hip, .machine = "amdgcn", .arch = info.arch, .source = source->bytes};
  job.annotates_lines = true;  // the emulator's messages name source lines
  auto made = tgc::catch_failures([&] { return tgc::compile_by_llvm(job, tgc::Artifact::Binary); });
  if (made) return out.add(kBitcode, std::move(*made)), kSuccess;
  const tgc::Diag& d = made.diag();
  out.add(kLog, d.line ? "kernel.hip:" + std::to_string(d.line) + ": error: " + d.message : "error: " + d.text());
  return kError;
}
int copy_data(int from, int to, const DataSet& in, DataSet& out) {
  auto data = in.find(from, 0);
  if (!data) return kInvalidArgument;
  return out.add(to, data->bytes), kSuccess;
}

}  // namespace

EXPORT void amd_comgr_get_version(size_t* major, size_t* minor) { *major = 2, *minor = 8; }
EXPORT int amd_comgr_status_string(int status, const char** text) {
  *text = status == kSuccess ? "SUCCESS" : status == kInvalidArgument ? "INVALID_ARGUMENT" : "ERROR";
  return kSuccess;
}

EXPORT int amd_comgr_create_data(int kind, uint64_t* data) {
  return create_handle(data, DataHandle{std::make_shared<Data>(Data{.kind = kind})});
}
EXPORT int amd_comgr_release_data(uint64_t data) { return destroy_handle<DataHandle>(data); }
EXPORT int amd_comgr_set_data(uint64_t data, size_t size, const char* bytes) {
  return object_of_handle<DataHandle>(data).data->bytes.assign(bytes, size), kSuccess;
}
EXPORT int amd_comgr_set_data_name(uint64_t, const char*) { return kSuccess; }
// Copies at most `*size` bytes, unless `bytes` is null, and sets `*size` to the data's size.
EXPORT int amd_comgr_get_data(uint64_t data, size_t* size, char* bytes) {
  const std::string& from = object_of_handle<DataHandle>(data).data->bytes;
  if (bytes) std::memcpy(bytes, from.data(), std::min(*size, from.size()));
  return *size = from.size(), kSuccess;
}
EXPORT int amd_comgr_create_data_set(uint64_t* set) { return create_handle(set, DataSet{}); }
EXPORT int amd_comgr_destroy_data_set(uint64_t set) { return destroy_handle<DataSet>(set); }
EXPORT int amd_comgr_data_set_add(uint64_t set, uint64_t data) {
  return object_of_handle<DataSet>(set).items.push_back(object_of_handle<DataHandle>(data).data), kSuccess;
}
EXPORT int amd_comgr_action_data_get_data(uint64_t set, int kind, size_t index, uint64_t* data) {
  auto found = object_of_handle<DataSet>(set).find(kind, index);
  return found ? create_handle(data, DataHandle{found}) : int(kInvalidArgument);
}

EXPORT int amd_comgr_create_action_info(uint64_t* info) { return create_handle(info, ActionInfo{}); }
EXPORT int amd_comgr_destroy_action_info(uint64_t info) { return destroy_handle<ActionInfo>(info); }
EXPORT int amd_comgr_action_info_set_language(uint64_t, int) { return kSuccess; }
EXPORT int amd_comgr_action_info_set_logging(uint64_t, bool) { return kSuccess; }
// Ignores the options: lib/compile has the flags of tinygrad's compiler_amd.py.
EXPORT int amd_comgr_action_info_set_option_list(uint64_t, const char* const*, size_t) { return kSuccess; }
EXPORT int amd_comgr_action_info_set_isa_name(uint64_t info, const char* name) {
  constexpr std::string_view kTriple = "amdgcn-amd-amdhsa--";
  std::string_view text = name;
  if (!text.starts_with(kTriple)) return kInvalidArgument;
  text.remove_prefix(kTriple.size());
  return object_of_handle<ActionInfo>(info).arch = text.substr(0, text.find(':')), kSuccess;
}
EXPORT int amd_comgr_do_action(int action, uint64_t info, uint64_t from, uint64_t to) {
  const DataSet& in = object_of_handle<DataSet>(from);
  DataSet& out = object_of_handle<DataSet>(to);
  switch (action) {
    case kCompileWithLibraries: return compile_hip(object_of_handle<ActionInfo>(info), in, out);
    case kCodegen: return copy_data(kBitcode, kRelocatable, in, out);
    case kLink: return copy_data(kRelocatable, kExecutable, in, out);
    default: out.add(kLog, "error: the emulator's comgr only compiles HIP sources"); return kError;
  }
}
