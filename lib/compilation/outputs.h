// What comes after the graph stages of a kernel: texts made from the fully rewritten graph. One table that dump, check
// and stages read.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compile/compile.h"
#include "lib/support/result.h"
#include "passes/pipeline.h"

namespace tgc {

// How what compilers make is shown.
struct CompileOptions {
  bool optimized = false;  // LLVM IR after O2
  bool lines = false;      // assembly with source lines
  std::string machine;     // "aarch64[:CPU]" of CPU targets; empty: this computer's
};

// One fully rewritten kernel; what several outputs need is made once.
class KernelOutputs {
 public:
  KernelOutputs(KernelJob& job, UOp sink, CompileOptions compile = {})
      : job_(&job), sink_(sink), target_(job.target), compile_(std::move(compile)) {}
  // Of a linear list as it is.
  KernelOutputs(const Target& target, std::vector<UOp> list, CompileOptions compile = {})
      : target_(target), compile_(std::move(compile)), list_(std::move(list)) {}
  // Of a kernel that a stage refused: nothing is made of it, and `why` is what every question is answered with.
  static KernelOutputs failed(const Target& target, const Diag& why) {
    KernelOutputs out(target, std::vector<UOp>());
    out.list_ = why;
    return out;
  }

  const Target& target() const { return target_; }
  const CompileOptions& compile_options() const { return compile_; }
  const Result<std::vector<UOp>>& list();       // the linear list
  const Result<std::string>& source();          // what the target's renderer prints

 private:
  KernelJob* job_ = nullptr;
  UOp sink_;
  Target target_;
  CompileOptions compile_;
  std::optional<Result<std::vector<UOp>>> list_;
  std::optional<Result<std::string>> source_;
};

struct OutputStage {
  std::string_view name;       // "linear"
  std::string_view alias;      // "linearize"
  std::string_view extension;  // of its files
  std::string_view help;
  Result<std::string> (*make)(KernelOutputs&);
  bool is_bytes = false;       // no text
  // made by a compiler, which may be missing: `all` leaves it out, it is made when it is named
  bool by_compiler = false;
};

// What to compile of a kernel, for its target's compiler.
Result<CompileJob> compile_job_of(KernelOutputs& outputs);

// In the order they are made. An output that tgc cannot make yet is not in the table.
std::span<const OutputStage> output_stages();

}  // namespace tgc
