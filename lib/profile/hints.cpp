#include "lib/profile/hints.h"

#include <algorithm>

#include "lib/compile/occupancy.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr double kLeastGain = 0.02;    // hints with less gain are left out, as noise
constexpr uint32_t kFarFromFewest = 2;  // hints at accesses with this many times the fewest cache lines or cycles
constexpr double kManyRepeats = 4;     // hints at loads if each byte is loaded this often on average
constexpr double kOverlap = 0.5;       // share of a wait that other loads or waves can hide, as assumed
constexpr size_t kMostAccesses = 3;    // most hints of each kind about single accesses

class HintFinder {
 public:
  HintFinder(const Profile& p, size_t kernel, const Listings::Listing& listing, const StallReport& stalls)
      : p_(p), kernel_(kernel), run_(p.trace.kernels[kernel]), listing_(listing), stalls_(stalls),
        figures_(figures_of(p, kernel, listing)), times_(p.instructions_of(kernel)) {
    all_ = double(std::max<uint64_t>(stalls.cycles, 1));
    if (run_.program) resources_ = program_resources(*run_.program, run_.arch);
    for (const InstructionTimes& t : times_) hits_ += double(t.hits);
    for (const StallTime& t : stalls.reasons) idle_ += double(t.idle) / all_;
  }

  std::vector<Hint> find() {
    if (!stalls_.instructions.empty()) {
      add_waves();
      add_short_waves();
      add_lanes();
      add_divergence();
      add_accesses();
      add_repeats();
      add_spills();
      add_imbalance();
      add_reasons();
      add_wait();
    }
    add_counters();
    std::erase_if(out_, [](const Hint& h) { return h.gain < kLeastGain; });
    std::ranges::stable_sort(out_, std::greater(), &Hint::gain);
    return std::move(out_);
  }

 private:
  void add(std::string id, double gain, std::string measured, std::string change) {
    out_.push_back({std::move(id), std::min(gain, 1.0), std::move(measured), std::move(change)});
  }
  double idle_of(StallReason reason) const { return double(stalls_.reasons[size_t(reason)].idle) / all_; }
  double share_of(StallReason reason) const { return double(stalls_.reasons[size_t(reason)].cycles) / all_; }
  std::string place(uint32_t n) const {
    return "'" + instruction_text(p_, kernel_, n, listing_) + "' (" + instruction_place(p_, kernel_, n) + ")";
  }

  // Adds hints if more waves on a SIMD could hide stalls: "few-waves" if more would fit, and else a hint at the
  // resource that limits their number.
  void add_waves() {
    double hideable = 0;
    for (StallReason r : {StallReason::Memory, StallReason::Lds, StallReason::ScalarMemory, StallReason::Dependency,
                          StallReason::Fetch})
      hideable += idle_of(r);
    const auto fitting = fitting_waves(run_);
    auto processor = amd_processor(run_.arch);
    if (!fitting || !processor || !stalls_.resident_waves) return;
    const double most = fitting->most, now = stalls_.resident_waves;
    const std::string idle = formatted("in %.0f%% of the waves' time no wave of the SIMD issues", hideable * 100);
    if (now < fitting->waves) {
      const DevicePeak* device = device_peak(run_.arch);
      std::string launched = counted(figures_.waves, "wave") + (figures_.waves == 1 ? " was" : " were") + " launched";
      if (device && device->simds)
        launched += formatted(" for %u SIMDs (%s), which hold %.0f", device->simds, std::string(device->card).c_str(),
                              double(device->simds) * fitting->waves);
      add("few-waves", hideable * (1 - now / fitting->waves),
          formatted("a SIMD has at most %u of %u waves at a time: %s; %s", unsigned(now), fitting->waves,
                    launched.c_str(), idle.c_str()),
          "start more threads: UPCAST and UNROLL less, Opt(OptOps.GROUP, ..) for a reduction; fuse a kernel that is "
          "too small for the GPU, or run several at once");
    }
    if (fitting->waves < most) {
      const std::string limiter(fitting->limiter);
      const bool by_registers = limiter == "vector registers", by_memory = limiter == "local memory";
      std::string amount = by_registers ? formatted("%u vector registers of each lane", *resources_->registers)
                           : by_memory  ? formatted("%u bytes of local memory of each work group",
                                                    resources_->shared_bytes.value_or(0))
                                        : limiter;
      add(by_registers ? "registers" : by_memory ? "local-memory" : "group-size",
          now < fitting->waves ? 0 : hideable * (1 - fitting->waves / most),
          formatted("%s let %u of %.0f waves on a SIMD; %s", amount.c_str(), fitting->waves, most, idle.c_str()),
          by_registers ? "UPCAST or UNROLL less, so that a lane needs fewer registers"
          : by_memory  ? "use less local memory: a smaller GROUP or LOCAL"
                       : "use work groups of another size: Opt(OptOps.LOCAL, ..)");
    }
  }

