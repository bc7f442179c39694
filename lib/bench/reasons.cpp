#include "lib/bench/reasons.h"

#include <algorithm>
#include <cmath>

#include "lib/profile/code_source.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr double kShort = 20e-6;         // seconds: below this, other threads do not pay
constexpr double kLongReduction = 64;    // iterations
constexpr int64_t kLine = 64;            // bytes of a cache line of a CPU
constexpr uint32_t kWave = 32;           // lanes of a wave
constexpr double kFewest = 1.15;         // reasons of less weight are not worth a line

// An access to global memory in the linear list.
struct Access {
  UOp node, loop;        // the LOAD or STORE; the innermost loop around it, or empty
  double times = 1;      // how often a launch executes it
  double bytes = 0;      // of one execution
  bool is_gated = false;
};

// What one pass over the list finds.
class ListFacts {
 public:
  explicit ListFacts(std::span<const UOp> list) {
    std::vector<std::pair<UOp, double>> open;  // the loops around the current node, with the iterations outside of them
    for (UOp u : list) {
      if (u.is(Op::SPECIAL)) times_ *= extent_of(u);
      if (u.is(Op::RANGE)) {
        open.push_back({u, times_});
        times_ *= extent_of(u);
        if (is_reduction(u)) longest_reduction = std::max(longest_reduction, extent_of(u));
      } else if (u.is(Op::END) && !open.empty()) {
        times_ = open.back().second, open.pop_back();
      } else if (u.in({Op::LOAD, Op::STORE})) {
        add_access(u, open.empty() ? UOp() : open.back().first);
      } else if (u.is(Op::DEFINE_REG)) {
        accumulators += std::max<int64_t>(1, u.dtype().size());
      } else if (u.is(Op::WHERE) && compares_indices(u.src(0))) {
        gated_times += times_;
      } else if (u.is(Op::WMMA)) {
        has_tensor_core = true;
      }
      if (ops::ALU.contains(u.op()) && dtypes::is_float(u.dtype().scalar())) float_times += times_ * u.dtype().vcount();
    }
  }

  std::vector<Access> loads, stores;
  double longest_reduction = 0;
  int64_t accumulators = 0;
  double gated_times = 0, float_times = 0;
  bool has_tensor_core = false;

  double loaded_bytes() const {
    double out = 0;
    for (const Access& a : loads) out += a.times * a.bytes;
    return out;
  }
  double most_times() const {
    double out = 0;
    for (const Access& a : loads) out = std::max(out, a.times);
    return out;
  }

 private:
  static double extent_of(UOp u) { return std::max(1.0, u.src(0).vmax().to_double()); }
  static bool is_reduction(UOp range) {
    const std::string arg = range.arg().repr();
    return arg.find("REDUCE") != arg.npos || arg.find("UNROLL") != arg.npos;
  }
  static bool compares_indices(UOp condition) {
    for (UOp u : toposort(condition)) {
      if (u.is(Op::LOAD)) return false;
      if (u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ}) && dtypes::is_int(u.src(0).dtype().scalar())) return true;
    }
    return false;
  }
  void add_access(UOp u, UOp loop) {
    UOp index = u.src(0);
    while (index.is(Op::CAST) && index.num_src()) index = index.src(0);
    if (!index.is(Op::INDEX) || !index.src(0).is(Op::DEFINE_GLOBAL)) return;
    const DType dtype = u.is(Op::LOAD) ? u.dtype() : u.src(1).dtype();
    const bool is_gated = (u.is(Op::LOAD) && u.num_src() > 1) ||
                          (index.num_src() > 2 && index.src(2).dtype() == dtypes::bool_);
    (u.is(Op::LOAD) ? loads : stores).push_back({u, loop, times_, double(dtype.itemsize()), is_gated});
  }
  double times_ = 1;
};

uint64_t product(const std::array<uint32_t, 3>& sizes) { return uint64_t(sizes[0]) * sizes[1] * sizes[2]; }

class ReasonFinder {
 public:
  explicit ReasonFinder(const SlowKernel& kernel) : k_(kernel), facts_(kernel.list) {}

