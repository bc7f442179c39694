#include "lib/profile/stalls.h"

#include <algorithm>
#include <unordered_map>

#include "lib/support/counted.h"
#include "lib/support/table.h"
#include "lib/support/visible.h"

namespace tgc::profile {
namespace {

constexpr uint64_t kMaxDependencyCycles = 40;  // most cycles of a stall that count as Dependency
constexpr size_t kNumRecentIssues = 6;            // last issues of a wave that an instruction may depend on
constexpr uint32_t kCacheLineBytes = 64;     // of a line of RDNA's instruction cache
constexpr size_t kMaxNamedWaits = 4, kMaxWaitRows = 5, kMaxInstructionText = 80;
constexpr double kMinReasonShare = 0.001;

StallReason reason_of_unit(InstructionUnit unit) {
  switch (unit) {
    case InstructionUnit::Memory: return StallReason::Memory;
    case InstructionUnit::Lds: return StallReason::Lds;
    case InstructionUnit::ScalarMemory: return StallReason::ScalarMemory;
    case InstructionUnit::Export: return StallReason::Export;
    case InstructionUnit::Barrier: return StallReason::Barrier;
    default: return StallReason::Arbiter;
  }
}

class StallCounter final : public WaveObserver {
 public:
  StallCounter(const KernelCode& code, const std::vector<InstructionRole>& roles, size_t event, StallReport& out)
      : code_(code), roles_(roles), event_index_(event), report_(out) {}

  void start_wave(uint32_t wave) override {
    Wave& w = waves_[wave % waves_.size()];
    w = {};
    w.followed_index = report_.followed_waves.size();
    report_.followed_waves.push_back({.event_index = event_index_, .number = num_started_waves_++, .wave = wave});
  }

  void issue(const InstructionIssue& i) override {
    Wave& w = waves_[i.wave % waves_.size()];
    const InstructionRole& role = roles_[i.instruction];
    InstructionStalls& at = report_.instructions[i.instruction];
    if (w.followed_index < report_.followed_waves.size()) report_.followed_waves[w.followed_index].num_issued++;
    StallTime all{i.stall_cycles, i.idle_cycles};
    if (report_.is_modeled) {
      const uint64_t busy = busy_cycles_of(i.instruction),
                     stall = modeled_wait_cycles(w, i.instruction, role) + busy - 1;
      all = {stall, stall / std::max(1u, report_.num_resident_waves)};
      report_.total_cycles += stall + 1, w.modeled_time += stall + 1;
    } else {
      report_.total_cycles += i.cycles;
    }
    if (!w.has_issued) {
      add_stall(at, StallReason::StartUp, all);
    } else if (role.unit == InstructionUnit::Wait || role.is_program_end_op) {
      add_wait_stall(w, i.instruction, role, at, all);
    } else if (role.unit == InstructionUnit::Barrier || passes_barrier(w.last_instruction, i.instruction)) {
      add_stall(at, StallReason::Barrier, all);
    } else {
      const uint64_t own = report_.is_modeled ? busy_cycles_of(i.instruction) - 1 : 0;
      if (depends_on_recent(w, i.instruction))
        move_stall_cycles(at, StallReason::Dependency, all,
                          std::min(kMaxDependencyCycles, all.cycles - std::min(all.cycles, own)));
      if (StallReason reason = reason_of_unit(role.unit); reason != StallReason::Arbiter) {
        add_stall(at, reason, all);
      } else {
        if (needs_fetch(w.last_instruction, i.instruction))
          move_stall_cycles(at, StallReason::Fetch, all, all.idle_cycles);
        add_stall(at, StallReason::Arbiter, all);
      }
    }
    for (WaitCounter counter : role.raised_counters) w.pending_instructions[size_t(counter)].push_back(i.instruction);
    w.end_times[i.instruction] = w.modeled_time + latency_of(role);
    w.has_issued = true, w.last_instruction = i.instruction;
    w.recent_instructions[w.num_issued++ % kNumRecentIssues] = i.instruction;
  }

