// Compiles OpenCL with this computer's first platform; the result has the platform's binary format.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <regex>
#include <vector>

#include "lib/compile/backends.h"
#include "lib/contain/contain.h"

namespace tgc {
namespace {

struct OpenClFunctions {
  void* library = ::dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  template <class F>
  F* bind(F*, const char* name) const {
    return library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
  }
#define TGC_CL(name) decltype(&::name) name = bind(decltype(&::name)(nullptr), #name);
  TGC_CL(clGetPlatformIDs)
  TGC_CL(clGetPlatformInfo) TGC_CL(clGetDeviceIDs) TGC_CL(clGetDeviceInfo) TGC_CL(clCreateContext)
      TGC_CL(clReleaseContext) TGC_CL(clCreateProgramWithSource) TGC_CL(clBuildProgram) TGC_CL(clGetProgramBuildInfo)
          TGC_CL(clGetProgramInfo) TGC_CL(clReleaseProgram)
#undef TGC_CL
};

struct OpenClDevice {
  OpenClFunctions functions;
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  std::string name;     // such as "OpenCL 3.0 PoCL 3.1, pthread-..."
  std::string missing_text;
};

template <class Get, class Object>
std::string info_text(Get get, Object object, cl_uint what) {
  size_t size = 0;
  if (get(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string out(size, '\0');
  get(object, what, size, out.data(), nullptr);
  out.resize(size - 1);
  return out;
}

const OpenClDevice& find_opencl_device() {
  static const OpenClDevice found = [] {
    OpenClDevice d;
    if (!d.functions.library) {
      d.missing_text = "libOpenCL.so.1 is missing (the package ocl-icd-libopencl1)";
      return d;
    }
    cl_platform_id platform = nullptr;
    cl_uint count = 0;
    if (d.functions.clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
        d.functions.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d.id, nullptr) != CL_SUCCESS) {
      d.missing_text = "no OpenCL device (the package pocl-opencl-icd makes one of the CPU)";
      return d;
    }
    d.name = info_text(d.functions.clGetPlatformInfo, platform, CL_PLATFORM_VERSION) + ", " +
             info_text(d.functions.clGetDeviceInfo, d.id, CL_DEVICE_NAME);
    d.context = d.functions.clCreateContext(nullptr, 1, &d.id, nullptr, nullptr, nullptr);
    if (!d.context) d.missing_text = "cannot create an OpenCL context";
    return d;
  }();
  return found;
}

// Parses the first error. PoCL: "error: FOLDER/tempfile.cl:3:5: use of undeclared identifier 'b'"; others: "FILE:3:5:
// error: use of ...".
Diag parse_first_error(const std::string& log) {
  Diag diag{.message = log.empty() ? "the OpenCL platform gives no reason" : log.substr(0, log.find('\n'))};
  static const std::regex pocl("error: [^\n]*?:([0-9]{1,9}):([0-9]{1,9}): ([^\n]*)"),
      clang(":([0-9]{1,9}):([0-9]{1,9}): error: ([^\n]*)");
  std::smatch match;
  if (!std::regex_search(log, match, pocl) && !std::regex_search(log, match, clang)) return diag;
  diag.line = uint32_t(std::stoul(match[1]));
  diag.column = uint32_t(std::stoul(match[2]));
  diag.message = match[3];
  return diag;
}

}  // namespace

std::string compile_opencl(const CompileJob& job) {
  const OpenClDevice& d = find_opencl_device();
  if (!d.missing_text.empty()) throw Failure(Diag{.message = d.missing_text, .expected = "an OpenCL platform"});
  const char* text = job.source.c_str();
  cl_program program = d.functions.clCreateProgramWithSource(d.context, 1, &text, nullptr, nullptr);
  if (!program) throw Failure("the OpenCL platform does not accept the program");
  struct ProgramReleaser {
    const OpenClFunctions& functions;
    cl_program program;
    ~ProgramReleaser() { functions.clReleaseProgram(program); }
  } release{d.functions, program};
  if (d.functions.clBuildProgram(program, 1, &d.id, nullptr, nullptr, nullptr) != CL_SUCCESS) {
    auto log =
        info_text([&](cl_program p, cl_uint what, size_t size, void* to,
                      size_t* needs) { return d.functions.clGetProgramBuildInfo(p, d.id, what, size, to, needs); },
                  program, CL_PROGRAM_BUILD_LOG);
    throw RejectedSource(parse_first_error(log));
  }
  size_t size = 0;
  d.functions.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  std::string out(size, '\0');
  unsigned char* to = reinterpret_cast<unsigned char*>(out.data());
  if (size == 0 || d.functions.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) != CL_SUCCESS)
    throw Failure("the OpenCL platform returned no binary");
  return out;
}

void add_opencl_compilers(std::vector<CompilerInfo>& to) {
  // query in a worker: a driver starts threads, which a process forked later from this process would lack
  auto name = run_in_sandbox(
      [](Worker&) -> Result<std::string> {
        const OpenClDevice& d = find_opencl_device();
        return d.missing_text.empty() ? Result<std::string>(d.name) : Diag{d.missing_text};
      },
      {.timeout_seconds = 20});
  to.push_back(
      {"OpenCL", "CL sources to this computer's platform", name.ok(), name ? *name : name.diag().message});
}

}  // namespace tgc
