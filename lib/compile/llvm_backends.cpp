// The flags of C, HIP and AMD's LLVM IR follow tinygrad's runtime/support/compiler_*.py.
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/compile/backends.h"
#include "lib/compile/metal/library.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

OutputForm output_form_of(Artifact what) {
  if (what == Artifact::LlvmIr) return OutputForm::Ir;
  return what == Artifact::Assembly || what == Artifact::Resources ? OutputForm::Assembly : OutputForm::Object;
}

bool is_amd(const CompileJob& job) { return job.machine == "amdgcn"; }

LlvmEngine& require_llvm_engine() { return *llvm_engine().value_or_throw(); }
ClangEngine& require_clang_engine() { return *clang_engine().value_or_throw(); }

// Some passes of -O2 take time that grows with the square of a kernel's size, so a source of more bytes than this limit
// is compiled for a CPU with fewer passes.
constexpr size_t kHugeSource = 384 << 10;

bool is_huge_source(const CompileJob& job) {
  bool for_cpu = job.language == Language::C || (job.language == Language::LlvmIr && !is_amd(job));
  return for_cpu && job.source.size() > kHugeSource;
}

std::vector<std::string> c_arguments(const CompileJob& job) {
  MachineSpec m = machine_of_job(job);
  bool arm = job.machine == "aarch64";
  std::vector<std::string> args{(arm ? "-mcpu=" : "-march=") + m.cpu, "--target=" + m.triple, "-x", "c", "-O2", "-fPIC",
                                "-ffreestanding", "-fno-math-errno", "-nostdlib", "-fno-ident"};
  if (arm) args.push_back("-ffixed-x18");  // x18 is reserved as the platform register on some systems
  return args;
}

std::vector<std::string> opencl_arguments(const CompileJob& job) {
  MachineSpec m = machine_of_job(job);
  return {(job.machine == "aarch64" ? "-mcpu=" : "-march=") + m.cpu, "--target=" + m.triple, "-x", "cl",
          "-cl-std=CL1.2", "-O2", "-fPIC"};
}

// ---- HIP: clang without ROCm's headers, but with ROCm's device libraries
constexpr const char* kDeviceLibraries[] = {"/opt/rocm/amdgcn/bitcode", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                                            "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
                                            "/usr/lib/amdgcn/bitcode"};

fs::path find_device_library_folder() {
  for (const char* folder : kDeviceLibraries)
    if (std::error_code error; fs::exists(fs::path(folder) / "ocml.bc", error)) return folder;
  throw Failure(Diag{.message = "AMD's device libraries (ocml.bc) are missing",
                     .expected = "the package rocm-device-libs"});
}

// Returns AMD's device library with the constants of the GPU `arch` or, if missing, of the closest earlier GPU.
fs::path find_isa_library(const fs::path& folder, std::string_view arch) {
  std::string_view number = arch.substr(std::min<size_t>(3, arch.size()));
  fs::path best;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string stem = entry.path().stem().string();
    constexpr std::string_view kPrefix = "oclc_isa_version_";
    if (!stem.starts_with(kPrefix)) continue;
    std::string version = stem.substr(kPrefix.size());
    bool before = version.size() < number.size() || (version.size() == number.size() && version <= number);
    auto order = [&](const std::string& v) { return std::pair(v.size(), v); };
    if (before && (best.empty() || order(best.stem().string().substr(kPrefix.size())) < order(version)))
      best = entry.path();
  }
  if (best.empty()) throw Failure("AMD's device libraries do not support '" + std::string(arch) + "'");
  return best;
}

std::vector<std::string> hip_arguments(const CompileJob& job) {
  fs::path folder = find_device_library_folder();
  bool wide = job.arch.starts_with("gfx9");  // these GPUs have 64 threads per wave
  std::vector<std::string> args{"-x",        "hip",          "--cuda-device-only", "--offload-arch=" + job.arch,
                                "-O3",       "-mcumode",     "-std=c++14",         "-nogpuinc",
                                "-nogpulib", "-fno-gpu-rdc", "-D__HIPCC_RTC__",    "-Wno-missing-prototypes"};
  std::vector<fs::path> libraries{folder / "ocml.bc",
                                  folder / "ockl.bc",
                                  folder / "oclc_daz_opt_off.bc",
                                  folder / "oclc_unsafe_math_off.bc",
                                  folder / "oclc_finite_only_off.bc",
                                  folder / "oclc_correctly_rounded_sqrt_on.bc",
                                  folder / (wide ? "oclc_wavefrontsize64_on.bc" : "oclc_wavefrontsize64_off.bc"),
                                  folder / "oclc_abi_version_500.bc",
                                  find_isa_library(folder, job.arch)};
  for (const fs::path& library : libraries)
    for (const std::string& a :
         {std::string("-Xclang"), std::string("-mlink-builtin-bitcode"), std::string("-Xclang"), library.string()})
      args.push_back(a);
  return args;
}

std::vector<std::string> ir_arguments(const CompileJob& job) {
  std::vector<std::string> args = c_arguments(job);
  std::ranges::replace(args, std::string("c"), std::string("ir"));
  return args;
}