 private:
  struct Wave {
    std::array<std::vector<uint32_t>, kNumWaitCounters> pending_instructions;
    bool has_issued = false;
    uint32_t last_instruction = 0;
    std::array<uint32_t, kNumRecentIssues> recent_instructions{};
    size_t num_issued = 0;
    size_t followed_index = SIZE_MAX;  // in StallReport::followed_waves
    // if modeled: the wave's time, and when the last execution of each instruction ends
    uint64_t modeled_time = 0;
    std::unordered_map<uint32_t, uint64_t> end_times;
  };

  // Returns cycles that are typical of RDNA.
  uint64_t latency_of(const InstructionRole& role) const {
    switch (role.unit) {
      case InstructionUnit::Vector: return 5;
      case InstructionUnit::Scalar: return 2;
      case InstructionUnit::Lds: return 30;
      case InstructionUnit::ScalarMemory: return 100;
      case InstructionUnit::Memory: return 300;
      default: return 0;
    }
  }
  uint64_t busy_cycles_of(uint32_t n) const { return n < report_.busy_cycles.size() ? report_.busy_cycles[n] : 1; }
  // Returns the cycles until the end of those instructions that instruction `n` waits for or depends on.
  uint64_t modeled_wait_cycles(const Wave& w, uint32_t n, const InstructionRole& role) {
    uint64_t ready = w.modeled_time;
    auto wait_for = [&](uint32_t earlier) {
      if (auto end = w.end_times.find(earlier); end != w.end_times.end()) ready = std::max(ready, end->second);
    };
    for (const InstructionRole::Wait& wait : role.waits) {
      const auto& list = w.pending_instructions[size_t(wait.counter)];
      for (size_t k = 0; k + wait.max_outstanding < list.size(); k++) wait_for(list[k]);
    }
    for (size_t k = 0; k < std::min(w.num_issued, kNumRecentIssues); k++)
      if (const uint32_t earlier = w.recent_instructions[k];
          roles_[earlier].raised_counters.empty() && depends_on(n, earlier))
        wait_for(earlier);
    return ready - w.modeled_time;
  }

  void add_stall(InstructionStalls& at, StallReason reason, StallTime t) {
    at.times_by_reason[size_t(reason)] += t, report_.times_by_reason[size_t(reason)] += t;
  }
  // Moves at most `most` cycles from `rest` to a reason, idle cycles first.
  void move_stall_cycles(InstructionStalls& at, StallReason reason, StallTime& rest, uint64_t most) {
    StallTime part{std::min(rest.cycles, most), std::min(rest.idle_cycles, most)};
    rest.cycles -= part.cycles, rest.idle_cycles -= part.idle_cycles;
    add_stall(at, reason, part);
  }

  void add_wait_stall(Wave& w, uint32_t n, const InstructionRole& role, InstructionStalls& at, StallTime all) {
    std::vector<uint32_t> ended;
    auto end = [&](WaitCounter counter, size_t most) {
      auto& list = w.pending_instructions[size_t(counter)];
      if (list.size() <= most) return;
      ended.insert(ended.end(), list.begin(), list.end() - ptrdiff_t(most));
      list.erase(list.begin(), list.end() - ptrdiff_t(most));
    };
    for (const InstructionRole::Wait& wait : role.waits) end(wait.counter, wait.max_outstanding);
    if (role.is_program_end_op) end(WaitCounter::Store, 0);  // s_endpgm waits for the wave's stores
    if (ended.empty()) return add_stall(at, role.is_program_end_op ? StallReason::StartUp : StallReason::Arbiter, all);
    std::ranges::sort(ended);
    ended.erase(std::ranges::unique(ended).begin(), ended.end());
    for (size_t k = 0; k < ended.size(); k++) {
      auto share = [&](uint64_t whole) { return whole * (k + 1) / ended.size() - whole * k / ended.size(); };
      const StallTime part{share(all.cycles), share(all.idle_cycles)};
      report_.instructions[ended[k]].waits_for_result += part;
      report_.instructions[n].waits_by_instruction[ended[k]] += part;
      add_stall(at, reason_of_unit(roles_[ended[k]].unit), part);
    }
  }

