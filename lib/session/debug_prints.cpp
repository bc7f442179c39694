#include "lib/session/debug_prints.h"

#include <atomic>
#include <cstdio>

#include "lib/inspect/bounds_proof.h"
#include "lib/support/pytext.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "passes/kernel/linearizer.h"
#include "passes/tensor/sched_cache.h"

namespace tgc {
namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// In tinygrad's colour of that name, where colours are wanted.
std::string painted(std::string text, std::string_view color, bool wanted) {
  return wanted ? colored(text, color) : text;
}

std::atomic<size_t> kernels_shown{0};  // tinygrad numbers the kernels of a process

// helpers.py time_to_str with w=9
std::string time_text(double t) {
  if (t > 10) return format("%9.2fs ", t);
  if (t > 10e-3) return format("%9.2fms", t * 1e3);
  return format("%9.2fus", t * 1e6);
}

double value_of(const Sint& s) {
  if (auto n = s.str(); n.find_first_not_of("0123456789") == n.npos) return std::stod(n);
  return 0;  // of a symbolic size
}

}  // namespace

std::string kernel_line(const ProgramInfo& info, const std::string& device, size_t number, double mem_used,
                        std::optional<KernelTime> time, bool color) {
  char head[64];
  std::snprintf(head, sizeof head, "*** %-7.7s %4zu", device.c_str(), number);
  std::string name = ansistrip(info.name),
              out = painted(head, "green", color && time) + " " + (color ? info.name : name);
  out += std::string(name.size() < 46 ? 46 - name.size() : 0, ' ');
  std::snprintf(head, sizeof head, " arg %2zu mem %6.2f GB", info.globals.size(), mem_used / 1e9);
  out += head;
  if (!time) return out + "\n";
  double t = std::max(time->seconds, 1e-20), ops = value_of(info.estimates.ops) / t,
         lds = value_of(info.estimates.lds) / t;
  double mem = std::min(value_of(info.estimates.mem) / t, lds);
  out += " tm " + painted(time_text(time->seconds), "yellow", color && time->seconds > 0.01) + "/" +
         format("%9.2f", time->seconds_in_all * 1e3) + "ms (";
  out += ops < 1e14 ? format("%7.0f GFLOPS", ops * 1e-9) : painted(format("%7.0f TFLOPS", ops * 1e-12), "green", color);
  out += " ";
  out += mem < 1e13 && lds < 1e15
             ? format("%4.0f", mem * 1e-9) + "|" + format("%-6.0f", lds * 1e-9) + " GB/s"
             : painted(format("%4.0f", mem * 1e-12) + "|" + format("%-6.0f", lds * 1e-12) + " TB/s", "green", color);
  return out + ") \n";  // tinygrad prints metadata after the blank
}

bool DebugPrints::watches_kernels() const {
  return settings_.DEBUG >= 2 || !settings_.IGNORE_OOB || settings_.DEBUG_LINEARIZE;
}

Status DebugPrints::compiled(Compilation& c) {
  if (c.is_tensor_graph()) {
    auto& schedule = c.schedule();
    if (!schedule) return schedule.diag();
    show_schedule(schedule->items.size(), c.schedule_seconds(), to_hex(c.schedule_key()), c.graph().size());
    return Unit{};
  }
  if (!watches_kernels()) return Unit{};
  if (!c.loaded().list.empty()) return Unit{};  // a listing has no stages to tell of
  if (!c.begun_at()) kernel_begins(c.ast());
  auto outputs = c.outputs();
  if (!outputs) return outputs.diag();
  return lowered(c.current(), **outputs, false);
}

void DebugPrints::scheduled(const TensorJob& job, const Schedule& schedule, double seconds) {
  if (settings_.DEBUG >= 1)
    show_schedule(schedule.items.size(), seconds, to_hex(sched_cache_key(job.keyed)), job.graph.size());
}

void DebugPrints::kernel_begins(UOp ast) {
  if (settings_.DEBUG < 5) return;
  auto text = pyrender(ast);
  show(text ? *text : text.diag().text());
}

Status DebugPrints::lowered(UOp sink, KernelOutputs& outputs, bool runs) {
  if (!watches_kernels()) return Unit{};
  auto& list = outputs.list();
  if (!list) return list.diag();
  if (settings_.DEBUG_LINEARIZE) show(linearize_listing(linearize(sink)));
  if (settings_.DEBUG >= 6) show(print_uops(*list));
  auto info = program_info(*list);
  if (settings_.DEBUG >= 2 && !info) return info.diag();
  if (settings_.DEBUG >= 3) show(info->applied_opts.repr());
  if (settings_.DEBUG >= 4) {
    if (!outputs.source()) return outputs.source().diag();
    show(*outputs.source());
  }
  if (settings_.DEBUG >= 7) show_assembly(outputs);
  if (settings_.DEBUG >= 2 && !runs) show_kernel(*info, outputs.target().device, 0, {});
  return settings_.IGNORE_OOB ? Status(Unit{}) : prove(*list);
}

void DebugPrints::kernel_ran(const ProgramInfo& info, const Target& target, double bytes,
                             std::span<const double> seconds) {
  for (double s : seconds) seconds_in_all_ += s;
  std::optional<KernelTime> time;
  if (!seconds.empty()) time = {seconds.back(), seconds_in_all_};
  show_kernel(info, target.device, bytes, time);
}

void DebugPrints::show(std::string text) const {
  if (text.empty() || text.back() != '\n') text += '\n';
  if (session_.events) session_.events->debug(text);
}

void DebugPrints::show_schedule(size_t kernels, double seconds, const std::string& key, size_t nodes) const {
  if (!(settings_.DEBUG >= 1 && kernels > 1) && settings_.DEBUG < 3) return;
  char text[128];
  std::snprintf(text, sizeof text, "scheduled %4zu kernels in %8.2f ms | CACHE MISS %.8s | %zu uops in cache", kernels,
                seconds * 1e3, key.c_str(), nodes);
  show(text);
}

void DebugPrints::show_kernel(const ProgramInfo& info, const std::string& device, double mem_used,
                              std::optional<KernelTime> time) {
  bool color = session_.events && session_.events->color();
  if (settings_.DEBUG >= 2) show(kernel_line(info, device, ++kernels_shown, mem_used, time, color));
}

void DebugPrints::show_assembly(KernelOutputs& outputs) const {
  auto assembly = row_of("asm").output->make(outputs);
  show(assembly ? *assembly : "no disassembly: " + assembly.diag().text());
}

Status DebugPrints::prove(const std::vector<UOp>& list) const {
  auto proof = prove_bounds(list);
  if (!proof) return proof.diag();
  if (settings_.DEBUG >= 3)
    show("bounds: " + std::to_string(proof->accesses) + " accesses, " + std::to_string(proof->by_bounds) +
         " by least and greatest value, " + std::to_string(proof->by_z3) + " proven by Z3");
  if (proof->failures.empty()) return Unit{};
  std::string all;
  for (const OutOfBounds& f : proof->failures) all += (all.empty() ? "" : "\n") + f.text();
  return Diag{.message = std::move(all)};
}

}  // namespace tgc