  std::vector<Reason> find() {
    add_parallelism();
    add_unrolling();
    add_reduction();
    add_strides();
    add_repeated_loads();
    add_spills();
    add_bounds_checks();
    std::erase_if(out_, [](const Reason& r) { return r.weight < kFewest; });
    std::ranges::stable_sort(out_, std::greater(), &Reason::weight);
    return std::move(out_);
  }

 private:
  void add(Slowness kind, double weight, std::string text) {
    out_.push_back({.kind = kind, .text = std::move(text), .weight = weight});
  }
  bool is_scalar() const {
    return k_.resources && k_.resources->vector_bits && *k_.resources->vector_bits == 0;
  }
  uint64_t groups() const { return product(k_.launch.global); }
  uint64_t threads() const { return k_.launch.local ? product(*k_.launch.local) : kWave; }

  void add_parallelism() {
    if (k_.is_cpu) {
      if (groups() < k_.units && k_.seconds > kShort)
        add(Slowness::FewThreads, double(k_.units) / double(groups()),
            formatted("runs on %llu of %u threads of the CPU: THREAD divides a loop among them",
                      static_cast<unsigned long long>(groups()), k_.units));
      return;
    }
    const bool reduces_alone = facts_.longest_reduction >= kLongReduction && groups() < k_.units * 4ULL &&
                               threads() < kWave;
    if (reduces_alone)
      return add(Slowness::OneThreadReduces, std::min(64.0, double(kWave) / double(threads()) * 2),
                 formatted("%llu threads make reductions of %.0f iterations, each alone: GROUP and GROUPTOP divide a "
                           "reduction among the threads of a group",
                           static_cast<unsigned long long>(groups() * threads()), facts_.longest_reduction));
    if (groups() < k_.units)
      add(Slowness::FewGroups, double(k_.units) / double(groups()),
          formatted("%s for %u compute units: smaller work groups (LOCAL), less UPCAST, or GROUPTOP make more",
                    counted(groups(), "work group").c_str(), k_.units));
    if (threads() < kWave / 2)
      add(Slowness::SmallGroups, std::min(8.0, double(kWave) / double(threads())),
          formatted("a work group has %s, and a wave has %u lanes: LOCAL makes larger groups",
                    counted(threads(), "thread").c_str(), kWave));
  }

  void add_unrolling() {
    if (k_.opts || facts_.has_tensor_core || facts_.most_times() < 2) return;
    const bool reduces = facts_.longest_reduction > 1;
    const double weight = reduces ? (is_scalar() || !k_.is_cpu ? 9 : 5) : is_scalar() ? 4 : 1.2;
    add(Slowness::NotUnrolled, weight,
        std::string("no UPCAST and no UNROLL: each iteration computes one element") +
            (reduces ? ", so that nothing is reused in registers" : "") + (is_scalar() ? ", without vectors" : ""));
  }

  void add_reduction() {
    if (facts_.longest_reduction < kLongReduction || facts_.accumulators == 0 || facts_.has_tensor_core) return;
    if (facts_.accumulators >= 8) return;
    const double adds = k_.cost.ops / std::max(1.0, facts_.most_times());
    const double weight = 1 + 4.0 / double(facts_.accumulators) * (is_scalar() || k_.opts == 0 ? 1 : 0.75);
    if (adds > 64) return;  // other work hides the latency of the additions
    add(Slowness::SerialReduction, weight,
        formatted(
            "%s of a reduction of %.0f iterations: each addition waits for the one before. UPCAST (more outputs at "
            "a time) or UNROLL make independent additions",
            counted(uint64_t(facts_.accumulators), "accumulator").c_str(), facts_.longest_reduction));
  }