  bool depends_on_recent(const Wave& w, uint32_t n) {
    for (size_t k = 0; k < std::min(w.num_issued, kNumRecentIssues); k++) {
      if (depends_on(n, w.recent_instructions[k])) return true;
    }
    return false;
  }
  bool depends_on(uint32_t n, uint32_t earlier) {
    auto [known, is_new] = known_dependencies_.try_emplace(uint64_t(n) << 32 | earlier, false);
    if (is_new) known->second = roles_[n].depends_on(roles_[earlier]);
    return known->second;
  }
  // Returns true if `n` is the first instruction behind a barrier. RDNA4's s_barrier_wait has no packet, so it may lie
  // between `last`, the wave's previous instruction, and `n`.
  bool passes_barrier(uint32_t last, uint32_t n) const {
    if (roles_[last].unit == InstructionUnit::Barrier) return true;
    for (uint32_t between = last + 1; between < n && between < last + 4; between++)
      if (roles_[between].unit == InstructionUnit::Barrier && code_.instructions()[between].has_no_packet) return true;
    return false;
  }
  bool needs_fetch(uint32_t last, uint32_t n) const {
    auto line = [&](uint64_t address) { return address / kCacheLineBytes; };
    const uint64_t begin = code_.address_of(n), end = begin + code_.instructions()[n].size_bytes - 1;
    return n != code_.instructions()[last].next_instruction || line(end) != line(code_.address_of(last));
  }

