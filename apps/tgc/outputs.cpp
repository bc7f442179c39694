#include "apps/tgc/outputs.h"

#include "lib/text/golden.h"
#include "lib/text/print_uops.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {

const Result<std::vector<UOp>>& KernelOutputs::list() {
  if (!list_) list_ = linear_list(job_, sink_);
  return *list_;
}

const Result<std::string>& KernelOutputs::source() {
  if (!source_) source_ = list().ok() ? render_source(job_.target, *list()) : Result<std::string>(list().diag());
  return *source_;
}

namespace {

Result<std::string> linear(KernelOutputs& k) {
  if (!k.list()) return k.list().diag();
  return print_uops(*k.list());
}

Result<std::string> source(KernelOutputs& k) { return k.source(); }

std::string variable_text(UOp var) {
  std::string out = "[";
  for (size_t i = 0; i < var.arg().items().size(); i++) {
    const Arg& a = var.arg()[i];
    out += (i ? ", " : "") + (a.is_str() ? "\"" + std::string(a.text()) + "\"" : a.str());
  }
  return out + "]";
}

// The launch facts as golden records hold them.
GoldenProgram golden_program(const ProgramInfo& info) {
  GoldenProgram p{.name = info.name, .function_name = info.function_name, .applied_opts = info.applied_opts.str()};
  p.ops = info.estimates.ops.str(), p.lds = info.estimates.lds.str(), p.mem = info.estimates.mem.str();
  for (Sint s : info.global_size) p.global_size.push_back(s.str());
  p.has_local_size = info.local_size.has_value();
  if (info.local_size)
    for (Sint s : *info.local_size) p.local_size.push_back(s.str());
  for (UOp var : info.vars) p.vars.push_back(variable_text(var));
  p.globals = info.globals, p.outs = info.outs, p.ins = info.ins;
  return p;
}

Result<std::string> program(KernelOutputs& k) {
  if (!k.list()) return k.list().diag();
  auto info = program_info(*k.list());
  if (!info) return info.diag();
  return program_text(golden_program(*info));
}

// name, alias, extension, help, how it is made
const std::vector<OutputStage> kOutputs = {
    {"linear", "linearize", "uops", "the nodes in the order they run, as print_uops shows them", linear},
    {"source", "render", "src", "the source in the target's language", source},
    {"program", "launch", "txt", "launch sizes, buffers, variables, estimates", program},
};

}  // namespace

std::span<const OutputStage> output_stages() { return kOutputs; }

const OutputStage* find_output(std::string_view text) {
  for (const OutputStage& o : kOutputs)
    if (text == o.name || text == o.alias) return &o;
  return nullptr;
}

}  // namespace tgc
