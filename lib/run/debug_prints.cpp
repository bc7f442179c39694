#include "lib/run/debug_prints.h"

#include <atomic>

#include "lib/run/bounds_proof.h"
#include "lib/support/counted.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "passes/kernel/stages.h"
#include "passes/tensor/stages.h"

namespace tgc {
namespace {

std::atomic<size_t> kernels_shown{0};  // counts the kernels of all sessions of this process, as tinygrad does

double value_or_zero(const Sint& s) {
  if (auto n = s.str(); n.find_first_not_of("0123456789") == n.npos) return std::stod(n);
  return 0;  // the value depends on variables
}

}  // namespace

bool DebugPrints::observes_kernels() const {
  return settings_.DEBUG >= 2 || !settings_.IGNORE_OOB || settings_.DEBUG_LINEARIZE;
}

Status DebugPrints::print_compilation(Compilation& c) {
  if (c.is_tensor_graph()) {
    auto& schedule = c.schedule();
    if (!schedule) return schedule.diag();
    show_schedule(schedule->items.size(), c.schedule_seconds(), sha256_hex(c.schedule_key()), c.graph().size());
    return Unit{};
  }
  if (!observes_kernels()) return Unit{};
  if (!c.input_graph().list.empty()) return Unit{};
  if (!c.input_stage()) on_kernel_begin(c.ast());
  auto outputs = c.outputs();
  if (!outputs) return outputs.diag();
  return print_lowered_kernel(c.current_graph(), **outputs, false);
}

void DebugPrints::on_schedule_made(const TensorJob& job, const Schedule& schedule, double seconds) {
  if (settings_.DEBUG >= 1)
    show_schedule(schedule.items.size(), seconds, sha256_hex(sched_cache_key(job.normalized_sink)), job.graph.size());
}

void DebugPrints::on_kernel_begin(UOp ast) {
  if (settings_.DEBUG < 5) return;
  auto text = pyrender(ast);
  print_text(text ? *text : text.diag().text());
}

Status DebugPrints::print_lowered_kernel(UOp sink, KernelOutputs& outputs, bool runs) {
  if (!observes_kernels()) return Unit{};
  auto& list = outputs.list();
  if (!list) return list.diag();
  if (settings_.DEBUG_LINEARIZE) print_text(linearize_listing(linearize(sink)));
  if (settings_.DEBUG >= 6) print_text(print_uops(*list));
  auto info = make_program_info(*list);
  if (settings_.DEBUG >= 2 && !info) return info.diag();
  if (settings_.DEBUG >= 3) print_text(info->applied_opts.repr());
  if (settings_.DEBUG >= 4) {
    if (!outputs.source()) return outputs.source().diag();
    print_text(*outputs.source());
  }
  if (settings_.DEBUG >= 7) show_assembly(outputs);
  if (settings_.DEBUG >= 2 && !runs) show_kernel(*info, outputs.target().device, 0, {});
  return settings_.IGNORE_OOB ? Status(Unit{}) : prove_bounds_of(*list);
}

void DebugPrints::on_kernel_run(const ProgramInfo& info, const Target& target, double bytes,
                                std::span<const double> seconds) {
  for (double s : seconds) total_seconds_ += s;
  std::optional<KernelTime> time;
  if (!seconds.empty()) time = {seconds.back(), total_seconds_};
  show_kernel(info, target.device, bytes, time);
}

void DebugPrints::print_text(std::string text) const {
  if (text.empty() || text.back() != '\n') text += '\n';
  if (session_.events) session_.events->on_debug(text);
}

void DebugPrints::show_schedule(size_t kernels, double seconds, const std::string& key, size_t nodes) const {
  if (!(settings_.DEBUG >= 1 && kernels > 1) && settings_.DEBUG < 3) return;
  print_text(formatted("scheduled %4zu kernels in %8.2f ms | CACHE MISS %.8s | %zu uops in cache", kernels,
                       seconds * 1e3, key.c_str(), nodes));
}

void DebugPrints::show_kernel(const ProgramInfo& info, const std::string& device, double mem_used,
                              std::optional<KernelTime> time) {
  if (settings_.DEBUG < 2) return;
  const Estimates& e = info.estimates;
  KernelReportLine line{.name = info.name,
                  .device = device,
                  .kernel_number = ++kernels_shown,
                  .num_arguments = info.globals.size(),
                  .used_bytes = mem_used,
                  .kernel_cost = {value_or_zero(e.ops), value_or_zero(e.lds), value_or_zero(e.mem)},
                  .kernel_time = time};
  bool color = session_.events && session_.events->has_colors();
  print_text(line.text(color) + (time ? " " : ""));  // tinygrad prints metadata after this trailing space
}

void DebugPrints::show_assembly(KernelOutputs& outputs) const {
  auto assembly = get_stage_row("asm").output->make_output(outputs);
  print_text(assembly ? *assembly : "no disassembly: " + assembly.diag().text());
}

Status DebugPrints::prove_bounds_of(const std::vector<UOp>& list) const {
  auto proof = prove_access_bounds(list);
  if (!proof) return proof.diag();
  if (settings_.DEBUG >= 3)
    print_text("bounds: " + std::to_string(proof->num_accesses) + " accesses, " +
               std::to_string(proof->num_proven_by_bounds) + " by least and greatest value, " +
               std::to_string(proof->num_proven_by_z3) + " proven by Z3");
  if (proof->failed_accesses.empty()) return Unit{};
  std::string all;
  for (const OutOfBoundsAccess& f : proof->failed_accesses) all += (all.empty() ? "" : "\n") + f.text();
  return Diag{.message = std::move(all)};
}

}  // namespace tgc
