#include "lib/profile/kernel_work.h"

#include <algorithm>
#include <cstring>

#include "lib/compilation/kernel_cost.h"
#include "lib/profile/memory_use.h"
#include "lib/profile/profile.h"
#include "lib/records/pickled_nodes.h"
#include "lib/support/counted.h"
#include "lib/uop/graph.h"
#include "passes/pipeline.h"
#include "passes/program.h"

namespace tgc::profile {
namespace {

constexpr DevicePeakRates kDevicePeakRates[] = {
    {"gfx942", "MI300X", 163.4e12, 5.3e12, 1216},   {"gfx950", "MI355X", 157.3e12, 8.0e12, 1024},
    {"gfx1100", "RX 7900 XTX", 61.4e12, 960e9, 192}, {"gfx1151", "Radeon 8060S", 29.7e12, 256e9, 80},
    {"gfx1200", "RX 9060 XT", 25.6e12, 320e9, 64},   {"gfx1201", "RX 9070 XT", 48.7e12, 640e9, 128},
    {"sm_70", "V100 SXM2", 15.7e12, 900e9},     {"sm_75", "RTX 2080 Ti", 13.4e12, 616e9},
    {"sm_80", "A100 SXM4 80GB", 19.5e12, 2.04e12}, {"sm_86", "RTX 3090", 35.6e12, 936e9},
    {"sm_89", "RTX 4090", 82.6e12, 1.01e12},    {"sm_90", "H100 SXM5", 66.9e12, 3.35e12},
    {"sm_100", "B200", 75e12, 8.0e12},          {"sm_120", "RTX 5090", 104.8e12, 1.79e12},
};

bool has_float_type(std::string_view op) {
  return op.find("_f16") != op.npos || op.find("_f32") != op.npos || op.find("_f64") != op.npos ||
         op.find("_bf16") != op.npos;
}

double flops_per_lane_of_op(std::string_view op) {
  if (!op.starts_with("v_") || !has_float_type(op)) return 0;
  op.remove_prefix(2);
  if (op.starts_with("dual_")) op.remove_prefix(5);
  if (op.starts_with("wmma_") && op.find("16x16x16") != op.npos) return 2.0 * 16 * 16 * 16 / 32;
  double scale = 1;
  if (op.starts_with("pk_")) op.remove_prefix(3), scale = 2;
  for (std::string_view two : {"fma", "mad", "dot2"})
    if (op.starts_with(two)) return two == "dot2" ? 4 : 2 * scale;
  for (std::string_view one :
       {"add_", "sub", "mul_", "min_", "max_", "exp_", "log_", "rcp_", "rsq_", "sqrt_", "sin_", "cos_"})
    if (op.starts_with(one)) return scale;
  return 0;
}

}  // namespace

bool runs_in_lanes(std::string_view assembly) {
  for (std::string_view unit : {"v_", "global_", "ds_", "buffer_", "flat_", "scratch_", "tbuffer_", "image_"})
    if (assembly.starts_with(unit)) return true;
  return false;
}

double flops_per_lane(std::string_view assembly) {
  double out = 0;
  while (!assembly.empty()) {  // both halves of a dual instruction: "v_dual_... :: v_dual_..."
    size_t end = assembly.find(" :: ");
    std::string_view part = assembly.substr(0, end);
    out += flops_per_lane_of_op(part.substr(0, part.find(' ')));
    assembly = end == assembly.npos ? std::string_view() : assembly.substr(end + 4);
  }
  return out;
}

const DevicePeakRates* find_device_peak(std::string_view arch) {
  auto found = std::ranges::find(kDevicePeakRates, arch, &DevicePeakRates::arch);
  return found == std::end(kDevicePeakRates) ? nullptr : found;
}

std::string speed_limit_text(std::optional<double> flops, std::optional<double> bytes, double seconds,
                             std::string_view arch) {
  const DevicePeakRates* peak = find_device_peak(arch);
  if (!peak || seconds <= 0 || (!flops && !bytes)) return "";
  double compute = flops.value_or(0) / seconds / peak->flops_per_second,
         memory = bytes.value_or(0) / seconds / peak->bytes_per_second;
  double share = std::max(compute, memory);
  if (share < 0.1) return formatted("latency (%.1f%% of peak)", share * 100);
  return formatted("%s %.0f%%", compute > memory ? "compute" : "memory", share * 100);
}

std::string rate_text(double amount, double seconds, const char* unit) {
  double rate = amount / seconds;
  return rate < 1e12 ? formatted("%.1f G%s", rate * 1e-9, unit) : formatted("%.1f T%s", rate * 1e-12, unit);
}

namespace {

// True for the graph after the last stage, which tinygrad 0.12.0 stores in place of the AST.
bool has_lowered_kernel_name(UOp root) {
  if (!root.is(Op::SINK) || !root.arg().is(RecordClass::KernelInfo)) return false;
  return RecordView(root.arg()).values()[0].is_str() &&
         RecordView(root.arg()).values()[0].text().find('\x1b') != std::string_view::npos;
}

double sint_upper_bound(const Sint& n) { return n.is_int() ? n.as_int().to_double() : n.vmax().to_double(); }

}  // namespace

KernelWork work_of_kernel(Compilation& kernel, std::string from) {
  KernelWork out{.ast_source = std::move(from)};
  if (kernel.input_stage()) {  // the graph of a later stage has threads in place of loops
    const auto& list = kernel.list();
    if (!list) throw Failure(list.diag());
    const Estimates made = make_program_info(*list).value_or_throw().estimates;
    out.num_operations = sint_upper_bound(made.ops), out.num_bytes = sint_upper_bound(made.mem);
    out.is_upper_bound = !made.ops.is_int() || !made.mem.is_int();
    return out;
  }
  const KernelCost cost = cost_of_ast(kernel.ast());
  out.num_operations = cost.num_operations, out.num_bytes = cost.total_bytes(), out.bytes_read = cost.bytes_read;
  for (UOp u : toposort(kernel.ast())) out.is_upper_bound |= u.is(Op::DEFINE_VAR);
  return out;
}

Session make_native_session(const Session& session) {
  Session out = session;
  out.overrides.target.clear();
  out.overrides.imports_kernels = out.overrides.uses_native_pipeline = true;
  return out;
}

InputGraph load_profile_ast(const Session& session, const ProfileTrace& trace, const std::string& name,
                            const std::string& target) {
  auto ast = trace.kernel_asts.find(name);
  if (ast == trace.kernel_asts.end()) throw Failure("the profile has no AST of " + name);
  Settings settings = session.merge_settings().value_or_throw();
  const std::string text = pickled_graph_json(ast->second).value_or_throw();
  InputGraph in = std::move(load_graph_text(settings, InputKind::Json, text, name).value_or_throw());
  in = std::move(session.compiler()->import_kernel(std::move(in)).value_or_throw());
  if (auto& refused = import_facts_of_input(in).import_error) throw Failure(*refused);
  in.info.target = target;
  if (has_lowered_kernel_name(in.root)) in.info.stage = kernel_stages().back().name;
  return in;
}

KernelWorks find_kernel_works(const Session& session, const ProfileTrace& trace) {
  KernelWorks out;
  const Session native = make_native_session(session);
  for (auto& [name, ast] : trace.kernel_asts) {
    if (session.is_cancelled()) break;
    (void)catch_failures([&] {
      Compilation c = std::move(native.begin(load_profile_ast(native, trace, name, "AMD:HIP")).value_or_throw());
      out[name] = work_of_kernel(c, "the AST that the profile has");
      return Unit{};
    });
  }
  return out;
}

namespace {

// Returns the number that follows `key` in a MessagePack map; nullopt if there is none.
std::optional<uint32_t> find_msgpack_number(std::string_view bytes, std::string_view key) {
  std::string whole(1, char(key.size() < 32 ? 0xa0 | key.size() : 0xd9));
  if (key.size() >= 32) whole += char(key.size());
  whole += key;
  size_t at = bytes.find(whole);
  if (at == bytes.npos || at + whole.size() >= bytes.size()) return {};
  bytes.remove_prefix(at + whole.size());
  const uint8_t type = uint8_t(bytes[0]);
  const size_t size = type < 0x80 ? 0 : type == 0xcc ? 1 : type == 0xcd ? 2 : type == 0xce ? 4 : SIZE_MAX;
  if (size == 0) return type;
  if (size == SIZE_MAX || bytes.size() <= size) return {};
  uint32_t out = 0;
  for (size_t n = 1; n <= size; n++) out = out << 8 | uint8_t(bytes[n]);
  return out;
}

constexpr uint32_t kDescriptorBytes = 64;

}  // namespace

std::optional<KernelResources> program_resources(const GpuProgram& program, std::string_view arch) {
  // .rodata begins with the descriptor, as tinygrad assumes, too
  auto descriptor = find_section(program.elf_bytes, ".rodata");
  if (!descriptor || descriptor->bytes.size() < kDescriptorBytes) return {};
  auto word = [&](size_t offset) {
    uint32_t out = 0;
    std::memcpy(&out, descriptor->bytes.data() + offset, sizeof out);
    return out;
  };
  const bool is_rdna3 = is_rdna(isa_of_arch(arch)), is_wave32 = word(56) >> 10 & 1;
  KernelResources out{.kernel = std::string(program.name), .reporter_name = "the kernel's descriptor"};
  out.num_vector_registers = ((word(48) & 63) + 1) * (is_rdna3 && !is_wave32 ? 4 : 8);
  out.shared_bytes = word(0), out.scratch_bytes = word(4);
  if (auto note = find_section(program.elf_bytes, ".note")) {
    auto number = [&](std::string_view key) { return find_msgpack_number(note->bytes, key); };
    out.num_scalar_registers = number(".sgpr_count");
    auto vectors = number(".vgpr_spill_count"), scalars = number(".sgpr_spill_count");
    if (vectors || scalars) out.num_spills = vectors.value_or(0) + scalars.value_or(0), out.spill_unit = "registers";
    out.max_threads = number(".max_flat_workgroup_size").value_or(0);
  }
  return out;
}

std::optional<Occupancy> occupancy_of_run(const KernelRun& run) {
  const auto resources = run.program ? program_resources(*run.program, run.arch) : std::nullopt;
  if (!resources) return {};
  return occupancy_of_kernel(*resources, run.arch, resources->max_threads ? resources->max_threads : 32);
}

KernelFigures figures_of_run(const Profile& p, size_t run_index, const std::map<uint64_t, std::string>& listing) {
  const KernelRun& run = p.trace.runs[run_index];
  KernelFigures out{.kernel_work = p.work_of_run(run_index)};
  size_t number = 0;
  for (size_t n = 0; n < run_index; n++)
    number += p.trace.runs[n].kernel == run.kernel && p.trace.runs[n].device == run.device;
  if (auto found = p.buffer_bytes.find({std::string(run.device), run.kernel});
      found != p.buffer_bytes.end() && number < found->second.size() && found->second[number] > 0)
    out.buffer_bytes = found->second[number];
  for (size_t i : run.sqtt_events) {
    out.num_waves += p.sqtt_summaries[i].wave_spans.size();
    if (p.sqtt_summaries[i].instructions.empty()) continue;
    for (const WaveSpan& w : p.sqtt_summaries[i].wave_spans) out.num_followed_waves += w.cu == 0 && w.simd == 0;
  }
  out.num_wave_lanes = out.max_active_lanes = is_rdna(isa_of_arch(run.arch)) ? 32 : 64;
  if (auto resources = run.program ? program_resources(*run.program, run.arch) : std::nullopt; resources)
    if (resources->max_threads) out.max_active_lanes = std::min(out.max_active_lanes, resources->max_threads);
  const auto times = p.instruction_times_of_run(run_index);
  if (times.empty() || listing.empty() || !out.num_followed_waves) return out;
  const auto active = p.active_lanes_of_run(run_index);
  double ops = 0, vectors = 0, lanes = 0;
  for (uint32_t n = 0; n < times.size(); n++) {
    auto text = listing.find(p.code_of_run(run_index)->address_of(n));
    if (text == listing.end()) continue;
    const double executed_lanes =
        active.empty() ? double(times[n].num_executions) * out.max_active_lanes : double(active[n]);
    ops += executed_lanes * flops_per_lane(text->second);
    if (runs_in_lanes(text->second)) vectors += double(times[n].num_executions), lanes += executed_lanes;
  }
  out.executed_flops = ops / double(out.num_followed_waves) * double(out.num_waves),
  out.is_executed_upper_bound = active.empty();
  if (!active.empty() && vectors > 0) out.active_lanes = lanes / vectors;
  return out;
}

namespace {

std::string rate_and_share_text(double amount, double seconds, const char* unit, double peak) {
  std::string out = rate_text(amount, seconds, unit);
  return peak > 0 ? out + formatted(", %.2f%% of the peak", amount / seconds / peak * 100) : out;
}

std::string text_with_commas(double n) {
  std::string digits = formatted("%.0f", n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string figures_text(const Profile& p, size_t run_index, const KernelFigures& f) {
  const KernelRun& run = p.trace.runs[run_index];
  const DevicePeakRates* peak = find_device_peak(run.arch);
  auto rate = [&](double amount, const char* unit, double most) {
    return run.seconds && *run.seconds > 0 ? " (" + rate_and_share_text(amount, *run.seconds, unit, most) + ")" : "";
  };
  std::string out;
  if (f.kernel_work) {
    const char* most = f.kernel_work->is_upper_bound ? "at most " : "";
    out += formatted("operations: %s%s by %s", most, text_with_commas(f.kernel_work->num_operations).c_str(),
                     f.kernel_work->ast_source.c_str()) +
           rate(f.kernel_work->num_operations, "FLOPS", peak ? peak->flops_per_second : 0);
  }
  if (f.executed_flops) {
    const std::string lanes =
        f.active_lanes ? formatted("%.1f", *f.active_lanes) : formatted("at most %u", f.max_active_lanes);
    out += (out.empty() ? "operations: " : "; ") + std::string("executed: ") +
           (f.is_executed_upper_bound ? "at most " : "") + text_with_commas(*f.executed_flops) +
           formatted(", with %s of %u lanes active", lanes.c_str(), f.num_wave_lanes);
    if (!f.kernel_work) out += rate(*f.executed_flops, "FLOPS", peak ? peak->flops_per_second : 0);
  }
  if (!out.empty()) out += "\n";
  const auto bytes = f.kernel_work ? std::optional(f.kernel_work->num_bytes) : f.buffer_bytes;
  if (bytes)
    out += "bytes: " + text_with_commas(*bytes) + (f.kernel_work ? ", each element once" : " in its buffers") +
           rate(*bytes, "B/s", peak ? peak->bytes_per_second : 0) + "\n";
  if (peak && run.seconds && !out.empty())
    out += "peak: " + std::string(peak->card_name) + ", nominal rates\n";
  return out;
}

}  // namespace tgc::profile
