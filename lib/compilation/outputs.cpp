#include "lib/compilation/outputs.h"

#include "lib/compilation/input_graph.h"
#include "lib/records/golden.h"
#include "lib/target/target.h"
#include "lib/text/print_uops.h"
#include "lib/text/repr.h"
#include "lib/uop/render.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {

const Result<std::vector<UOp>>& KernelOutputs::list() {
  if (!linear_list_) linear_list_ = make_linear_list(*kernel_job_, sink_);
  return *linear_list_;
}

const Result<std::string>& KernelOutputs::source() {
  if (!kernel_source_)
    kernel_source_ = list().ok() ? render_source(target_, *list()) : Result<std::string>(list().diag());
  return *kernel_source_;
}

Result<std::string> KernelOutputs::function_name() {
  if (recorded_function_name_) return *recorded_function_name_;
  if (!list()) return list().diag();
  if (auto status = check_custom_nodes(*list()); !status) return status.diag();
  auto info = make_program_info(*list());
  return info ? info->function_name : "";
}

Result<Target> target_of_source(const GoldenRecord& record, const Settings& settings) {
  const std::string known = supported_target(record.target, settings);
  auto target = parse_recorded_target(known, settings);
  // a device alone does not tell which compiler to use: the known part of CPU:X86 is CPU
  if (target && known.find(':') != known.npos) return target;
  return Diag{"tgc has no compiler for " + record.target};
}

Result<KernelOutputs> KernelOutputs::make_recorded_outputs(const GoldenRecord& record, const Settings& settings,
                                                           CompileOptions compile) {
  auto target = target_of_source(record, settings);
  if (!target) return target.diag();
  if (!record.source) return Diag{record.source_error.value_or(record.error.value_or("no source was recorded"))};
  KernelOutputs out(*target, std::vector<UOp>(), std::move(compile));
  out.kernel_source_ = *record.source;
  out.recorded_function_name_ = record.program ? record.program->function_name : record.id;
  return out;
}

Result<CompileJob> compile_job_of_outputs(KernelOutputs& k) {
  if (!k.source()) return k.source().diag();
  auto name = k.function_name();
  if (!name) return name.diag();
  const Target& target = k.target();
  auto job = make_compile_job(target.device, name_of(target.renderer), target.arch);
  if (!job) return job.diag();
  job->source = *k.source();
  job->name = std::move(*name);
  job->annotates_lines = k.compile_options().has_source_lines;
  const std::string& machine = k.compile_options().cpu_machine;
  if (machine.empty()) return job;
  if (target.device != "CPU") return Diag{.message = "--machine is for CPU targets, not for " + target.name()};
  size_t colon = machine.find(':');
  job->machine = machine.substr(0, colon);
  if (colon != machine.npos) job->arch = machine.substr(colon + 1);
  if (job->machine != "x86_64" && job->machine != "aarch64")
    return Diag{.message = "unknown machine '" + machine + "'", .expected = "x86_64[:CPU] or aarch64[:CPU]"};
  return job;
}

namespace {

Result<std::string> linear_text(KernelOutputs& k) {
  if (!k.list()) return k.list().diag();
  return print_uops(*k.list());
}

Result<std::string> source(KernelOutputs& k) { return k.source(); }

// Returns the variable as JSON with Python's blanks, such as ["i", 1, 32].
std::string variable_text(UOp var) {
  auto text = [](const Arg& a) {
    if (a.is_str()) return "\"" + std::string(a.text()) + "\"";
    if (a.kind() == Arg::Kind::Bool) return std::string(a.as_bool() ? "true" : "false");
    return a.str();
  };
  std::string out;
  for (const Arg& a : var.arg().items()) out += (out.empty() ? "[" : ", ") + text(a);
  return out + "]";
}

// Returns a launch size or an estimate as tinygrad prints it: infix text, with the repr of nodes without an infix form.
std::string size_text(Sint s) { return s.is_int() ? s.str() : render(s.uop(), true, repr); }

}  // namespace