  // Adds a hint if waves spend much time on their start and on loading arguments.
  void add_short_waves() {
    double arguments = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++)
      if (stalls_.roles[n].unit == InstructionUnit::ScalarMemory && double(times_[n].hits) <= double(figures_.followed))
        arguments += double(stalls_.instructions[n].waited_for.idle) / all_;
    const double start = share_of(StallReason::StartUp), share = start + arguments;
    if (!figures_.followed) return;
    add("short-waves", share * 0.75,  // with four elements for each thread, a quarter of this time would remain
        formatted("a wave issues %.0f instructions, and %.0f%% of its time goes for its start (%.0f%%) and for loading "
                  "the kernel's arguments (%.0f%%)",
                  hits_ / double(figures_.followed), share * 100, start * 100, arguments * 100),
        "give each thread more elements, such as Opt(OptOps.UPCAST, 0, 4), or fuse the kernel with its neighbours");
  }

  // Adds a hint if work groups have fewer threads than a wave has lanes.
  void add_lanes() {
    if (!figures_.wave_lanes || figures_.lanes >= figures_.wave_lanes) return;
    const double unused = 1 - double(figures_.lanes) / figures_.wave_lanes;
    add("idle-lanes", unused * (figures_.waves > 1 ? 0.9 : 0.1),
        formatted("a work group has %u threads, so that %u of the %u lanes of each of its waves (%zu) do nothing",
                  figures_.lanes, figures_.wave_lanes - figures_.lanes, figures_.wave_lanes, figures_.waves),
        formatted("use work groups of a multiple of %u threads: Opt(OptOps.LOCAL, .., %u)", figures_.wave_lanes,
                  figures_.wave_lanes));
  }

  // Vector instructions that run in fewer lanes than the wave has threads. Needs EXEC.
  void add_divergence() {
    const auto active = p_.active_lanes_of(kernel_);
    double lost = 0, most = 0;
    uint32_t worst = 0;
    for (uint32_t n = 0; n < active.size(); n++) {
      const auto text = listing_.find(p_.code_of(kernel_)->address_of(n));
      if (!times_[n].hits || text == listing_.end() || !runs_in_lanes(text->second)) continue;
      StallTime time{times_[n].hits, 0};
      for (const StallTime& t : stalls_.instructions[n].reasons) time += t;
      const double unused = 1 - double(active[n]) / double(times_[n].hits) / figures_.lanes;
      const double cost = unused * double(time.cycles) / all_;
      lost += cost;
      if (cost > most) most = cost, worst = n;
    }
    if (lost <= 0) return;
    add("divergence", lost,
        formatted("vector instructions run in %.1f of the wave's %u lanes on average, and %s in %.1f",
                  figures_.active_lanes.value_or(0), figures_.lanes, place(worst).c_str(),
                  double(active[worst]) / double(times_[worst].hits)),
        "let neighbouring threads take the same branch, or give the work of the missing lanes to whole waves");
  }

  // The cost of the memory instructions that a source line executes.
  struct LineTime {
    double idle = 0, share = 0;  // of waits for them and of their stalls: idle and all cycles, as shares
    uint64_t hits = 0;
  };
  LineTime line_time(uint32_t line, InstructionUnit unit, bool is_store) const {
    LineTime out;
    const CodeSource* source = p_.source_of(kernel_);
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      if (stalls_.roles[n].unit != unit || stalls_.roles[n].is_store != is_store || !times_[n].hits) continue;
      if (source->line_at(p_.code_of(kernel_)->address_of(n)) != line) continue;
      StallTime t = stalls_.instructions[n].waited_for;
      for (const StallTime& own : stalls_.instructions[n].reasons) t += own;
      out.idle += double(t.idle) / all_, out.share += double(t.cycles) / all_, out.hits += times_[n].hits;
    }
    return out;
  }

  // Adds hints at accesses whose lanes touch many cache lines or the same bank of local memory, and at accesses of few
  // bytes to consecutive addresses.
  void add_accesses() {
    const CodeSource* source = p_.source_of(kernel_);
    if (!source) return;
    std::vector<Hint> far, banks, narrow;
    for (const MemoryAccess& a : source->accesses) {
      const bool is_store = a.node.op == "STORE";
      const LineTime t = line_time(a.line, a.lanes ? InstructionUnit::Memory : InstructionUnit::Lds, is_store);
      if (!t.hits) continue;
      const uint32_t bytes = a.lanes ? a.lanes->bytes : a.banks->bytes;
      const uint32_t lanes = a.lanes ? a.lanes->lanes : a.banks->lanes;
      const std::string node = formatted("%zu %s (line %u) %s %u bytes for each of %u lanes", a.node.number,
                                         a.node.op.c_str(), a.line, is_store ? "stores" : "loads", bytes, lanes);
      const std::string time = formatted("%llu executions, with %.0f%% of the waves' time",
                                         static_cast<unsigned long long>(t.hits), t.share * 100);
      if (a.lanes && a.lanes->lines >= kFarFromFewest * a.lanes->fewest_lines) {
        const auto stride = static_cast<long long>(a.lanes->stride);
        const std::string apart = stride ? formatted(", %lld bytes apart,", stride) : "";
        far.push_back({"uncoalesced", t.share * (1 - double(a.lanes->fewest_lines) / a.lanes->lines),
                       formatted("%s%s %s %u cache lines of %u bytes instead of %u; %s", node.c_str(), apart.c_str(),
                                 is_store ? "to" : "from", a.lanes->lines, kCacheLine, a.lanes->fewest_lines,
                                 time.c_str()),
                       "let neighbouring lanes access neighbouring addresses: Opt(OptOps.LOCAL, ..) of the axis along "
                       "which they lie in memory"});
      } else if (a.lanes && a.next && uint32_t(std::abs(*a.next)) == a.lanes->bytes && a.lanes->bytes < 16) {
        narrow.push_back({"narrow", t.share * (1 - a.lanes->bytes / 16.0),
                          formatted("%s, and the next iteration those behind them; %s", node.c_str(), time.c_str()),
                          formatted("access 16 bytes at once: Opt(OptOps.UNROLL or UPCAST, .., %u) of this axis",
                                    16 / a.lanes->bytes)});
      }
      if (a.banks && a.banks->cycles >= kFarFromFewest * a.banks->fewest)
        banks.push_back({"bank-conflicts", t.share * (1 - double(a.banks->fewest) / a.banks->cycles),
                         formatted("%s in %u cycles instead of %u, because lanes need different words of the same bank "
                                   "of local memory; %s",
                                   node.c_str(), a.banks->cycles, a.banks->fewest, time.c_str()),
                         "pad the rows of the local buffer by one element, or let neighbouring lanes access "
                         "neighbouring elements of it"});
    }
    for (std::vector<Hint>* list : {&far, &banks, &narrow}) {
      std::ranges::stable_sort(*list, std::greater(), &Hint::gain);
      list->resize(std::min(list->size(), kMostAccesses));
      std::ranges::move(*list, std::back_inserter(out_));
    }
  }

  // Adds a hint if the kernel loads the same bytes several times.
  void add_repeats() {
    if (!figures_.work || figures_.work->read <= 0 || !figures_.followed) return;
    double loaded = 0, time = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      const InstructionRole& role = stalls_.roles[n];
      if (role.unit != InstructionUnit::Memory || role.is_store || role.is_scratch) continue;
      loaded += double(times_[n].hits) * role.bytes * figures_.lanes;
      time += double(stalls_.instructions[n].waited_for.cycles) / all_;
    }
    loaded *= double(figures_.waves) / double(figures_.followed);
    const double repeats = loaded / figures_.work->read;
    if (repeats < kManyRepeats) return;
    add("repeated-loads", time * (1 - 1 / repeats) * kOverlap,
        formatted("the kernel loads at most %.0f bytes, %.0f times the %.0f bytes that it reads; waits for loads take "
                  "%.0f%% of the waves' time",
                  loaded, repeats, figures_.work->read, time * 100),
        "keep what is loaded in registers for several outputs: Opt(OptOps.UPCAST, ..) of axes that a load does not "
        "depend on, or Opt(OptOps.LOCAL, ..)");
  }

  void add_spills() {
    double share = 0;
    uint64_t hits = 0;
    for (uint32_t n = 0; n < stalls_.roles.size(); n++) {
      if (!stalls_.roles[n].is_scratch) continue;
      share += double(stalls_.instructions[n].waited_for.cycles + times_[n].hits) / all_;
      for (const StallTime& t : stalls_.instructions[n].reasons) share += double(t.cycles) / all_;
      hits += times_[n].hits;
    }
    if (!hits) return;
    add("spills", share,
        formatted("%llu loads and stores of private memory (%u bytes of each lane, %u spilled registers) take %.0f%% "
                  "of the waves' time",
                  static_cast<unsigned long long>(hits), resources_ ? resources_->scratch_bytes.value_or(0) : 0,
                  resources_ ? resources_->spills.value_or(0) : 0, share * 100),
        "UPCAST or UNROLL less, so that the accumulators fit into registers");
  }

  // Adds a hint if some waves of the traced SIMD execute more instructions than others.
  void add_imbalance() {
    const auto& counts = stalls_.issues_of_waves;
    if (counts.size() < 2) return;
    double sum = 0, most = 0;
    for (uint64_t n : counts) sum += double(n), most = std::max(most, double(n));
    const double mean = sum / double(counts.size());
    add("imbalance", 1 - mean / most,
        formatted("the longest of %zu followed waves issues %.0f instructions, the mean is %.0f", counts.size(), most,
                  mean),
        "divide the work evenly: the loop's length or a branch depends on the thread");
  }

  // Adds hints at those reasons of stalls that suggest a change by themselves.
  void add_reasons() {
    auto worst = [&](StallReason reason) {
      auto cycles = [&](const InstructionStalls& s) { return s.reasons[size_t(reason)].cycles; };
      auto most = std::ranges::max_element(stalls_.instructions, {}, cycles);
      return place(uint32_t(most - stalls_.instructions.begin()));
    };
    auto add_reason = [&](const char* id, StallReason reason, double gain, const char* what, const char* change) {
      if (share_of(reason) < kLeastGain) return;
      add(id, gain, formatted("%s takes %.0f%% of the waves' time, most of it at %s", what, share_of(reason) * 100,
                              worst(reason).c_str()), change);
    };
    add_reason("barrier", StallReason::Barrier, idle_of(StallReason::Barrier), "waiting at barriers for other waves",
               "let the waves of a work group reach the barrier at the same time, or use smaller work groups");
    add_reason("dependency", StallReason::Dependency, idle_of(StallReason::Dependency) * 0.75,
               "waiting for the instruction before",
               "make independent operations: Opt(OptOps.UNROLL, 0, 4) of the reduction, or UPCAST");
    add_reason("instruction-fetch", StallReason::Fetch, idle_of(StallReason::Fetch), "instruction fetch",
               "make the code shorter: UNROLL less");
  }

  // Adds a hint at the load or store that waves wait for most.
  void add_wait() {
    auto most = std::ranges::max_element(stalls_.instructions, {},
                                         [](const InstructionStalls& s) { return s.waited_for.idle; });
    const uint32_t n = uint32_t(most - stalls_.instructions.begin());
    if (!most->waited_for.cycles || stalls_.roles[n].unit == InstructionUnit::ScalarMemory) return;
    const double share = double(most->waited_for.idle) / all_;
    add("wait", share * kOverlap,
        formatted("waits for %s take %.0f%% of the waves' time, and no other wave of the SIMD issues", place(n).c_str(),
                  share * 100),
        stalls_.roles[n].is_store ? "store fewer times, and more bytes at once" : "load earlier, or load more at once");
  }

  void add_counters() {
    auto totals = counter_totals(p_, kernel_);
    auto sum = [&](std::string_view name) {
      auto found = totals.find(name);
      return found == totals.end() ? 0.0 : double(found->second.sum);
    };
    const double conflicts = sum("SQC_LDS_BANK_CONFLICT"), lds = sum("SQC_LDS_IDX_ACTIVE");
    const bool is_known = std::ranges::find(out_, "bank-conflicts", &Hint::id) != out_.end();
    if (lds > 0 && conflicts > 0 && !is_known)
      add("bank-conflicts", (stalls_.instructions.empty() ? 1 : share_of(StallReason::Lds)) * conflicts / lds,
          formatted("%.0f%% of the cycles of local memory are bank conflicts (SQC_LDS_BANK_CONFLICT %.0f of "
                    "SQC_LDS_IDX_ACTIVE %.0f)",
                    conflicts / lds * 100, conflicts, lds),
          "pad the rows of local buffers by one element");
    const double hits = sum("GL2C_HIT"), misses = sum("GL2C_MISS");
    if (hits + misses > 1000)
      add("cache-misses",
          (stalls_.instructions.empty() ? 1 : share_of(StallReason::Memory)) * kOverlap * misses / (hits + misses),
          formatted("%.0f%% of the requests miss the L2 cache (GL2C_MISS %.0f of %.0f)", misses / (hits + misses) * 100,
                    misses, hits + misses),
          "reuse data while it is there, or read neighbouring addresses in neighbouring threads");
  }

  const Profile& p_;
  size_t kernel_;
  const KernelRun& run_;
  const Listings::Listing& listing_;
  const StallReport& stalls_;
  KernelFigures figures_;
  std::vector<InstructionTimes> times_;
  std::optional<KernelResources> resources_;
  double all_ = 1, idle_ = 0, hits_ = 0;
  std::vector<Hint> out_;
};

}  // namespace

std::string Hint::text() const {
  return formatted("up to %.0f%% of the time: ", gain * 100) + measured + ": " + change;
}

std::vector<Hint> hints(const Profile& p, size_t kernel, const Listings::Listing& listing, const StallReport& stalls) {
  return HintFinder(p, kernel, listing, stalls).find();
}

}  // namespace tgc::profile
