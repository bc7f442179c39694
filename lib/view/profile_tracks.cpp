#include "lib/view/profile_tracks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <queue>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using profile::PacketAction;
using profile::InstructionMap;
using TraceLayout = profile::SqttLayout;
using profile::PacketId;
using profile::PacketView;
using profile::WaveSpan;

constexpr uint32_t kWaveSlots = 32;           // wave slots of a SIMD that a packet can name
constexpr int64_t kCdnaIssueCycles = 4;         // length of a slice on CDNA, in cycles
// maximum number of instructions that wait for a unit; others are dropped
constexpr size_t kMostPendingInstructions = 1 << 16;
constexpr std::string_view kOtherSimdPrefix = "OTHER_";

// The page can represent times between -kMaxTime and kMaxTime exactly. Only a damaged trace has other times.
constexpr int64_t kMaxTime = int64_t(1) << 50;
bool is_representable_time(int64_t time) { return time > -kMaxTime && time < kMaxTime; }

// UnitLdsAlt and UnitVmemAlt are for instructions that another SIMD issued.
enum ExecutionUnit : uint8_t {
  UnitScalar, UnitVector, UnitTrans, UnitMatrix, UnitLds, UnitLdsAlt, UnitVmem, UnitVmemAlt, UnitCount
};
constexpr const char* kUnitNames[UnitCount] = {
    "SALU", "VALU", "VALU transcendental", "matrix", "LDS", "LDS, other SIMD", "VMEM", "VMEM, other SIMD"};

struct TraceOperation {
  SliceKind kind = SliceKind::Other;
  std::optional<ExecutionUnit> unit;  // the unit that executes the operation, if the timeline shows the unit
  bool is_of_other_simd = false;     // true if another SIMD issued the operation
  int64_t cycles = 1;
};

TraceOperation read_operation(TraceLayout layout, uint32_t number) {
  std::string name = profile::inst_op_name(layout, number);
  std::string_view rest = name;
  TraceOperation out;
  if (layout != TraceLayout::Cdna && rest.starts_with(kOtherSimdPrefix)) out.is_of_other_simd = true;
  out.kind = kind_of_operation(name);
  switch (out.kind) {
    case SliceKind::Scalar: case SliceKind::ScalarMemory: out.unit = UnitScalar; break;
    case SliceKind::Vector: out.unit = UnitVector; break;
    case SliceKind::Transcendental: out.unit = UnitTrans; break;
    case SliceKind::Matrix: out.unit = UnitMatrix; break;
    case SliceKind::LocalMemory: out.unit = out.is_of_other_simd ? UnitLdsAlt : UnitLds; break;
    case SliceKind::VectorMemory: out.unit = out.is_of_other_simd ? UnitVmemAlt : UnitVmem; break;
    default: break;
  }
  // names such as VALUB_16 end with the number of cycles
  size_t bar = rest.rfind('_');
  int64_t cycles = 0;
  if (bar != rest.npos && layout != TraceLayout::Cdna) {
    auto [end, error] = std::from_chars(rest.data() + bar + 1, rest.data() + rest.size(), cycles);
    if (error == std::errc() && end == rest.data() + rest.size() && cycles > 0) out.cycles = cycles;
  }
  return out;
}

struct TraceOperationTable {
  std::array<TraceOperation, profile::kNumOpCounters> by_number;
  explicit TraceOperationTable(TraceLayout layout) {
    for (uint32_t n = 0; n < by_number.size(); n++) by_number[n] = read_operation(layout, n);
  }
};
const TraceOperationTable& operations_of_layout(TraceLayout layout) {
  static const TraceOperationTable rdna3(TraceLayout::Rdna3), rdna4(TraceLayout::Rdna4), cdna(TraceLayout::Cdna);
  return layout == TraceLayout::Rdna3 ? rdna3 : layout == TraceLayout::Rdna4 ? rdna4 : cdna;
}

class TraceTrackMaker {
 public:
  TraceTrackMaker(const profile::KernelCode* code, const std::map<uint64_t, std::string>& listing)
      : code_(code), instruction_map_(code) {
    last_slice_ends_.fill(kNotStarted);
    if (!code) return;
    execution_spans_.resize(code->instructions().size());
    for (uint32_t n = 0; n < execution_spans_.size(); n++) {
      auto text = listing.find(code->address_of(n));
      assembly_.push_back(text == listing.end() ? "" : text->second);
    }
  }

