#include "lib/profile/report.h"

#include <algorithm>

#include "lib/profile/hints.h"
#include "lib/profile/memory_use.h"
#include "lib/profile/memory_levels.h"
#include "lib/profile/occupancy_over_time.h"
#include "lib/profile/pma.h"
#include "lib/profile/trace_checks.h"
#include "lib/run/run_report.h"
#include "lib/support/counted.h"
#include "lib/support/table.h"
#include "lib/support/visible.h"

namespace tgc::profile {

namespace {

std::string rate_or_dash(std::optional<double> amount, double seconds, const char* unit, bool at_most = false) {
  return !amount || seconds <= 0 ? "-" : (at_most ? "<= " : "") + rate_text(*amount, seconds, unit);
}

// "TINY": tinygrad itself; "USER": the program's calls.
bool is_host_device(std::string_view device) { return device == "USER" || device == "TINY"; }

std::string trimmed_time(double seconds) { return time_text(seconds, 0); }

std::string hardware_runs_text(const Profile& p) {
  std::vector<std::vector<std::string>> rows{{"run", "device", "arch", "traces", "packets", "waves", "counters"}};
  for (size_t n = 0; n < p.trace.runs.size(); n++) {
    if (!p.is_run_chosen[n]) continue;
    const KernelRun& run = p.trace.runs[n];
    uint64_t packets = 0, waves = 0;
    std::string errors;
    for (size_t i : run.sqtt_events) {
      packets += p.sqtt_summaries[i].num_packets, waves += p.sqtt_summaries[i].wave_spans.size();
      if (errors.empty()) errors = p.sqtt_summaries[i].error;
    }
    auto counters = std::ranges::count(p.trace.counter_samples, n, &CounterSample::run_index);
    rows.push_back({run.name, std::string(run.device), run.arch, std::to_string(run.sqtt_events.size()),
                    std::to_string(packets), std::to_string(waves), std::to_string(counters)});
    if (!errors.empty()) rows.push_back({"  not mapped to instructions: " + errors});
  }
  for (const PmaEvent& e : p.trace.pma_events)
    if (p.is_wanted_kernel(e.kernel))
      rows.push_back({e.kernel, std::string(e.device), formatted("SM %#x", unsigned(e.sm_version)), "samples", "-", "-",
                      "-"});
  if (rows.size() == 1) return "";
  return "\nhardware events (tgc profile FILE#RUN shows one run: hints and instructions)\n" +
         table_text(rows, "lllrrrr");
}

}  // namespace

const ProgramListings::Listing& ProgramListings::find(size_t run_index) {
  const KernelRun& run = profile_->trace.runs[run_index];
  if (!run.program || !profile_->code_of_run(run_index)) return empty_listing_;
  auto [found, is_new] = listings_.try_emplace(run.program);
  if (is_new) found->second = disassemble_program(*run.program, run.arch);
  return found->second;
}

std::string overview_text(const Profile& p, const std::string& file) {
  ProgramListings listings(p);
  std::vector<EventTotal> totals = event_totals(p, listings);
  std::string archs;
  for (auto& [device, arch] : p.trace.archs)
    if (!arch.empty() && device.find(":SDMA") == device.npos) archs += ", " + device + " is " + arch;
  const bool is_emulated = !p.trace.emulator.empty();
  std::string out = file + ": " + (is_emulated ? "emulated by " + p.trace.emulator + ", in the form of tinygrad "
                                               : "written by tinygrad ") + p.trace.release + archs + "\n";
  if (is_emulated) out += std::string(kEmulatedCyclesNote) + "\n";
  for (const std::string& what : p.trace.damage_notes) out += "damaged: " + visible_text(what) + "\n";
  double device_seconds = 0, host_seconds = 0;
  for (const EventTotal& t : totals) (is_host_device(t.device) ? host_seconds : device_seconds) += t.seconds;
  std::vector<std::vector<std::string>> rows{
      {"total", "%", "count", "mean", "device", "kernel or copy", "FLOPS", "bytes/s", "bound by"}};
  for (const EventTotal& t : totals) {
    if (is_host_device(t.device)) continue;
    double mean = t.seconds / double(t.num_executions);
    double percent = device_seconds > 0 ? t.seconds / device_seconds * 100 : 0;
    rows.push_back({trimmed_time(t.seconds), formatted("%.1f", percent), std::to_string(t.num_executions),
                    trimmed_time(mean), t.device, t.name, rate_or_dash(t.flops, mean, "FLOPS", t.is_flops_upper_bound),
                    rate_or_dash(t.bytes, mean, "B/s"),
                    t.is_copy ? "copy" : speed_limit_text(t.flops, t.bytes, mean, t.arch)});
  }
  out += rows.size() == 1 ? is_emulated ? "" : "no kernel ran\n" : table_text(rows, "rrrrllrr");
  if (host_seconds > 0) out += "host: " + trimmed_time(host_seconds) + " in tinygrad and the program's tensor calls\n";
  return out + hardware_runs_text(p);
}

namespace {

constexpr size_t kNumHottest = 5;
constexpr size_t kMaxSourceTextSize = 90;

struct InstructionRow {
  uint64_t address = 0;
  InstructionTimes times;
  std::string reason, assembly;
};

std::vector<std::string> row_cells(const InstructionRow& r, uint64_t all, const CodeSource* source) {
  std::vector<std::string> out{std::to_string(r.times.num_executions), std::to_string(r.times.cycles),
                               formatted("%.1f", all ? double(r.times.cycles) / double(all) * 100 : 0),
                               std::to_string(r.times.stall_cycles), std::to_string(r.times.idle_cycles), r.reason,
                               formatted("%#x", unsigned(r.address)), r.assembly};
  if (!source) return out;
  uint32_t line = source->line_at_address(r.address);
  std::string text = visible_text(source->text_of_line(line));
  if (text.size() > kMaxSourceTextSize) text = text.substr(0, kMaxSourceTextSize - 3) + "...";
  const char* about = source->is_exact_at_address(r.address) ? "" : "~";
  std::string number = line ? about + std::to_string(line) : "";
  out.insert(out.end(), {std::move(number), std::move(text), nodes_text(source->nodes_of_line(line))});
  return out;
}

std::string source_text(const CodeSource& source) {
  if (!source.missing_reason.empty()) return "no source lines: " + visible_text(source.missing_reason) + "\n";
  return "source lines and UOps: " + source.input + ", compiled for " + source.target +
         (source.line_nodes.empty() ? "; its UOps are unknown, because tgc renders another source" : "") +
         (source.difference_text.empty() ? ""
                                         : "; lines with ~ are approximate: " + visible_text(source.difference_text)) +
         "\n";
}

std::string run_text(const Profile& p, size_t run_index, ProgramListings& listings) {
  const KernelRun& run = p.trace.runs[run_index];
  std::string out = run.name + " on " + std::string(run.device) + (run.arch.empty() ? "" : " (" + run.arch + ")");
  if (run.seconds) out += ", " + time_text(*run.seconds, 0);
  out += "\n";
  const bool is_modeled = !p.trace.emulator.empty();
  if (is_modeled) out += std::string(kModeledTimesNote) + "\n";
  for (const std::string& what : p.trace.damage_notes) out += "damaged: " + visible_text(what) + "\n";
  for (const std::string& what : check_traces(p, run_index, listings.find(run_index)))
    out += "inconsistent: " + what + "\n";
  size_t waves = 0, followed = 0;
  for (size_t i : run.sqtt_events) {
    const SqttSummary& s = p.sqtt_summaries[i];
    waves += s.wave_spans.size();
    if (!s.error.empty()) out += formatted("shader engine %d: %s\n", int(p.trace.sqtt_events[i].se), s.error.c_str());
    if (!s.instructions.empty())
      followed +=
          size_t(std::ranges::count_if(s.wave_spans, [](const WaveSpan& w) { return w.cu == 0 && w.simd == 0; }));
  }
  std::vector<InstructionRow> rows;
  uint64_t all = 0;
  const ProgramListings::Listing& listing = listings.find(run_index);
  const StallReport stalls = stalls_of_run(p, run_index, listing);
  const std::vector<InstructionTimes> times = measured_or_modeled_times(p, run_index, stalls);
  const KernelFigures figures = figures_of_run(p, run_index, listing);
  out += figures_text(p, run_index, figures);
  if (auto occupancy = occupancy_over_time(p, run_index)) out += occupancy_text(*occupancy);
  out += memory_levels_text(memory_levels(p, run_index, stalls, figures));
  for (uint32_t n = 0; n < times.size(); n++) {
    if (!times[n].num_executions) continue;
    uint64_t address = p.code_of_run(run_index)->address_of(n);
    auto text = listing.find(address);
    InstructionRow row{address, times[n], "", text == listing.end() ? "" : text->second};
    if (n < stalls.instructions.size()) {
      const InstructionStalls& s = stalls.instructions[n];
      if (times[n].stall_cycles > times[n].num_executions)
        row.reason = stall_reason_name(StallReport::main_stall_reason(s));
      if (std::string waits = waits_text(p, run_index, stalls, n); !waits.empty()) row.assembly += "  <- " + waits;
    }
    rows.push_back(std::move(row));
    all += times[n].cycles;
  }
  std::string hints_text;
  for (const SpeedHint& hint : speed_hints(p, run_index, listing, stalls)) hints_text += "hint: " + hint.text() + "\n";
  if (rows.empty()) {
    out += "no wave of the traced SIMD executed an instruction\n" + hints_text;
  } else {
    out += formatted("%zu of %zu waves followed, those of SIMD 0 of compute unit 0; %llu %scycles in all\n", followed,
                     waves, static_cast<unsigned long long>(all), is_modeled ? "modeled " : "");
    out += stalls_text(p, run_index, stalls, listing) + hints_text;
    const CodeSource* source = p.source_of_run(run_index);
    if (source) out += source_text(*source);
    if (source && !source->missing_reason.empty()) source = nullptr;
    std::vector<std::string> header{"hits", "cycles", "%", "stall", "idle", "reason", "address", "instruction"};
    if (is_modeled) header[1] = "modeled cycles", header[3] = "modeled stall", header[4] = "modeled idle";
    if (source) header.insert(header.end(), {"line", "source", "UOp"});
    std::vector<InstructionRow> hottest = rows;
    std::ranges::stable_sort(hottest, std::greater(), [](const InstructionRow& r) { return r.times.cycles; });
    hottest.resize(std::min(hottest.size(), kNumHottest));
    std::vector<std::vector<std::string>> lines{{is_modeled ? "hottest by the model:" : "hottest:"}, header};
    for (const InstructionRow& r : hottest) lines.push_back(row_cells(r, all, source));
    lines.push_back({"in the order of the code:"});
    for (const InstructionRow& r : rows) lines.push_back(row_cells(r, all, source));
    out += table_text(lines, "rrrrr r r");
  }
  return out;
}

std::string samples_text(const PmaEvent& e) {
  auto samples = decode_pma(bytes_of_blob(e.blob), e.sm_version);
  std::string out = e.kernel + formatted(" on %s: %zu samples\n", std::string(e.device).c_str(), samples.size());
  std::vector<std::vector<std::string>> rows{{"samples", "%", "address", "stall reasons"}};
  for (auto& [pc, reasons] : count_samples(samples)) {
    uint64_t all = 0;
    std::vector<std::pair<uint64_t, std::string_view>> by_count;
    for (auto& [reason, count] : reasons) all += count, by_count.emplace_back(count, reason);
    std::ranges::sort(by_count, std::greater());
    std::string texts;
    for (auto& [count, reason] : by_count)
      texts += (texts.empty() ? "" : ", ") + std::string(reason) + " " + std::to_string(count);
    rows.push_back({std::to_string(all), formatted("%.1f", double(all) / double(samples.size()) * 100),
                    formatted("%#llx", static_cast<unsigned long long>(pc)), texts});
  }
  return out + table_text(rows, "rrr");
}

}  // namespace

std::string instructions_text(const Profile& p) {
  ProgramListings listings(p);
  std::string out;
  for (size_t n = 0; n < p.trace.runs.size(); n++)
    if (p.is_run_chosen[n]) out += (out.empty() ? "" : "\n") + run_text(p, n, listings);
  for (const PmaEvent& e : p.trace.pma_events)
    if (p.is_wanted_kernel(e.kernel)) out += (out.empty() ? "" : "\n") + samples_text(e);
  return out;
}

std::vector<EventTotal> event_totals(const Profile& p, ProgramListings& listings) {
  std::map<KernelOfDevice, EventTotal> totals;
  for (const RangeEvent& e : p.trace.range_events) {
    EventTotal& t = totals[{std::string(e.device), e.name}];
    t.device = e.device, t.name = e.name, t.num_executions++;
    t.seconds += (e.end - e.begin) * 1e-6;
    t.is_copy |= e.is_copy;
    if (e.bytes) t.bytes = t.bytes.value_or(0) + *e.bytes;
  }
  for (auto& [key, t] : totals)
    if (t.bytes) t.bytes = *t.bytes / double(t.num_executions);
  for (auto& [key, bytes] : p.buffer_bytes)
    if (auto t = totals.find(key); t != totals.end() && bytes[0] > 0) t->second.bytes = bytes[0];
  for (auto& [key, t] : totals) {
    auto arch = p.trace.archs.find(t.device);
    if (arch != p.trace.archs.end()) t.arch = arch->second;
    auto work = t.is_copy ? p.kernel_works.end() : p.kernel_works.find(t.name);
    if (work != p.kernel_works.end())
      t.flops = work->second.num_operations, t.bytes = work->second.num_bytes,
      t.is_flops_upper_bound = work->second.is_upper_bound;
  }
  for (size_t n = 0; n < p.trace.runs.size(); n++) {
    const KernelRun& run = p.trace.runs[n];
    auto t = totals.find({std::string(run.device), run.kernel});
    if (t == totals.end()) continue;
    t->second.arch = run.arch;
    if (!p.is_run_chosen[n] || t->second.flops) continue;
    const KernelFigures figures = figures_of_run(p, n, listings.find(n));
    t->second.flops = figures.num_needed_operations(),
    t->second.is_flops_upper_bound = figures.is_operations_upper_bound();
  }
  std::vector<EventTotal> out;
  for (auto& [key, t] : totals) out.push_back(std::move(t));
  std::ranges::stable_sort(out, std::greater(), &EventTotal::seconds);
  return out;
}

}  // namespace tgc::profile
