// The parts of a report that `tgc profile` shows alone: packets, waves, counters and memory.
#include <algorithm>

#include "lib/profile/memory_use.h"
#include "lib/profile/report.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

constexpr size_t kPrintAtOnce = 1 << 20;

std::string packet_fields_text(const PacketType& type, SqttLayout layout, uint64_t bits) {
  std::string out;
  for (const PacketField& f : type.fields) {
    if (!f.name) break;
    uint64_t value = type.field(bits, f.name);
    out += (out.empty() ? "" : " ") + std::string(f.name) + "=";
    out += std::string_view(f.name) == "op" ? inst_op_name(layout, uint32_t(value)) : std::to_string(value);
  }
  return out;
}

// Calls f(packet, number of its instruction or InstructionMap::kNone). For a mask of waves, calls f once for each wave,
// if packets can be mapped to `code`.
template <class F>
void for_each_packet(std::span<const uint8_t> blob, const KernelCode* code, F f) {
  InstructionMap map(code);
  decode_sqtt(blob, [&](const PacketView& p) {
    if (!code || map.error()) return f(p, InstructionMap::kNone);
    const PacketType& type = packet_type(p.row->packet);
    uint32_t wave = uint32_t(type.field(p.bits, "wave"));
    switch (p.row->action) {
      case PacketAction::Start: case PacketAction::End: {
        uint64_t place = type.field(p.bits, "sa") | type.field(p.bits, "simd") | type.field(p.bits, "wgp");
        uint32_t n = InstructionMap::kNone;
        if (!place && p.row->action == PacketAction::Start) map.start_wave(wave);
        else if (!place) n = map.end_wave(wave);
        return f(p, n);
      }
      case PacketAction::Instruction: {
        uint32_t op = uint32_t(type.field(p.bits, "op"));
        bool is_inst = p.row->count_mask != 0;
        bool is_other = is_inst && inst_op_name(p.layout, op).starts_with("OTHER_");
        return f(p, is_other ? InstructionMap::kNone : map.issue_instruction(wave, is_inst, op));
      }
      case PacketAction::Mask:
        for (uint32_t n = 0; n < 16; n++)
          if (type.field(p.bits, "mask") >> n & 1) f(p, map.issue_immediate(n));
        return;
      default: return f(p, InstructionMap::kNone);
    }
  });
}

std::string percent_text(double value) { return formatted("%.1f%%", value); }

}  // namespace

void print_packets(const Profile& p, bool json, const TextPrinter& print) {
  ProgramListings listings(p);
  std::string out;
  if (json) out += "{\"packets\":[";
  bool is_first = true;
  for (size_t i = 0; i < p.trace.sqtt_events.size(); i++) {
    const SqttEvent& e = p.trace.sqtt_events[i];
    if (!p.is_run_chosen[e.run_index]) continue;
    const std::string& name = p.trace.runs[e.run_index].name;
    const KernelCode* code = p.kernel_code_of_event(i);
    const auto& listing = listings.find(e.run_index);
    if (!json) out += formatted("%s, shader engine %d\n", name.c_str(), int(e.se));
    for_each_packet(bytes_of_blob(e.blob), code, [&](const PacketView& packet, uint32_t instruction) {
      if (packet.row->packet == PacketId::NOP && !json) return;
      const PacketType& type = packet_type(packet.row->packet);
      std::string fields = packet_fields_text(type, packet.layout, packet.bits);
      std::string_view assembly;
      uint64_t pc = 0;
      if (instruction != InstructionMap::kNone) {
        pc = code->address_of(instruction);
        if (auto found = listing.find(pc); found != listing.end()) assembly = found->second;
      }
      if (json) {
        out += is_first ? "\n" : ",\n";
        is_first = false;
        JsonWriter row(out);
        row.object([&] {
          row.member("kernel", name).member("se", e.se).member("time", packet.time).member("packet", type.name);
          row.member("fields", fields);
          if (instruction != InstructionMap::kNone) row.member("pc", pc).member("asm", assembly);
        });
      } else {
        out += formatted("%10lld  %-22s %s", static_cast<long long>(packet.time), std::string(type.name).c_str(),
                         fields.c_str());
        if (instruction != InstructionMap::kNone)
          out += formatted("  %#x %s", unsigned(pc), std::string(assembly).c_str());
        out += '\n';
      }
      if (out.size() > kPrintAtOnce) print(out), out.clear();
    });
  }
  if (json) out += "]}\n";
  print(out);
}

