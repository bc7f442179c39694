#include "lib/profile/hints.h"

#include <algorithm>
#include <set>

#include "lib/compile/occupancy.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr double kMinGain = 0.02;
constexpr uint32_t kFarFromFewest = 2;  // for a hint, an access needs this many times the fewest cache lines or cycles
constexpr double kMinRepeats = 4;     // for a hint, loads must load each byte this often on average
constexpr double kHideableShare = 0.5;       // assumed share of a wait that other loads or waves can hide
constexpr size_t kMaxAccessHints = 3;
constexpr uint32_t kWidestAccessBytes = 16;  // most bytes that one instruction accesses for a lane
constexpr uint32_t kRegisterBytes = 4;

// Effects of a change on a kernel. An increase is followed by the decrease that contradicts it.
enum ChangeEffect : uint32_t {
  kMoreThreads = 1, kFewerThreads = 2, kMoreUnroll = 4, kLessUnroll = 8, kLargerGroups = 16, kSmallerGroups = 32
};
constexpr uint32_t kIncreases = kMoreThreads | kMoreUnroll | kLargerGroups;
uint32_t opposite_effects(uint32_t effects) { return (effects & kIncreases) << 1 | (effects >> 1 & kIncreases); }

struct ProposedChange {
  std::string text;
  uint32_t effects = 0;
};

struct HintCandidate {
  SpeedHint hint;
  std::string aim;  // what all changes have in common; may be empty
  std::vector<ProposedChange> changes;
  uint32_t line = 0;  // source line of the instruction that the hint is about; 0: none
};
void sort_by_gain(std::vector<HintCandidate>& list) {
  std::ranges::stable_sort(list, std::greater(), [](const HintCandidate& c) { return c.hint.max_time_share; });
}

class HintFinder {
 public:
  HintFinder(const Profile& p, size_t run_index, const ProgramListings::Listing& listing, const StallReport& stalls)
      : profile_(p), run_index_(run_index), run_(p.trace.runs[run_index]), listing_(listing), stalls_(stalls),
        figures_(figures_of_run(p, run_index, listing)), times_(p.instruction_times_of_run(run_index)) {
    total_cycles_ = double(std::max<uint64_t>(stalls.total_cycles, 1));
    if (run_.program) resources_ = program_resources(*run_.program, run_.arch);
    for (const InstructionTimes& t : times_) num_executions_ += double(t.num_executions);
    if (const CodeSource* source = p.source_of_run(run_index); source && source->opts) {
      has_upcast_ = source->opts->find("OptOps.UPCAST") != std::string::npos;
      has_unroll_ = source->opts->find("OptOps.UNROLL") != std::string::npos;
    }
    has_reduction_ = !run_.kernel.starts_with("E_");
    if (has_upcast_) changes_for_less_code_.push_back({"UPCAST less", kMoreThreads});
    if (has_unroll_) changes_for_less_code_.push_back({"UNROLL less", kLessUnroll});
  }

  std::vector<SpeedHint> find() {
    if (!stalls_.instructions.empty()) {
      add_occupancy_hints();
      add_short_wave_hint();
      add_idle_lane_hint();
      add_divergence_hint();
      add_access_hints();
      add_repeated_load_hint();
      add_spill_hint();
      add_imbalance_hint();
      add_stall_reason_hints();
      add_longest_wait_hint();
    }
    add_counter_hints();
    return ranked_hints();
  }

 private:
  void add_hint(std::string id, double gain, std::string measured, std::string aim,
                std::vector<ProposedChange> changes = {}) {
    if (changes.empty()) changes = {{std::exchange(aim, "")}};
    candidates_.push_back(
        {{std::move(id), std::min(gain, 1.0), std::move(measured), ""}, std::move(aim), std::move(changes)});
  }

