// KernelOutputs: the outputs of a kernel (linear list, source, launch facts, machine code and others), which are made
// from the graph after the last stage, a linear list or a recorded source. output_stages() is the table of all outputs.
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

struct GoldenProgram;
struct GoldenRecord;
struct ProgramInfo;

// Returns the target for which the source of a record is compiled, known_target() of the recorded target. Fails if tgc
// has no compiler for this target. `settings` are those of the record.
Result<Target> target_of_source(const GoldenRecord& record, const Settings& settings);

// Options for the outputs of compilers.
struct CompileOptions {
  bool shows_optimized = false;  // show LLVM IR after the O2 passes
  bool has_source_lines = false;      // show assembly with source lines
  std::string cpu_machine;     // the processor for CPU targets, as "aarch64[:CPU]"; empty for this computer's processor
};

// Converts launch facts to the form that golden records have.
GoldenProgram golden_program(const ProgramInfo& info);

// The outputs of one kernel. Outputs share one linear list and one source, which are made when first needed.
class KernelOutputs {
 public:
  // `sink` is the kernel's graph after the last stage. `job` must outlive this object.
  KernelOutputs(KernelJob& job, UOp sink, CompileOptions compile = {})
      : job_(&job), sink_(sink), target_(job.target), compile_options_(std::move(compile)) {}
  // `list` is an input that is already a linear list.
  KernelOutputs(const Target& target, std::vector<UOp> list, CompileOptions compile = {})
      : target_(target), compile_options_(std::move(compile)), list_(std::move(list)) {}
  // Returns the outputs of a kernel in which a stage failed with the error `why`: each output is this error.
  static KernelOutputs failed_outputs(const Target& target, const Diag& why) {
    KernelOutputs out(target, std::vector<UOp>());
    out.list_ = why;
    return out;
  }

  // Returns the outputs of compilers of a recorded source, for target_of_source(). Fails if that fails, or if no source
  // was recorded.
  static Result<KernelOutputs> recorded_outputs(const GoldenRecord& record, const Settings& settings,
                                                CompileOptions compile = {});

  const Target& target() const { return target_; }
  const CompileOptions& compile_options() const { return compile_options_; }
  const Result<std::vector<UOp>>& list();  // the linear list
  const Result<std::string>& source();     // the renderer's text, or the recorded one
  Result<std::string> function_name();     // the name of the kernel's function in the source

 private:
  KernelJob* job_ = nullptr;
  UOp sink_;
  Target target_;
  CompileOptions compile_options_;
  std::optional<Result<std::vector<UOp>>> list_;
  std::optional<Result<std::string>> source_;
  std::optional<std::string> recorded_name_;  // function_name() of a recorded source
};

enum class OutputKind : uint8_t {
  List,         // the linear list
  Source,       // the renderer's text
  LaunchFacts,  // launch sizes, buffers, variables, estimates
  Compiled,     // made by a compiler; `--stage=all` omits such outputs, because the compiler may be missing
};

// A row of the table of outputs.
struct OutputStage {
  std::string_view name;       // for example "linear"
  std::string_view alias;      // for example "linearize"
  OutputKind kind;
  std::string_view extension;  // extension of the output's files, without the dot
  std::string_view help_text;  // description for `tgc stages`
  Result<std::string> (*make)(KernelOutputs&);
  bool is_bytes = false;  // true: binary; false: text
};

// Returns the source of a kernel, with the facts that its target's compiler needs.
Result<CompileJob> compile_job_of(KernelOutputs& outputs);

// Returns all outputs, in the order in which they are made.
std::span<const OutputStage> output_stages();

}  // namespace tgc