std::string waves_text(const Profile& p) {
  std::vector<std::vector<std::string>> rows{{"run", "SE", "CU", "SIMD", "wave", "begin", "end", "cycles"}};
  auto time = [](int64_t t) { return t == WaveSpan::kUnknownTime ? "-" : std::to_string(t); };
  for (size_t i = 0; i < p.trace.sqtt_events.size(); i++) {
    const SqttEvent& e = p.trace.sqtt_events[i];
    for (const WaveSpan& w : p.sqtt_summaries[i].wave_spans) {
      bool is_whole = w.begin != WaveSpan::kUnknownTime && w.end != WaveSpan::kUnknownTime;
      rows.push_back({p.trace.runs[e.run_index].name, std::to_string(e.se), std::to_string(w.cu),
                      std::to_string(w.simd), std::to_string(w.wave), time(w.begin), time(w.end),
                      is_whole ? std::to_string(w.end - w.begin) : "-"});
    }
  }
  return rows.size() == 1 ? "the profile has no waves\n" : table_text(rows, "lrrrrrrr");
}

std::map<std::string, CounterTotal, std::less<>> counter_totals(const Profile& p, size_t run_index) {
  std::map<std::string, CounterTotal, std::less<>> out;
  for (const CounterSample& c : p.trace.counter_samples) {
    if (c.run_index != run_index) continue;
    CounterTotal& t = out[std::string(c.name)];
    for (uint64_t v : c.values) t.value_sum += v, t.largest_value = std::max(t.largest_value, v), t.num_values++;
  }
  return out;
}

std::vector<std::pair<std::string, double>> derived_counters(const Profile& p, size_t run_index) {
  auto totals = counter_totals(p, run_index);
  std::vector<std::pair<std::string, double>> out;
  auto find = [&](std::string_view name) {
    auto found = totals.find(name);
    return found == totals.end() || !found->second.num_values ? nullptr : &found->second;
  };
  // share of a unit's peak, which is one instruction per cycle on each of the four SIMDs of a WGP
  const CounterTotal* busy = find("GRBM_GUI_ACTIVE");
  for (auto [name, counter] : {std::pair("VALU utilization", "SQ_INSTS_VALU"), {"SALU utilization", "SQ_INSTS_SALU"}})
    if (const CounterTotal* c = find(counter); c && busy && busy->largest_value)
      out.emplace_back(name, 100 * (double(c->value_sum) / double(c->num_values)) / (double(busy->largest_value) * 4));
  const CounterTotal *hit = find("GL2C_HIT"), *miss = find("GL2C_MISS");
  if (hit && miss && hit->value_sum + miss->value_sum)
    out.emplace_back("L2 hit rate", 100 * double(hit->value_sum) / double(hit->value_sum + miss->value_sum));
  const CounterTotal *lds = find("SQC_LDS_IDX_ACTIVE"), *conflicts = find("SQC_LDS_BANK_CONFLICT");
  if (lds && conflicts && lds->value_sum)
    out.emplace_back("LDS bank conflicts", 100 * double(conflicts->value_sum) / double(lds->value_sum));
  return out;
}

