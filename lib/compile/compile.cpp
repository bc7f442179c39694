#include "lib/compile/compile.h"

#include <atomic>
#include <cstdlib>
#include <ranges>

#include "lib/compile/backends.h"
#include "lib/compile/cache.h"
#include "lib/compile/contained_compiler.h"
#include "lib/compile/job_bytes.h"
#include "lib/compile/listing.h"
#include "lib/compile/llvm_fault.h"
#include "lib/compile/own_folder.h"
#include "lib/compile/self_contained.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/log.h"

namespace tgc {
namespace {

// Increment it when the same source and flags produce different bytes.
constexpr std::string_view kRevision = "11";

struct RendererLanguage {
  std::string_view renderer;  // as in a target: lib/target/renderers.def
  Language language;
};
constexpr RendererLanguage kLanguages[] = {
    {"CLANG", Language::C},   {"LLVM", Language::LlvmIr}, {"CUDA", Language::Cuda}, {"HIP", Language::Hip},
    {"CL", Language::OpenCl}, {"INTEL", Language::OpenCl}, {"PTX", Language::Ptx},
};

std::string_view source_extension(Language language) {
  switch (language) {
    case Language::C: return "c";
    case Language::LlvmIr: return "ll";
    case Language::Cuda: return "cu";
    case Language::Hip: return "hip";
    case Language::OpenCl: return "cl";
    case Language::Ptx: return "ptx";
    case Language::Metal: return "metal";
  }
  return "txt";
}

std::string nth_line(std::string_view text, uint32_t number) {
  for (uint32_t n = 1; n < number; n++) {
    size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return std::string(text.substr(0, text.find('\n')));
}

// Adds the offending line, and the file in which the source is kept, to the compiler's error.
Diag explain_rejection(const CompileJob& job, Diag diag) {
  diag.message = std::string(name_of(job.language)) + " source does not compile: " + diag.message;
  auto kept = keep_file_for_user(job.name, std::string(source_extension(job.language)), job.source);
  if (kept) diag.file = *kept;
  else diag.message += " (the source could not be kept: " + kept.diag().text() + ")";
  if (diag.line) diag.context = nth_line(job.source, diag.line);
  return diag;
}

std::optional<std::string>& llvm_fault_of_thread() {
  thread_local std::optional<std::string> fault;
  return fault;
}

std::string llvm_fault_of_environment() {
  constexpr std::string_view kFault = "llvm:";
  std::string_view faults = std::getenv("TGC_FAULT") ? std::getenv("TGC_FAULT") : "";
  for (auto one : std::views::split(faults, ','))
    if (std::string_view fault(one.begin(), one.end()); fault.starts_with(kFault))
      return std::string(fault.substr(kFault.size()));
  return "";
}

std::string describe_compilation(const CompileJob& job, Artifact what) {
  return std::string(name_of(job.language)) + " of '" + job.name + "' to " + std::string(name_of(what));
}

bool is_nvidia(const CompileJob& job) { return job.language == Language::Cuda || job.language == Language::Ptx; }

std::string run_compiler(const CompileJob& job, Artifact what) {
  check_self_contained(job.language, job.source);
  if (is_nvidia(job) && what == Artifact::Disassembly)
    throw Failure(Diag{.message = "PTX is compiled by the driver, so there is no binary to disassemble",
                       .expected = "--stage=sass, which ptxas and nvdisasm make"});
  if (job.language == Language::Cuda) return compile_cuda(job, what);
  if (job.language == Language::Ptx) return compile_ptx(job, what);
  if (what == Artifact::Cubin || what == Artifact::Sass)
    throw Failure(Diag{.message = std::string(name_of(what)) + " is NVIDIA only", .expected = "a CUDA or NV target"});
  if (job.language == Language::OpenCl && what == Artifact::Binary) return compile_opencl(job);
  if (job.language == Language::Metal) return compile_metal_by_clang(job, what);
  return compile_by_llvm(job, what);
}

Sha256 cache_key_of_job(const CompileJob& job, Artifact what) {
  MachineSpec m = machine_of_job(job);
  std::string identity = is_nvidia(job) ? cuda_identity(job, what) : llvm_identity(job);
  CompileJob same = job;
  same.timeout_seconds = 0;
  ByteWriter bytes;
  write_member(bytes, same);
  return make_cache_key({kRevision, name_of(what), m.triple, m.cpu, m.cpu_features, identity, bytes.take_bytes()});
}

// No compiler runs: only the renderer's placeholders are filled in.
bool needs_no_compiler(const CompileJob& job, Artifact what) {
  return job.language == Language::Ptx && !needs_nvidia_tools(job, what);
}

std::atomic<bool> fault_was_seeded = false;

// Sets fault_was_seeded if the fault changes the code of the job. With `max_passes` set, the LLVM engine compiles C
// without the fault, too.
void record_fault_effect(CompileJob job, Artifact what) {
  if (fault_was_seeded) return;
  job.max_passes = INT64_MAX;
  auto with = compile_without_cache(job, what);
  job.llvm_fault.clear();
  auto without = compile_without_cache(job, what);
  if (with && without && *with != *without) fault_was_seeded = true;
}

}  // namespace

std::string_view name_of(Language language) {
  static constexpr std::string_view names[] = {"C", "LLVM IR", "CUDA", "HIP", "OpenCL", "PTX", "Metal"};
  return names[size_t(language)];
}

std::string_view name_of(Artifact artifact) {
  static constexpr std::string_view names[] = {"llvm-ir", "asm", "binary", "cubin", "sass", "disasm", "passes",
                                               "resources"};
  return names[size_t(artifact)];
}

void set_llvm_fault_of_thread(std::optional<std::string> fault) { llvm_fault_of_thread() = std::move(fault); }

Result<CompileJob> make_compile_job(std::string_view device, std::string_view renderer, std::string_view arch) {
  CompileJob job;
  job.arch = arch;
  job.llvm_fault = llvm_fault_of_thread() ? *llvm_fault_of_thread() : llvm_fault_of_environment();
  if (device == "AMD" || device == "HIP") job.machine = "amdgcn";
  for (const RendererLanguage& row : kLanguages)
    if (row.renderer == renderer) return job.language = row.language, job;
  if (renderer == "METAL")
    return Diag{.message = "Metal sources compile on macOS only, by Apple's own compiler",
                .expected = "--stage=source"};
  return Diag{.message = std::string(renderer) + " sources compile in a browser or a WebGPU runtime only",
              .expected = "--stage=source"};
}

Result<std::string> compile_without_cache(const CompileJob& job, Artifact what) {
  try {
    const auto begin = is_logging(LogTopic::Compile, LogLevel::Info) ? Clock::now() : Clock::time_point();
    std::string made =
        needs_no_compiler(job, what) ? run_compiler(job, what) : compile_by_worker(job, what, run_compiler);
    log_info(LogTopic::Compile, [&] {
      return describe_compilation(job, what) +
             formatted(": %.1f ms, %zu bytes", seconds_since(begin) * 1e3, made.size());
    });
    return what == Artifact::Assembly ? make_listing(made, job) : made;
  } catch (const RejectedSource& rejected) {
    return explain_rejection(job, rejected.diag());
  } catch (const Failure& failure) {
    return failure.diag();
  } catch (const std::bad_alloc&) {
    return Diag{"out of memory"};
  }
}

bool has_llvm_fault_occurred() { return fault_was_seeded; }

Result<std::string> compile(const CompileJob& job, Artifact what) {
  if (current_deadline().is_over()) return out_of_time_error(current_deadline().limit_seconds);
  if (!job.llvm_fault.empty()) record_fault_effect(job, what);
  auto configured = catch_failures([] { return &CompileCache::shared_cache(); });
  if (!configured) return configured.diag();
  CompileCache& cache = **configured;
  // the platform has its own cache
  bool platform = job.language == Language::OpenCl && what == Artifact::Binary;
  if (!cache.is_enabled() || platform) return compile_without_cache(job, what);
  auto key = catch_failures([&] { return cache_key_of_job(job, what); });
  if (!key) return key.diag();
  auto found = cache.load_entry(*key);
  log_info(LogTopic::Compile,
           [&] { return describe_compilation(job, what) + (found ? ": in the cache" : ": not in the cache"); });
  if (found) return *found;
  auto made = compile_without_cache(job, what);
  if (made) cache.store_entry(*key, *made);
  return made;
}

std::vector<CompilerInfo> list_compilers() {
  std::vector<CompilerInfo> out;
  add_llvm_compilers(out);
  add_opencl_compilers(out);
  add_cuda_compilers(out);
  return out;
}

}  // namespace tgc
