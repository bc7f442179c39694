// tgc prove --program: writes programs that show wrong values with the tinygrad of --live.
#include "apps/tgc/command.h"
#include "apps/tgc/prove_command.h"
#include "lib/support/write_file.h"
#include "lib/text/graph_json.h"

namespace tgc {

ProgramWriter::ProgramWriter(const ProveOptions& o) : file_(o.program) {
  if (file_.empty()) return;
  if (o.tinygrad().empty())
    throw Failure(Diag{.message = "--program needs a tinygrad that runs the program", .expected = "--live=PYTHON"});
  tinygrad_ = std::make_unique<TinygradProcess>(require(named_tinygrad(o.tinygrad())), nullptr);
}

void ProgramWriter::write(LiveRuleProof& rule) {
  for (auto& [graph, values] : rule.verdict == "conditional" ? rule.conditional : rule.wrong)
    if (tinygrad_ && rule.program.file.empty()) write({rule.place, graph, values}, rule.program);
}

void ProgramWriter::write(KernelProof& proof) {
  constexpr size_t kMost = 4;
  size_t tried = 0;
  for (const RewriteProof& r : proof.rewrites) {
    if (!tinygrad_ || r.kind != RewriteProof::Kind::Refuted || tried == kMost || !proof.program.file.empty()) continue;
    if (!r.counterexample.contains("before")) continue;
    tried++;
    const UOp before = proof.history->list()[r.application].before;
    write({std::string(r.place.rule), graph_to_json(before, {.producer = proof.producer}), r.counterexample},
          proof.program);
  }
  if (tinygrad_ && proof.verdict == RewriteProof::Kind::Refuted && !tried)
    proof.program.why = "no rewrite alone has values for which its sides differ";
}

void ProgramWriter::write(const ProgramQuestion& question, ShownProgram& out) {
  auto answered = tinygrad_->ask(question);
  if (!answered) return (void)(out.why = answered.diag().text());
  const ProgramAnswer& answer = answered.value_or_throw();
  if (answer.program.empty()) return (void)(out.why = answer.why);
  std::string path = file_;
  const size_t end = path.ends_with(".py") ? path.size() - 3 : path.size();
  if (++written_ > 1) path.insert(end, "-" + std::to_string(written_));
  require(write_file(path, answer.program));
  out = {.file = path, .printed = answer.printed};
}

}  // namespace tgc