  void add_packet(const PacketView& p) {
    if (!is_representable_time(p.time)) return;
    if (p.layout == TraceLayout::Cdna) return add_cdna_packet(p);
    const profile::PacketType& type = profile::packet_type(p.row->packet);
    switch (p.row->action) {
      case PacketAction::Start: case PacketAction::End: {
        if (type.field(p.bits, "sa") | type.field(p.bits, "simd") | type.field(p.bits, "wgp")) return;
        auto wave = uint32_t(type.field(p.bits, "wave"));
        if (p.row->action == PacketAction::Start) {
          if (code_) instruction_map_.start_wave(wave);
          last_slice_ends_[wave] = p.time;
        } else {
          add_issue_slice(wave, code_ ? instruction_map_.end_wave(wave) : InstructionMap::kNone, SliceKind::End,
                          p.time);
          last_slice_ends_[wave] = kNotStarted;
        }
        return;
      }
      case PacketAction::Instruction: {
        uint32_t wave = uint32_t(p.bits >> p.row->wave_low_bit) & (kWaveSlots - 1);
        bool is_inst = p.row->count_mask != 0;
        uint32_t op = uint32_t(p.bits >> p.row->count_low_bit) & p.row->count_mask;
        bool is_vector = p.row->packet == PacketId::VALUINST;
        TraceOperation o;
        if (is_inst) o = operations_of_layout(p.layout).by_number[op];
        else o.kind = is_vector ? SliceKind::Vector : SliceKind::Control;
        if (is_vector) o.unit = UnitVector;
        uint32_t n = InstructionMap::kNone;
        if (!o.is_of_other_simd && code_) n = instruction_map_.issue_instruction(wave, is_inst, op);
        if (instruction_map_.error()) n = InstructionMap::kNone;
        SliceKind kind = kind_by_assembly(n, o.kind);
        if (!o.is_of_other_simd) add_issue_slice(wave, n, kind, p.time);
        if (o.unit && kind == SliceKind::Matrix) o.unit = UnitMatrix;
        if (o.unit && pending_instructions_[queue_unit(*o.unit)].size() < kMostPendingInstructions)
          pending_instructions_[queue_unit(*o.unit)].push_back({*o.unit, kind, n, o.cycles});
        return;
      }
      case PacketAction::Mask:
        for (uint32_t wave = 0; wave < 16; wave++)
          if (type.field(p.bits, "mask") >> wave & 1) {
            uint32_t n = code_ ? instruction_map_.issue_immediate(wave) : InstructionMap::kNone;
            if (instruction_map_.error()) n = InstructionMap::kNone;
            add_issue_slice(wave, n, kind_by_assembly(n, SliceKind::Control), p.time);
          }
        return;
      default: break;
    }
    uint32_t source = p.bits >> 6 & 3;
    if (p.row->packet == PacketId::ALUEXEC) {
      if (source & 2) add_execution_slice(UnitVector, p.time);
      if (source & 1) add_execution_slice(UnitScalar, p.time);
    } else if (p.row->packet == PacketId::VMEMEXEC) {
      constexpr ExecutionUnit kSources[] = {UnitLds, UnitLdsAlt, UnitVmem, UnitVmemAlt};
      add_execution_slice(kSources[source], p.time);
    }
  }

  TraceTracks take_tracks(const std::vector<WaveSpan>& waves, int64_t last_time) {
    TraceTracks out;
    out.instructions = take_instruction_track();
    out.waves = make_wave_track(waves, last_time);
    for (auto& times : execution_spans_) {
      std::vector<int64_t> begin, length, wave;
      int64_t last = 0;
      for (const ExecutionSpan& h : times)
        begin.push_back(h.begin - last), length.push_back(h.end - h.begin), wave.push_back(h.wave), last = h.begin;
      out.execution_times.push_back(json_object(
          [&](JsonWriter& json) { json.member("begin", begin).member("length", length).member("wave", wave); }));
    }
    return out;
  }

 private:
  static constexpr int64_t kNotStarted = INT64_MIN;
  struct PendingInstruction {
    ExecutionUnit unit;
    SliceKind kind;
    uint32_t instruction;
    int64_t cycles;
  };
  struct ExecutionSpan {
    int64_t begin, end;
    uint32_t wave;
  };

  SliceKind kind_by_assembly(uint32_t n, SliceKind kind) const {
    return n < assembly_.size() ? kind_of_assembly(assembly_[n], kind) : kind;
  }
  static ExecutionUnit queue_unit(ExecutionUnit unit) {
    return unit == UnitTrans || unit == UnitMatrix ? UnitVector : unit;
  }

