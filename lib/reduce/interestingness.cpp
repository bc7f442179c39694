#include "lib/reduce/interestingness.h"

#include <algorithm>

#include "lib/bisect/strategies.h"
#include "lib/compilation/input_graph.h"
#include "lib/contain/process.h"
#include "lib/contain/temporary_folder.h"
#include "lib/execute/placement.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/spec/loops.h"
#include "lib/support/deadline.h"
#include "lib/support/write_file.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

// A limit is needed because tinygrad hangs for some candidates.
constexpr double kMinQuestionSeconds = 2;

// Returns a text of all that the interestingness test's answer depends on.
std::string case_cache_key(const TestCase& c) {
  std::string out = sha256_hex(key_of(c.root)) + c.info.stage + c.info.target + c.device;
  for (const SettingInfo& s : all_settings()) out += "," + std::to_string(c.graph->settings().*s.member);
  if (c.fault) out += c.fault->text();
  for (auto& [name, value] : c.info.settings) out += "," + name + "=" + value;
  for (const ReproArray& a : c.inputs) out += a.name + a.bytes;
  return out;
}

}  // namespace

bool uses_other_tinygrad_release(const Session& session) {
  if (!session.tinygrad_pool) return false;
  auto& tinygrad = session.tinygrad_pool->facts();
  return tinygrad && release_of(tinygrad->producer) != Release::v0_12;
}

bool is_sound(const TestCase& c) { return is_sound(c.root, spec_after_stage(c.info.stage)); }

std::string ObservedFailure::text() const {
  std::string out(name_of(symptom.kind));
  auto part = [&](const char* name, const char* before) {
    if (auto it = bisect_facts.find(name); it != bisect_facts.end() && !it->second.empty()) out += before + it->second;
  };
  part("verdict", ": "), part("rule", " "), part("branch", " "), part("stage", ", ");
  return bisect_facts.empty() && !symptom.message.empty() ? out + ": " + symptom.message : out;
}

bool ObservedFailure::has_named_rewrite() const {
  auto verdict = bisect_facts.find("verdict");
  return verdict != bisect_facts.end() && bisect_facts.contains("rule") &&
         (verdict->second == "rewrite" || verdict->second == "divergence");
}

void ObservedFailure::set_blamed_rewrite(const Verdict& verdict) {
  bisect_facts = {{"verdict", std::string(name_of(verdict.kind))}};
  for (auto& [name, value] : {std::pair("stage", verdict.stage), {"rule", verdict.rule}, {"branch", verdict.branch}})
    if (!value.empty()) bisect_facts[name] = value;
  rewrite_number = verdict.rewrite_number;
}

bool InterestingnessTest::is_criterion_met(const FailureSignature& symptom) const {
  return symptom.kind == failure_criterion_.kind || (should_accept_crashes_ && symptom.kind == Kind::Crash);
}

Result<ObservedFailure> InterestingnessTest::find_initial_failure(const TestCase& c) {
  num_calls_++;
  has_stages_ = session_.compiler()->can_compile(c.input_graph());
  const auto begin = Clock::now();
  FailingInputs failing;
  auto failure = catch_failures([&] { return examine_case(c, nullptr, failing).value_or_throw(); });
  tinygrad_process_.set_limit_seconds(std::max(kMinQuestionSeconds, 3 * seconds_since(begin)));
  if (!failure) return failure;
  auto verdict = failure->bisect_facts.find("verdict");
  // A wrong index may make a device store wrong values, but make REF stop at an access out of bounds: accept both.
  should_accept_crashes_ =
      failure_criterion_.kind == Kind::Wrong && verdict != failure->bisect_facts.end() && verdict->second == "rewrite";
  if (failure->symptom.kind == Kind::None && failure_criterion_.kind == Kind::Script)
    return Diag{"the command does not say so of it: there is nothing to reduce"};
  if (failure->symptom.kind == Kind::None && failure_criterion_.kind == Kind::Differs)
    return Diag{"tinygrad makes the same of it: there is nothing to reduce"};
  if (failure->symptom.kind == Kind::None) return Diag{"it passes on " + c.device + ": there is nothing to reduce"};
  if (!is_criterion_met(failure->symptom))
    return Diag{.message = "it is not '" + std::string(name_of(failure_criterion_.kind)) + "', but '" +
                           std::string(name_of(failure->symptom.kind)) + "'" +
                           (failure->symptom.message.empty() ? "" : ": " + failure->symptom.message)};
  CachedAnswer known{Answer::Yes, failure->symptom.kind};
  if (reduces_live_failure_) {
    known.inputs = arrays_to_bundle(failing.inputs);
    run_options_.input.variables.insert(failing.variables.begin(), failing.variables.end());
    TestCase failing_case = c;
    if (!known.inputs.empty()) failing_case.inputs = known.inputs;
    const bool is_of_stage = verdict->second == "rewrite" || verdict->second == "unresolved";
    is_shown_in_stages_ = is_of_stage && has_live_difference(failing_case, failing);
  }
  validity_checks_.emplace(c, run_options_.input.variables, run_options_.device.ref_options_in_process());
  if (has_stages_)
    case_prefilter_.emplace(session_, c, failure->symptom, failure->bisect_facts, run_options_.input.variables);
  cached_answers_[case_cache_key(c)] = std::move(known);
  return initial_failure_ = *failure;
}