std::string compile_in_clang_engine(const CompileJob& job, Artifact what) {
  auto [args, file] = job.language == Language::C        ? std::pair(c_arguments(job), "kernel.c")
                      : job.language == Language::LlvmIr ? std::pair(ir_arguments(job), "kernel.ll")
                      : job.language == Language::Hip ? std::pair(hip_arguments(job), "kernel.hip")
                                                      : std::pair(opencl_arguments(job), "kernel.cl");
  if (job.annotates_lines) args.insert(args.end(), {"-gline-tables-only", kHideFolderOption});
  if (what == Artifact::Resources && !is_amd(job)) args.push_back("-fstack-size-section");
  return result_or_throw(require_clang_engine().compile(job.source, file, args, output_form_of(what)));
}

std::string compile_c_to_ir(const CompileJob& job) {
  std::vector<std::string> args = c_arguments(job);
  args.insert(args.end(), {"-Xclang", "-disable-llvm-passes"});
  return result_or_throw(require_clang_engine().compile(job.source, "kernel.c", args, OutputForm::Ir));
}

std::string compile_in_llvm_engine(const CompileJob& job, Artifact what) {
  PassPlan plan{job.max_passes, job.llvm_fault, what == Artifact::Passes, is_huge_source(job)};
  bool is_ir = job.language == Language::LlvmIr;
  std::string text = is_ir ? job.source : compile_c_to_ir(job);
  return result_or_throw(require_llvm_engine().compile(text, machine_of_job(job), output_form_of(what),
                                                       job.annotates_lines && is_ir, plan));
}

// Identifies this computer's CPU in the cache key, because computers may share a cache folder.
std::string host_cpu_text() {
  static const std::string flags = [] {
    std::ifstream in("/proc/cpuinfo");
    std::string all;
    for (std::string line; std::getline(in, line) && !line.empty();)
      if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features") ||
          line.starts_with("CPU part"))
        all += line + "\n";
    return all;
  }();
  return flags;
}

bool uses_llvm_engine(const CompileJob& job, Artifact what) {
  if (job.language == Language::LlvmIr) return !job.uses_other_compiler;
  bool by_passes = job.max_passes >= 0 || !job.llvm_fault.empty() || what == Artifact::Passes || is_huge_source(job);
  return job.language == Language::C && (job.uses_other_compiler ? job.llvm_fault.empty() : by_passes);
}

}  // namespace

std::string_view host_machine_name() {
  static const std::string machine = [] {
    utsname name;
    std::string text = ::uname(&name) == 0 ? name.machine : "x86_64";
    return text == "arm64" ? std::string("aarch64") : text;
  }();
  return machine;
}

MachineSpec machine_of_job(const CompileJob& job) {
  if (is_amd(job)) return {.triple = "amdgcn-amd-amdhsa", .cpu = job.arch, .cpu_features = "+cumode"};
  std::string machine = job.machine.empty() ? std::string(host_machine_name()) : job.machine;
  bool native = job.arch.empty() && machine == host_machine_name();
  return {.triple = machine + "-none-unknown-elf",
          .cpu = !job.arch.empty()      ? job.arch
                 : native               ? "native"
                 : machine == "aarch64" ? "generic"
                                        : "x86-64",
          .cpu_features = ""};
}

std::string compile_by_llvm(const CompileJob& job, Artifact what) {
  if (what == Artifact::Disassembly)
    return result_or_throw(
        require_llvm_engine().disassemble_object(compile_by_llvm(job, Artifact::Binary), machine_of_job(job)));
  std::string out =
      uses_llvm_engine(job, what) ? compile_in_llvm_engine(job, what) : compile_in_clang_engine(job, what);
  return what == Artifact::Binary && is_amd(job) ? result_or_throw(lld_engine().value_or_throw()->link_code_object(out))
                                                 : out;
}

unsigned load_engines(const CompileJob& job, Artifact what) {
  bool is_file = what == Artifact::Binary || what == Artifact::Disassembly;
  bool is_llvm = uses_llvm_engine(job, what), is_clang = !is_llvm || job.language != Language::LlvmIr;
  unsigned out = 0;
  if (is_llvm || what == Artifact::Disassembly) require_llvm_engine(), out |= 1;
  if (is_clang) require_clang_engine(), out |= 2;
  if (is_amd(job) && is_file) lld_engine().value_or_throw(), out |= 4;
  return out;
}

std::string llvm_identity(const CompileJob& job) {
  std::string identity = "LLVM " + std::string(llvm_version()) + " ";
  if (job.language == Language::Hip) identity += find_device_library_folder().string();
  if (job.language == Language::Metal) identity += kMetalLibrarySource;
  if (machine_of_job(job).cpu == "native") identity += host_cpu_text();
  return identity;
}

void add_llvm_compilers(std::vector<CompilerInfo>& to) {
  auto llvm = llvm_engine();
  to.push_back({"LLVM", "LLVM IR for CPUs and AMD GPUs", bool(llvm), llvm ? (*llvm)->version() : llvm.diag().text()});
  auto lld = lld_engine();
  to.push_back({"lld", "code objects for AMD GPUs", bool(lld), lld ? (*lld)->version() : lld.diag().text()});
  auto clang = clang_engine();
  to.push_back({"clang", "C, HIP and OpenCL; CUDA where NVRTC is missing", bool(clang),
                clang ? (*clang)->version() : clang.diag().text()});
  auto libraries = catch_failures([] { return find_device_library_folder().string(); });
  to.push_back({"AMD device libraries", "HIP", bool(libraries), libraries ? *libraries : libraries.diag().text()});
}

}  // namespace tgc
