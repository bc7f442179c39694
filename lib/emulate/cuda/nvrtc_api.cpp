// The exported NVRTC functions that tinygrad's CUDA runtime calls. clang compiles the sources to PTX (lib/compile).
// There are no cubins: the emulator executes PTX.
#include <cstring>
#include <string>

#include "lib/compile/backends.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

enum { kSuccess = 0, kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6, kNoCubin = 7 };

struct Program {
  std::string source, ptx, log;
};

int store_size(const std::string& text, size_t* bytes) { return *bytes = text.size() + 1, kSuccess; }
int copy_text(const std::string& text, char* to) { return std::memcpy(to, text.c_str(), text.size() + 1), kSuccess; }

// Returns the option --gpu-architecture (or -arch), with sm_NN for compute_NN; empty if it is missing.
std::string architecture_option(int count, const char* const* options) {
  std::string out;
  for (int i = 0; i < count; i++)
    for (std::string_view name : {"--gpu-architecture=", "-arch="})
      if (std::string_view option = options[i]; option.starts_with(name)) out = option.substr(name.size());
  return out.starts_with("compute_") ? "sm_" + out.substr(8) : out;
}

}  // namespace

EXPORT const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case kSuccess: return "NVRTC_SUCCESS";
    case kInvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidProgram: return "NVRTC_ERROR_INVALID_PROGRAM";
    case kInvalidOption: return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
  }
}
EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 4, kSuccess; }
EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int headers, const char* const*,
                              const char* const*) {
  if (!program || !source || headers != 0) return kInvalidInput;
  return *program = new Program{.source = source}, kSuccess;
}
EXPORT int nvrtcDestroyProgram(void** program) {
  if (!program || !*program) return kInvalidProgram;
  delete static_cast<Program*>(*program);
  return *program = nullptr, kSuccess;
}
EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  if (!program) return kInvalidProgram;
  auto& p = *static_cast<Program*>(program);
  tgc::CompileJob job{.language = tgc::Language::Cuda, .arch = architecture_option(count, options), .source = p.source};
  if (job.arch.empty()) return p.log = "the option --gpu-architecture is missing", kInvalidOption;
  job.annotates_lines = true;  // the emulator's messages name source lines
  auto made = tgc::catch_failures([&] { return tgc::compile_cuda_by_clang(job, tgc::OutputForm::Assembly); });
  if (made) return p.ptx = std::move(*made), kSuccess;
  const tgc::Diag& d = made.diag();
  p.log = d.line ? "kernel.cu(" + std::to_string(d.line) + "): error: " + d.message : "error: " + d.text();
  return kCompilation;
}
EXPORT int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  return store_size(static_cast<Program*>(program)->log, bytes);
}
EXPORT int nvrtcGetProgramLog(void* program, char* to) { return copy_text(static_cast<Program*>(program)->log, to); }
EXPORT int nvrtcGetPTXSize(void* program, size_t* bytes) {
  return store_size(static_cast<Program*>(program)->ptx, bytes);
}
EXPORT int nvrtcGetPTX(void* program, char* to) { return copy_text(static_cast<Program*>(program)->ptx, to); }
EXPORT int nvrtcGetCUBINSize(void*, size_t*) { return kNoCubin; }
EXPORT int nvrtcGetCUBIN(void*, char*) { return kNoCubin; }
