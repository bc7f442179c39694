// KernelOutputs: the outputs of a kernel (linear list, source, launch facts, machine code and others), which are made
// from the graph after the last stage, a linear list or a recorded source.
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

// Returns the target for which a record's source is compiled. Fails if tgc has no compiler for it.
Result<Target> target_of_source(const GoldenRecord& record, const Settings& settings);

struct CompileOptions {
  bool shows_optimized_ir = false;
  bool has_source_lines = false;
  std::string cpu_machine;     // "x86_64[:CPU]" or "aarch64[:CPU]"; empty: this computer's processor
};

GoldenProgram make_golden_program(const ProgramInfo& info);

// The outputs of one kernel. They share one linear list and one source, which are made when first needed.
class KernelOutputs {
 public:
  // `sink` is the graph after the last stage. `job` must outlive this object.
  KernelOutputs(KernelJob& job, UOp sink, CompileOptions compile = {})
      : kernel_job_(&job), sink_(sink), target_(job.target), compile_options_(std::move(compile)) {}
  KernelOutputs(const Target& target, std::vector<UOp> list, CompileOptions compile = {})
      : target_(target), compile_options_(std::move(compile)), linear_list_(std::move(list)) {}
  static KernelOutputs make_failed_outputs(const Target& target, const Diag& why) {
    KernelOutputs out(target, std::vector<UOp>());
    out.linear_list_ = why;
    return out;
  }

  // Returns the KernelOutputs of a recorded source, for the outputs of compilers. The linear list is empty. Fails if no
  // source was recorded, or if target_of_source() fails.
  static Result<KernelOutputs> make_recorded_outputs(const GoldenRecord& record, const Settings& settings,
                                                     CompileOptions compile = {});

  const Target& target() const { return target_; }
  const CompileOptions& compile_options() const { return compile_options_; }
  const Result<std::vector<UOp>>& list();
  const Result<std::string>& source();     // the renderer's text, or the recorded one
  Result<std::string> function_name();

 private:
  KernelJob* kernel_job_ = nullptr;
  UOp sink_;
  Target target_;
  CompileOptions compile_options_;
  std::optional<Result<std::vector<UOp>>> linear_list_;
  std::optional<Result<std::string>> kernel_source_;
  std::optional<std::string> recorded_function_name_;
};

enum class OutputKind : uint8_t {
  List,
  Source,
  LaunchFacts,
  Compiled,     // made by a compiler, which may be missing; `--stage=all` omits such outputs
};

struct OutputStage {
  std::string_view name;
  std::string_view alias;
  OutputKind kind;
  std::string_view extension;
  std::string_view help_text;
  Result<std::string> (*make_output)(KernelOutputs&);
  bool is_binary = false;
};

// Returns the source of a kernel, with the facts that its target's compiler needs. Fails if the source or the name of
// its function cannot be made, if tgc has no compiler for the target, or if CompileOptions::cpu_machine is invalid or
// set for another target than a CPU.
Result<CompileJob> compile_job_of_outputs(KernelOutputs& outputs);

// Returns all outputs, in the order of their rows (stage_rows.h).
std::span<const OutputStage> output_stages();

}  // namespace tgc