  void add_issue_slice(uint32_t wave, uint32_t instruction, SliceKind kind, int64_t time) {
    int64_t& last = last_slice_ends_[wave];
    if (last == kNotStarted) last = time;
    int64_t begin = std::min(last, time), end = std::max(time, begin + 1);
    slices_.push_back({.row = UnitCount + wave,
                       .kind = uint8_t(kind),
                       .begin = begin,
                       .end = end,
                       .item_number = instruction,
                       .amount = 1 / double(end - begin)});
    if (instruction < execution_spans_.size()) execution_spans_[instruction].push_back({begin, end, wave});
    last = end;
  }

  // Adds the execution of the oldest instruction that waits for `unit`. As in viz/serve.py: sqtt_timeline of tinygrad
  // 0.13, `time` is the end for the vector and matrix units, and the begin for others.
  void add_execution_slice(ExecutionUnit unit, int64_t time) {
    auto& queue = pending_instructions_[unit];
    PendingInstruction p{unit, unit == UnitScalar ? SliceKind::Scalar : SliceKind::Vector, InstructionMap::kNone, 1};
    if (unit == UnitLds || unit == UnitLdsAlt) p.kind = SliceKind::LocalMemory;
    if (unit == UnitVmem || unit == UnitVmemAlt) p.kind = SliceKind::VectorMemory;
    if (!queue.empty()) p = queue.front(), queue.pop_front();
    int64_t begin = p.unit == UnitVector || p.unit == UnitMatrix ? time - p.cycles : time;
    slices_.push_back({.row = p.unit, .kind = uint8_t(p.kind), .begin = begin, .end = begin + p.cycles,
                       .item_number = p.instruction});
  }

  // Packets of CDNA name the SIMD and the wave, but neither the compute unit nor the end of the execution.
  void add_cdna_packet(const PacketView& p) {
    if (p.row->packet != PacketId::CDNA_INST) return;
    const profile::PacketType& type = profile::packet_type(p.row->packet);
    const TraceOperation& o =
        operations_of_layout(TraceLayout::Cdna).by_number[type.field(p.bits, "op") & (profile::kNumOpCounters - 1)];
    auto wave = uint32_t(type.field(p.bits, "wave")), simd = uint32_t(type.field(p.bits, "simd"));
    TimeSlice s{.row = UnitCount + kWaveSlots + simd * kWaveSlots + wave, .kind = uint8_t(o.kind), .begin = p.time,
            .end = p.time + kCdnaIssueCycles};
    slices_.push_back(s);
    if (o.unit) s.row = *o.unit, slices_.push_back(s);
  }

  TimelineTrack take_instruction_track() {
    std::vector<uint32_t> track_rows;
    for (const TimeSlice& s : slices_) track_rows.push_back(s.row);
    std::ranges::sort(track_rows);
    track_rows.erase(std::unique(track_rows.begin(), track_rows.end()), track_rows.end());
    TimelineTrack out{.name = "instructions", .track_rows = {}, .detail_levels = {}};
    for (uint32_t row : track_rows) {
      uint32_t wave = row < UnitCount ? 0 : (row - UnitCount) % kWaveSlots;
      if (row < UnitCount) out.track_rows.push_back({.name = kUnitNames[row]});
      else if (row < UnitCount + kWaveSlots)
        out.track_rows.push_back({.name = formatted("wave %u", wave), .drawing_style = "wave"});
      else out.track_rows.push_back({.name = formatted("SIMD %u wave %u", (row - UnitCount) / kWaveSlots - 1, wave)});
    }
    for (TimeSlice& s : slices_) s.row = uint32_t(std::ranges::lower_bound(track_rows, s.row) - track_rows.begin());
    out.detail_levels = make_levels(out.track_rows, std::move(slices_));
    return out;
  }

