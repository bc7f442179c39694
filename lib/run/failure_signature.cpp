#include "lib/run/failure_signature.h"

#include <algorithm>
#include <cctype>

#include "lib/driver/compile_copy.h"
#include "lib/execute/lower.h"
#include "lib/execute/probe_device.h"
#include "lib/run/repro_bundle.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/input_distribution.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

// The first line of a message, its numbers and what is quoted or in brackets left out: those belong to one graph.
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
  // where a kernel died, after which loops, is of no matter: "out of bounds: load" from where it may be
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

// A kernel lowered for where it shall run.
struct Lowered {
  Placement place;
  std::optional<Compilation> compilation;  // of a copy, for as long as its list is needed
  std::span<const UOp> list;               // empty: REF runs the graph as it stands
  std::optional<Executable> kernel;        // for REF; a device has a compiler to ask first
  FailureSignature refusal;
};

Lowered lowered_before_ref(const Session& session, InputGraph& in, const RunOptions& spec) {
  Lowered out{.place = std::move(placement_for(session, spec.device, in).value_or_throw()), .list = in.list};
  if (!in.list.empty() || !out.place.target) return out;
  out.compilation = compile_copy(session, in, out.place.target->name(), in.graph->settings());
  auto& made = out.compilation->list();
  if (!made) {
    out.refusal = symptom(is_endless(made.diag()) ? Kind::Endless : Kind::Refused, made.diag());
    return out;
  }
  out.list = *made;
  if (!out.place.is_ref)
    if (auto& source = out.compilation->source(); !source) out.refusal = symptom(Kind::Refused, source.diag());
  return out;
}

Lowered lowered(const Session& session, InputGraph& in, const RunOptions& spec) {
  Lowered out = lowered_before_ref(session, in, spec);
  if (!out.place.is_ref || out.refusal.kind != Kind::None) return out;
  auto kernel = out.list.empty() ? Executable::for_ref(in.root) : Executable::for_ref(out.list);
  if (kernel) out.kernel = std::move(*kernel);
  else out.refusal = symptom(Kind::Refused, kernel.diag());
  return out;
}

// Throws Failure where no kernel runs there: then nothing can be told of this one.
void expect_place_works(Placement& place, const InputGraph& in) {
  probe_device(place, in.graph->settings()).value_or_throw();
}

}  // namespace

Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const RunOptions& spec) {
  return catch_failures([&] { return lowered(session, in, spec).refusal; });
}

Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& spec, Arrays* arrays) {
  return catch_failures([&]() -> FailureSignature {
    auto [place, compilation, list, kernel, refusal] = lowered(session, in, spec);
    if (refusal.kind != Kind::None) return refusal;
    if (!kernel) {
      auto compiled = Executable::for_device(list, *place.target, *place.device);
      if (!compiled) return expect_place_works(place, in), symptom(Kind::Compile, compiled.diag());
      kernel = std::move(*compiled);
    }

    std::string source;
    Arrays given = given_inputs(spec, in, source);
    Drawing draw{.seed = spec.seed.value_or(0), .floats = floats_for(in.root)};
    Arrays inputs = std::move(input_arrays(kernel->buffers(), given, source, draw).value_or_throw());
    if (arrays) *arrays = copy_of(inputs);
    kernel->arguments(spec.variables).value_or_throw();
    auto done = execute(*kernel, *place.device, inputs, spec.variables,
                        {.in_process = place.is_ref || spec.in_process, .timeout_seconds = spec.timeout_for(place)});
    if (!done) return expect_place_works(place, in), symptom(Kind::Crash, done.diag());

    Arrays expected = given_expected(spec, in, source);
    if (expected.empty()) {
      if (!in.list.empty() && place.is_ref) return {};  // the graph as it stands is all there is
      Placement ref = place_in_ref();
      Executable same =
          std::move((in.list.empty() ? Executable::for_ref(in.root) : Executable::for_ref(in.list)).value_or_throw());
      Arrays own = std::move(input_arrays(same.buffers(), inputs, "", draw).value_or_throw());
      auto reference = execute(same, *ref.device, own, spec.variables, spec.in_ref());
      if (!reference) throw Failure(with_time_option(reference.diag(), "REF, which it is compared with, "));
      expected = std::move(reference->outputs);
    }
    auto allowed = [&](const Array& e) { return tolerance_for(spec.tolerance, in.root, e); };
    CompareContext judged{UOp(), inputs, spec.variables, spec.in_ref()};
    auto compared = judge(judged, done->outputs, expected, allowed);
    const UOp root = in.list.empty() ? in.root : UOp();
    if (compared && is_worth_asking(root, *compared)) {  // as bisect has it
      judged.root = root;
      compared = judge(judged, done->outputs, expected, allowed);
    }
    for (const Comparison& c : compared.value_or_throw())
      if (!c.passed()) return {Kind::Wrong, c.text().substr(0, c.text().find('\n')), ""};
    return {};
  });
}

}  // namespace tgc