  void add_strides() {
    double bytes = 0, strided = 0, gap = 0;
    std::string worst;
    for (const Access& a : facts_.loads) add_stride(a, bytes, strided, gap, worst);
    for (const Access& a : facts_.stores) add_stride(a, bytes, strided, gap, worst);
    if (strided <= 0.2 * bytes) return;
    // a line that is loaded for one element stays in a cache only while little else is loaded
    const bool is_large = k_.cost.bytes() > 256 << 10;
    const double lost = std::min(16.0, gap), share = strided / bytes;
    add(Slowness::StridedLoads, 1 + share * (lost - 1) * (is_large ? 0.6 : 0.25),
        formatted("%.0f%% of the accessed bytes are not contiguous: %s. ", share * 100, worst.c_str()) +
            (k_.is_cpu ? "UPCAST of the contiguous axis loads vectors"
                       : "LOCAL of the contiguous axis lets neighbouring threads access neighbouring addresses"));
  }
  void add_stride(const Access& a, double& bytes, double& strided, double& gap, std::string& worst) {
    const double all = a.times * a.bytes;
    if (k_.is_cpu) {
      const auto stride = a.loop ? profile::loop_stride(a.node, a.loop) : std::nullopt;
      if (!stride || *stride == 0) return;
      bytes += all;
      if (std::llabs(*stride) <= int64_t(a.bytes) || a.bytes >= double(kLine)) return;
      strided += all;
      note(double(std::min<int64_t>(std::llabs(*stride), kLine)) / a.bytes, gap, worst,
           formatted(
               "each iteration of the innermost loop %s %.0f bytes, %lld bytes after those of the iteration before",
               a.node.is(Op::LOAD) ? "loads" : "stores", a.bytes, static_cast<long long>(*stride)));
      return;
    }
    const auto lanes = profile::lane_access(a.node, kWave, profile::group_sizes(k_.list));
    bytes += all;
    if (!lanes || lanes->lines < 2 * lanes->fewest_lines) return;
    strided += all;
    note(double(lanes->lines) / lanes->fewest_lines, gap, worst,
         formatted("%u neighbouring threads %s %u cache lines instead of %u", lanes->lanes,
                   a.node.is(Op::LOAD) ? "load from" : "store to", lanes->lines, lanes->fewest_lines));
  }
  static void note(double factor, double& gap, std::string& worst, std::string text) {
    if (factor > gap) gap = factor, worst = std::move(text);
  }

  void add_repeated_loads() {
    const double loaded = facts_.loaded_bytes(), repeats = loaded / std::max(1.0, k_.cost.read);
    const double each = k_.cost.ops > 0 ? loaded / 4 / k_.cost.ops : 0;  // loaded words for an operation
    if (repeats < 8 || each < 0.2) return;
    add(Slowness::RepeatedLoads, 1 + std::min(6.0, 4 * each) * (k_.opts ? 1 : 0.8),
        formatted(
            "loads each byte %.0f times, %.2f loaded words for an operation: UPCAST of an axis that an operand does "
            "not have reuses it in registers",
            repeats, each));
  }

  void add_spills() {
    if (!k_.resources || !k_.resources->spills) return;
    const KernelResources& r = *k_.resources;
    const double count = double(*r.spills) + double(r.reloads.value_or(0));
    if (count < 1) return;
    const double instructions = std::max(1.0, double(r.code_bytes.value_or(4096)) / 6);
    const double share = r.spill_unit == "instructions" ? count / instructions : std::min(1.0, count / 64);
    add(Slowness::Spills, 1 + 12 * share,
        formatted("the compiler spills registers: %u stored and %u loaded (%s). Less UPCAST or UNROLL needs fewer",
                  *r.spills, r.reloads.value_or(0), std::string(r.spill_unit).c_str()));
  }

  void add_bounds_checks() {
    double gated = facts_.gated_times, all = 0;
    for (const Access& a : facts_.loads) all += a.times, gated += a.is_gated ? a.times : 0;
    if (all == 0 || gated < 0.25 * all) return;
    add(Slowness::BoundsChecks, 1 + 2.5 * std::min(1.0, gated / all) * (is_scalar() || !k_.is_cpu ? 1.5 : 1),
        formatted("%.0f%% of the loads and values depend on a comparison of indices (a pad, or a size that no opt "
                  "divides): pad the tensors before, or let UPCAST and UNROLL divide the axis that is compared",
                  std::min(1.0, gated / all) * 100));
  }

  const SlowKernel& k_;
  const ListFacts facts_;
  std::vector<Reason> out_;
};

}  // namespace

std::string_view name_of(Slowness kind) {
  constexpr std::string_view kNames[] = {"few-threads",        "few-groups",    "small-groups",   "not-unrolled",
                                         "serial-reduction",   "one-thread-reduces", "strided-loads", "repeated-loads",
                                         "spills",             "bounds-checks"};
  return kNames[size_t(kind)];
}

std::vector<Reason> reasons_of(const SlowKernel& kernel) { return ReasonFinder(kernel).find(); }

}  // namespace tgc