GoldenProgram make_golden_program(const ProgramInfo& info) {
  GoldenProgram p{.name = info.name, .function_name = info.function_name, .applied_opts = info.applied_opts.str()};
  p.ops = size_text(info.estimates.ops), p.lds = size_text(info.estimates.lds), p.mem = size_text(info.estimates.mem);
  for (Sint s : info.global_size) p.global_size.push_back(size_text(s));
  p.has_local_size = info.local_size.has_value();
  if (info.local_size)
    for (Sint s : *info.local_size) p.local_size.push_back(size_text(s));
  for (UOp var : info.vars) p.vars.push_back(variable_text(var));
  p.globals = info.globals, p.outs = info.outs, p.ins = info.ins;
  return p;
}

namespace {

Result<std::string> launch_facts_text(KernelOutputs& k) {
  if (!k.list()) return k.list().diag();
  auto info = make_program_info(*k.list());
  if (!info) return info.diag();
  return program_text(make_golden_program(*info));
}

template <Artifact what>
Result<std::string> compile_artifact(KernelOutputs& k) {
  auto job = compile_job_of_outputs(k);
  return job ? compile(*job, what) : job.diag();
}

Result<std::string> llvm_ir_text(KernelOutputs& k) {
  bool rendered = k.target().renderer == RendererKind::LLVM && !k.compile_options().shows_optimized_ir;
  return rendered ? k.source() : compile_artifact<Artifact::LlvmIr>(k);
}

constexpr OutputStage kOutputs[] = {
    {.name = "linear",
     .alias = "linearize",
     .kind = OutputKind::List,
     .extension = "uops",
     .help_text = "the nodes in the order they run, as print_uops shows them",
     .make_output = linear_text},
    {.name = "source",
     .alias = "render",
     .kind = OutputKind::Source,
     .extension = "src",
     .help_text = "the source in the target's language",
     .make_output = source},
    {.name = "program",
     .alias = "launch",
     .kind = OutputKind::LaunchFacts,
     .extension = "txt",
     .help_text = "launch sizes, buffers, variables, estimates",
     .make_output = launch_facts_text},
    {.name = "llvm-ir",
     .alias = "llvm",
     .kind = OutputKind::Compiled,
     .extension = "ll",
     .help_text = "LLVM IR: an LLVM renderer's source; the module after O2 for other renderers or with --optimized",
     .make_output = llvm_ir_text},
    {.name = "asm",
     .alias = "assembly",
     .kind = OutputKind::Compiled,
     .extension = "s",
     .help_text = "assembly (PTX for CUDA and PTX renderers); with --lines, the source line of each instruction",
     .make_output = compile_artifact<Artifact::Assembly>},
    {.name = "binary",
     .alias = "object",
     .kind = OutputKind::Compiled,
     .extension = "o",
     .help_text = "an ELF object, an AMD code object, or PTX as the driver takes it",
     .make_output = compile_artifact<Artifact::Binary>,
     .is_binary = true},
    {.name = "disasm",
     .alias = "disassembly",
     .kind = OutputKind::Compiled,
     .extension = "dis",
     .help_text = "the disassembled binary of a CPU or AMD GPU: address, bytes and text of each instruction",
     .make_output = compile_artifact<Artifact::Disassembly>},
    {.name = "cubin",
     .alias = "",
     .kind = OutputKind::Compiled,
     .extension = "cubin",
     .help_text = "NVIDIA's machine code, by ptxas",
     .make_output = compile_artifact<Artifact::Cubin>,
     .is_binary = true},
    {.name = "sass",
     .alias = "",
     .kind = OutputKind::Compiled,
     .extension = "sass",
     .help_text = "the cubin, disassembled by nvdisasm or cuobjdump",
     .make_output = compile_artifact<Artifact::Sass>},
};

}  // namespace

std::span<const OutputStage> output_stages() { return kOutputs; }

}  // namespace tgc
