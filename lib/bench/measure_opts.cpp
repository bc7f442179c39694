#include "lib/bench/measure_opts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/beam/beam_search.h"
#include "lib/beam/device_times.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr size_t kMostLists = 24;  // lists of opts for one reason, which its OptOps share equally
constexpr int kTurns = 5;
constexpr double kNoise = 1.1;  // a smaller ratio of two times counts as noise

std::vector<OptOps> ops_for_reason(SlownessKind kind, bool has_locals) {
  switch (kind) {
    case SlownessKind::FewThreads: return {OptOps::THREAD};
    case SlownessKind::FewGroups: return {OptOps::GROUPTOP, OptOps::GROUP, OptOps::LOCAL};
    case SlownessKind::SmallGroups: return {OptOps::LOCAL};
    case SlownessKind::OneThreadReduces: return {OptOps::GROUPTOP, OptOps::GROUP};
    case SlownessKind::NotUnrolled: return {OptOps::UPCAST, OptOps::UNROLL};
    case SlownessKind::SerialReduction:
      if (has_locals) return {OptOps::UPCAST, OptOps::UNROLL, OptOps::GROUPTOP};
      return {OptOps::UPCAST, OptOps::UNROLL};
    case SlownessKind::StridedLoads:
      if (has_locals) return {OptOps::LOCAL, OptOps::UPCAST};
      return {OptOps::UPCAST};
    case SlownessKind::RepeatedLoads: return {OptOps::UPCAST};
    case SlownessKind::Spills: return {};
    case SlownessKind::BoundsChecks: return {OptOps::PADTO, OptOps::UPCAST, OptOps::UNROLL};
  }
  return {};
}

// Returns a larger number for opts to try first: for amounts that tinygrad's hand-coded opts often have.
int opt_preference(const Opt& opt) {
  const int64_t amount = opt.arg.is_integral() ? opt.arg.small_int() : -1;
  switch (opt.op) {
    case OptOps::UPCAST: case OptOps::UNROLL: return amount == 4 ? 3 : amount == 2 ? 2 : amount == 0 ? 1 : 0;
    case OptOps::LOCAL: return amount == 32 ? 4 : amount == 16 ? 3 : amount == 8 ? 2 : amount > 16 ? 0 : 1;
    case OptOps::GROUPTOP: case OptOps::GROUP: return amount == 16 ? 3 : amount == 256 ? 2 : amount == 32 ? 2 : 1;
    default: return 1;
  }
}

using OptList = std::vector<Opt>;

std::optional<Scheduler> apply_opts(const SearchKernel& kernel, std::span<const Opt> opts) {
  auto made = catch_failures([&] {
    Scheduler out = kernel.base_scheduler().copy();
    for (const Opt& opt : opts) out.apply_opt(opt);
    return std::make_shared<Scheduler>(std::move(out));
  });
  return made ? std::optional(std::move(**made)) : std::nullopt;
}

// Returns the lists of opts that address the reason, the most promising first.
std::vector<OptList> opt_lists_for_reason(SlownessKind kind, const SearchKernel& kernel, std::span<const Opt> applied) {
  std::vector<OptList> out;
  if (kind == SlownessKind::Spills) {  // try smaller amounts of each UPCAST and UNROLL, and leave it out
    for (size_t i = applied.size(); i-- > 0;) {
      if (applied[i].op != OptOps::UPCAST && applied[i].op != OptOps::UNROLL) continue;
      OptList less(applied.begin(), applied.end());
      const int64_t amount = applied[i].arg.is_integral() ? applied[i].arg.small_int() : 0;
      for (int64_t part = amount / 2; part > 1; part /= 2) {
        less[i].arg = Arg(part);
        if (apply_opts(kernel, less)) out.push_back(less);
      }
      less.erase(less.begin() + std::ptrdiff_t(i));
      if (apply_opts(kernel, less)) out.push_back(std::move(less));
    }
    return out;
  }
  const auto base = apply_opts(kernel, applied);
  if (!base) return out;
  const Settings& settings = kernel.graph().settings();
  const bool has_locals = kernel.target().has_local;
  const bool in_turn = kernel.kernel_origin().runs_threads_in_turn;
  const ActionLimits limits{.should_include_padto = true};
  const auto ops = ops_for_reason(kind, has_locals);
  std::vector<Opt> wanted;
  const auto actions = search_actions(kernel.graph(), limits);
  for (const Opt& action : actions) {
    if (std::ranges::find(ops, action.op) == ops.end()) continue;
    if (action.op == OptOps::THREAD && (in_turn || action.arg.small_int() > settings.cpu_count())) continue;
    wanted.push_back(action);
  }
  auto is_likelier = [&](const Opt& a, const Opt& b) {
    auto rank = [&](const Opt& o) { return std::ranges::find(ops, o.op) - ops.begin(); };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (opt_preference(a) != opt_preference(b)) return opt_preference(a) > opt_preference(b);
    return a.axis.value_or(0) > b.axis.value_or(0);  // the last axis is usually the contiguous one
  };
  std::ranges::stable_sort(wanted, is_likelier);
  auto add_lists = [&](const OptList& begin) {
    for (const Opt& action : wanted) {
      OptList more = begin;
      more.push_back(action);
      if (apply_opts(kernel, more)) out.push_back(std::move(more));
    }
  };
  OptList begin(applied.begin(), applied.end());
  add_lists(begin);
  if (out.empty()) {  // none of the opts applies: pad an axis first
    for (const Opt& action : actions) {
      if (action.op != OptOps::PADTO) continue;
      OptList padded = begin;
      padded.push_back(action);
      if (apply_opts(kernel, padded)) add_lists(padded);
    }
    std::ranges::stable_sort(out, is_likelier, [](const OptList& list) { return list.back(); });
  }
  std::vector<OptList> chosen;
  for (OptOps op : ops) {
    size_t left = std::max<size_t>(4, kMostLists / ops.size());
    for (const OptList& list : out)
      if (list.back().op == op && left > 0) chosen.push_back(list), left--;
  }
  return chosen;
}

