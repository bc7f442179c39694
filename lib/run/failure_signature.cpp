#include "lib/run/failure_signature.h"

#include <algorithm>
#include <cctype>

#include "lib/driver/compile_copy.h"
#include "lib/driver/import_input.h"
#include "lib/execute/probe_device.h"
#include "lib/run/recorded_source.h"
#include "lib/run/repro_bundle.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

// Returns the first line of a message, without numbers and bracketed text, because those differ from graph to graph.
std::string cause_of(std::string_view message) {
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

FailureSignature symptom(Kind kind, const Diag& diag) {
  // Keep only the kind of access ("out of bounds: load"), because the rest of the message names an iteration.
  std::string_view message = diag.message, outside = "out of bounds: ";
  if (message.starts_with(outside)) message = message.substr(0, message.find(' ', outside.size()));
  else if (kind == Kind::Crash) message = message.substr(0, message.find_first_of(":("));
  return {kind, diag.message, cause_of(message)};
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

// A kernel lowered for its device. If a stage refused the kernel, `refusal` says why.
struct Lowered {
  Placement place;
  std::optional<Compilation> compilation;  // the compilation of a copy of the graph; owns `list`
  std::span<const UOp> list;               // the linear list; empty: REF runs the input graph itself
  std::optional<Executable> kernel;        // the executable; set only if the device is REF or the source is recorded
  FailureSignature refusal;
};

Lowered lower_for_device(const Session& session, InputGraph& in, const std::string& device) {
  Lowered out{.place = std::move(placement_for(session, device, in).value_or_throw()), .list = in.list};
  if (!in.list.empty() || !out.place.target) return out;
  if (is_imported(in) && !session.over.native) {
    const std::optional<std::string>& error = in.record->error;
    if (error) out.refusal = symptom(Kind::Refused, Diag{*error});
    else out.kernel = std::move(recorded_executable(in, out.place, 0).value_or_throw());
    return out;
  }
  out.compilation = compile_copy(session, in, out.place.target->name(), in.graph->settings());
  auto& made = out.compilation->list();
  if (!made && is_out_of_time(made.diag())) throw Failure(made.diag());
  if (!made) {
    out.refusal = symptom(is_endless(made.diag()) ? Kind::Endless : Kind::Refused, made.diag());
    return out;
  }
  out.list = *made;
  if (!out.place.is_ref)
    if (auto& source = out.compilation->source(); !source) out.refusal = symptom(Kind::Refused, source.diag());
  return out;
}

Lowered lower(const Session& session, InputGraph& in, const std::string& device) {
  Lowered out = lower_for_device(session, in, device);
  if (!out.place.is_ref || out.kernel || out.refusal.kind != Kind::None) return out;
  auto kernel = out.list.empty() ? Executable::for_ref(in.root) : Executable::for_ref(out.list);
  if (kernel) out.kernel = std::move(*kernel);
  else out.refusal = symptom(Kind::Refused, kernel.diag());
  return out;
}

// Throws Failure if the device cannot run any kernel, because the failure then says nothing about this kernel. Does
// nothing if there is no time left to try it.
void check_device(Placement& place, const InputGraph& in) {
  if (current_deadline().is_over()) return;
  probe_device(place, in.graph->settings()).value_or_throw();
}

}  // namespace

Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const std::string& device) {
  return catch_failures([&] { return lower(session, in, device).refusal; });
}

Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& options, Arrays* arrays) {
  const DeadlineScope trial(options.device.trial_seconds());
  return catch_failures([&]() -> FailureSignature {
    auto [place, compilation, list, kernel, refusal] = lower(session, in, options.device.name);
    if (refusal.kind != Kind::None) return refusal;
    if (!kernel) {
      auto compiled = Executable::for_device(list, *place.target, *place.device);
      if (!compiled) return check_device(place, in), symptom(Kind::Compile, compiled.diag());
      kernel = std::move(*compiled);
    }

    TrialInputs given = trial_inputs(options, in);
    given.seed = options.input.seed.value_or(0);  // a smaller kernel may read other arrays than the file has
    KernelTrial trial(in.root, in.list, std::move(given), options.device.ref_in_process());
    trial.begin(*kernel).value_or_throw();
    if (arrays) *arrays = copy_of(trial.inputs());
    ExecuteOptions execution = options.device.execute_options(place);
    if (place.is_ref) execution.in_process = true;
    auto done = execute(*kernel, *place.device, trial.inputs(), trial.variables(), execution);
    if (!done) return check_device(place, in), symptom(Kind::Crash, done.diag());

    std::string source;
    Arrays expected = given_expected(options, in, source);
    if (expected.empty()) {
      if (!in.list.empty() && place.is_ref) return {};  // REF ran this list already, so no reference exists
      auto reference = trial.reference();
      if (!reference) throw Failure(with_time_option(reference.diag(), "REF, which it is compared with, "));
      expected = std::move(reference->outputs);
    }
    auto compared = trial.compare(done->outputs, expected, options.compare, Recheck::IfCheap);
    for (const Comparison& c : compared.value_or_throw())
      if (!c.passed()) return {Kind::Wrong, c.text().substr(0, c.text().find('\n')), ""};
    return {};
  });
}

}  // namespace tgc