  const KernelCode& code_;
  const std::vector<InstructionRole>& roles_;
  size_t event_index_, num_started_waves_ = 0;
  StallReport& report_;
  std::array<Wave, 32> waves_;
  std::unordered_map<uint64_t, bool> known_dependencies_;
};

// Returns a text such as "0x1778 (line 16, 35 LOAD float)".
std::string location_text(const Profile& p, size_t run_index, uint32_t instruction) {
  const std::string out = instruction_location(p, run_index, instruction);
  const size_t comma = out.find(", ");
  return comma == out.npos ? out : out.substr(0, comma) + " (" + out.substr(comma + 2) + ")";
}

uint32_t max_waves_of_simd(const Profile& p, size_t run_index) {
  uint32_t out = 0;
  for (size_t i : p.trace.runs[run_index].sqtt_events) {
    std::vector<std::pair<int64_t, int>> changes;
    for (const WaveSpan& w : p.sqtt_summaries[i].wave_spans)
      if (w.cu == 0 && w.simd == 0 && w.begin != WaveSpan::kUnknownTime && w.end != WaveSpan::kUnknownTime)
        changes.insert(changes.end(), {{w.begin, 1}, {w.end, -1}});
    std::ranges::sort(changes);
    uint32_t now = 0;
    for (auto [time, change] : changes) out = std::max(out, now += uint32_t(change));
  }
  return out;
}

// Returns the launch's waves divided by the card's SIMDs (by 1 if the card is unknown), but at most as many as fit on a
// SIMD (1 if that is unknown).
uint32_t modeled_resident_waves(const Profile& p, size_t run_index) {
  const KernelRun& run = p.trace.runs[run_index];
  size_t waves = 0;
  for (size_t i : run.sqtt_events) waves += p.sqtt_summaries[i].wave_spans.size();
  const DevicePeakRates* device = find_device_peak(run.arch);
  const auto fitting = occupancy_of_run(run);
  const size_t each = device && device->num_simds ? (waves + device->num_simds - 1) / device->num_simds : waves;
  return uint32_t(std::min<size_t>(each, fitting ? fitting->num_resident_waves : 1));
}

// Returns by instruction the cycles in which a memory access occupies its unit; 1 for others.
std::vector<uint32_t> modeled_busy_cycles(const Profile& p, size_t run_index,
                                          const std::vector<InstructionRole>& roles) {
  constexpr uint32_t kLineCycles = 4;
  std::vector<uint32_t> out(roles.size(), 1);
  const CodeSource* source = p.source_of_run(run_index);
  for (uint32_t n = 0; source && n < roles.size(); n++) {
    const uint32_t line = source->line_at_address(p.code_of_run(run_index)->address_of(n));
    for (const MemoryAccess& a : source->accesses) {
      if (!line || a.line != line || roles[n].is_store != (a.node.op == "STORE")) continue;
      const uint32_t places = roles[n].num_addresses, bytes = roles[n].lane_bytes / places;
      if (a.lane_access && roles[n].unit == InstructionUnit::Memory && !roles[n].is_scratch)
        out[n] = std::max(out[n], merged_access(*a.lane_access, bytes).num_cache_lines * kLineCycles);
      if (a.bank_access && roles[n].unit == InstructionUnit::Lds)
        out[n] = std::max(out[n], merged_access(*a.bank_access, bytes, places).access_cycles);
    }
  }
  return out;
}

}  // namespace

std::string_view stall_reason_name(StallReason reason) {
  constexpr std::string_view kNames[] = {"memory",  "LDS",    "scalar memory", "dependency", "instruction fetch",
                                         "barrier", "export", "start-up",      "arbiter"};
  static_assert(std::size(kNames) == kNumStallReasons);
  return kNames[size_t(reason)];
}

StallReason StallReport::main_stall_reason(const InstructionStalls& i) {
  auto most = std::ranges::max_element(i.times_by_reason, {}, &StallTime::cycles);
  return StallReason(most - i.times_by_reason.begin());
}

std::vector<InstructionRole> roles_of_run(const Profile& p, size_t run_index, const ProgramListings::Listing& listing) {
  std::vector<InstructionRole> out;
  const KernelCode* code = p.code_of_run(run_index);
  const Isa isa = isa_of_arch(p.trace.runs[run_index].arch);
  for (uint32_t n = 0; code && n < code->instructions().size(); n++) {
    auto text = listing.find(code->address_of(n));
    out.push_back(text == listing.end() ? InstructionRole() : parse_role(text->second, isa));
  }
  return out;
}

StallReport stalls_of_run(const Profile& p, size_t run_index, const ProgramListings::Listing& listing) {
  StallReport out;
  const KernelCode* code = p.code_of_run(run_index);
  const KernelRun& run = p.trace.runs[run_index];
  if (!code || listing.empty()) return out;
  out.is_modeled = !p.trace.emulator.empty();
  out.roles = roles_of_run(p, run_index, listing);
  const std::vector<InstructionRole>& roles = out.roles;
  out.instructions.resize(roles.size());
  if (out.is_modeled) out.busy_cycles = modeled_busy_cycles(p, run_index, roles);
  out.num_resident_waves = out.is_modeled ? modeled_resident_waves(p, run_index) : max_waves_of_simd(p, run_index);
  bool is_mapped = false;
  for (size_t i : run.sqtt_events) {
    if (p.sqtt_summaries[i].instructions.empty()) continue;
    is_mapped = true;
    StallCounter counter(*code, roles, i, out);
    follow_waves(bytes_of_blob(p.trace.sqtt_events[i].blob), *code, counter);
  }
  if (!is_mapped) out.instructions.clear();
  return out;
}

std::vector<uint64_t> issues_of_wave(const Profile& p, size_t run_index, const FollowedWave& wave) {
  struct WaveIssueCounter final : WaveObserver {
    explicit WaveIssueCounter(size_t wanted) : wanted_number_(wanted) {}
    void start_wave(uint32_t wave) override {
      is_wanted_wave_[wave % is_wanted_wave_.size()] = num_started_waves_++ == wanted_number_;
    }
    void issue(const InstructionIssue& i) override {
      issues[i.instruction] += is_wanted_wave_[i.wave % is_wanted_wave_.size()];
    }
    std::vector<uint64_t> issues;

   private:
    size_t wanted_number_, num_started_waves_ = 0;
    std::array<bool, 32> is_wanted_wave_{};
  } counter(wave.number);
  const KernelCode& code = *p.code_of_run(run_index);
  counter.issues.resize(code.instructions().size());
  follow_waves(bytes_of_blob(p.trace.sqtt_events[wave.event_index].blob), code, counter);
  return std::move(counter.issues);
}

std::vector<InstructionTimes> measured_or_modeled_times(const Profile& p, size_t run_index, const StallReport& stalls) {
  std::vector<InstructionTimes> out = p.instruction_times_of_run(run_index);
  for (size_t n = 0; stalls.is_modeled && n < std::min(out.size(), stalls.instructions.size()); n++) {
    StallTime stall;
    for (const StallTime& t : stalls.instructions[n].times_by_reason) stall += t;
    out[n].cycles = out[n].num_executions + stall.cycles, out[n].stall_cycles = stall.cycles,
    out[n].idle_cycles = stall.idle_cycles;
  }
  return out;
}

std::string instruction_text(const Profile& p, size_t run_index, uint32_t instruction,
                             const ProgramListings::Listing& listing) {
  auto text = listing.find(p.code_of_run(run_index)->address_of(instruction));
  return text == listing.end() ? "" : visible_text(text->second).substr(0, kMaxInstructionText);
}

std::string instruction_location(const Profile& p, size_t run_index, uint32_t instruction) {
  const uint64_t address = p.code_of_run(run_index)->address_of(instruction);
  std::string out = formatted("%#x", unsigned(address));
  const CodeSource* source = p.source_of_run(run_index);
  const uint32_t line = source ? source->line_at_address(address) : 0;
  if (!line) return out;
  std::string nodes = nodes_text(source->nodes_of_line(line));
  nodes = nodes.substr(0, nodes.find(" ("));
  return out + formatted(", line %u%s%s", line, nodes.empty() ? "" : ", ", nodes.c_str());
}

std::string waits_text(const Profile& p, size_t run_index, const StallReport& stalls, uint32_t instruction) {
  std::vector<std::pair<uint64_t, uint32_t>> list;
  for (auto& [n, time] : stalls.instructions[instruction].waits_by_instruction) list.emplace_back(time.cycles, n);
  std::ranges::stable_sort(list, std::greater(), &std::pair<uint64_t, uint32_t>::first);
  std::string out;
  for (size_t k = 0; k < std::min(list.size(), kMaxNamedWaits); k++)
    out += (k ? ", " : "") + location_text(p, run_index, list[k].second);
  return out + (list.size() > kMaxNamedWaits ? ", ..." : "");
}

std::string stalls_text(const Profile& p, size_t run_index, const StallReport& stalls,
                        const ProgramListings::Listing& listing) {
  if (stalls.instructions.empty() || !stalls.total_cycles) return "";
  auto percent = [&](uint64_t cycles) {
    return formatted("%.1f%%", double(cycles) / double(stalls.total_cycles) * 100);
  };
  std::vector<size_t> order;
  for (size_t n = 0; n < kNumStallReasons; n++)
    if (double(stalls.times_by_reason[n].cycles) >= kMinReasonShare * double(stalls.total_cycles)) order.push_back(n);
  std::ranges::stable_sort(order, std::greater(), [&](size_t n) { return stalls.times_by_reason[n].cycles; });
  std::string out;
  for (size_t n : order) {
    out += !out.empty() ? ", " : stalls.is_modeled ? "stalls by a model: " : "stalls: ";
    out += std::string(stall_reason_name(StallReason(n))) + " " + percent(stalls.times_by_reason[n].cycles);
  }
  if (!out.empty()) out += "\n";
  std::vector<std::pair<uint64_t, uint32_t>> loads;
  for (uint32_t n = 0; n < stalls.instructions.size(); n++)
    if (uint64_t cycles = stalls.instructions[n].waits_for_result.cycles) loads.emplace_back(cycles, n);
  std::ranges::stable_sort(loads, std::greater(), &std::pair<uint64_t, uint32_t>::first);
  loads.resize(std::min(loads.size(), kMaxWaitRows));
  std::vector<std::vector<std::string>> rows{{"cycles", "%", "waited for"}};
  for (auto [cycles, n] : loads) {
    std::string name = instruction_text(p, run_index, n, listing);
    if (!name.empty()) name += "  ";
    rows.push_back({std::to_string(cycles), percent(cycles), name + location_text(p, run_index, n)});
  }
  return loads.empty() ? out : out + table_text(rows, "rr");
}

}  // namespace tgc::profile
