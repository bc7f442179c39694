#include "lib/bench/reasons.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "lib/profile/lane_access.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr double kShortSeconds = 20e-6;  // if a kernel takes less time, more threads do not pay
constexpr int64_t kLine = 64;            // bytes of a cache line of a CPU
// sets of the level 1 and level 2 cache of a CPU, and ways of each
constexpr int64_t kSmallSets = 64, kLargeSets = 1024, kWays = 8;
constexpr uint32_t kWave = 32;           // threads that a GPU runs in lockstep
constexpr uint32_t kVector = 8;          // floats in a vector register of a CPU
constexpr double kIndependent = 8;       // independent additions that hide the latency of one
constexpr double kUpcastReuses = 4;      // times that an UPCAST of 4 reuses a loaded element
constexpr double kGateInstructions = 8;  // instructions that a comparison of indices adds to a load or value
constexpr double kMostShare = 0.97;      // maximum share of a kernel's time that one reason explains
constexpr double kLeastSpeedup = 1.05;    // minimum possible_speedup of a reported reason

struct BufferAccess {
  UOp node, loop;        // the LOAD or STORE; the innermost loop around it, or empty
  double executions = 1;      // number of executions in a launch; on a CPU, in one thread
  double bytes = 0;      // number of bytes that one execution moves
  bool is_gated = false;
  double buffer_bytes = 0;
};

// On a CPU, the linear list is that of one thread.
class LinearListFacts {
 public:
  explicit LinearListFacts(std::span<const UOp> list) {
    std::vector<std::pair<UOp, double>> open;  // the open loops, with the executions of the code around each
    for (UOp u : list) {
      if (u.is(Op::SPECIAL)) executions_ *= extent_of(u);
      if (u.is(Op::RANGE)) {
        open.push_back({u, executions_});
        executions_ *= extent_of(u);
        if (is_reduction(u))
          longest_reduction = std::max(longest_reduction, extent_of(u)),
          reduction_steps = std::max(reduction_steps, executions_);
      } else if (u.is(Op::END) && !open.empty()) {
        executions_ = open.back().second, open.pop_back();
      } else if (u.in({Op::LOAD, Op::STORE})) {
        add_access(u, open.empty() ? UOp() : open.back().first);
      } else if (u.is(Op::DEFINE_REG)) {
        accumulators += double(std::max<int64_t>(1, u.dtype().size()));
      } else if (u.is(Op::WHERE) && compares_indices(u.src(0))) {
        num_gated_values += executions_;
      } else if (u.is(Op::WMMA)) {
        has_tensor_core = true;
      }
      if (ops::ALU.contains(u.op()) && dtypes::is_float(u.dtype().scalar()))
        num_instructions += executions_ * u.dtype().vcount();
    }
  }

  std::vector<BufferAccess> loads, stores;
  double longest_reduction = 0;  // number of iterations of the longest reduction
  double reduction_steps = 0;              // number of executions of the body of the most executed reduction
  double accumulators = 0;       // number of elements in the accumulators of reductions
  double num_gated_values = 0;              // executed values and loads that depend on a comparison of indices
  double num_instructions = 0;               // executed operations on floats, loads and stores, as scalar code
  bool has_tensor_core = false;

  double loaded_bytes() const {
    double out = 0;
    for (const BufferAccess& a : loads) out += a.executions * a.bytes;
    return out;
  }
  double max_load_executions() const {
    double out = 0;
    for (const BufferAccess& a : loads) out = std::max(out, a.executions);
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
    const DType buffer = index.src(0).dtype();
    const double all = buffer.size() > 0 ? double(buffer.size()) * double(buffer.base().itemsize()) : INFINITY;
    (u.is(Op::LOAD) ? loads : stores).push_back({u, loop, executions_, double(dtype.itemsize()), is_gated, all});
    num_instructions += executions_ * dtype.vcount();
    if (u.is(Op::LOAD) && is_gated) num_gated_values += executions_;
  }
  double executions_ = 1;
};

