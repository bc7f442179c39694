// The outputs of a kernel: all that is made from its last graph (linear list, source, launch facts, machine code).
// dump, check and `tgc stages` read their table, output_stages().
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

// Options for the outputs that compilers make.
struct CompileOptions {
  bool optimized = false;  // show LLVM IR after the O2 passes
  bool lines = false;      // show assembly with source lines
  std::string machine;     // CPU targets: the processor, "aarch64[:CPU]"; empty: this computer's
};

// The outputs of one kernel. The list and the source are made once and shared by the outputs that need them.
class KernelOutputs {
 public:
  // Makes the outputs of the kernel whose graph after the last stage is `sink`. `job` must outlive this object.
  KernelOutputs(KernelJob& job, UOp sink, CompileOptions compile = {})
      : job_(&job), sink_(sink), target_(job.target), compile_(std::move(compile)) {}
  // Makes the outputs of an input that is already a linear list.
  KernelOutputs(const Target& target, std::vector<UOp> list, CompileOptions compile = {})
      : target_(target), compile_(std::move(compile)), list_(std::move(list)) {}
  // Returns outputs for a kernel in which a stage failed: every output fails with the stage's error `why`.
  static KernelOutputs failed(const Target& target, const Diag& why) {
    KernelOutputs out(target, std::vector<UOp>());
    out.list_ = why;
    return out;
  }

  const Target& target() const { return target_; }
  const CompileOptions& compile_options() const { return compile_; }
  const Result<std::vector<UOp>>& list();  // the linear list
  const Result<std::string>& source();     // the text that the target's renderer prints

 private:
  KernelJob* job_ = nullptr;
  UOp sink_;
  Target target_;
  CompileOptions compile_;
  std::optional<Result<std::vector<UOp>>> list_;
  std::optional<Result<std::string>> source_;
};

enum class OutputKind : uint8_t {
  List,         // the linear list
  Source,       // the renderer's text
  LaunchFacts,  // launch sizes, buffers, variables, estimates
  Compiled,     // made by a compiler, which may not be installed; so `--stage=all` omits it
};

// One row of the table of outputs.
struct OutputStage {
  std::string_view name;       // "linear"
  std::string_view alias;      // "linearize"
  OutputKind kind;
  std::string_view extension;  // extension of its files, without the dot
  std::string_view help;
  Result<std::string> (*make)(KernelOutputs&);
  bool is_bytes = false;  // the output is binary, not text
};

// Returns the source of a kernel and all else that the compiler of its target needs.
Result<CompileJob> compile_job_of(KernelOutputs& outputs);

// The outputs in the order in which they are made.
std::span<const OutputStage> output_stages();

}  // namespace tgc
