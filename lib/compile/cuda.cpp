// Compiles CUDA (NVRTC or clang) and PTX (ptxas), and disassembles cubins (tinygrad: compiler_cuda.py).
#include <dlfcn.h>
#include <sys/stat.h>

#include "lib/compile/backends.h"
#include "lib/contain/process.h"
#include "lib/contain/temporary_folder.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

const std::vector<std::string>& cuda_toolkit_folders() {
  static const std::vector<std::string> folders = [] {
    std::vector<std::string> out;
    for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
      if (const char* path = std::getenv(name); path && *path) out.push_back(path);
    out.insert(out.end(), {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"});
    return out;
  }();
  return folders;
}

std::string find_tool(std::string_view name) {
  std::vector<std::string> folders;
  for (const std::string& t : cuda_toolkit_folders()) folders.push_back(t + "/bin");
  return find_program(name, folders);
}

// Returns a text for the cache key that changes when the file is installed anew.
std::string file_identity(const std::string& path) {
  struct stat info;
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return "none";
  return path + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtime);
}

struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const* options) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  std::string library_path;

  template <class F>
  bool bind(void* library, const char* name, F& f) {
    f = reinterpret_cast<F>(::dlsym(library, name));
    return f != nullptr;
  }
  bool load(const std::string& path) {
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) return false;
    bool all = bind(library, "nvrtcVersion", version) && bind(library, "nvrtcCreateProgram", create) &&
               bind(library, "nvrtcCompileProgram", compile) && bind(library, "nvrtcGetProgramLogSize", log_size) &&
               bind(library, "nvrtcGetProgramLog", log) && bind(library, "nvrtcGetPTXSize", ptx_size) &&
               bind(library, "nvrtcGetPTX", ptx) && bind(library, "nvrtcDestroyProgram", destroy);
    if (all) library_path = path;
    return all;
  }
};

bool file_exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

// Returns the path of NVRTC, or only its name if it is in no known folder; empty if TGC_NVRTC=0.
std::string find_nvrtc() {
  if (const char* off = std::getenv("TGC_NVRTC"); off && std::string_view(off) == "0") return {};
  for (const std::string& folder : cuda_toolkit_folders())
    for (const char* sub : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"})
      if (std::string path = folder + sub + "/libnvrtc.so"; file_exists(path)) return path;
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libnvrtc.so", "/usr/lib/x86_64-linux-gnu/libnvrtc.so.11.2",
                           "/usr/lib/aarch64-linux-gnu/libnvrtc.so"})
    if (file_exists(path)) return path;
  return "libnvrtc.so";
}

const Nvrtc& nvrtc() {
  static const Nvrtc loaded = [] {
    Nvrtc out;
    if (std::string path = find_nvrtc(); !path.empty()) out.load(path);
    return out;
  }();
  return loaded;
}

// Parses NVRTC's first error: "kernel.cu(12): error: identifier "x" is undefined".
Diag parse_first_error(const std::string& log) {
  Diag diag;
  size_t at = log.find("): error");
  if (at == log.npos) {
    diag.message = log.substr(0, log.find('\n'));
    return diag;
  }
  size_t open = log.rfind('(', at), begin = log.find(": ", at + 2);
  if (open != log.npos) diag.line = uint32_t(std::strtoul(log.c_str() + open + 1, nullptr, 10));
  if (begin != log.npos) diag.message = log.substr(begin + 2, log.find('\n', begin) - begin - 2);
  return diag;
}