// The loads or the stores of a loop in one buffer whose addresses advance by the same number of bytes each iteration.
struct LoopAccess {
  UOp buffer, loop;
  int64_t stride = 0;
  bool is_load = true;
  double executions = 1,
         bytes = 0;  // BufferAccess::executions of one of the accesses; bytes of all of them in one iteration
  std::set<int64_t> lines = {};  // cache lines that an iteration touches
};

uint64_t product(const std::array<uint32_t, 3>& sizes) { return uint64_t(sizes[0]) * sizes[1] * sizes[2]; }

// Estimates the seconds that each reason costs a launch.
class ReasonFinder {
 public:
  explicit ReasonFinder(const SlowKernel& kernel) : kernel_(kernel), peaks_(kernel.peaks), facts_(kernel.linear_list) {
    const double busy = std::max(1.0, std::min(double(num_groups()), double(kernel_.num_units)));
    time_scale_ = kernel_.is_cpu ? 1 : 1 / busy;
    launch_scale_ = kernel_.is_cpu ? double(num_groups()) : 1;
  }

  std::vector<SlownessReason> find_reasons() {
    add_parallelism();
    const double serial = add_serial_reduction(), strided = add_strides(), repeated = add_repeated_loads();
    add_not_unrolled(serial + strided + repeated);
    add_spills();
    add_bounds_checks();
    std::erase_if(out_, [](const SlownessReason& r) { return r.possible_speedup < kLeastSpeedup; });
    std::ranges::stable_sort(out_, std::greater(), &SlownessReason::possible_speedup);
    return std::move(out_);
  }

 private:
  // Adds a reason that costs `lost` seconds of a launch. Returns `lost`, limited to kMostShare of the fastest run.
  double add_reason(SlownessKind kind, double lost, std::string text) {
    const double share = kernel_.fastest_seconds > 0 ? std::clamp(lost / kernel_.fastest_seconds, 0.0, kMostShare) : 0;
    out_.push_back({.kind = kind, .text = std::move(text), .possible_speedup = 1 / (1 - share)});
    return share * kernel_.fastest_seconds;
  }
  // An OpenCL device of the CPU runs the items of a group one after another, and runs a loop of an item as a CPU kernel
  // does. Its compiler makes vectors only of kernels without loops.
  bool runs_loops() const { return kernel_.is_cpu || (has_measured_groups() && facts_.reduction_steps > 0); }
  bool is_scalar() const {
    return runs_loops() && kernel_.resources && kernel_.resources->vector_bits && *kernel_.resources->vector_bits == 0;
  }
  uint64_t num_groups() const { return std::max<uint64_t>(1, product(kernel_.launch_size.global_size)); }
  uint64_t num_threads() const {
    return kernel_.launch_size.local_size ? product(*kernel_.launch_size.local_size) : kWave;
  }
  // True for an OpenCL device, which is assumed to be the CPU.
  bool has_measured_groups() const { return peaks_.group_seconds > 0; }
  // Return the seconds that the instructions take as scalar code, and the part of this time that vectors would save.
  double scalar_seconds() const { return facts_.num_instructions * peaks_.instruction_seconds * time_scale_; }
  double vector_saving_seconds() const { return is_scalar() ? scalar_seconds() * (1 - 1.0 / kVector) : 0; }