std::string opts_text(const SearchKernel& kernel, std::span<const Opt> opts) {
  return opts_as_text(texts_of_opts(kernel.graph(), opts));
}

// Times the kernel with lists of opts, in turns with its own opts (`applied`).
class OptMeter {
 public:
  OptMeter(const SearchKernel& kernel, std::span<const Opt> applied, Placement& place, CandidateSpec::Compile compile)
      : kernel_(kernel), applied_opts_(applied), times_(place, kernel, {.timeout_seconds = 10, .shrinks_grids = false}),
        spec_{.target = kernel.target(), .settings = kernel.graph().settings(), .variables = kernel.variables(),
              .max_uops = 0, .runs_threads_in_turn = kernel.kernel_origin().runs_threads_in_turn,
              .compile_candidate = std::move(compile), .device = place.device.get()} {}

  void measure_reason(SlownessReason& reason) {
    const auto lists = opt_lists_for_reason(reason.kind, kernel_, applied_opts_);
    if (lists.empty()) {
      reason.measurement_text = "no opt of this kind applies";
      return;
    }
    measure_new_lists(lists);
    std::vector<std::pair<double, const OptList*>> fastest;
    for (const OptList& list : lists)
      if (auto gain = gains_.find(opts_text(kernel_, list)); gain != gains_.end())
        fastest.push_back({gain->second, &list});
    std::ranges::stable_sort(fastest, std::greater(), &std::pair<double, const OptList*>::first);
    reason.measurement_text = count_text(fastest.size(), "list") + " of opts measured";
    std::string wrong;
    for (const auto& [gain, list] : fastest) {
      const std::string text = opts_text(kernel_, *list);
      if (!result_errors_.contains(text)) {
        BeamCandidate c = candidate_of_opts(kernel_, *list, spec_);
        CandidateLog log;
        result_errors_[text] = !c.executable                    ? c.failure_reason
                               : times_.check_candidate(c, log) ? ""
                                                                : log.failure_reason;
      }
      if (result_errors_[text].empty()) {
        reason.measured_speedup = gain, reason.fastest_seconds = list_seconds_[text], reason.opts = text;
        reason.measurement_text += ", the result of the fastest confirmed by " + times_.reference_label() + wrong;
        return;
      }
      wrong = "; a faster list computes a wrong result: " + result_errors_[text];
    }
    reason.measurement_text += ", none of which runs and computes the right result" + wrong;
  }

 private:
  // Skips lists that were measured for an earlier reason, so that each list has only one gain.
  void measure_new_lists(const std::vector<OptList>& lists) {
    std::vector<BeamCandidate> made{candidate_of_opts(kernel_, applied_opts_, spec_)};
    if (!made[0].executable) throw Failure("the kernel with its own opts does not compile: " + made[0].failure_reason);
    std::vector<std::string> texts{""};
    for (const OptList& list : lists) {
      std::string text = opts_text(kernel_, list);
      if (gains_.contains(text)) continue;
      if (BeamCandidate c = candidate_of_opts(kernel_, list, spec_); c.executable)
        made.push_back(std::move(c)), texts.push_back(std::move(text));
    }
    if (made.size() == 1) return;
    std::vector<BeamCandidate*> all;
    for (BeamCandidate& c : made) all.push_back(&c);
    const std::vector<double> seconds = times_.compare_times(all, kTurns);
    for (size_t i = 1; i < seconds.size(); i++)
      if (std::isfinite(seconds[i])) gains_[texts[i]] = seconds[0] / seconds[i], list_seconds_[texts[i]] = seconds[i];
  }

  const SearchKernel& kernel_;
  std::span<const Opt> applied_opts_;
  DeviceTimes times_;
  CandidateSpec spec_;
  std::map<std::string, double> gains_, list_seconds_;  // the key is the text of the opts
  std::map<std::string, std::string>
      result_errors_;  // the key is the text of the opts, the value the error in their result or ""
};

}  // namespace

void suggest_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied) {
  for (SlownessReason& reason : reasons)
    if (auto lists = opt_lists_for_reason(reason.kind, kernel, applied); !lists.empty())
      reason.opts = opts_text(kernel, lists[0]);
}

void measure_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied,
                  Placement& place, CandidateSpec::Compile compile, size_t most) {
  OptMeter meter(kernel, applied, place, std::move(compile));
  const size_t count = std::min(most, reasons.size());
  for (size_t i = 0; i < count; i++) meter.measure_reason(reasons[i]);
  // Reasons whose gains differ by less than the noise keep their order by possible_speedup.
  auto gain = [&](size_t i) { return std::max(1.0, reasons[i].measured_speedup.value_or(1)); };
  for (size_t i = 1; i < count; i++)
    for (size_t at = i; at > 0 && gain(at) > kNoise * gain(at - 1); at--) std::swap(reasons[at], reasons[at - 1]);
}

}  // namespace tgc