std::string compile_to_ptx_by_nvrtc(const CompileJob& job) {
  const Nvrtc& n = nvrtc();
  std::vector<std::string> options{"--gpu-architecture=" + job.arch};
  for (const std::string& t : cuda_toolkit_folders()) options.push_back("-I" + t + "/include");
  options.push_back("-I/usr/include");
  int major = 0, minor = 0;
  n.version(&major, &minor);
  if (std::pair(major, minor) >= std::pair(12, 4)) options.push_back("--minimal");
  if (job.annotates_lines) options.push_back("--generate-line-info");
  std::vector<const char*> args;
  for (const std::string& o : options) args.push_back(o.c_str());
  Nvrtc::Program program = nullptr;
  if (n.create(&program, job.source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    throw Failure("NVRTC does not accept the program");
  int status = n.compile(program, int(args.size()), args.data());
  auto text = [&](auto size_of, auto get) {
    size_t size = 0;
    std::string out;
    if (size_of(program, &size) == 0 && size > 0) {
      out.resize(size);
      get(program, out.data());
      out.resize(size - 1);  // removes the final zero byte
    }
    return out;
  };
  std::string out = status == 0 ? text(n.ptx_size, n.ptx) : text(n.log_size, n.log);
  n.destroy(&program);
  if (status != 0) throw RejectedSource(parse_first_error(out));
  return out;
}

// Parses ptxas' error: "ptxas kernel.ptx, line 7; error   : Arguments mismatch".
Diag parse_ptxas_error(const std::string& log) {
  Diag diag;
  size_t line = log.find(", line "), error = log.find("error"), begin = log.find(": ", error == log.npos ? 0 : error);
  if (line != log.npos) diag.line = uint32_t(std::strtoul(log.c_str() + line + 7, nullptr, 10));
  diag.message =
      begin == log.npos ? log.substr(0, log.find('\n')) : log.substr(begin + 2, log.find('\n', begin) - begin - 2);
  return diag;
}

std::string assemble_ptx(const std::string& ptx, const CompileJob& job, Artifact what = Artifact::Cubin) {
  std::string tool = find_tool("ptxas");
  if (tool.empty()) throw Failure(Diag{.message = "ptxas is missing", .expected = "NVIDIA's CUDA toolkit"});
  TemporaryFolder folder;
  std::string in = folder.file("kernel.ptx"), out = folder.file("kernel.cubin");
  write_file(in, ptx).value_or_throw();
  std::vector<std::string> command{tool, "-arch=" + job.arch, "-o", out, in};
  if (job.annotates_lines) command.insert(command.begin() + 1, "--generate-line-info");
  if (what == Artifact::Resources) command.insert(command.begin() + 1, "-v");
  auto ran = run_process(command).value_or_throw();
  if (ran.exit_code != 0) throw RejectedSource(parse_ptxas_error(ran.err + ran.out));
  return what == Artifact::Resources ? ran.err + ran.out : read_whole_file(out).value_or_throw();
}

// `lines`: nvdisasm's option that adds source lines, or empty.
std::string disassemble_sass(const std::string& cubin, std::string_view lines) {
  std::string nvdisasm = find_tool("nvdisasm"), cuobjdump = find_tool("cuobjdump");
  constexpr const char* kWhence =
      "of NVIDIA's CUDA toolkit (alone: nvidia-cuda-nvdisasm, nvidia-cuda-cuobjdump from PyPI)";
  if (nvdisasm.empty() && cuobjdump.empty())
    throw Failure(Diag{.message = "nvdisasm and cuobjdump are missing",
                       .expected = std::string("one of them, ") + kWhence});
  if (nvdisasm.empty() && !lines.empty())
    throw Failure(Diag{.message = "cuobjdump does not show source lines",
                       .expected = std::string("nvdisasm, ") + kWhence});
  TemporaryFolder folder;
  std::string file = folder.file("kernel.cubin");
  write_file(file, cubin).value_or_throw();
  std::vector<std::string> command = nvdisasm.empty() ? std::vector<std::string>{cuobjdump, "--dump-sass", file}
                                                      : std::vector<std::string>{nvdisasm, "-c", file};
  if (!lines.empty()) command.insert(command.begin() + 1, std::string(lines));
  auto ran = run_process(command).value_or_throw();
  if (ran.exit_code != 0) throw Failure(command[0] + ": " + (ran.err + ran.out).substr(0, 500));
  return ran.out;
}

constexpr std::string_view kLinesOfSource = "-g", kLinesOfPtx = "-gp";

std::string make_artifact_from_ptx(const std::string& ptx, const CompileJob& job, Artifact what,
                                   std::string_view lines) {
  if (what == Artifact::Cubin || what == Artifact::Resources) return assemble_ptx(ptx, job, what);
  if (what == Artifact::Sass) return disassemble_sass(assemble_ptx(ptx, job), job.annotates_lines ? lines : "");
  return ptx;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

std::string tool_version(const std::string& tool) {
  auto ran = run_process({tool, "--version"});
  if (!ran) return tool;
  size_t at = ran->out.find("release ");
  return (at == ran->out.npos ? "" : ran->out.substr(at + 8, ran->out.find(',', at) - at - 8) + ", ") + tool;
}

}  // namespace

std::string compile_cuda(const CompileJob& job, Artifact what) {
  if (what == Artifact::LlvmIr) return compile_cuda_by_clang(job, OutputForm::Ir);
  return make_artifact_from_ptx(
      nvrtc().library_path.empty() ? compile_cuda_by_clang(job, OutputForm::Assembly) : compile_to_ptx_by_nvrtc(job),
      job, what, kLinesOfSource);
}

bool has_ptxas() { return !find_tool("ptxas").empty(); }

bool needs_nvidia_tools(const CompileJob& job, Artifact what) {
  if (job.language != Language::Cuda && job.language != Language::Ptx) return false;
  if (what == Artifact::Cubin || what == Artifact::Sass || what == Artifact::Resources) return true;
  return job.language == Language::Cuda && what != Artifact::LlvmIr && !nvrtc().library_path.empty();
}

// Replaces the placeholders VERSION and TARGET, which tinygrad's renderer leaves in the source.
std::string compile_ptx(const CompileJob& job, Artifact what) {
  if (what == Artifact::LlvmIr)
    throw Failure(Diag{.message = "PTX has no LLVM IR", .expected = "--stage=source, asm, binary, cubin or sass"});
  std::string ptx = job.source;
  int version = job.arch.size() > 3 ? std::atoi(job.arch.c_str() + 3) : 0;
  replace_all(ptx, "TARGET", job.arch);
  replace_all(ptx, "VERSION", version >= 120 ? "8.7" : version >= 89 ? "7.8" : "7.5");
  return make_artifact_from_ptx(ptx, job, what, kLinesOfPtx);
}

std::string cuda_identity(const CompileJob& job, Artifact what) {
  std::string out = job.language == Language::Cuda ? file_identity(find_nvrtc()) + llvm_identity(job) : "";
  if (what == Artifact::Cubin || what == Artifact::Sass || what == Artifact::Resources)
    out += file_identity(find_tool("ptxas"));
  if (what == Artifact::Sass) out += file_identity(find_tool("nvdisasm")) + file_identity(find_tool("cuobjdump"));
  return out;
}

void add_cuda_compilers(std::vector<CompilerInfo>& to) {
  int major = 0, minor = 0;
  if (!nvrtc().library_path.empty()) nvrtc().version(&major, &minor);
  bool have = !nvrtc().library_path.empty();
  to.push_back({"NVRTC", "CUDA sources to PTX", have,
                have ? std::to_string(major) + "." + std::to_string(minor) + ", " + nvrtc().library_path
                     : "libnvrtc.so is missing (NVIDIA's CUDA toolkit); clang takes its place"});
  for (auto [name, serves] : {std::pair("ptxas", "PTX to machine code"), std::pair("nvdisasm", "machine code to SASS"),
                              std::pair("cuobjdump", "machine code to SASS")}) {
    std::string tool = find_tool(name);
    to.push_back({name, serves, !tool.empty(),
                  tool.empty() ? std::string(name) + " is missing (NVIDIA's CUDA toolkit)" : tool_version(tool)});
  }
}

}  // namespace tgc
