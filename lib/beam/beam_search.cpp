#include "lib/beam/beam_search.h"

#include <algorithm>
#include <cmath>

#include "lib/support/ordered_pool.h"

namespace tgc {
namespace {

constexpr int kTurns = 3;        // maximum number of timings of a candidate in its round
constexpr double kClose = 1.25;  // candidates within this factor of keep_limit() are timed again

using SchedulerList = std::vector<std::shared_ptr<const Scheduler>>;

UOp optimized_ast(const Scheduler& kernel) {
  std::map<std::string, int> names;
  return kernel.copy().make_optimized_ast("test", names);
}

class BeamSearcher {
 public:
  BeamSearcher(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times)
      : session_(session),
        kernel_(kernel),
        plan_(plan),
        times_(times),
        spec_(make_candidate_spec(kernel, plan, times.compiling_device())),
        rounds_(kernel, plan.settings, plan.beam_width) {
    log_.kernel = kernel.name();
    log_.target = kernel.target().name();
    log_.key = kernel.graph_key();
    log_.beam_width = int64_t(plan.beam_width);
    log_.estimate = plan.settings.BEAM_ESTIMATE != 0;
  }

  BeamLog run() {
    while (!rounds_.is_done() && log_.rounds.size() < plan_.max_rounds && !should_stop()) run_round();
    log_.opts = opt_texts(*rounds_.best_entry().kernel);
    log_.kernel_seconds = rounds_.best_entry().run_seconds;
    log_.wall_seconds = elapsed_seconds();
    return std::move(log_);
  }

 private:
  double elapsed_seconds() const { return seconds_since(begin_time_); }
  OptTexts opt_texts(const Scheduler& s) const { return texts_of_opts(kernel_.graph(), s.applied_opts()); }
  bool should_stop() {
    if (session_.is_cancelled() || elapsed_seconds() > plan_.limit_seconds) log_.was_interrupted = true;
    return log_.was_interrupted;
  }

  void run_round() {
    RoundLog& log = log_.rounds.emplace_back();
    for (const SearchRounds::BeamEntry& entry : rounds_.beam_entries())
      log.beam_opts.push_back(opt_texts(*entry.kernel));
    SchedulerList kernels = rounds_.candidates();
    log.candidates.resize(kernels.size());
    for (size_t i = 0; i < kernels.size(); i++) {
      log.candidates[i].opts = opt_texts(*kernels[i]);
      log.candidates[i].outcome = CandidateOutcome::Unknown;
    }
    filter_.begin_round();
    fastest_times_.clear();
    size_t chunk = times_.may_time_while_compiling() ? kernels.size() : 16 * std::max(1u, session_.num_jobs);
    for (size_t begin = 0; begin < kernels.size() && !should_stop(); begin += chunk)
      time_chunk(kernels, begin, std::min(kernels.size(), begin + chunk), log);
    check_fastest(kernels, log);
    end_round(kernels, log);
  }

  // Classifies the candidates from `begin` to `end`, and times those that need a time: while others are compiled or, if
  // compiling would disturb the clock, after all of them are compiled.
  void time_chunk(const SchedulerList& kernels, size_t begin, size_t end, RoundLog& log) {
    std::vector<UOp> asts;
    for (size_t i = begin; i < end; i++)
      asts.push_back(is_measured(log.candidates[i]) ? UOp() : optimized_ast(*kernels[i]));
    std::vector<std::unique_ptr<BeamCandidate>> ready(end - begin);
    auto time = [&](size_t i) {
      CandidateLog& one = log.candidates[begin + i];
      if (!should_stop()) ready[i] ? classify_candidate(*ready[i], one, log) : resume_candidate(one);
      if (times_.may_time_while_compiling()) ready[i].reset();
    };
    auto make = [&](size_t i) {
      if (asts[i]) ready[i] = std::make_unique<BeamCandidate>(make_candidate(asts[i], spec_));
    };
    if (times_.may_time_while_compiling()) {
      parallel_for(asts.size(), session_.num_jobs, make, time).value_or_throw();
      return;
    }
    parallel_for(asts.size(), session_.num_jobs, make).value_or_throw();
    std::vector<BeamCandidate*> all;
    for (auto& c : ready)
      if (c) all.push_back(c.get());
    times_.prepare_candidates(all);
    for (size_t i = 0; i < asts.size(); i++) time(i);
    retime_fastest(ready, std::span(log.candidates).subspan(begin, end - begin));
    times_.prepare_candidates({});
  }

  // Times the fastest candidates again, because a single timing is not reliable.
  void retime_fastest(const std::vector<std::unique_ptr<BeamCandidate>>& ready, std::span<CandidateLog> logs) {
    for (int turn = 1; turn < kTurns; turn++)
      for (size_t i = 0; i < ready.size() && !should_stop(); i++) {
        CandidateLog& log = logs[i];
        if (!ready[i] || log.outcome != CandidateOutcome::Timed || log.fastest_seconds > kClose * keep_limit())
          continue;
        CandidateLog unused;
        double seconds = times_.time_candidate(log.opts, *ready[i], keep_limit(), unused).value_or(log.fastest_seconds);
        if (seconds >= log.fastest_seconds) continue;
        fastest_times_.erase(fastest_times_.find(log.fastest_seconds));
        fastest_times_.insert(log.fastest_seconds = seconds);
      }
  }