  static TimelineTrack make_wave_track(const std::vector<WaveSpan>& waves, int64_t last_time) {
    std::map<std::pair<uint32_t, uint32_t>, double> places;
    for (const WaveSpan& w : waves) {
      double& most = places[{w.cu, w.simd}];
      most = std::max(most, double(w.wave) + 1);
    }
    double most = 1;
    for (auto& [place, count] : places) most = std::max(most, count);
    TimelineTrack out{
        .name = "waves", .track_rows = {{.name = "waves", .drawing_style = "count"}}, .detail_levels = {}};
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> track_rows;
    for (auto& [place, count] : places) {
      track_rows[place] = uint32_t(out.track_rows.size());
      out.track_rows.push_back({formatted("CU %u SIMD %u", place.first, place.second), most, "place"});
    }
    std::vector<TimeSlice> slices;
    std::map<std::pair<uint32_t, uint32_t>, size_t> latest;  // by row and wave slot: index of the latest slice
    for (const WaveSpan& w : waves) {
      bool has_begin = w.begin != WaveSpan::kUnknownTime, has_end = w.end != WaveSpan::kUnknownTime;
      if ((has_begin && !is_representable_time(w.begin)) || (has_end && !is_representable_time(w.end))) continue;
      TimeSlice s{.row = track_rows[{w.cu, w.simd}], .kind = uint8_t(SliceKind::Wave), .begin = has_begin ? w.begin : 0,
              .end = has_end ? w.end : is_representable_time(last_time) ? last_time : kMaxTime, .item_number = w.wave};
      // a wave ends at the latest when the next wave begins in the same slot
      auto [last, is_first] = latest.try_emplace({s.row, s.item_number}, slices.size());
      if (!is_first) {
        TimeSlice& before = slices[last->second];
        if (!has_begin) s.begin = std::min(before.end, s.end);
        before.end = std::max(before.begin + 1, std::min(before.end, s.begin));
        last->second = slices.size();
      }
      s.end = std::max(s.end, s.begin + 1);
      slices.push_back(s);
    }
    std::vector<TimeSlice> all = slices;
    for (TimeSlice& s : all) s.row = 0;
    all = count_active_slices(std::move(all));
    for (const TimeSlice& s : all) out.track_rows[0].max_amount = std::max(out.track_rows[0].max_amount, s.amount);
    std::vector<TimeSlice> active = count_active_slices(slices);
    active.insert(active.begin(), all.begin(), all.end());
    slices.insert(slices.end(), all.begin(), all.end());
    out.detail_levels = make_levels(out.track_rows, std::move(slices), std::move(active));
    return out;
  }

  const profile::KernelCode* code_;
  InstructionMap instruction_map_;
  std::vector<std::string> assembly_;
  std::vector<std::vector<ExecutionSpan>> execution_spans_;
  std::array<int64_t, kWaveSlots> last_slice_ends_;  // by wave; kNotStarted if no wave is active
  std::array<std::deque<PendingInstruction>, UnitCount> pending_instructions_;
  std::vector<TimeSlice> slices_;
};

}  // namespace

std::string_view slice_kind_name(SliceKind kind) {
  constexpr std::string_view kNames[] = {
      "scalar", "scalar memory", "vector", "transcendental", "matrix", "local memory", "vector memory", "branch",
      "wait", "barrier", "control", "end", "other", "wave", "host", "kernel", "copy"};
  static_assert(std::size(kNames) == size_t(SliceKind::Count));
  return kNames[size_t(kind)];
}

SliceKind kind_of_operation(std::string_view name) {
  constexpr std::pair<std::string_view, SliceKind> kPrefixes[] = {
      {"OTHER_MSG", SliceKind::Control}, {"SALU", SliceKind::Scalar}, {"SMEM", SliceKind::ScalarMemory},
      {"VALUT", SliceKind::Transcendental}, {"VALU_SCL_TRANS", SliceKind::Transcendental},
      {"VALU_MAI", SliceKind::Matrix}, {"WMMA", SliceKind::Matrix}, {"VALU", SliceKind::Vector},
      {"VINTERP", SliceKind::Vector}, {"LDS", SliceKind::LocalMemory}, {"SGMEM", SliceKind::VectorMemory},
      {"FLAT", SliceKind::VectorMemory}, {"VMEM", SliceKind::VectorMemory}, {"BUF", SliceKind::VectorMemory},
      {"JUMP", SliceKind::Branch}, {"CALL", SliceKind::Branch}, {"BARRIER", SliceKind::Barrier},
      {"MESSAGE", SliceKind::Control}, {"NEXT", SliceKind::Control}};
  if (name.starts_with(kOtherSimdPrefix) && !name.starts_with("OTHER_MSG")) name.remove_prefix(kOtherSimdPrefix.size());
  for (auto& [prefix, kind] : kPrefixes)
    if (name.starts_with(prefix)) return kind;
  return SliceKind::Other;
}

