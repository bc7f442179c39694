#include "lib/beam/beam.h"

#include <algorithm>
#include <cmath>

#include "lib/beam/device_times.h"
#include "lib/beam/live_candidates.h"
#include "lib/beam/results.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/recorded_facts.h"
#include "lib/driver/source.h"
#include "lib/runtime/devices.h"
#include "lib/support/pytext.h"
#include "lib/target/target.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {

namespace {

constexpr size_t kMaxTimedFinalists = 6;

struct Finalist {
  OptTexts opts;
  std::unique_ptr<BeamCandidate> candidate = nullptr;
  double seconds = INFINITY;
};

// With NOOPT, or for a kernel with BUFFERIZE nodes, tgc has no hand-coded opts.
std::vector<Opt> hand_coded_opts(const SearchKernel& kernel, bool by_tinygrad) {
  if (by_tinygrad)
    return read_opt_list(kernel.graph(), kernel.kernel_origin().opts.empty() ? "[]" : kernel.kernel_origin().opts);
  const Scheduler& base = kernel.base_scheduler();
  if (kernel.graph().settings().NOOPT || !base.facts().bufferizes.empty()) return {};
  return hand_coded_optimizations(base).applied_opts();
}

// Returns the recorded name of the kernel, else the name that the kernel has with the hand-coded opts.
std::string name_in_program(const SearchKernel& kernel) {
  if (!kernel.kernel_origin().function_name.empty()) return kernel.kernel_origin().function_name;
  std::map<std::string, int> counts;
  Scheduler made = kernel.base_scheduler().copy();
  for (const Opt& opt : hand_coded_opts(kernel, false)) made.apply_opt(opt);
  const Arg info = made.make_optimized_ast(std::nullopt, counts).arg();
  return ansistrip(info[0].str());
}

// Throws Failure if no finalist runs and computes the right results.
void measure_finalists(BeamLog& log, const SearchKernel& kernel, const SearchPlan& plan, DeviceTimes& times,
                       int turns) {
  std::vector<const CandidateLog*> timed;
  for (const RoundLog& round : log.rounds)
    for (const CandidateLog& c : round.candidates)
      if (c.outcome == CandidateOutcome::Timed) timed.push_back(&c);
  std::ranges::stable_sort(timed, {}, [](const CandidateLog* c) { return c->fastest_seconds; });
  timed.resize(std::min(timed.size(), kMaxTimedFinalists));

  CandidateSpec spec = make_candidate_spec(kernel, plan, times.compiling_device());
  spec.max_uops = 0;
  std::vector<Finalist> all;
  std::string why;
  auto add = [&](const OptTexts& opts) {
    if (std::ranges::find(all, opts, &Finalist::opts) != all.end()) return;
    Finalist c{.opts = opts};
    c.candidate = std::make_unique<BeamCandidate>(
        candidate_of_opts(kernel, read_opt_list(kernel.graph(), opts_as_text(opts)), spec));
    if (c.candidate->executable) all.push_back(std::move(c));
    else if (why.empty()) why = c.candidate->failure_reason;
  };
  log.hand_coded_opts = texts_of_opts(kernel.graph(), hand_coded_opts(kernel, bool(plan.compile_candidate)));
  add(log.hand_coded_opts);  // compare_times() times the first finalist in each turn
  add(log.opts);
  for (const CandidateLog* c : timed) add(c->opts);

  std::vector<BeamCandidate*> candidates;
  for (Finalist& c : all) candidates.push_back(c.candidate.get());
  std::vector<double> seconds = times.compare_times(candidates, turns);
  for (size_t i = 0; i < all.size(); i++) {
    all[i].seconds = seconds[i];
    if (all[i].opts == log.hand_coded_opts && std::isfinite(seconds[i])) log.hand_coded_seconds = seconds[i];
  }
  std::ranges::stable_sort(all, {}, &Finalist::seconds);
  for (Finalist& c : all) {
    CandidateLog checked{.opts = c.opts};
    if (!times.check_candidate(*c.candidate, checked)) {
      if (why.empty()) why = checked.failure_reason;
      continue;
    }
    if (!std::isfinite(c.seconds)) continue;
    log.opts = c.opts;
    log.kernel_seconds = c.seconds;
    log.result_origin = times.reference_label();
    return;
  }
  throw Failure(std::string("none of the best candidates runs and computes the right result") +
                (why.empty() ? "" : ": " + why));
}

using LogReporter = std::function<Status(const BeamLog&)>;

class UntimedTimeSource : public TimeSource {
 public:
  std::optional<double> time_candidate(const OptTexts&, BeamCandidate&, double, CandidateLog& log) override {
    log.outcome = CandidateOutcome::Unknown;
    return std::nullopt;
  }
};

struct SearchItem {
  SearchKernel kernel;
  InputGraph compiled = {};  // kernel that tinygrad compiles with the opts; empty if tgc applies the opts
  size_t num_runs = 1;
  double seconds = 0;        // the kernel's time with hand-coded opts; 0: not measured
  bool is_compiled_by_tinygrad() const { return compiled.graph != nullptr; }
  double total_seconds() const { return seconds * double(num_runs); }
};

uint64_t key_prefix(const Sha256& key) { return uint64_t(key[0]) << 16 | uint64_t(key[1]) << 8 | key[2]; }

class KernelCollector {
 public:
  KernelCollector(const Session& session, const BeamPlan& plan) : session_(session), plan_(plan) {}

