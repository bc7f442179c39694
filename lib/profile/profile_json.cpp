#include <charconv>

#include "lib/profile/hints.h"
#include "lib/profile/memory_use.h"
#include "lib/profile/memory_levels.h"
#include "lib/profile/occupancy_over_time.h"
#include "lib/profile/pma.h"
#include "lib/profile/report.h"
#include "lib/profile/stalls.h"
#include "lib/profile/trace_checks.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {
namespace {

constexpr std::string_view kDecoder = "0.13.0";  // the tinygrad release whose decoder computes the same values

void write_kernels(JsonWriter& json, const Profile& p, ProgramListings& listings) {
  json.key("kernels").array([&] {
    for (size_t n = 0; n < p.trace.runs.size(); n++) {
      const KernelRun& run = p.trace.runs[n];
      if (!p.is_run_chosen[n]) continue;
      json.start_line().object([&] {
        json.member("id", n).member("name", run.name).member("device", run.device).member("arch", run.arch);
        const KernelFigures f = figures_of_run(p, n, listings.find(n));
        json.member("count", 1).member("seconds", run.seconds).member("flops", f.num_needed_operations());
        json.member("bytes", f.kernel_work ? f.kernel_work->num_bytes : f.buffer_bytes)
            .member("flops_at_most", f.is_operations_upper_bound());
        if (f.kernel_work) json.member("flops_from", f.kernel_work->ast_source);
        if (f.executed_flops)
          json.member("executed", *f.executed_flops)
              .member("executed_at_most", f.is_executed_upper_bound)
              .member("lanes", f.max_active_lanes);
        if (f.active_lanes) json.member("active_lanes", *f.active_lanes);
        if (const DevicePeakRates* peak = find_device_peak(run.arch); peak && run.seconds && *run.seconds > 0)
          json.key("peak_share").object([&] {
            if (auto ops = f.num_needed_operations())
              json.member("flops", *ops / *run.seconds / peak->flops_per_second);
            if (auto b = f.kernel_work ? std::optional(f.kernel_work->num_bytes) : f.buffer_bytes)
              json.member("bytes", *b / *run.seconds / peak->bytes_per_second);
          });
        if (auto occupancy = occupancy_over_time(p, n)) json.key("occupancy"), write_occupancy(json, *occupancy);
      });
    }
  });
}

void write_sqtt(JsonWriter& json, const Profile& p) {
  json.key("sqtt").array([&] {
    for (size_t i = 0; i < p.trace.sqtt_events.size(); i++) {
      const SqttEvent& e = p.trace.sqtt_events[i];
      if (!p.is_run_chosen[e.run_index]) continue;
      const SqttSummary& s = p.sqtt_summaries[i];
      json.start_line().object([&] {
        json.member("kernel", p.trace.runs[e.run_index].name)
            .member("se", e.se)
            .member("itrace", e.has_instruction_packets);
        json.member("layout", int(s.layout)).member("packets", s.num_packets);
        auto [by_op, inst_ops] = s.named_counts();
        json.member("by_op", by_op).member("inst_ops", inst_ops);
        json.key("first_time"), s.num_packets ? json.value(s.first_time) : json.write_null();
        json.key("last_time"), s.num_packets ? json.value(s.last_time) : json.write_null();
        json.member("clock_offset", p.clock_offset(i));
      });
    }
  });
}

void write_counters(JsonWriter& json, const Profile& p) {
  json.key("pmc").array([&] {
    for (const CounterSample& c : p.trace.counter_samples) {
      if (!p.is_run_chosen[c.run_index]) continue;
      json.start_line().object([&] {
        json.member("kernel", p.trace.runs[c.run_index].name)
            .member("counter", c.name)
            .member("sum", c.sum_of_counter_values());
      });
    }
  });
}

void write_line(JsonWriter& json, const CodeSource& source, uint64_t pc) {
  const uint32_t line = source.line_at_address(pc);
  if (!line) return;
  json.member("line", line).member("source", source.text_of_line(line));
  if (!source.is_exact_at_address(pc)) json.member("approximate", true);
  json.key("uops").array([&] {
    for (const LinearNode& n : source.nodes_of_line(line))
      json.object([&] {
        json.member("number", n.list_index).member("op", n.op).member("dtype", n.dtype);
        if (!n.has_own_line) json.member("inside", true);
      });
  });
}

void write_sources(JsonWriter& json, const Profile& p) {
  json.key("sources").array([&] {
    for (size_t n = 0; n < p.trace.runs.size(); n++) {
      const CodeSource* source = p.is_run_chosen[n] ? p.source_of_run(n) : nullptr;
      if (!source) continue;
      json.start_line().object([&] {
        json.member("kernel", p.trace.runs[n].name);
        if (!source->missing_reason.empty()) return (void)json.member("problem", source->missing_reason);
        json.member("input", source->input).member("target", source->target).member("lines", source->lines);
        if (!source->difference_text.empty()) json.member("differs", source->difference_text);
      });
    }
  });
}

void write_stalls(JsonWriter& json, const KernelCode* code, const InstructionStalls& s) {
  json.key("reasons").object([&] {
    for (size_t r = 0; r < kNumStallReasons; r++)
      if (s.times_by_reason[r].cycles) json.member(stall_reason_name(StallReason(r)), s.times_by_reason[r].cycles);
  });
  if (s.waits_for_result.cycles) json.member("waited_for", s.waits_for_result.cycles);
  if (s.waits_by_instruction.empty()) return;
  json.key("waits_for").array([&] {
    for (auto& [n, time] : s.waits_by_instruction)
      json.object([&] { json.member("pc", code->address_of(n)).member("cycles", time.cycles); });
  });
}

// Writes instructions, levels of memory and hints together, because all need the stalls of a run, for which its traces
// are decoded again.
void write_instructions(JsonWriter& json, const Profile& p, ProgramListings& listings) {
  std::vector<std::pair<size_t, SpeedHint>> found;
  std::vector<std::pair<size_t, std::vector<MemoryLevel>>> levels;
  json.key("instructions").array([&] {
    for (size_t n = 0; n < p.trace.runs.size(); n++) {
      if (!p.is_run_chosen[n]) continue;
      const KernelRun& run = p.trace.runs[n];
      const auto& listing = listings.find(n);
      const StallReport stalls = stalls_of_run(p, n, listing);
      for (SpeedHint& h : speed_hints(p, n, listing, stalls)) found.emplace_back(n, std::move(h));
      levels.emplace_back(n, memory_levels(p, n, stalls, figures_of_run(p, n, listing)));
      auto times = p.instruction_times_of_run(n);
      if (times.empty()) continue;
      const auto active = p.active_lanes_of_run(n);
      const std::vector<InstructionTimes> shown = measured_or_modeled_times(p, n, stalls);
      const CodeSource* source = p.source_of_run(n);
      for (uint32_t i = 0; i < times.size(); i++) {
        if (!times[i].num_executions) continue;
        uint64_t pc = p.code_of_run(n)->address_of(i);
        json.start_line().object([&] {
          json.member("kernel", run.name).member("pc", pc);
          if (auto text = listing.find(pc); text != listing.end()) json.member("asm", text->second);
          json.member("hits", times[i].num_executions).member("cycles", times[i].cycles);
          json.member("stall", times[i].stall_cycles).member("idle", times[i].idle_cycles);
          if (auto text = listing.find(pc); !active.empty() && text != listing.end() && runs_in_lanes(text->second))
            json.member("lanes", double(active[i]) / double(times[i].num_executions));
          if (i < stalls.instructions.size() && !stalls.is_modeled) {
            write_stalls(json, p.code_of_run(n), stalls.instructions[i]);
          } else if (i < stalls.instructions.size()) {
            json.key("modeled").object([&] {
              json.member("cycles", shown[i].cycles)
                  .member("stall", shown[i].stall_cycles)
                  .member("idle", shown[i].idle_cycles);
              write_stalls(json, p.code_of_run(n), stalls.instructions[i]);
            });
          }
          if (source) write_line(json, *source, pc);
        });
      }
    }
  });
  json.key("memory").array([&] {
    for (auto& [n, list] : levels)
      if (!list.empty())
        json.start_line().object([&] {
          json.member("kernel", p.trace.runs[n].name).key("levels"), write_memory_levels(json, list);
        });
  });
  json.key("hints").array([&] {
    for (auto& [n, h] : found)
      json.start_line().object([&] {
        json.member("kernel", p.trace.runs[n].name).member("id", h.id).member("gain", h.max_time_share);
        json.member("measured", h.measured_text).member("change", h.advice_text);
      });
  });
}

// Prints in parts, and makes rows without the JsonWriter, for profiles with millions of waves. `json` appends to `out`.
void write_waves(JsonWriter& json, const Profile& p, std::string& out, const TextPrinter& print) {
  constexpr size_t kMaxBufferedBytes = 1 << 18;
  std::string row;
  auto add = [&](std::string_view name, int64_t n) {
    char digits[24];
    row.append(name).append(digits, size_t(std::to_chars(digits, std::end(digits), n).ptr - digits));
  };
  auto add_time = [&](std::string_view name, int64_t t) {
    if (t == WaveSpan::kUnknownTime) row.append(name).append("null");
    else add(name, t);
  };
  json.key("waves").array([&] {
    for (size_t i = 0; i < p.trace.sqtt_events.size(); i++) {
      const SqttEvent& e = p.trace.sqtt_events[i];
      std::string begin = R"({"kernel":)";
      append_json_string(begin, p.trace.runs[e.run_index].name);
      begin += R"(,"se":)" + std::to_string(e.se);
      for (const WaveSpan& w : p.sqtt_summaries[i].wave_spans) {
        row = begin;
        add(R"(,"cu":)", w.cu), add(R"(,"simd":)", w.simd), add(R"(,"wave":)", w.wave);
        add_time(R"(,"begin":)", w.begin), add_time(R"(,"end":)", w.end);
        row += '}';
        json.start_line().raw_json(row);
        if (out.size() > kMaxBufferedBytes) print(out), out.clear();
      }
    }
  });
}

void write_samples(JsonWriter& json, const Profile& p) {
  json.key("pma").array([&] {
    for (const PmaEvent& e : p.trace.pma_events) {
      if (!p.is_wanted_kernel(e.kernel)) continue;
      auto samples = decode_pma(bytes_of_blob(e.blob), e.sm_version);
      json.start_line().object([&] {
        json.member("kernel", e.kernel).member("device", e.device).member("samples", samples.size());
        json.key("instructions").array([&] {
          for (auto& [pc, reasons] : count_samples(samples))
            json.start_line().object([&] { json.member("pc", pc).member("stall_reasons", reasons); });
        });
      });
    }
  });
}

void write_errors(JsonWriter& json, const Profile& p) {
  json.key("errors").array([&] {
    for (size_t i = 0; i < p.trace.sqtt_events.size(); i++) {
      if (p.sqtt_summaries[i].error.empty()) continue;
      const SqttEvent& e = p.trace.sqtt_events[i];
      json.start_line().object([&] {
        json.member("kernel", p.trace.runs[e.run_index].name)
            .member("se", e.se)
            .member("error", p.sqtt_summaries[i].error);
      });
    }
  });
}

}  // namespace

