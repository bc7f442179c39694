// tgc prove: proves the rewrites of compilations.
#include "apps/tgc/options.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/failure_collector.h"
#include "lib/driver/make_pipeline.h"
#include "lib/driver/runtime_kernel.h"
#include "lib/prove/prove_kernel.h"
#include "lib/prove/prove_rules.h"
#include "lib/support/counted.h"
#include "lib/support/ordered_pool.h"
#include "lib/trace/trace_print.h"

namespace tgc {
namespace {

struct ProveOptions {
  std::string input = "-", kernel;
  std::string rule, stage;
  bool json = false, strict = false, rules = false;
  unsigned jobs = 1;
  Overrides over{.live_rewrites = true};
};

// Proves the rules whose name matches --rule, of the stages that --stage selects.
int prove_rules(const ProveOptions& o) {
  std::vector<std::string_view> stages;
  if (!o.stage.empty())
    stages = require(select_stages(o.stage, choices_of_rows([](const StageRow& s) { return s.is_graph_stage(); })));
  TraceFilter filter;
  filter.rule = o.rule;
  require(check_names_a_rule(filter));
  ProofCache cache;
  cache.read();
  std::vector<CatalogRule> rules = catalog_rules();
  std::erase_if(rules, [&](const CatalogRule& r) {
    auto is_selected = [&](std::string_view stage) { return std::ranges::find(stages, stage) != stages.end(); };
    if (!is_rewrite(*r.rule)) return true;
    if (!stages.empty() && std::ranges::none_of(r.stages, is_selected)) return true;
    return !o.rule.empty() && !filter.names({r.rule->name, short_file(*r.rule), r.rule->line, "", ""});
  });
  std::vector<RuleProof> all(rules.size());
  Session session = terminal_session(o.over, o.jobs);
  require(parallel_for(
      rules.size(), session.jobs, [&](size_t i) { all[i] = prove_rule(*rules[i].rule, cache); },
      [&](size_t i) {
        if (!o.json && all[i].kind != RuleProof::Kind::Structural) print_report(rule_proof_text(all[i]));
        flush_output();  // verdicts are read as they come
        session.progress("rule " + std::to_string(i + 1) + " of " + std::to_string(rules.size()));
      }));
  cache.write();
  print_report(o.json ? rule_proofs_json(all) : rule_proofs_summary(all));
  return std::ranges::any_of(all, [](const RuleProof& r) { return r.kind == RuleProof::Kind::Refuted; });
}

int run(const ProveOptions& o) {
  if (o.rules) return prove_rules(o);
  using Kind = RewriteProof::Kind;
  Session session = terminal_session(o.over, o.jobs);
  FailureCollector refusals(session);
  ProofCache cache;
  cache.read();
  std::map<Kind, size_t> verdicts;
  size_t failed = 0, done = 0;
  {
    OrderedPool pool(session.jobs);
    auto deliver = [&](std::unique_ptr<KernelProof>&& proof) {
      verdicts[proof->verdict]++, failed += proof->error.has_value();
      print_report(o.json ? proof_json(*proof) : proof_text(*proof));
      session.progress(counted(++done, "kernel") + ", " + std::to_string(verdicts[Kind::Proven]) + " proven");
    };
    require(refusals.for_each(o.input, o.kernel, [&](InputGraph graph) -> Status {
      if (!compiles(session, graph)) {
        if (graph.record && is_runtime_kernel(*graph.record, graph.info.producer))
          return session.note("'" + graph.info.name + "' is a kernel of tinygrad's runtime: it is not proven"), Unit{};
        require(recorded_pipeline(graph)->need(Ability::Rewrites));
        auto in = std::make_shared<InputGraph>(std::move(graph));
        pool.submit([in, &cache] { return prove_recording(*in, cache); }, deliver);
        return Status(Unit{});
      }
      auto compilation = session.begin(std::move(graph));
      if (!compilation) return compilation.diag();
      auto c = std::make_shared<Compilation>(std::move(*compilation));
      pool.submit([c, &cache] { return prove_kernel(std::move(*c), cache); }, deliver);
      return Status(Unit{});
    }));
    require(pool.finish());
  }
  cache.write();
  if (verdicts[Kind::Refuted]) return 1;
  if (failed || verdicts.empty()) return 2;
  return refusals.failed() || (o.strict && (verdicts[Kind::Sampled] || verdicts[Kind::Unknown]));
}

}  // namespace

void add_prove(Command& cmd) {
  auto& o = cmd.make<ProveOptions>();
  cmd.describe(
      "Prove that each rewrite of a compilation computes the same for all inputs.",
      "tgc prove kernel.uop --target=CPU:CLANG",
      "A kernel is proven, sampled (some rewrites are only equal at sample points in REF), refuted or unknown.\n"
      "Exit codes: 0, 1 a rewrite is refuted or, with --strict, a kernel is not proven, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel);
  auto* rules = cmd.flag("--rules", o.rules, "instead: prove the rules themselves, for all dtypes and values");
  cmd.option("--rule", o.rule, "RULE", "with --rules: only these rules: a name with `*`, or a part of FILE:LINE")
      ->needs(rules);
  cmd.option("--stage", o.stage, "LIST", "with --rules: only the rules of these stages")->needs(rules);
  cmd.flag("--strict", o.strict, "fail (exit code 1) for each kernel that is not proven");
  cmd.jobs(o.jobs, "1");
  cmd.group(Group::Output);
  cmd.json(o.json, "print one JSON object for each kernel");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return run(o); });
}

}  // namespace tgc