  Result<std::vector<SearchItem>> collect_kernels() {
    auto status = for_each_graph(session_, plan_.input, plan_.kernel, [&](InputGraph g) -> Status {
      if (!is_runtime_kernel(g)) return add_graph(std::move(g));
      session_.report_note("'" + g.info.name + "' is a kernel of tinygrad's runtime: it is not searched");
      return Unit{};
    });
    if (!status) return status.diag();
    return std::move(items_);
  }

 private:
  Status add_graph(InputGraph graph) {
    if (session_.compiler()->leaves_opts_to_tinygrad()) return add_live_graph(std::move(graph));
    auto begun = session_.begin(std::move(graph));
    if (!begun) {
      Diag diag = begun.diag();
      if (diag.expected == "--native") diag.expected = "--live=PYTHON with that tinygrad, or --native";
      return diag;
    }
    if (!begun->is_tensor_graph()) return add_kernel(std::move(*begun));
    if (auto& made = begun->schedule(); !made) return made.diag();
    for (size_t number : begun->kernel_numbers()) {
      auto kernel = begun->kernel(number);
      if (!kernel) return kernel.diag();
      if (auto status = add_kernel(std::move(*kernel)); !status) return status;
    }
    return Unit{};
  }

  Status add_live_graph(InputGraph graph) {
    if (graph.is_tensor_graph) {
      auto pipeline = session_.pipeline(std::move(graph));
      if (!pipeline) return pipeline.diag();
      return (*pipeline)->for_each_kernel([&](InputGraph kernel) { return add_live_graph(std::move(kernel)); });
    }
    auto kernel = kernel_to_optimize(session_, graph, graph.info.target);
    if (!kernel) return session_.send_warning(kernel.diag()), Unit{};
    return add_kernel(std::move(*kernel), std::move(graph));
  }

  Status add_kernel(Compilation compilation) {
    const InputGraph in = compilation.input_graph();
    auto kernel = SearchKernel::begin(std::move(compilation));
    if (!kernel) return session_.send_warning(kernel.diag()), Unit{};
    kernel->set_origin(in);
    return add_kernel(std::move(*kernel), {});
  }

  Status add_kernel(SearchKernel found, InputGraph compiled) {
    SearchKernel* kernel = &found;
    // a file of recorded times identifies kernels by name
    std::string id =
        plan_.replay_path.empty() ? kernel->target().name() + " " + sha256_hex(kernel->graph_key()) : kernel->name();
    auto [known, is_new] = index_by_id_.emplace(std::move(id), items_.size());
    if (!is_new) {
      if (known->second < items_.size()) items_[known->second].num_runs++;
    } else if (plan_.shard.has_item(key_prefix(kernel->graph_key()))) {
      items_.push_back({std::move(found), std::move(compiled)});
    } else {
      known->second = SIZE_MAX;
    }
    return Unit{};
  }

