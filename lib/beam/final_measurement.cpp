#include "lib/beam/final_measurement.h"

#include <algorithm>
#include <cmath>

#include "passes/kernel/optimizer/heuristic.h"

namespace tgc {
namespace {

constexpr size_t kFromRounds = 6;  // number of finalists from the rounds: the fastest candidates of all rounds

struct Finalist {
  OptTexts opts;
  std::unique_ptr<Candidate> candidate = nullptr;
  double seconds = INFINITY;
};

}  // namespace

std::vector<Opt> hand_coded_opts(const SearchKernel& kernel) {
  const Scheduler& base = kernel.base();
  if (kernel.graph().settings().NOOPT || !base.facts().bufferizes.empty()) return {};
  return hand_coded_optimizations(base).applied_opts();
}

void measure_finalists(BeamLog& log, const SearchKernel& kernel, const SearchPlan& plan, DeviceTimes& times,
                       int turns) {
  std::vector<const CandidateLog*> timed;
  for (const RoundLog& round : log.rounds)
    for (const CandidateLog& c : round.candidates)
      if (c.outcome == CandidateOutcome::Timed) timed.push_back(&c);
  std::ranges::stable_sort(timed, {}, [](const CandidateLog* c) { return c->seconds; });
  timed.resize(std::min(timed.size(), kFromRounds));

  CandidateSpec spec = candidate_spec(kernel, plan, times.compiler());
  spec.uops_max = 0;
  std::vector<Finalist> all;
  std::string why;  // the first error of a finalist
  auto add = [&](const OptTexts& opts) {
    if (std::ranges::find(all, opts, &Finalist::opts) != all.end()) return;
    Finalist c{.opts = opts};
    c.candidate =
        std::make_unique<Candidate>(candidate_of(kernel, read_opt_list(kernel.graph(), joined(opts)), spec));
    if (c.candidate->executable) all.push_back(std::move(c));
    else if (why.empty()) why = c.candidate->why;
  };
  log.before_opts = opt_texts(kernel.graph(), hand_coded_opts(kernel));
  add(log.before_opts);  // added first: the first finalist never drops out, so its time is known for the report
  add(log.opts);
  for (const CandidateLog* c : timed) add(c->opts);

  std::vector<Candidate*> candidates;
  for (Finalist& c : all) candidates.push_back(c.candidate.get());
  std::vector<double> seconds = times.compare(candidates, turns);
  for (size_t i = 0; i < all.size(); i++) {
    all[i].seconds = seconds[i];
    if (all[i].opts == log.before_opts && std::isfinite(seconds[i])) log.before = seconds[i];
  }
  std::ranges::stable_sort(all, {}, &Finalist::seconds);
  for (Finalist& c : all) {
    CandidateLog checked{.opts = c.opts};
    if (!times.check(*c.candidate, checked)) {
      if (why.empty()) why = checked.why;
      continue;
    }
    if (!std::isfinite(c.seconds)) continue;
    log.opts = c.opts;
    log.seconds = c.seconds;
    log.reference = times.reference();
    return;
  }
  throw Failure(std::string("none of the best candidates runs and computes the right result") +
                (why.empty() ? "" : ": " + why));
}

}  // namespace tgc
