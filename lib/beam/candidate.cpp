#include "lib/beam/candidate.h"

#include "lib/execute/lower.h"
#include "lib/support/sha256.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"
#include "renderers/renderer.h"

namespace tgc {

std::string_view name_of(CandidateOutcome outcome) {
  constexpr std::string_view kNames[kNumOutcomes] = {"timed",    "refused",  "too large", "seen before",    "too much",
                                                  "too slow", "failed",   "wrong",     "not in the file"};
  return kNames[size_t(outcome)];
}

namespace {

double count_operations(std::span<const UOp> list, const VariableValues& variables) {
  Sint ops = make_program_info(list).value_or_throw().estimates.ops;
  if (ops.is_int()) return ops.as_int().to_double();
  return sym_infer(ops.uop(), [&](std::string_view name) -> std::optional<Int> {
    auto it = variables.find(std::string(name));
    return it == variables.end() ? std::nullopt : std::optional<Int>(it->second);
  }).to_double();
}

std::string digest_text(std::string_view code) { return sha256_hex(sha256(code)); }

void set_code_identity(BeamCandidate& out, const CandidateSpec& spec) {
  if (spec.runs_threads_in_turn) out.executable->set_threads_run_in_turn();
  out.code_identity =
      digest_text(spec.code_identity == CodeIdentity::Source ? out.executable->source().text : out.executable->code());
}

OptTexts opt_texts_of_ast(UOp ast) {
  OptTexts out;
  for (const Arg& opt : ast.arg()[3].items()) out.push_back(opt.repr());
  return out;
}

void lower_candidate(BeamCandidate& out, UOp ast, const CandidateSpec& spec) {
  out.graph = std::make_shared<Graph>(spec.settings);
  UOp root = copy_into(*out.graph, ast);
  auto list = std::move(lower_kernel({.root = root}, spec.target).value_or_throw());
  out.num_uops = list.size();
  if (spec.max_uops > 0 && int64_t(list.size()) >= spec.max_uops) {
    out.outcome = CandidateOutcome::TooLarge;
    return;
  }
  out.num_operations = count_operations(list, spec.variables);
  if (!spec.device) {
    out.code_identity = digest_text(render_source(spec.target, list).value_or_throw());
    return;
  }
  out.executable.emplace(std::move(Executable::make_for_device(list, spec.target, *spec.device).value_or_throw()));
  set_code_identity(out, spec);
}

}  // namespace

BeamCandidate make_candidate(const OptTexts& opts, const CandidateSpec& spec) {
  BeamCandidate out;
  auto made = catch_failures([&] {
    spec.compile_candidate(out, opts_as_text(opts));
    out.num_operations = out.executable->cost(spec.variables).value_or(Executable::Cost{}).num_operations;
    set_code_identity(out, spec);
    return Unit{};
  });
  if (!made) out.outcome = CandidateOutcome::Refused, out.failure_reason = made.diag().message;
  return out;
}

BeamCandidate make_candidate(UOp ast, const CandidateSpec& spec) {
  if (spec.compile_candidate && spec.code_identity != CodeIdentity::None)
    return make_candidate(opt_texts_of_ast(ast), spec);
  BeamCandidate out;
  if (spec.code_identity == CodeIdentity::None) return out;
  auto made = catch_failures([&] { return lower_candidate(out, ast, spec), Unit{}; });
  if (!made) out.outcome = CandidateOutcome::Refused, out.failure_reason = made.diag().message;
  return out;
}

CandidateOutcome CandidateFilter::classify_candidate(const BeamCandidate& candidate) {
  if (candidate.outcome != CandidateOutcome::Timed || candidate.code_identity.empty()) return candidate.outcome;
  if (seen_identities_.contains(candidate.code_identity)) return CandidateOutcome::Duplicate;
  fewest_operations_ = std::min(fewest_operations_, candidate.num_operations);
  if (fewest_operations_ * 1000 < candidate.num_operations) return CandidateOutcome::TooManyOperations;
  seen_identities_.insert(candidate.code_identity);
  return CandidateOutcome::Timed;
}

void CandidateFilter::record_candidate(CandidateOutcome outcome, double ops, const std::string& code_identity) {
  if (code_identity.empty() || outcome == CandidateOutcome::Duplicate) return;
  fewest_operations_ = std::min(fewest_operations_, ops);
  if (outcome != CandidateOutcome::TooManyOperations) seen_identities_.insert(code_identity);
}

}  // namespace tgc