  const Session& session_;
  const BeamPlan& plan_;
  std::map<std::string, size_t> index_by_id_;  // index into items_; SIZE_MAX: the kernel belongs to another shard
  std::vector<SearchItem> items_;
};

std::unique_ptr<BeamResults> open_results(const BeamPlan& plan) {
  return plan.results_path.empty() ? nullptr
                                   : std::make_unique<BeamResults>(plan.results_path, SqliteDatabase::Mode::Write);
}

Status replay_search(Session session, const BeamPlan& plan, const LogReporter& report) {
  auto times = ReplayTimes::open(plan.replay_path);
  if (!times) return times.diag();
  session.overrides.target = times->target();
  SearchPlan search = plan.search_plan;
  search.code_identity = times->code_identity();
  search.beam_width = times->beam_width();
  auto items = KernelCollector(session, plan).collect_kernels();
  if (!items) return items.diag();
  auto results = catch_failures([&] { return open_results(plan); });
  if (!results) return results.diag();
  for (SearchItem& item : *items) {
    if (!times->has_kernel(item.kernel.name())) continue;
    Placement compiles;
    if (search.code_identity == CodeIdentity::Binary) {
      auto place =
          choose_placement("", item.kernel.target().name(), item.kernel.graph().settings(), parse_recorded_target);
      if (!place) return place.diag();
      compiles = std::move(*place);
    }
    times->begin_kernel(item.kernel.name(), compiles.device.get());
    auto log = beam_search(session, item.kernel, search, *times);
    if (!log) return log.diag();
    log->device = "times of a file", log->result_origin = plan.replay_path;
    auto kept = catch_failures(
        [&] { return *results ? (*results)->store_result(BeamResult::from_log(*log)) : void(), Unit{}; });
    if (!kept) return kept;
    if (auto status = report(*log); !status) return status;
  }
  return Unit{};
}

Status enumerate_candidates(const Session& session, const BeamPlan& plan, const LogReporter& report) {
  SearchPlan search = plan.search_plan;
  search.code_identity = CodeIdentity::None;
  search.max_rounds = 1;
  UntimedTimeSource times;
  auto items = KernelCollector(session, plan).collect_kernels();
  if (!items) return items.diag();
  for (SearchItem& item : *items) {
    auto log = beam_search(session, item.kernel, search, times);
    if (!log) return log.diag();
    if (auto status = report(*log); !status) return status;
  }
  return Unit{};
}

class SearchRunner {
 public:
  SearchRunner(const Session& session, const BeamPlan& plan, const LogReporter& report)
      : session_(session), plan_(plan), report_(report) {}

  Status run() {
    auto items = KernelCollector(session_, plan_).collect_kernels();
    if (!items) return items.diag();
    auto results = catch_failures([&] { return open_results(plan_); });
    if (!results) return results.diag();
    results_ = std::move(*results);
    begin_time_ = Clock::now();  // the time budget does not include the start of the live pipeline
    if (plan_.budget_seconds > 0 && items->size() > 1) {
      for (SearchItem& item : *items)
        if (auto status = time_hand_coded(item); !status) return status;
      std::ranges::stable_sort(*items, std::greater(), &SearchItem::total_seconds);
    }
    double shares = 0;
    for (const SearchItem& item : *items) shares += item.total_seconds();
    for (size_t i = 0; i < items->size() && !session_.is_cancelled() && seconds_left() > 0; i++) {
      double part = shares > 0 ? std::min(1.0, (*items)[i].total_seconds() / shares) : 1;
      shares -= (*items)[i].total_seconds();
      auto status = catch_failures([&] { return search_kernel((*items)[i], i, items->size(), seconds_left() * part); });
      if (!status) return status.diag();
      if (!*status) session_.send_warning(status->diag());
      else num_searched_++;
    }
    return num_searched_ || items->empty() ? Status(Unit{}) : Diag{"no kernel could be searched"};
  }

 private:
  double seconds_left() const {
    if (plan_.budget_seconds <= 0) return INFINITY;
    return plan_.budget_seconds - seconds_since(begin_time_);
  }
  Result<Placement> choose_place_for(const SearchItem& item) const {
    if (const std::string target = item.kernel.target().name(); plan_.device.empty() && !can_run_here(target))
      return Diag{.message = "its target '" + target + "' does not work here",
                  .expected = "--device=CPU, or another that `tgc devices` lists as working"};
    return choose_placement(plan_.device, item.kernel.target().name(), item.kernel.graph().settings(),
                            parse_recorded_target);
  }
  DeviceTimes::TimingOptions timing_options() const {
    return {.timeout_seconds = plan_.search_plan.settings.BEAM_TIMEOUT_SEC,
            .shrinks_grids = plan_.search_plan.settings.BEAM_ESTIMATE != 0,
            .reference_device = plan_.reference_device};
  }

  Status time_hand_coded(SearchItem& item) {
    auto place = choose_place_for(item);
    if (!place) return plan_.device.empty() ? Status(Unit{}) : place.diag();  // search_kernel() reports this error
    auto timed = catch_failures([&] {
      DeviceTimes times(*place, item.kernel, timing_options());
      SearchPlan plan = plan_.search_plan;
      plan.compile_candidate = make_live_compile(session_, item.compiled, *place);
      BeamCandidate by_hand = candidate_of_opts(item.kernel, hand_coded_opts(item.kernel, bool(plan.compile_candidate)),
                                                make_candidate_spec(item.kernel, plan, place->device.get()));
      CandidateLog log;
      if (by_hand.executable) item.seconds = times.time_candidate({}, by_hand, INFINITY, log).value_or(0);
      return Unit{};
    });
    if (!timed) session_.send_warning(timed.diag());
    return Unit{};
  }

