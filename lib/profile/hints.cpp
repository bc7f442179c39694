#include <algorithm>

#include "lib/compile/occupancy.h"
#include "lib/profile/report.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

// Thresholds: a share below which a hint would be noise.
constexpr double kWaitShare = 0.25, kConflictShare = 0.1, kLowUse = 10, kMissShare = 0.5, kIdleShare = 0.25;
constexpr uint32_t kFarLines = 2;  // times the fewest possible cache lines
constexpr size_t kMostAccesses = 3;

bool is_wait(std::string_view assembly) { return assembly.starts_with("s_wait"); }
bool is_load(std::string_view assembly) {
  return assembly.find("_load") != assembly.npos && !assembly.starts_with("s_");
}

void add_waits(const Profile& p, size_t kernel, const Listings::Listing& listing, std::vector<std::string>& out) {
  auto times = p.instructions_of(kernel);
  double all = 0;
  for (const auto& t : times) all += double(t.cycles);
  std::string last_load;
  size_t loads = 0;  // loads since the last wait
  for (uint32_t n = 0; n < times.size(); n++) {
    auto text = listing.find(p.code_of(kernel)->address_of(n));
    if (text == listing.end() || !times[n].hits) continue;
    std::string place = formatted("'%s' (%#x)", text->second.c_str(), unsigned(text->first));
    if (is_load(text->second)) last_load = place, loads++;
    if (!is_wait(text->second)) continue;
    double idle = double(times[n].idle);
    if (!last_load.empty() && idle > kWaitShare * all)
      out.push_back(formatted(
          "waves wait %.0f%% of their time at %s for %zu load%s, the last of them %s, and no other wave of the SIMD "
          "issues: load earlier, load more at once, or run more waves",
          idle / all * 100, place.c_str(), loads, loads == 1 ? "" : "s", last_load.c_str()));
    loads = 0;
  }
}

// ---- from the kernel's descriptor

struct Resources {
  uint32_t vector_registers = 0;  // registers of each lane
  uint32_t local_bytes = 0;
  uint32_t fitting_waves = 0;     // waves that fit on a SIMD by their vector registers
};
constexpr uint32_t kMostWaves = 16;               // most waves on a SIMD of RDNA
constexpr uint32_t kLocalBytes = 64 << 10;        // local memory of a compute unit, for which tinygrad compiles

// Empty if the processor or the form of the binary is unknown.
std::optional<Resources> resources_of(const KernelRun& run) {
  if (!run.program || isa_of(run.arch) == Isa::None) return {};
  auto resources = program_resources(*run.program, run.arch);
  if (!resources) return {};
  Resources out{.vector_registers = *resources->registers, .local_bytes = *resources->shared_bytes};
  out.fitting_waves = amd_processor(run.arch).value_or(AmdProcessor()).fitting_waves(out.vector_registers);
  return out;
}

// The largest number of waves at a time on SIMD 0 of compute unit 0.
size_t most_waves(const Profile& p, size_t kernel) {
  size_t out = 0;
  for (size_t i : p.trace.kernels[kernel].sqtt) {
    std::vector<std::pair<int64_t, int>> changes;
    for (const WaveSpan& w : p.summaries[i].waves)
      if (w.cu == 0 && w.simd == 0 && w.begin != WaveSpan::kUnknown && w.end != WaveSpan::kUnknown)
        changes.insert(changes.end(), {{w.begin, 1}, {w.end, -1}});
    std::ranges::sort(changes);
    size_t now = 0;
    for (auto [time, change] : changes) out = std::max(out, now += size_t(change));
  }
  return out;
}

void add_occupancy(const Profile& p, size_t kernel, std::vector<std::string>& out) {
  auto r = resources_of(p.trace.kernels[kernel]);
  double cycles = 0, idle = 0;
  for (const auto& t : p.instructions_of(kernel)) cycles += double(t.cycles), idle += double(t.idle);
  size_t most = most_waves(p, kernel);
  if (!r || !most || idle < kIdleShare * cycles) return;
  const std::string share = formatted("for %.0f%% of the waves' time no wave of the SIMD issues", idle / cycles * 100);
  const uint32_t groups = r->local_bytes ? kLocalBytes / r->local_bytes : UINT32_MAX;
  if (r->fitting_waves < kMostWaves && most >= r->fitting_waves)
    out.push_back(formatted("%u vector registers of each lane let %u of %u waves on a SIMD, and %s: upcast or unroll "
                            "less, so that more waves hide the waiting",
                            r->vector_registers, r->fitting_waves, kMostWaves, share.c_str()));
  else if (groups < 4)
    out.push_back(formatted("%u bytes of local memory let %u work group%s on a compute unit, and %s: use less local "
                            "memory, so that more waves hide the waiting",
                            r->local_bytes, groups, groups == 1 ? "" : "s", share.c_str()));
  else if (most < r->fitting_waves / 2)
    out.push_back(formatted("the traced SIMD has at most %zu wave%s at a time, though %u fit by their %u vector "
                            "registers, and %s: launch more or larger work groups",
                            most, most == 1 ? "" : "s", r->fitting_waves, r->vector_registers, share.c_str()));
}

// ---- from the kernel's index expressions

