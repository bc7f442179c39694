#include "lib/compile/contained_compiler.h"

#include <optional>

#include "lib/compile/backends.h"
#include "lib/compile/driver_room.h"
#include "lib/contain/bytes.h"
#include "lib/support/sanitized.h"

namespace tgc {
namespace {

using Compiler = std::string (*)(const CompileJob& job, Artifact what);
constexpr uint64_t kMemory = uint64_t(8) << 30;

bool is_by_llvm(const CompileJob& job, Artifact what) {
  if (job.language == Language::Cuda) return what == Artifact::LlvmIr;
  bool links = job.machine == "amdgcn" && (what == Artifact::Binary || what == Artifact::Disassembly);  // by files
  return !links && job.language != Language::Ptx && !(job.language == Language::OpenCl && what == Artifact::Binary);
}

// ---- what goes to a worker, and what comes back
std::string packed(const CompileJob& job, Artifact what) {
  ByteWriter out;
  out.number(uint64_t(job.language)).number(uint64_t(what)).number(job.lines);
  out.number(uint64_t(job.passes)).number(job.by_other).text(job.fault);
  return out.text(job.machine).text(job.arch).text(job.name).text(job.source).take();
}

struct Task {
  CompileJob job;
  Artifact what;
};
Task unpacked(std::string_view message) {
  ByteReader in(message);
  CompileJob job{.language = Language(in.number())};
  auto what = Artifact(in.number());
  job.lines = in.number() != 0;
  job.passes = int64_t(in.number()), job.by_other = in.number() != 0, job.fault = in.text();
  job.machine = in.text(), job.arch = in.text(), job.name = in.text(), job.source = in.text();
  return {std::move(job), what};
}

constexpr char kMade = '+', kRejected = '-';

Result<std::string> outcome(Compiler compiler, const CompileJob& job, Artifact what) {
  return catch_failures([&] {
    try {
      return kMade + compiler(job, what);
    } catch (const Rejected& rejected) {
      const Diag& d = rejected.diag();
      return kRejected + ByteWriter().number(d.line).number(d.column).text(d.message).take();
    }
  });
}

bool is_made(const Result<std::string>& outcome) { return outcome && !outcome->empty() && (*outcome)[0] == kMade; }

// What it made, or throws. `outcome` is from a worker, or of its end.
std::string made(Result<std::string> outcome, const CompileJob& job, bool died) {
  if (is_made(outcome)) return outcome->erase(0, 1);
  if (died)
    throw Failure("the compiler of kernel '" + job.name + "' (" + std::string(name_of(job.language)) + ") " +
                  (outcome.diag().message.starts_with("killed") ? "was " : "") + outcome.diag().message);
  ByteReader in(std::string_view(outcome.value_or_throw()).substr(std::min<size_t>(1, outcome->size())));
  Diag diag;
  diag.line = uint32_t(in.number()), diag.column = uint32_t(in.number()), diag.message = in.text();
  throw Rejected(std::move(diag));
}

// ---- a worker that compiles one source after the other
class CompileWorker {
 public:
  std::string compile(const CompileJob& job, Artifact what, Compiler compiler) {
    std::string message = packed(job, what);
    // one of the process that this one was forked from is not ours; and another compiler wants another worker
    if (process_ && (!process_->is_ours() || compiler != compiler_)) process_.reset();
    if (!process_ || !process_->send(message)) {
      start(compiler);
      (void)process_->send(message);  // one that is dead says so in its answer
    }
    auto answer = process_->receive(job.timeout_seconds);
    bool died = process_->death().has_value();
    if (!is_made(answer)) process_.reset();  // a compiler that was stopped half way may hold anything
    return made(std::move(answer), job, died);
  }

 private:
  void start(Compiler compiler) {
    process_.reset(), compiler_ = compiler;
    auto started = WorkerProcess::start([compiler](Worker& worker) -> Status {
      worker.confine({.rights = Rights::Compile, .memory = kMemory});
      for (;;) {
        Task task = unpacked(worker.next_message());
        worker.answer(outcome(compiler, task.job, task.what));
      }
    });
    process_.emplace(std::move(started.value_or_throw()));
  }

  std::optional<WorkerProcess> process_;
  Compiler compiler_ = nullptr;  // the one that it runs
};

// By what it needs: the engines are loaded here, before, once for all workers. A process ends with the thread that has
// started it, so workers are kept by thread.
CompileWorker& worker_for(const CompileJob& job) {
  thread_local CompileWorker with_llvm, with_clang;
  return job.language == Language::LlvmIr && !job.by_other ? with_llvm : with_clang;
}

}  // namespace

std::string compile_contained(const CompileJob& job, Artifact what, Compiler compiler) {
  if (kSanitized) return compiler(job, what);
  if (is_by_llvm(job, what)) {
    load_engines(job);
    return worker_for(job).compile(job, what, compiler);
  }
  DriverRoom room;
  bool is_nvidia = job.language == Language::Cuda || job.language == Language::Ptx;
  if (!is_nvidia) load_engines(job);
  Death death;
  auto answer = contain(
      [&](Worker& worker) -> Result<std::string> {
        room.confine(worker, kMemory);
        return outcome(compiler, job, what);
      },
      {.timeout_seconds = job.timeout_seconds}, &death);
  return made(std::move(answer), job, death.signal || death.timed_out);
}

}  // namespace tgc