SliceKind kind_of_assembly(std::string_view assembly, SliceKind otherwise) {
  constexpr std::pair<std::string_view, SliceKind> kPrefixes[] = {{"s_wait", SliceKind::Wait},
                                                                  {"s_barrier", SliceKind::Barrier},
                                                                  {"s_endpgm", SliceKind::End},
                                                                  {"v_wmma", SliceKind::Matrix}};
  for (auto& [prefix, kind] : kPrefixes)
    if (assembly.starts_with(prefix)) return kind;
  return otherwise;
}

int64_t shift_time(int64_t time, int64_t offset) { return int64_t(uint64_t(time) + uint64_t(offset)); }

TraceTracks make_trace_tracks(const profile::Profile& p, size_t event, const std::map<uint64_t, std::string>& listing) {
  const int64_t offset = p.clock_offset(event).value_or(0);
  const profile::SqttEvent& e = p.trace.sqtt_events[event];
  const profile::SqttSummary& summary = p.sqtt_summaries[event];
  const profile::KernelCode* code = p.kernel_code_of_event(event);
  TraceTrackMaker maker(code, listing);
  if (e.has_instruction_packets)
    profile::decode_sqtt(profile::bytes_of_blob(e.blob), [&](PacketView packet) {
      packet.time = shift_time(packet.time, offset);
      maker.add_packet(packet);
    });
  std::vector<WaveSpan> waves = summary.wave_spans;
  for (WaveSpan& w : waves)
    for (int64_t* time : {&w.begin, &w.end})
      if (*time != WaveSpan::kUnknownTime) *time = shift_time(*time, offset);
  return maker.take_tracks(waves, shift_time(summary.last_time, offset));
}

namespace {

// Assigns rows to ranges, so that the ranges in a row do not overlap. Call take_row() in the order of the begins.
class RowAllocator {
 public:
  size_t take_row(double begin, double end) {
    for (; !busy_rows_.empty() && busy_rows_.top().first <= begin; busy_rows_.pop())
      free_rows_.push(busy_rows_.top().second);
    size_t row = num_rows_;
    if (free_rows_.empty()) num_rows_++;
    else row = free_rows_.top(), free_rows_.pop();
    busy_rows_.emplace(end, row);
    return row;
  }

 private:
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;
  LeastFirst<std::pair<double, size_t>> busy_rows_;
  LeastFirst<size_t> free_rows_;
  size_t num_rows_ = 0;
};

}  // namespace

TimelineTrack make_host_track(const profile::ProfileTrace& trace, std::vector<std::string>& names) {
  TimelineTrack out{.name = "host and devices", .track_rows = {}, .detail_levels = {}};
  if (trace.range_events.empty()) return out;
  double start = trace.range_events[0].begin;
  for (const profile::RangeEvent& e : trace.range_events) start = std::min(start, e.begin);
  std::vector<const profile::RangeEvent*> ranges;
  for (const profile::RangeEvent& e : trace.range_events) ranges.push_back(&e);
  std::ranges::stable_sort(ranges, [](auto* a, auto* b) { return a->begin < b->begin; });
  std::map<std::string, uint32_t> numbers;
  std::map<std::string_view, RowAllocator> row_allocators;
  std::map<std::pair<std::string_view, size_t>, std::vector<TimeSlice>> slices;
  for (const profile::RangeEvent* e : ranges) {
    const size_t row = row_allocators[e->device].take_row(e->begin, e->end);
    auto [number, is_new] = numbers.try_emplace(e->name, uint32_t(names.size()));
    if (is_new) names.push_back(e->name);
    auto ns = [&](double us) { return int64_t(std::clamp((us - start) * 1e3, 0.0, 4e15)); };
    SliceKind kind = e->device == "USER" || e->device == "TINY" ? SliceKind::Host
                     : e->bytes                                 ? SliceKind::Copy
                                                                : SliceKind::Kernel;
    slices[{e->device, row}].push_back({.kind = uint8_t(kind), .begin = ns(e->begin),
                                        .end = std::max(ns(e->end), ns(e->begin) + 1), .item_number = number->second});
  }
  std::vector<TimeSlice> all;
  for (auto& [place, list] : slices) {
    for (TimeSlice& s : list) s.row = uint32_t(out.track_rows.size()), all.push_back(s);
    out.track_rows.push_back(
        {.name = std::string(place.first) + (place.second ? formatted(" %zu", place.second + 1) : "")});
  }
  out.detail_levels = make_levels(out.track_rows, std::move(all));
  return out;
}

}  // namespace tgc