bool InterestingnessTest::is_same_failure(const ObservedFailure& other) const {
  if (!is_criterion_met(other.symptom) || other.bisect_facts != initial_failure_.bisect_facts) return false;
  return should_accept_crashes_ || other.symptom.cause_key == initial_failure_.symptom.cause_key;
}

InterestingnessTest::Answer InterestingnessTest::quick_answer_for(const TestCase& c, const std::string& key) {
  {
    std::lock_guard guard(mutex_);
    if (auto it = cached_answers_.find(key); it != cached_answers_.end()) return it->second.answer;
  }
  // reject a loop without an END, which tinygrad accepts: it prints a source without the closing brace
  const bool ends_loops = !reduces_live_failure_ || ranges_of(c.root).empty();
  bool may = ends_loops && is_sound(c) &&
             (!validity_checks_ || (validity_checks_->has_effect(c) && validity_checks_->is_within_bounds(c)));
  if (may && has_prefilter()) {
    num_prefiltered_++;
    may = case_prefilter_->may_fail(c);
  }
  std::lock_guard guard(mutex_);
  return cached_answers_[key].answer = may ? Answer::Maybe : Answer::No;
}

std::optional<bool> InterestingnessTest::cached_answer(const TestCase& c) {
  Answer known = quick_answer_for(c, case_cache_key(c));
  return known == Answer::Maybe ? std::nullopt : std::optional(known == Answer::Yes);
}

bool InterestingnessTest::is_interesting(const TestCase& c) {
  std::string key = case_cache_key(c);
  if (Answer known = quick_answer_for(c, key); known != Answer::Maybe) return known == Answer::Yes;
  num_calls_++;
  FailingInputs failing;
  auto failure = catch_failures([&] { return examine_case(c, &initial_failure_, failing).value_or_throw(); });
  bool same = failure && is_same_failure(*failure) && validity_checks_->keeps_bounds_in_ref(c);
  std::lock_guard guard(mutex_);
  cached_answers_[key] = {same ? Answer::Yes : Answer::No, same ? failure->symptom.kind : Kind::None};
  if (same) cached_answers_[key].inputs = arrays_to_bundle(failing.inputs);
  return same;
}

std::vector<ReproArray> InterestingnessTest::inputs_of(const TestCase& c) const {
  std::lock_guard guard(mutex_);
  auto it = cached_answers_.find(case_cache_key(c));
  return it == cached_answers_.end() || it->second.inputs.empty() ? c.inputs : it->second.inputs;
}

FailureSignature::Kind InterestingnessTest::failure_kind_of(const TestCase& c) const {
  std::lock_guard guard(mutex_);
  auto it = cached_answers_.find(case_cache_key(c));
  return it == cached_answers_.end() || it->second.answer != Answer::Yes ? initial_failure_.symptom.kind
                                                                             : it->second.symptom;
}

// If `same` is not null, bisects only failures that may be the same.
Result<ObservedFailure> InterestingnessTest::examine_case(const TestCase& c, const ObservedFailure* same,
                                                          FailingInputs& failing) {
  FaultScope fault(c.fault);
  ObservedFailure out;
  if (failure_criterion_.kind == Kind::Script) {
    if (is_accepted_by_script(c)) out.symptom = {Kind::Script, failure_criterion_.script_command, ""};
    return out;
  }
  if (failure_criterion_.kind == Kind::Differs) return find_difference(c);
  if (reduces_live_failure_) return examine_live_case(c, same, failing);
  InputGraph in = make_compiled_case(c);
  const RunOptions options = options_with_bundle(run_options_, in);
  auto symptom = failure_signature_of(session_, in, options);
  if (!symptom) return symptom.diag();
  out.symptom = std::move(*symptom);
  if (same && (!is_criterion_met(out.symptom) || same->bisect_facts.empty())) return out;
  if (out.symptom.kind == Kind::None || out.symptom.kind == Kind::Compile) return out;
  in = make_compiled_case(c);
  BisectReport report = bisect(session_, in, options_with_bundle(run_options_, in));
  if (!report.error.empty() || report.verdict.kind == Verdict::Kind::Same) return out;
  out.set_blamed_rewrite(report.verdict);
  return out;
}