  void add_parallelism() {
    const double idle = 1 - double(num_groups()) / double(kernel_.num_units);
    if (kernel_.is_cpu) {
      if (idle > 0 && kernel_.fastest_seconds > kShortSeconds)
        add_reason(SlownessKind::FewThreads, kernel_.fastest_seconds * idle,
                   formatted("runs on %llu of %u threads of the CPU: THREAD divides a loop among them",
                             static_cast<unsigned long long>(num_groups()), kernel_.num_units));
      return;
    }
    if (facts_.longest_reduction >= kWave && num_groups() < kernel_.num_units * 4ULL && num_threads() < kWave &&
        !has_measured_groups())
      add_reason(SlownessKind::OneThreadReduces, kernel_.fastest_seconds * (1 - double(num_threads()) / kWave / 2),
                 formatted("%llu threads make reductions of %.0f iterations, each alone: GROUP and GROUPTOP divide a "
                           "reduction among the threads of a group",
                           static_cast<unsigned long long>(num_groups() * num_threads()), facts_.longest_reduction));
    if (idle > 0)
      add_reason(SlownessKind::FewGroups, kernel_.fastest_seconds * idle,
                 formatted("%s for %u compute units: smaller work groups (LOCAL), less UPCAST, or GROUPTOP make more",
                           count_text(num_groups(), "work group").c_str(), kernel_.num_units));
    if (num_threads() >= kWave) return;
    const double lost = has_measured_groups() ? double(num_groups()) * peaks_.group_seconds * time_scale_
                                              : kernel_.fastest_seconds * (1 - double(num_threads()) / kWave);
    add_reason(SlownessKind::SmallGroups, lost,
               formatted("a work group has %s, and a wave has %u lanes: LOCAL makes larger and fewer groups",
                         count_text(num_threads(), "thread").c_str(), kWave));
  }

  // `together` is the time in seconds that other reasons cost, all of which an UPCAST would remove.
  void add_not_unrolled(double together) {
    if (kernel_.num_unrolling_opts || facts_.has_tensor_core || facts_.max_load_executions() < 2) return;
    const bool reuses = num_repeats() >= kUpcastReuses;
    if (!reuses && !is_scalar()) return;
    const double lost = std::max(reuses ? together : 0, vector_saving_seconds());
    add_reason(SlownessKind::NotUnrolled, lost,
               std::string("no UPCAST and no UNROLL: each iteration computes one element") +
            (reuses ? ", so that nothing is reused in registers" : "") + (is_scalar() ? ", without vectors" : ""));
    // puts this reason before the reasons that it contains, if their speedups are equal
    std::rotate(out_.begin(), out_.end() - 1, out_.end());
  }

  double add_serial_reduction() {
    if (facts_.longest_reduction < kVector || facts_.accumulators == 0 || facts_.has_tensor_core) return 0;
    // the items of a GPU's work group are independent, too
    const double items = runs_loops() ? 1 : double(num_threads());
    const double chains = facts_.accumulators * std::max(1.0, items / kVector);
    if (chains >= kIndependent) return 0;
    return add_reason(
        SlownessKind::SerialReduction,
        facts_.reduction_steps / items * peaks_.addition_latency_seconds * time_scale_ * (1 - chains / kIndependent),
        formatted("%s of a reduction of %.0f iterations: each addition waits for the one before. UPCAST (more "
                  "outputs at a time) or UNROLL make independent additions",
                  count_text(uint64_t(facts_.accumulators), "accumulator").c_str(), facts_.longest_reduction));
  }

  double add_strides() { return runs_loops() ? add_loop_strides() : add_lane_strides(); }

  std::vector<LoopAccess> loop_accesses() const {
    std::vector<LoopAccess> out;
    for (const auto* list : {&facts_.loads, &facts_.stores})
      for (const BufferAccess& a : *list) {
        if (!a.loop) continue;
        const auto stride = profile::loop_stride(a.node, a.loop), address = profile::first_address(a.node);
        if (!stride || !address) continue;
        UOp index = a.node.src(0);
        while (index.is(Op::CAST)) index = index.src(0);
        const bool is_load = list == &facts_.loads;
        auto same = std::ranges::find_if(out, [&](const LoopAccess& l) {
          return l.buffer == index.src(0) && l.loop == a.loop && l.stride == *stride && l.is_load == is_load;
        });
        if (same == out.end())
          same = out.insert(out.end(), {.buffer = index.src(0), .loop = a.loop, .stride = *stride, .is_load = is_load});
        same->executions = a.executions, same->bytes += a.bytes;
        for (int64_t line = *address / kLine; line <= (*address + int64_t(a.bytes) - 1) / kLine; line++)
          same->lines.insert(line);
      }
    return out;
  }