void print_json(const Profile& p, const std::string& file, const TextPrinter& print) {
  std::string out;
  ProgramListings listings(p);
  JsonWriter json(out);
  json.object([&] {
    json.member("file", file).member("decoder", kDecoder).member("release", p.trace.release);
    json.member("emulated", !p.trace.emulator.empty());
    if (!p.trace.emulator.empty()) json.member("emulator", p.trace.emulator).member("cost_model", kEmulatedCyclesNote);
    write_kernels(json, p, listings);
    write_sqtt(json, p);
    write_counters(json, p);
    write_instructions(json, p, listings);
    write_waves(json, p, out, print);
    if (!p.trace.pma_events.empty()) write_samples(json, p);
    if (!p.sources.empty()) write_sources(json, p);
    write_errors(json, p);
    if (!p.trace.damage_notes.empty()) json.member("damage", p.trace.damage_notes);
    json.key("inconsistent").array([&] {
      for (size_t n = 0; n < p.trace.runs.size(); n++)
        for (const std::string& what :
             p.is_run_chosen[n] ? check_traces(p, n, listings.find(n)) : std::vector<std::string>())
          json.start_line().object([&] { json.member("kernel", p.trace.runs[n].name).member("what", what); });
    });
  });
  print(out += "\n");
}

void print_waves_json(const Profile& p, const std::string& file, const TextPrinter& print) {
  std::string out;
  JsonWriter json(out);
  json.object([&] { json.member("file", file), write_waves(json, p, out, print); });
  print(out += "\n");
}

}  // namespace tgc::profile