void add_accesses(const Profile& p, size_t kernel, std::vector<std::string>& out) {
  const CodeSource* source = p.source_of(kernel);
  if (!source) return;
  auto times = p.instructions_of(kernel);
  std::map<uint32_t, uint64_t> cycles;  // by source line; absent: not executed
  uint64_t all = 0;
  for (uint32_t n = 0; n < times.size(); n++) {
    if (times[n].hits) cycles[source->line_at(p.code_of(kernel)->address_of(n))] += times[n].cycles;
    all += times[n].cycles;
  }
  std::vector<std::pair<double, std::string>> found;  // by the number of superfluous cache lines
  for (const MemoryAccess& a : source->accesses) {
    auto executed = cycles.find(a.line);
    if (executed == cycles.end() || a.lanes.lines < kFarLines * a.lanes.fewest_lines) continue;
    std::string apart = a.lanes.stride ? formatted(", %lld bytes apart,", static_cast<long long>(a.lanes.stride)) : "";
    found.emplace_back(
        a.lanes.lines - a.lanes.fewest_lines,
        formatted("%zu %s (line %u) %s %u bytes for each of %u lanes%s %s %u cache lines of %u bytes instead of %u; "
                  "its line takes %.0f%% of the cycles: let neighbouring lanes access neighbouring addresses",
                  a.node.number, a.node.op.c_str(), a.line, a.node.op == "STORE" ? "stores" : "loads", a.lanes.bytes,
                  a.lanes.lanes, apart.c_str(), a.node.op == "STORE" ? "to" : "from", a.lanes.lines, kCacheLine,
                  a.lanes.fewest_lines, all ? double(executed->second) / double(all) * 100 : 0));
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<double, std::string>::first);
  for (size_t n = 0; n < std::min(found.size(), kMostAccesses); n++) out.push_back(std::move(found[n].second));
}

// Says how seldom the traced SIMD issued a vector instruction, if no counter says it.
void add_vector_use(const Profile& p, size_t kernel, const Listings::Listing& listing, std::vector<std::string>& out) {
  double vector = 0, span = 0;
  for (size_t i : p.trace.kernels[kernel].sqtt) {
    const SqttSummary& s = p.summaries[i];
    if (s.instructions.empty()) continue;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const WaveSpan& w : s.waves)
      if (w.cu == 0 && w.simd == 0 && w.begin != WaveSpan::kUnknown && w.end != WaveSpan::kUnknown)
        first = std::min(first, w.begin), last = std::max(last, w.end);
    if (last > first) span += double(last - first);
    for (uint32_t n = 0; n < s.instructions.size(); n++) {
      auto text = listing.find(p.code_of(kernel)->address_of(n));
      if (text != listing.end() && text->second.starts_with("v_")) vector += double(s.instructions[n].hits);
    }
  }
  if (span > 0 && vector / span * 100 < kLowUse)
    out.push_back(formatted("the traced SIMD issues a vector instruction in %.1f%% of the %.0f cycles from its first "
                            "wave's begin to its last one's end: the kernel is too small for the GPU, or waits",
                            vector / span * 100, span));
}

}  // namespace

std::vector<std::string> hints(const Profile& p, size_t kernel, const Listings::Listing& listing) {
  std::vector<std::string> out;
  const bool has_times = p.trace.emulator.empty();  // the cycles of an emulated GPU are no times
  if (has_times) add_waits(p, kernel, listing, out);
  add_accesses(p, kernel, out);
  if (!has_times) return out;
  add_occupancy(p, kernel, out);
  auto totals = counter_totals(p, kernel);
  auto sum = [&](std::string_view name) {
    auto found = totals.find(name);
    return found == totals.end() ? 0.0 : double(found->second.sum);
  };
  double conflicts = sum("SQC_LDS_BANK_CONFLICT"), lds = sum("SQC_LDS_IDX_ACTIVE");
  if (lds > 0 && conflicts > kConflictShare * lds)
    out.push_back(formatted("%.0f%% of the cycles of local memory are bank conflicts (SQC_LDS_BANK_CONFLICT %.0f of "
                            "SQC_LDS_IDX_ACTIVE %.0f): pad the rows of local buffers",
                            conflicts / lds * 100, conflicts, lds));
  bool has_use = false;
  for (auto& [name, percent] : derived_counters(p, kernel))
    if (has_use |= name == "VALU utilization"; name == "VALU utilization" && percent < kLowUse)
      out.push_back(formatted("the vector units are used %.1f%% of the time (SQ_INSTS_VALU, GRBM_GUI_ACTIVE): the "
                              "kernel is too small for the GPU, or waits", percent));
  if (!has_use) add_vector_use(p, kernel, listing, out);
  double hits = sum("GL2C_HIT"), misses = sum("GL2C_MISS");
  if (hits + misses > 1000 && misses > kMissShare * (hits + misses))
    out.push_back(formatted("%.0f%% of the requests miss the L2 cache (GL2C_MISS %.0f of %.0f): reuse data while it is "
                            "there, or read neighbouring addresses in neighbouring threads",
                            misses / (hits + misses) * 100, misses, hits + misses));
  return out;
}

}  // namespace tgc::profile