std::string counters_text(const Profile& p) {
  std::string out;
  for (size_t n = 0; n < p.trace.runs.size(); n++) {
    if (!p.is_run_chosen[n]) continue;
    std::vector<std::vector<std::string>> rows{{p.trace.runs[n].name}};
    for (const CounterSample& c : p.trace.counter_samples) {
      if (c.run_index != n) continue;
      rows.push_back({std::string(c.name), std::to_string(c.sum_of_counter_values())});
      if (c.values.size() == 1) continue;
      size_t at = 0;
      for (int64_t xcc = 0; xcc < c.xcc; xcc++)
        for (int64_t inst = 0; inst < c.inst; inst++)
          for (int64_t se = 0; se < c.se; se++)
            for (int64_t sa = 0; sa < c.sa; sa++) {
              std::string row = formatted("    XCC=%d INST=%d SE=%d SA=%d", int(xcc), int(inst), int(se), int(sa));
              for (int64_t wgp = 0; wgp < c.wgp; wgp++)
                row += " WGP:" + std::to_string(wgp) + "=" + std::to_string(c.values[at++]);
              rows.push_back({std::move(row)});
            }
    }
    if (rows.size() == 1) continue;
    for (auto& [name, value] : derived_counters(p, n)) rows.push_back({name, percent_text(value)});
    out += table_text(rows, "lr");
  }
  return out.empty() ? "the profile has no counters\n" : out;
}

std::string counters_json(const Profile& p, const std::string& file) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("file", file).key("pmc").array([&] {
        for (const CounterSample& c : p.trace.counter_samples) {
          if (!p.is_run_chosen[c.run_index]) continue;
          json.start_line().object([&] {
            json.member("kernel", p.trace.runs[c.run_index].name)
                .member("counter", c.name)
                .member("sum", c.sum_of_counter_values());
            json.member("xcc", c.xcc).member("inst", c.inst).member("se", c.se).member("sa", c.sa).member("wgp", c.wgp);
            json.member("values", c.values);
          });
        }
      });
      json.key("derived").array([&] {
        for (size_t n = 0; n < p.trace.runs.size(); n++)
          for (auto& [name, value] : p.is_run_chosen[n] ? derived_counters(p, n) : decltype(derived_counters(p, n)){})
            json.start_line().object([&] {
              json.member("kernel", p.trace.runs[n].name).member("name", name).member("percent", value);
            });
      });
    });
  });
}

std::string memory_text(const ProfileTrace& trace) {
  MemoryUse events = memory_use(trace);
  if (events.buffers.empty()) return "the profile has no allocations\n";
  double start = events.buffers[0].allocation_time_us;
  std::string out;
  for (const DeviceMemory& d : events.devices)
    out += formatted("%s: peak %.0f bytes at %.1f us, %.0f bytes at the end\n", std::string(d.device).c_str(),
                     d.peak_bytes, d.peak_time_us - start, d.bytes_at_end);
  std::vector<std::vector<std::string>> rows{{"device", "buffer", "bytes", "dtype", "allocated", "freed", "used by"}};
  for (const BufferLifetime& b : events.buffers) {
    std::string uses;
    for (const BufferUse& u : b.uses)
      uses += (uses.empty() ? "" : ", ") + u.kernel + (u.is_written ? u.is_read ? " updates" : " writes" : " reads") +
              " data" + std::to_string(u.buffer_index);
    rows.push_back({std::string(b.device), std::to_string(b.buffer_key), formatted("%.0f", b.num_bytes), b.dtype,
                    formatted("%.1f us", b.allocation_time_us - start),
                    b.free_time_us ? formatted("%.1f us", *b.free_time_us - start) : "-", uses});
  }
  return out + table_text(rows, "lrrlrr");
}

std::string memory_json(const ProfileTrace& trace, const std::string& file) {
  MemoryUse events = memory_use(trace);
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("file", file).key("devices").array([&] {
        for (const DeviceMemory& d : events.devices)
          json.start_line().object([&] {
            json.member("device", d.device).member("peak", d.peak_bytes).member("peak_time", d.peak_time_us);
            json.member("at_end", d.bytes_at_end);
          });
      });
      json.key("buffers").array([&] {
        for (const BufferLifetime& b : events.buffers)
          json.start_line().object([&] {
            json.member("device", b.device)
                .member("key", b.buffer_key)
                .member("bytes", b.num_bytes)
                .member("dtype", b.dtype);
            json.member("allocated", b.allocation_time_us).member("freed", b.free_time_us);
            json.key("uses").array([&] {
              for (const BufferUse& u : b.uses)
                json.object([&] {
                  json.member("kernel", u.kernel).member("number", u.buffer_index);
                  json.member("reads", u.is_read).member("writes", u.is_written);
                });
            });
          });
      });
    });
  });
}

}  // namespace tgc::profile