  // Returns the hints by descending gain. Leaves out hints with little gain, changes that contradict an earlier hint,
  // hints without a change, and "wait" if an earlier hint is about the same source line.
  std::vector<SpeedHint> ranked_hints() {
    std::erase_if(candidates_, [](const HintCandidate& c) { return c.hint.max_time_share < kMinGain; });
    sort_by_gain(candidates_);
    std::vector<SpeedHint> speed_hints;
    std::set<uint32_t> lines;
    uint32_t excluded = 0;
    for (HintCandidate& c : candidates_) {
      std::erase_if(c.changes, [&](const ProposedChange& w) { return w.effects & excluded; });
      if (c.changes.empty() || (c.line && !lines.insert(c.line).second && c.hint.id == "wait")) continue;
      c.hint.advice_text = c.aim;
      for (size_t n = 0; n < c.changes.size(); n++) {
        c.hint.advice_text += (n ? "; or " : c.aim.empty() ? "" : ": ") + c.changes[n].text;
        excluded |= opposite_effects(c.changes[n].effects);
      }
      speed_hints.push_back(std::move(c.hint));
    }
    return speed_hints;
  }
  double idle_share_of(StallReason reason) const {
    return double(stalls_.times_by_reason[size_t(reason)].idle_cycles) / total_cycles_;
  }
  double time_share_of(StallReason reason) const {
    return double(stalls_.times_by_reason[size_t(reason)].cycles) / total_cycles_;
  }
  std::string describe_instruction(uint32_t n) const {
    return "'" + instruction_text(profile_, run_index_, n, listing_) + "' (" +
           instruction_location(profile_, run_index_, n) + ")";
  }

  void add_occupancy_hints() {
    double hideable = 0;
    for (StallReason r : {StallReason::Memory, StallReason::Lds, StallReason::ScalarMemory, StallReason::Dependency,
                          StallReason::Fetch})
      hideable += idle_share_of(r);
    const auto fitting = occupancy_of_run(run_);
    auto processor = find_amd_processor(run_.arch);
    if (!fitting || !processor || !stalls_.num_resident_waves) return;
    const double most = fitting->max_waves, now = stalls_.num_resident_waves;
    const std::string idle = formatted("in %.0f%% of the waves' time no wave of the SIMD issues", hideable * 100);
    if (now < fitting->num_resident_waves) {
      const DevicePeakRates* device = find_device_peak(run_.arch);
      std::string launched =
          count_text(figures_.num_waves, "wave") + (figures_.num_waves == 1 ? " was" : " were") + " launched";
      if (device && device->num_simds)
        launched +=
            formatted(" for %u SIMDs (%s), which hold %.0f", device->num_simds, std::string(device->card_name).c_str(),
                      double(device->num_simds) * fitting->num_resident_waves);
      add_hint("few-waves", hideable * (1 - now / fitting->num_resident_waves),
               formatted("a SIMD has at most %u of %u waves at a time: %s; %s", unsigned(now),
                         fitting->num_resident_waves, launched.c_str(), idle.c_str()),
               "", changes_for_more_threads());
    }
    if (fitting->num_resident_waves < most) {
      const std::string limiter(fitting->limiting_resource);
      const bool by_registers = limiter == "vector registers", by_memory = limiter == "local memory";
      std::string amount =
          by_registers ? formatted("%u vector registers of each lane", *resources_->num_vector_registers)
          : by_memory  ? formatted("%u bytes of local memory of each work group", resources_->shared_bytes.value_or(0))
                       : limiter;
      add_hint(by_registers ? "registers"
               : by_memory  ? "local-memory"
                       : "group-size",
               now < fitting->num_resident_waves ? 0 : hideable * (1 - fitting->num_resident_waves / most),
               formatted("%s let %u of %.0f waves on a SIMD; %s", amount.c_str(), fitting->num_resident_waves, most,
                         idle.c_str()),
               by_registers ? "use fewer registers in each lane"
               : by_memory  ? "use less local memory"
                       : "use work groups of another size",
               by_registers ? changes_for_less_code_
               : by_memory  ? std::vector<ProposedChange>{{"a smaller GROUP or LOCAL", kSmallerGroups}}
                       : std::vector<ProposedChange>{{"Opt(OptOps.LOCAL, ..)"}});
    }
  }