  // Returns the seconds to load one cache line of the innermost loop. When the loop runs again, the line comes from the
  // smallest cache that holds all lines of one run of the loop. Lines whose distance is a power of two share few sets
  // of a cache, so fewer of them fit.
  double line_seconds(const LoopAccess& l) const {
    const double lines = double(l.lines.size()) * std::max(1.0, l.loop.src(0).vmax().to_double());
    const int64_t gap = std::max<int64_t>(1, std::llabs(l.stride) / kLine);
    auto holds = [&](int64_t sets) { return lines <= double(sets / std::gcd(gap, sets) * kWays); };
    return holds(kSmallSets) ? 0 : holds(kLargeSets) ? peaks_.near_load_seconds : peaks_.far_load_seconds;
  }

  double add_loop_strides() {
    double lost = 0, worst_lost = -1;
    std::string worst;
    for (const LoopAccess& l : loop_accesses()) {
      const double needed = std::ceil(l.bytes / kLine), lines = double(l.lines.size());
      const int64_t stride = std::llabs(l.stride);
      if (stride <= int64_t(l.bytes) || (stride >= kLine && l.bytes >= kLine * lines)) continue;
      const double share = std::min(1.0, double(stride) / kLine);  // part of a cache line that is new in each iteration
      const double each = l.executions * std::max(0.0, lines * share - l.bytes / kLine) * line_seconds(l) * time_scale_;
      lost += each;
      if (each <= worst_lost) continue;
      worst_lost = each;
      worst =
          formatted("each iteration of the innermost loop %s %.0f bytes of %s, %lld bytes after those before",
                    l.is_load ? "loads" : "stores", l.bytes,
                    count_text(uint64_t(std::max(needed, lines)), "line").c_str(), static_cast<long long>(l.stride));
    }
    if (worst.empty()) return 0;
    return add_reason(
        SlownessKind::StridedLoads, lost + vector_saving_seconds(),
        worst + ", so that they are no vectors. UPCAST of the contiguous axis loads vectors and whole lines");
  }

  double add_lane_strides() {
    double lines = 0, fewest = 0, lost = 0, gap = 0;
    std::string worst;
    for (const auto* list : {&facts_.loads, &facts_.stores})
      for (const BufferAccess& a : *list) {
        const auto lanes = profile::lane_access(a.node, kWave, profile::group_sizes(kernel_.linear_list));
        if (!lanes) continue;
        const double waves = a.executions / lanes->num_lanes;
        lines += waves * lanes->num_cache_lines, fewest += waves * lanes->fewest_cache_lines;
        const double factor = double(lanes->num_cache_lines) / lanes->fewest_cache_lines;
        if (factor < 2 || factor <= gap) continue;
        gap = factor;
        worst = formatted("%u neighbouring threads %s %u cache lines instead of %u", lanes->num_lanes,
                          a.node.is(Op::LOAD) ? "load from" : "store to", lanes->num_cache_lines,
                          lanes->fewest_cache_lines);
      }
    if (worst.empty()) return 0;
    // an OpenCL device of the CPU runs the threads one after another; a GPU transfers each cache line
    const double rate = peaks_.rate_for_bytes(kernel_.cost.total_bytes());
    if (has_measured_groups()) lost = (lines - fewest) * peaks_.far_load_seconds * time_scale_;
    else if (rate > 0) lost = (lines - fewest) * profile::kCacheLineSize / rate;
    return add_reason(SlownessKind::StridedLoads, lost,
                      worst + ". LOCAL of the contiguous axis lets neighbouring threads access neighbouring addresses");
  }

  double num_repeats() const { return facts_.loaded_bytes() * launch_scale_ / std::max(1.0, kernel_.cost.bytes_read); }