  bool is_measured(const CandidateLog& log) const { return plan_.measured_times.contains(opts_as_text(log.opts)); }

  void resume_candidate(CandidateLog& log) {
    log = plan_.measured_times.at(opts_as_text(log.opts));
    filter_.record_candidate(log.outcome, log.num_operations, log.code_digest);
    if (log.outcome == CandidateOutcome::Timed) fastest_times_.insert(log.fastest_seconds);
    log_.num_resumed++;
  }

  void classify_candidate(BeamCandidate& candidate, CandidateLog& log, const RoundLog& round) {
    log.outcome = filter_.classify_candidate(candidate);
    log.failure_reason = candidate.failure_reason, log.num_operations = candidate.num_operations,
    log.code_digest = candidate.code_identity;
    if (log.outcome == CandidateOutcome::Timed) {
      if (auto seconds = times_.time_candidate(log.opts, candidate, keep_limit(), log)) {
        log.fastest_seconds = *seconds;
        fastest_times_.insert(*seconds);
      }
    }
    double best =
        std::min(rounds_.best_entry().run_seconds, fastest_times_.empty() ? INFINITY : *fastest_times_.begin());
    session_.report_progress(log_.kernel + ": round " + std::to_string(log_.rounds.size()) + ", " +
                             std::to_string(&log - round.candidates.data() + 1) + " of " +
                      std::to_string(round.candidates.size()) + " candidates, best so far " + seconds_text(best));
  }

  // Returns the best time of earlier rounds or, if less, the beam_width-th best time of this round. A candidate that is
  // much slower needs no exact time.
  double keep_limit() const {
    double out = rounds_.best_entry().run_seconds;
    if (fastest_times_.size() >= plan_.beam_width)
      out = std::min(out, *std::next(fastest_times_.begin(), long(plan_.beam_width) - 1));
    return out;
  }

  // Checks the results of the timed candidates, the fastest first, until plan_.beam_width candidates are right. Also
  // ends if no candidate was right so far, and the next one is not faster than the best kernel of earlier rounds.
  void check_fastest(const SchedulerList& kernels, RoundLog& log) {
    std::vector<size_t> order;
    for (size_t i = 0; i < kernels.size(); i++)
      if (log.candidates[i].outcome == CandidateOutcome::Timed) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return log.candidates[i].fastest_seconds; });
    size_t right = 0;
    for (size_t i : order) {
      if (right == plan_.beam_width) break;
      CandidateLog& c = log.candidates[i];
      // neither this candidate nor a later one is faster than earlier rounds
      if (c.fastest_seconds >= rounds_.best_entry().run_seconds && right == 0) break;
      BeamCandidate again = make_candidate(optimized_ast(*kernels[i]), spec_);
      right += times_.check_candidate(again, c);
    }
  }

  void end_round(const SchedulerList& kernels, RoundLog& log) {
    std::vector<std::optional<double>> seconds;
    for (const CandidateLog& c : log.candidates)
      seconds.push_back(c.outcome == CandidateOutcome::Timed ? std::optional(c.fastest_seconds) : std::nullopt);
    rounds_.end_round(kernels, seconds);
    log.best_seconds = rounds_.best_entry().run_seconds;
    log.wall_seconds = elapsed_seconds();
  }

  const Session& session_;
  SearchKernel& kernel_;
  const SearchPlan& plan_;
  TimeSource& times_;
  CandidateSpec spec_;
  SearchRounds rounds_;
  CandidateFilter filter_;
  BeamLog log_;
  std::multiset<double> fastest_times_;
  Clock::time_point begin_time_ = Clock::now();
};

}  // namespace

CandidateSpec make_candidate_spec(const SearchKernel& kernel, const SearchPlan& plan, Device* device) {
  return {.target = kernel.target(),
          .settings = kernel.graph().settings(),
          .variables = kernel.variables(),
          .max_uops = int64_t(plan.settings.BEAM_UOPS_MAX),
          .code_identity = plan.code_identity,
          .runs_threads_in_turn = kernel.kernel_origin().runs_threads_in_turn,
          .compile_candidate = plan.compile_candidate,
          .device = device};
}

BeamCandidate candidate_of_opts(const SearchKernel& kernel, std::span<const Opt> opts, const CandidateSpec& spec) {
  if (spec.compile_candidate) return make_candidate(texts_of_opts(kernel.graph(), opts), spec);
  Scheduler made = kernel.base_scheduler().copy();
  for (const Opt& opt : opts) made.apply_opt(opt);
  return make_candidate(optimized_ast(made), spec);
}

Result<BeamLog> beam_search(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times) {
  return catch_failures([&] { return BeamSearcher(session, kernel, plan, times).run(); });
}

}  // namespace tgc