  std::vector<ProposedChange> changes_for_more_threads() const {
    std::string opts = has_upcast_ ? "UPCAST less" : "";
    if (has_reduction_) opts += (opts.empty() ? "" : ", or ") + std::string("Opt(OptOps.GROUP, ..) for a reduction");
    std::vector<ProposedChange> out;
    if (!opts.empty()) out.push_back({"start more threads: " + opts, kMoreThreads});
    out.push_back({"fuse a kernel that is too small for the GPU, or run several at once"});
    return out;
  }

  void add_short_wave_hint() {
    double arguments = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++)
      if (stalls_.roles[n].unit == InstructionUnit::ScalarMemory &&
          double(times_[n].num_executions) <= double(figures_.num_followed_waves))
        arguments += double(stalls_.instructions[n].waits_for_result.idle_cycles) / total_cycles_;
    const double start = time_share_of(StallReason::StartUp), share = start + arguments;
    if (!figures_.num_followed_waves) return;
    add_hint(
        "short-waves", share * 0.75,  // a quarter of this time remains with four elements for each thread
        formatted("a wave issues %.0f instructions, and %.0f%% of its time goes for its start (%.0f%%) and for loading "
                  "the kernel's arguments (%.0f%%)",
                  num_executions_ / double(figures_.num_followed_waves), share * 100, start * 100, arguments * 100),
        "",
        {{"give each thread more elements, such as Opt(OptOps.UPCAST, 0, 4)", kFewerThreads},
         {"fuse the kernel with its neighbours"}});
  }

  void add_idle_lane_hint() {
    if (!figures_.num_wave_lanes || figures_.max_active_lanes >= figures_.num_wave_lanes) return;
    const double unused = 1 - double(figures_.max_active_lanes) / figures_.num_wave_lanes;
    add_hint("idle-lanes", unused * (figures_.num_waves > 1 ? 0.9 : 0.1),
             formatted("a work group has %u threads, so that %u of the %u lanes of each of its waves (%zu) do nothing",
                       figures_.max_active_lanes, figures_.num_wave_lanes - figures_.max_active_lanes,
                       figures_.num_wave_lanes, figures_.num_waves),
             formatted("use work groups of a multiple of %u threads", figures_.num_wave_lanes),
             {{formatted("Opt(OptOps.LOCAL, .., %u)", figures_.num_wave_lanes), kLargerGroups}});
  }

  void add_divergence_hint() {
    const auto active = profile_.active_lanes_of_run(run_index_);
    double lost = 0, most = 0;
    uint32_t worst = 0;
    for (uint32_t n = 0; n < active.size(); n++) {
      const auto text = listing_.find(profile_.code_of_run(run_index_)->address_of(n));
      if (!times_[n].num_executions || text == listing_.end() || !runs_in_lanes(text->second)) continue;
      StallTime time{times_[n].num_executions, 0};
      for (const StallTime& t : stalls_.instructions[n].times_by_reason) time += t;
      const double unused = 1 - double(active[n]) / double(times_[n].num_executions) / figures_.max_active_lanes;
      const double cost = unused * double(time.cycles) / total_cycles_;
      lost += cost;
      if (cost > most) most = cost, worst = n;
    }
    if (lost <= 0) return;
    add_hint(
        "divergence", lost,
        formatted("vector instructions run in %.1f of the wave's %u lanes on average, and %s in %.1f",
                  figures_.active_lanes.value_or(0), figures_.max_active_lanes, describe_instruction(worst).c_str(),
                  double(active[worst]) / double(times_[worst].num_executions)),
        "let neighbouring threads take the same branch, or give the work of the missing lanes to whole waves");
  }

  struct LineAccesses {
    double time_share = 0;  // of the waves' time, including the waits for the results
    uint64_t hits = 0;
    uint32_t bytes = 0, num_addresses = 1;  // the widest access has `bytes` at each of `num_addresses` addresses
    std::set<std::string> mnemonics;
  };
  LineAccesses line_accesses(uint32_t line, InstructionUnit unit, bool is_store) const {
    LineAccesses out;
    const CodeSource* source = profile_.source_of_run(run_index_);
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      const InstructionRole& role = stalls_.roles[n];
      if (role.unit != unit || role.is_store != is_store || role.is_scratch || !times_[n].num_executions) continue;
      if (source->line_at_address(profile_.code_of_run(run_index_)->address_of(n)) != line) continue;
      StallTime t = stalls_.instructions[n].waits_for_result;
      for (const StallTime& own : stalls_.instructions[n].times_by_reason) t += own;
      out.time_share += double(t.cycles) / total_cycles_, out.hits += times_[n].num_executions;
      if (role.lane_bytes > out.bytes * out.num_addresses)
        out.bytes = role.lane_bytes / role.num_addresses, out.num_addresses = role.num_addresses;
      const std::string text = instruction_text(profile_, run_index_, n, listing_);
      out.mnemonics.insert(text.substr(0, text.find(' ')));
    }
    return out;
  }

  void add_access_hints() {
    const CodeSource* source = profile_.source_of_run(run_index_);
    if (!source) return;
    std::vector<HintCandidate> far, banks, narrow;
    for (const MemoryAccess& a : source->accesses) {
      const bool is_store = a.node.op == "STORE";
      const LineAccesses t =
          line_accesses(a.line, a.lane_access ? InstructionUnit::Memory : InstructionUnit::Lds, is_store);
      if (!t.hits) continue;
      const auto far_lines = a.lane_access ? std::optional(merged_access(*a.lane_access, t.bytes)) : std::nullopt;
      const auto conflicts =
          a.bank_access ? std::optional(merged_access(*a.bank_access, t.bytes, t.num_addresses)) : std::nullopt;
      const uint32_t bytes = far_lines ? far_lines->lane_bytes : conflicts->lane_bytes;
      const uint32_t lanes = far_lines ? far_lines->num_lanes : conflicts->num_lanes;
      std::string by;
      for (const std::string& name : t.mnemonics) by += (by.empty() ? "" : ", ") + name;
      const std::string node =
          formatted("%zu %s (line %u, by %s) %s %u bytes for each of %u lanes", a.node.list_index, a.node.op.c_str(),
                    a.line, by.c_str(), is_store ? "stores" : "loads", bytes, lanes);
      auto add_to = [&](std::vector<HintCandidate>& list, const char* id, double gain, std::string measured,
                        std::string aim, std::vector<ProposedChange> changes) {
        list.push_back({{id, gain, std::move(measured), ""}, std::move(aim), std::move(changes), a.line});
      };
      const std::string time = formatted("%llu executions, with %.0f%% of the waves' time",
                                         static_cast<unsigned long long>(t.hits), t.time_share * 100);
      if (far_lines && far_lines->num_cache_lines >= kFarFromFewest * far_lines->fewest_cache_lines) {
        const auto stride = static_cast<long long>(far_lines->stride_bytes);
        const std::string apart = stride ? formatted(", %lld bytes apart,", stride) : "";
        add_to(far, "uncoalesced",
               t.time_share * (1 - double(far_lines->fewest_cache_lines) / far_lines->num_cache_lines),
               formatted("%s%s %s %u cache lines of %u bytes instead of %u; %s", node.c_str(), apart.c_str(),
                         is_store ? "to" : "from", far_lines->num_cache_lines, kCacheLineSize,
                         far_lines->fewest_cache_lines, time.c_str()),
               "let neighbouring lanes access neighbouring addresses",
               {{"Opt(OptOps.LOCAL, ..) of the axis along which they lie in memory"}});
      } else if (far_lines && a.loop_step_bytes && uint32_t(std::abs(*a.loop_step_bytes)) == bytes &&
                 bytes < kWidestAccessBytes) {
        const char* opt = a.is_reduction ? "UNROLL" : "UPCAST";
        add_to(narrow, "narrow", t.time_share * (1 - bytes / double(kWidestAccessBytes)),
               formatted("%s, and the next iteration those behind them; %s", node.c_str(), time.c_str()),
               formatted("access %u bytes at once", kWidestAccessBytes),
               {{formatted("Opt(OptOps.%s, .., %u) of this axis", opt, kWidestAccessBytes / bytes),
                 a.is_reduction ? kMoreUnroll : kFewerThreads}});
      }
      if (conflicts && conflicts->access_cycles >= kFarFromFewest * conflicts->fewest_cycles)
        add_to(banks, "bank-conflicts",
               t.time_share * (1 - double(conflicts->fewest_cycles) / conflicts->access_cycles),
               formatted("%s in %u cycles instead of %u, because lanes need different words of the same bank of local "
                         "memory; %s",
                         node.c_str(), conflicts->access_cycles, conflicts->fewest_cycles, time.c_str()),
               "",
               {{formatted("pad the rows of the local buffer by %u bytes", std::max(4u, bytes / t.num_addresses))},
                {"let neighbouring lanes access neighbouring elements of it"}});
    }
    for (std::vector<HintCandidate>* list : {&far, &banks, &narrow}) {
      sort_by_gain(*list);
      list->resize(std::min(list->size(), kMaxAccessHints));
      std::ranges::move(*list, std::back_inserter(candidates_));
    }
  }

  void add_repeated_load_hint() {
    if (!figures_.kernel_work || figures_.kernel_work->bytes_read <= 0 || !figures_.num_followed_waves) return;
    double loaded = 0, time = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      const InstructionRole& role = stalls_.roles[n];
      if (role.unit != InstructionUnit::Memory || role.is_store || role.is_scratch) continue;
      loaded += double(times_[n].num_executions) * role.lane_bytes * figures_.max_active_lanes;
      time += double(stalls_.instructions[n].waits_for_result.cycles) / total_cycles_;
    }
    loaded *= double(figures_.num_waves) / double(figures_.num_followed_waves);
    const double repeats = loaded / figures_.kernel_work->bytes_read;
    if (repeats < kMinRepeats) return;
    add_hint(
        "repeated-loads", time * (1 - 1 / repeats) * kHideableShare,
        formatted("the kernel loads at most %.0f bytes, %.0f times the %.0f bytes that it reads; waits for loads take "
                  "%.0f%% of the waves' time",
                  loaded, repeats, figures_.kernel_work->bytes_read, time * 100),
        "",
        {{"keep what is loaded in registers for several outputs: Opt(OptOps.UPCAST, ..) of axes that a load does not "
          "depend on",
          kFewerThreads},
         {"let the threads of a work group load the same cache lines: Opt(OptOps.LOCAL, ..) of axes that a "
          "load does not depend on",
          kLargerGroups}});
  }

  void add_spill_hint() {
    double share = 0;
    uint64_t hits = 0;
    uint32_t stored = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      if (!stalls_.roles[n].is_scratch) continue;
      if (stalls_.roles[n].is_store) stored += stalls_.roles[n].lane_bytes / kRegisterBytes;
      share += double(stalls_.instructions[n].waits_for_result.cycles + times_[n].num_executions) / total_cycles_;
      for (const StallTime& t : stalls_.instructions[n].times_by_reason) share += double(t.cycles) / total_cycles_;
      hits += times_[n].num_executions;
    }
    if (!hits) return;
    const uint32_t bytes = resources_ ? resources_->scratch_bytes.value_or(0) : 0;
    const char* shared = stored * kRegisterBytes > bytes ? ", some to the same bytes one after another" : "";
    add_hint("spills", share,
             formatted("%llu loads and stores of private memory take %.0f%% of the waves' time; the code stores %u "
                       "registers of each lane to %u bytes of it%s",
                       static_cast<unsigned long long>(hits), share * 100, stored, bytes, shared),
             "let the accumulators fit into registers", changes_for_less_code_);
  }

  void add_imbalance_hint() {
    const auto& waves = stalls_.followed_waves;
    if (waves.size() < 2) return;
    double sum = 0;
    for (const FollowedWave& w : waves) sum += double(w.num_issued);
    const FollowedWave& longest = *std::ranges::max_element(waves, {}, &FollowedWave::num_issued);
    const double most = double(longest.num_issued), mean = sum / double(waves.size());
    if (1 - mean / most < kMinGain) return;
    // name the instruction whose number of issues by the longest wave exceeds the mean most
    const std::vector<uint64_t> issues = issues_of_wave(profile_, run_index_, longest);
    auto mean_of = [&](uint32_t n) { return double(times_[n].num_executions) / double(waves.size()); };
    uint32_t n = 0;
    for (uint32_t k = 1; k < issues.size(); k++)
      if (double(issues[k]) - mean_of(k) > double(issues[n]) - mean_of(n)) n = k;
    const auto longer =
        std::ranges::count_if(waves, [&](const FollowedWave& w) { return double(w.num_issued) > mean; });
    add_hint(
        "imbalance", 1 - mean / most,
        formatted("followed wave %zu of shader engine %d (wave %u of its SIMD) issues %.0f instructions, the most; the "
                  "mean of %zu waves is %.0f, and %td waves issue more. It executes %s %llu times, a mean wave %.0f "
                  "times",
                  longest.number + 1, int(profile_.trace.sqtt_events[longest.event_index].se), longest.wave, most,
                  waves.size(), mean, longer, describe_instruction(n).c_str(),
                  static_cast<unsigned long long>(issues[n]), mean_of(n)),
        "divide the work evenly: the loop's length or a branch depends on the thread");
  }

  void add_stall_reason_hints() {
    auto worst = [&](StallReason reason) {
      auto cycles = [&](const InstructionStalls& s) { return s.times_by_reason[size_t(reason)].cycles; };
      auto most = std::ranges::max_element(stalls_.instructions, {}, cycles);
      return describe_instruction(uint32_t(most - stalls_.instructions.begin()));
    };
    auto add_reason = [&](const char* id, StallReason reason, double gain, const char* what, const char* aim,
                          std::vector<ProposedChange> changes) {
      if (time_share_of(reason) < kMinGain) return;
      add_hint(id, gain,
               formatted("%s takes %.0f%% of the waves' time, most of it at %s", what, time_share_of(reason) * 100,
                         worst(reason).c_str()),
               aim, std::move(changes));
    };
    add_reason("barrier", StallReason::Barrier, idle_share_of(StallReason::Barrier),
               "waiting at barriers for other waves", "",
               {{"let the waves of a work group reach the barrier at the same time"},
                {"use smaller work groups", kSmallerGroups}});
    std::vector<ProposedChange> independent{{"UPCAST more", kFewerThreads}};
    if (has_reduction_)
      independent.insert(independent.begin(), {"Opt(OptOps.UNROLL, 0, 4) of the reduction", kMoreUnroll});
    add_reason("dependency", StallReason::Dependency, idle_share_of(StallReason::Dependency) * 0.75,
               "waiting for the instruction before", "make independent operations", std::move(independent));
    add_reason("instruction-fetch", StallReason::Fetch, idle_share_of(StallReason::Fetch), "instruction fetch",
               "make the code shorter", changes_for_less_code_);
  }

  void add_longest_wait_hint() {
    auto most = std::ranges::max_element(stalls_.instructions, {},
                                         [](const InstructionStalls& s) { return s.waits_for_result.idle_cycles; });
    const uint32_t n = uint32_t(most - stalls_.instructions.begin());
    if (!most->waits_for_result.cycles || stalls_.roles[n].unit == InstructionUnit::ScalarMemory) return;
    if (stalls_.roles[n].is_scratch) return;
    const double share = double(most->waits_for_result.idle_cycles) / total_cycles_;
    const CodeSource* source = profile_.source_of_run(run_index_);
    const bool is_widest = stalls_.roles[n].lane_bytes >= kWidestAccessBytes;
    std::vector<ProposedChange> changes;
    if (!stalls_.roles[n].is_store) changes.push_back({"compute something else between the load and its use"});
    if (!is_widest) changes.push_back({formatted("access up to %u bytes at once instead of %u", kWidestAccessBytes,
                                                 stalls_.roles[n].lane_bytes)});
    changes.push_back({"start more waves, of which others issue meanwhile", kMoreThreads});
    add_hint("wait", share * kHideableShare,
             formatted("waits for %s take %.0f%% of the waves' time, and no other wave of the SIMD issues",
                       describe_instruction(n).c_str(), share * 100),
             "", std::move(changes));
    candidates_.back().line = source ? source->line_at_address(profile_.code_of_run(run_index_)->address_of(n)) : 0;
  }

  void add_counter_hints() {
    auto totals = counter_totals(profile_, run_index_);
    auto sum = [&](std::string_view name) {
      auto found = totals.find(name);
      return found == totals.end() ? 0.0 : double(found->second.value_sum);
    };
    const double conflicts = sum("SQC_LDS_BANK_CONFLICT"), lds = sum("SQC_LDS_IDX_ACTIVE");
    const bool is_known =
        std::ranges::any_of(candidates_, [](const HintCandidate& c) { return c.hint.id == "bank-conflicts"; });
    if (lds > 0 && conflicts > 0 && !is_known)
      add_hint("bank-conflicts", (stalls_.instructions.empty() ? 1 : time_share_of(StallReason::Lds)) * conflicts / lds,
               formatted("%.0f%% of the cycles of local memory are bank conflicts (SQC_LDS_BANK_CONFLICT %.0f of "
                         "SQC_LDS_IDX_ACTIVE %.0f)",
                         conflicts / lds * 100, conflicts, lds),
               "pad the rows of local buffers by one element");
    const double hits = sum("GL2C_HIT"), misses = sum("GL2C_MISS");
    if (hits + misses > 1000)
      add_hint("cache-misses",
               (stalls_.instructions.empty() ? 1 : time_share_of(StallReason::Memory)) * kHideableShare * misses /
                   (hits + misses),
               formatted("%.0f%% of the requests miss the L2 cache (GL2C_MISS %.0f of %.0f)",
                         misses / (hits + misses) * 100, misses, hits + misses),
               "reuse data while it is there, or read neighbouring addresses in neighbouring threads");
  }

  const Profile& profile_;
  size_t run_index_;
  const KernelRun& run_;
  const ProgramListings::Listing& listing_;
  const StallReport& stalls_;
  KernelFigures figures_;
  std::vector<InstructionTimes> times_;
  std::optional<KernelResources> resources_;
  double total_cycles_ = 1, num_executions_ = 0;
  bool has_upcast_ = true, has_unroll_ = true;  // false: the opts are known, and have no such opt
  bool has_reduction_ = true;                   // tinygrad names a kernel without a reduction "E_.."
  std::vector<ProposedChange> changes_for_less_code_;                  // these changes reduce registers, too
  std::vector<HintCandidate> candidates_;
};

}  // namespace

std::string SpeedHint::text() const {
  return formatted("up to %.0f%% of the time: ", max_time_share * 100) + measured_text + ": " + advice_text;
}

std::vector<SpeedHint> speed_hints(const Profile& p, size_t run_index, const ProgramListings::Listing& listing,
                                   const StallReport& stalls) {
  return HintFinder(p, run_index, listing, stalls).find();
}

}  // namespace tgc::profile