  // run() warns about a returned error, and ends if this function throws Failure.
  Status search_kernel(SearchItem& item, size_t number, size_t of, double deadline) {
    auto found_place = choose_place_for(item);
    if (!found_place && plan_.device.empty()) return found_place.diag();
    Placement place = std::move(std::move(found_place).value_or_throw());
    std::string target = item.kernel.target().name(), device = cached_device_name(target);
    // each pipeline has its own results
    if (item.is_compiled_by_tinygrad()) device += ", " + item.kernel.kernel_origin().producer;
    MeasuredCandidates measured;
    if (results_ && !plan_.should_search_again) {
      auto known =
          results_->result_of_search(item.kernel.graph_key(), target, device, int64_t(plan_.search_plan.beam_width));
      // with BEAM_PADTO, search again if the stored opts have no PADTO: the earlier search may not have tried it
      const bool pads = plan_.search_plan.settings.BEAM_PADTO;
      const bool is_complete = known && (!pads || known->opts.find("PADTO") != known->opts.npos);
      if (known && known->kernel_seconds > 0 && !known->measured_json && is_complete)
        return report_(log_of_stored_result(item, *known));
      if (known && known->measured_json) measured = read_measurements(*known->measured_json);
    }
    session_.report_progress("kernel " + std::to_string(number + 1) + " of " + std::to_string(of));
    auto log = catch_failures([&] {
      auto begin = Clock::now();
      DeviceTimes times(place, item.kernel, timing_options());
      SearchPlan plan = plan_.search_plan;
      plan.limit_seconds = std::min(plan.limit_seconds, deadline);
      plan.measured_times = std::move(measured);
      plan.compile_candidate = make_live_compile(session_, item.compiled, place);
      BeamLog out = std::move(beam_search(session_, item.kernel, plan, times).value_or_throw());
      measure_finalists(out, item.kernel, plan, times, plan_.num_confirm_turns);
      out.device = device;
      set_program_facts(out, item);
      out.wall_seconds = seconds_since(begin);
      return out;
    });
    if (!log) return Diag{.message = "'" + item.kernel.name() + "': " + log.diag().message};
    if (results_) results_->store_result(BeamResult::from_log(*log));
    return report_(*log);
  }

  void set_program_facts(BeamLog& log, const SearchItem& item) const {
    log.function_name = name_in_program(item.kernel);
    const std::string& producer = item.kernel.kernel_origin().producer;
    if (item.is_compiled_by_tinygrad()) return void(log.applying_pipeline = producer);
    const std::string own = "tinygrad " + session_.compiler()->release_name();
    if (release_of(producer) != release_of(own)) log.applying_pipeline = "tgc's own pipeline (" + own + ")";
  }

  BeamLog log_of_stored_result(const SearchItem& item, const BeamResult& known) const {
    BeamLog out{.kernel = item.kernel.name(), .target = known.target, .device = known.device, .key = known.graph_key,
                .beam_width = known.beam_width, .estimate = known.estimate};
    Graph& graph = item.kernel.graph();
    out.opts = texts_of_opts(graph, read_opt_list(graph, known.opts));
    out.kernel_seconds = known.kernel_seconds, out.hand_coded_seconds = known.hand_coded_seconds,
    out.result_origin = known.result_origin;
    out.found_time_utc = known.stored_time_utc;
    set_program_facts(out, item);
    return out;
  }

  const std::string& cached_device_name(const std::string& target) {
    auto [it, is_new] = devices_.try_emplace(target);
    if (is_new) it->second = device_name(target);
    return it->second;
  }

  const Session& session_;
  const BeamPlan& plan_;
  const LogReporter& report_;
  std::unique_ptr<BeamResults> results_;
  std::map<std::string, std::string> devices_;
  size_t num_searched_ = 0;
  Clock::time_point begin_time_ = Clock::now();
};

}  // namespace

std::string device_name(const std::string& target) {
  if (device_part(target) != "CPU") {
    RuntimeInfo info = probe_device(device_part(target));
    return info.is_available ? info.detail_text : "";
  }
  auto cpu = make_device("CPU");
  return cpu ? (*cpu)->description() : "";
}

Status run_beam(const Session& session, const BeamPlan& plan, const LogReporter& report) {
  if (!plan.replay_path.empty()) return replay_search(session, plan, report);
  Session there = session;
  if (!plan.device.empty() && session.overrides.target.empty()) {
    auto place = choose_placement(plan.device, "", Settings());
    if (!place) return place.diag();
    if (place->target) there.overrides.target = place->target->name();
  }
  if (plan.only_enumerates_opts) return enumerate_candidates(there, plan, report);
  return SearchRunner(there, plan, report).run();
}

}  // namespace tgc