  double add_repeated_loads() {
    if (num_repeats() < 2 * kUpcastReuses) return 0;
    const double bytes = facts_.loaded_bytes() * launch_scale_;
    double moving = 0;  // seconds; repeated loads of a buffer come from a cache that holds the buffer
    for (const BufferAccess& a : facts_.loads)
      if (const double rate = peaks_.rate_for_bytes(std::min(kernel_.cost.total_bytes(), a.buffer_bytes)); rate > 0)
        moving += a.executions * a.bytes * launch_scale_ / rate;
    double loads = 0;  // number of instructions; one instruction loads neighbouring elements
    if (!runs_loops() || is_scalar()) {
      for (const BufferAccess& a : facts_.loads) loads += a.executions;
    } else {
      for (const LoopAccess& l : loop_accesses())
        if (l.is_load) loads += l.executions * std::max(double(l.lines.size()), l.bytes / kVector / 4);
    }
    loads /= 2;  // a core starts two loads at a time
    const double seconds = std::max(moving, loads * peaks_.instruction_seconds * time_scale_);
    return add_reason(
        SlownessKind::RepeatedLoads, seconds * (1 - 1 / kUpcastReuses),
        formatted("loads each byte %.0f times, %.2f loaded words for an operation: UPCAST of an axis that an "
                  "operand does not have reuses it in registers",
                  num_repeats(), bytes / 4 / std::max(1.0, kernel_.cost.num_operations)));
  }

  void add_spills() {
    if (!kernel_.resources || !kernel_.resources->num_spills) return;
    const KernelResources& r = *kernel_.resources;
    const double count = double(*r.num_spills) + double(r.num_spill_loads.value_or(0));
    if (count < 1) return;
    // for a GPU, it is not known how often the spills are executed
    double lost = kernel_.fastest_seconds * std::min(0.8, count / 64);
    if (r.spill_unit == "instructions") {
      // accumulators without a register are stored and loaded in each iteration
      const double width = std::max(1u, r.vector_bits.value_or(0) / 32), kept = 28;
      const double outside = std::max(0.0, facts_.accumulators / width - kept);
      lost = std::min(outside * 2, count) * facts_.reduction_steps * peaks_.instruction_seconds * time_scale_;
    }
    add_reason(
        SlownessKind::Spills, lost,
        formatted("the compiler spills registers: %u stored and %u loaded (%s). Less UPCAST or UNROLL needs fewer",
                  *r.num_spills, r.num_spill_loads.value_or(0), std::string(r.spill_unit).c_str()));
  }

  void add_bounds_checks() {
    double all = 0;
    for (const BufferAccess& a : facts_.loads) all += a.executions;
    if (all == 0 || facts_.num_gated_values == 0) return;
    const double lost =
        peaks_.instruction_seconds > 0
            ? facts_.num_gated_values * kGateInstructions * peaks_.instruction_seconds * time_scale_
            : kernel_.fastest_seconds * facts_.num_gated_values / (facts_.num_instructions + facts_.num_gated_values);
    add_reason(
        SlownessKind::BoundsChecks, lost,
        formatted("%.0f%% of the loads and values depend on a comparison of indices (a pad, or a size that no opt "
                  "divides): pad the tensors before, or let UPCAST and UNROLL divide the axis that is compared",
                  std::min(1.0, facts_.num_gated_values / all) * 100));
  }

  const SlowKernel& kernel_;
  const PeakRates& peaks_;
  const LinearListFacts facts_;
  double time_scale_ = 1;    // seconds of a launch, divided by the seconds of all executions that `facts_` counts
  double launch_scale_ = 1;  // number of executions in a launch, divided by the number that `facts_` counts
  std::vector<SlownessReason> out_;
};

}  // namespace

std::string_view name_of(SlownessKind kind) {
  constexpr std::string_view kNames[] = {"few-threads",        "few-groups",    "small-groups",   "not-unrolled",
                                         "serial-reduction",   "one-thread-reduces", "strided-loads", "repeated-loads",
                                         "spills",             "bounds-checks"};
  return kNames[size_t(kind)];
}

std::vector<SlownessReason> slowness_reasons(const SlowKernel& kernel) { return ReasonFinder(kernel).find_reasons(); }

}  // namespace tgc
