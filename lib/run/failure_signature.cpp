#include "lib/run/failure_signature.h"

#include <cctype>

#include "lib/execute/placement.h"
#include "lib/run/candidate.h"
#include "lib/run/repro_bundle.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

// Removes numbers, bracketed text and all but the first line, which differ between graphs.
std::string cause_key_of(std::string_view message) {
  std::string out;
  message = message.substr(0, message.find('\n'));
  for (size_t i = 0; i < message.size(); i++) {
    char c = message[i];
    if (std::isdigit(static_cast<unsigned char>(c))) continue;
    char close = c == '(' ? ')' : c == '[' ? ']' : '\0';
    size_t end = close ? message.find(close, i) : message.npos;
    if (end != message.npos) i = end;
    else out += c;
  }
  return out;
}

FailureSignature make_signature(Kind kind, const Diag& diag) {
  // the rest of an out-of-bounds message names an iteration
  std::string_view message = diag.message, bounds_prefix = "out of bounds: ";
  if (message.starts_with(bounds_prefix)) message = message.substr(0, message.find(' ', bounds_prefix.size()));
  else if (kind == Kind::Crash) message = message.substr(0, message.find_first_of(":("));
  return {kind, diag.message, cause_key_of(message)};
}

}  // namespace

bool is_endless(const Diag& refused) { return refused.message.find("does not end") != std::string::npos; }

std::string_view name_of(FailureSignature::Kind kind) {
  constexpr std::string_view kNames[] = {
#define X(id, name, ...) name,
      TGC_SYMPTOMS(X)
#undef X
  };
  return kNames[size_t(kind)];
}

namespace {

// If the kernel runs in REF, which compiles nothing, also prepares it.
FailureSignature refusal_signature(RunCandidate& candidate, Placement& place, std::optional<Executable>& kernel) {
  if (auto refused = candidate.refusal(place))
    return make_signature(is_endless(*refused) ? Kind::Endless : Kind::Refused, *refused);
  if (!place.is_ref) return {};
  auto made = candidate.prepare_executable(place, {});
  if (!made) return make_signature(Kind::Refused, made.diag());
  kernel = std::move(*made);
  return {};
}

// If time is left, throws Failure if the device cannot run any kernel: then the failure says nothing about this kernel.
void check_device(Placement& place, const InputGraph& in) {
  if (current_deadline().is_over()) return;
  probe_device(place, in.graph->settings()).value_or_throw();
}

}  // namespace

Result<FailureSignature> refusal_signature_of(const Session& session, InputGraph& in, const std::string& device) {
  return catch_failures([&] {
    auto candidate = make_candidate(session, in);
    Placement place = std::move(candidate->choose_place(device).value_or_throw());
    std::optional<Executable> kernel;
    return refusal_signature(*candidate, place, kernel);
  });
}

Result<FailureSignature> failure_signature_of(const Session& session, InputGraph& in, const RunOptions& options,
                                              Arrays* arrays) {
  const DeadlineScope trial(options.device.trial_seconds());
  return catch_failures([&]() -> FailureSignature {
    auto candidate = make_candidate(session, in);
    Placement place = std::move(candidate->choose_place(options.device.name).value_or_throw());
    std::optional<Executable> kernel;
    if (auto refused = refusal_signature(*candidate, place, kernel); refused.kind != Kind::None) return refused;
    if (!kernel) {
      auto compiled = candidate->prepare_executable(place, {});
      if (!compiled) return check_device(place, in), make_signature(Kind::Compile, compiled.diag());
      kernel = std::move(*compiled);
    }

    TrialInputs given = make_trial_inputs(options, in).value_or_throw();
    given.seed = options.input.seed.value_or(0);  // seed of the arrays that the file lacks
    KernelTrial trial(in.root, in.list, std::move(given), options.device.ref_options_in_process());
    trial.begin_trial(*kernel).value_or_throw();
    if (arrays) *arrays = copy_arrays(trial.inputs());
    ExecuteOptions execution = options.device.make_execute_options(place);
    if (place.is_ref) execution.should_run_in_process = true;
    auto done = execute_kernel(*kernel, *place.device, trial.inputs(), trial.variables(), execution);
    if (!done) return check_device(place, in), make_signature(Kind::Crash, done.diag());

    std::string source;
    Arrays expected = given_expected_arrays(options, in, source).value_or_throw();
    if (expected.empty()) {
      if (!in.list.empty() && place.is_ref) return {};  // REF itself ran this list
      auto reference = trial.run_reference();
      if (!reference) throw Failure(error_with_time_option(reference.diag(), "REF, which it is compared with, "));
      expected = std::move(reference->outputs);
    }
    auto compared = trial.compare_arrays(done->outputs, expected, options.compare, Recheck::IfCheap);
    for (const Comparison& c : compared.value_or_throw())
      if (!c.has_passed()) return {Kind::Wrong, c.text().substr(0, c.text().find('\n')), ""};
    return {};
  });
}

}  // namespace tgc