// Returns true if bisect_recorded() finds a fault without the recorded source, for the arrays of the case or for drawn
// ones. Does not record rewrites, because recording them makes tinygrad slow.
bool InterestingnessTest::has_live_difference(const TestCase& c, FailingInputs& failing) const {
  InputGraph in = make_compiled_case(c, false);
  BisectReport report;
  const RecordedBisectPlan plan{.should_redraw_inputs = true, .should_skip_source = true};
  return bisect_recorded(session_, in, options_with_bundle(run_options_, in), report, plan, &failing).kind !=
         Verdict::Kind::Same;
}

// Returns the failure of `c`, which a live pipeline compiles, as `tgc bisect` finds it. `same` is as in examine_case().
ObservedFailure InterestingnessTest::examine_live_case(const TestCase& c, const ObservedFailure* same,
                                                       FailingInputs& failing) const {
  ObservedFailure out;
  TestCase tried = c;
  const bool should_skip_source = same && is_shown_in_stages_;
  if (should_skip_source) {
    if (!has_live_difference(c, failing)) return out;
    if (!failing.inputs.empty()) tried.inputs = arrays_to_bundle(failing.inputs);
  }
  InputGraph in = make_compiled_case(tried);
  BisectReport report;
  const RecordedBisectPlan plan{.should_redraw_inputs = !should_skip_source, .should_skip_source = should_skip_source};
  const Verdict verdict = bisect_recorded(session_, in, options_with_bundle(run_options_, in), report, plan, &failing);
  if (verdict.kind == Verdict::Kind::Same) return out;
  out.symptom = {Kind::Wrong, report.failure_text, ""};
  out.set_blamed_rewrite(verdict);
  return out;
}

// Returns the input of `c` for tgc's own stages; for a live pipeline, the input with the record that the pipeline
// makes. Throws Failure if the live pipeline cannot make the record.
InputGraph InterestingnessTest::make_compiled_case(const TestCase& c, bool with_rewrites) const {
  InputGraph in = c.input_graph();
  if (has_stages_) return in;
  Session session = session_;
  session.overrides.records_live_rewrites &= with_rewrites;
  auto out = std::move(session.compiler()->compile(std::move(in)).value_or_throw());
  if (auto& refused = import_facts_of_input(out).import_error) throw Failure(*refused);
  return out;
}

// Returns the first stage whose text differs from tinygrad's, and the rewrite that causes the difference.
ObservedFailure InterestingnessTest::find_difference(const TestCase& c) {
  Session here{.num_jobs = 1, .cancel = session_.cancel};  // the seeded fault is set for this thread only
  auto verdict = find_divergence(here, c.input_graph(), tinygrad_process_, initial_failure_.symptom.cause_key);
  if (!verdict || verdict->kind == Verdict::Kind::Same) return {};
  ObservedFailure out{
      .symptom = {Kind::Differs, "the first stage that differs is '" + verdict->stage + "'", verdict->stage}};
  out.set_blamed_rewrite(*verdict);
  return out;
}

bool InterestingnessTest::is_accepted_by_script(const TestCase& c) const {
  TemporaryFolder folder;
  const std::string path = folder.file("candidate.json");
  InputGraph in = c.input_graph();
  const RunOptions options = options_with_bundle(run_options_, in);
  auto place = placement_for(session_, options.device.name, in);
  if (!place) return false;
  Repro repro{.seeded_fault = c.fault ? c.fault->text() : "", .inputs = c.inputs};
  if (!write_file(path, bundle_text(session_, options, in, *place, std::move(repro)))) return false;
  return run_shell(command_with_file(failure_criterion_.script_command, path),
                   {.is_quiet = true, .should_stop = session_.cancel_check()})
             .value_or_throw() == 0;
}

}  // namespace tgc
