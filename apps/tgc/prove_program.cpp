#include "apps/tgc/command.h"
#include "apps/tgc/process.h"
#include "apps/tgc/prove_command.h"
#include "lib/support/write_file.h"
#include "lib/text/graph_json.h"

namespace tgc {

ProgramWriter::ProgramWriter(const ProveOptions& o)
    : program_path_(o.program_path), rule_file_(o.should_prove_rules ? o.rule : "") {
  if (program_path_.empty()) return;
  if (o.live_tinygrad().empty())
    throw Failure(Diag{.message = "--program needs a tinygrad that runs the program", .expected = "--live=PYTHON"});
  tinygrad_process_ = std::make_unique<TinygradProcess>(require_value(resolve_tinygrad(o.live_tinygrad())),
                                                        [] { return interrupt_request().is_cancel_requested(); });
}

void ProgramWriter::write_proof(LiveRuleProof& rule) {
  for (bool is_rule_alone : {false, true})
    for (auto& [graph, values] : rule.verdict == "conditional" ? rule.conditional_instances : rule.refuted_instances)
      if (tinygrad_process_ && rule.program.program_file.empty())
        write_proof({rule.rule_location, graph, values, is_rule_alone, rule_file_}, rule.program);
}

void ProgramWriter::write_proof(KernelProof& proof) {
  constexpr size_t kMost = 4;
  size_t tried = 0;
  for (const RewriteProof& r : proof.rewrites) {
    if (!tinygrad_process_ || r.kind != RewriteProof::Kind::Refuted || tried == kMost ||
        !proof.program.program_file.empty())
      continue;
    if (!r.counterexample.contains("before")) continue;
    tried++;
    const UOp before = proof.rewrite_history->applications()[r.application_index].before;
    write_proof({std::string(r.place.rule), graph_to_json(before, {.producer = proof.producer}), r.counterexample},
                proof.program);
  }
  if (tinygrad_process_ && proof.verdict == RewriteProof::Kind::Refuted && !tried)
    proof.program.missing_reason = "no rewrite alone has values for which its sides differ";
}

void ProgramWriter::write_proof(const ProgramQuestion& question, ShownProgram& out) {
  auto answered = tinygrad_process_->ask_process(question);
  if (!answered) return (void)(out.missing_reason = answered.diag().text());
  const ProgramAnswer& answer = answered.value_or_throw();
  if (answer.program.empty()) return (void)(out.missing_reason = answer.missing_reason);
  std::string path = program_path_;
  const size_t end = path.ends_with(".py") ? path.size() - 3 : path.size();
  if (++num_written_ > 1) path.insert(end, "-" + std::to_string(num_written_));
  require_value(write_file(path, answer.program));
  out = {.program_file = path, .printed_text = answer.printed_text, .is_rule_alone = question.is_rule_alone};
}

}  // namespace tgc
