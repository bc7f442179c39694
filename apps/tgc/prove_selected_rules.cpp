#include "apps/tgc/options.h"
#include "apps/tgc/prove_command.h"
#include "lib/compilation/pipeline.h"
#include "lib/contain/temporary_folder.h"
#include "lib/driver/failure_collector.h"
#include "lib/driver/source.h"
#include "lib/live/tinygrad_process.h"
#include "lib/prove/live_rules.h"
#include "lib/prove/merge_proofs.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/prove_rules.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/write_file.h"
#include "lib/trace/trace_print.h"

namespace tgc {
namespace {

void report_rule(const Session& session, size_t number, size_t total, std::string_view rule) {
  session.report_progress("rule " + std::to_string(number) + " of " + std::to_string(total) + ": " + std::string(rule));
}

int prove_rules_of_tinygrad(const ProveOptions& o, const std::string& live) {
  const TemporaryFolder folder;
  const std::string path = folder.file("rules.jsonl.gz");
  const Shard shard = o.parsed_shard();
  Session session = make_terminal_session(o.num_jobs);
  const RulesExportOptions how{.rule_filter = o.rule,
                        .shard = o.shard.empty() ? "1/1" : o.shard,
                        .should_stop = session.cancel_check(),
                        .on_progress = [&](const std::string& what) { session.report_progress(what); }};
  require_value(export_rules(require_value(resolve_tinygrad(live)), how, path));
  const FloatSense accepted = require_value(catch_failures([&] { return parse_float_sense(o.float_sense); }));
  ProofCache cache;
  cache.make_persistent();
  std::vector<LiveRuleProof> all;
  std::string producer, missing;
  ProgramWriter programs(o);
  const LiveRuleOptions options{.on_begin = [&](const std::string& place, size_t number, size_t total) {
                                  report_rule(session, number, total, place);
                                },
                                .on_rule = [&](LiveRuleProof& rule) {
                                  programs.write_proof(rule);
                                  const bool is_printed = rule.has_value_root || rule.num_instances || !o.rule.empty();
                                  if (!o.should_print_json && is_printed) print_report(live_rule_text(rule));
                                  flush_output();  // users read the verdicts as they come
                                },
                                .should_stop = session.cancel_check(),
                                .limit_seconds = o.timeout_seconds,
                                .max_refuted = o.program_path.empty() ? size_t(1) : size_t(6),
                                .lists_instances = o.should_list_instances};
  auto done = for_each_graph(session, path, "", [&](InputGraph in) {
    producer = in.info.producer, missing = missing_rules_error(in);
    return catch_failures([&] { return all = prove_live_rules(in, cache, options), Unit{}; });
  });
  require_value(done);
  cache.write_answers();
  if (all.empty() && shard.num_shards == 1)
    throw Failure(Diag{.message = "no rule of that tinygrad is at '" + o.rule + "': " + missing,
                       .expected = "the name of a rule's function, or a part of FILE.py:LINE: a line of the function, "
                                   "or that on which the pattern begins"});
  if (!o.table_path.empty()) require_value(write_file(o.table_path, live_rules_table(all, producer)));
  print_report(o.should_print_json ? live_rules_json(all) + o.report_end_line() : live_rules_summary(all));
  return std::ranges::any_of(all, [&](const LiveRuleProof& r) {
    const bool is_proven =
        r.verdict == "structural" || (r.verdict == "proven" && !(r.has_floats && r.sense > accepted));
    return r.verdict == "refuted" || (o.is_strict && !is_proven);
  });
}

int prove_rules(const ProveOptions& o) {
  const FloatSense accepted = require_value(catch_failures([&] { return parse_float_sense(o.float_sense); }));
  std::vector<std::string_view> stages;
  if (!o.stage.empty())
    stages =
        require_value(select_stages(o.stage, choices_of_rows([](const StageRow& s) { return s.is_graph_stage(); })));
  TraceFilter filter;
  filter.rule_pattern = o.rule;
  require_value(check_rule_name(filter));
  ProofCache cache;
  cache.make_persistent();
  const Shard shard = o.parsed_shard();
  size_t number = 0;
  std::vector<CatalogRule> rules = catalog_rules();
  std::erase_if(rules, [&](const CatalogRule& r) {
    auto is_selected = [&](std::string_view stage) { return std::ranges::find(stages, stage) != stages.end(); };
    if (!is_rewrite(*r.rule)) return true;
    if (!stages.empty() && std::ranges::none_of(r.stages, is_selected)) return true;
    if (!shard.has_item(number++)) return true;
    return !o.rule.empty() && !filter.is_rule_match({r.rule->name, short_file_name(*r.rule), r.rule->line, "", ""});
  });
  std::vector<RuleProof> all(rules.size());
  Session session = make_terminal_session(o.overrides, o.num_jobs);
  if (!rules.empty()) report_rule(session, 1, rules.size(), rules[0].rule->name);
  auto prove = [&](size_t i) -> Status {
    const StopScope stop(session.cancel_check());
    all[i] = prove_rule(*rules[i].rule, cache);
    return session.is_cancelled() ? Status(Diag{"cancelled"}) : Status(Unit{});
  };
  require_value(parallel_for(rules.size(), session.num_jobs, prove, [&](size_t i) {
    if (!o.should_print_json && all[i].kind != RuleProof::Kind::Structural) print_report(rule_proof_text(all[i]));
    flush_output();  // users read the verdicts as they come
    if (i + 1 < rules.size()) report_rule(session, i + 2, rules.size(), rules[i + 1].rule->name);
  }));
  cache.write_answers();
  print_report(o.should_print_json ? rule_proofs_json(all) + o.report_end_line() : rule_proofs_summary(all));
  using Kind = RuleProof::Kind;
  return std::ranges::any_of(all, [&](const RuleProof& r) {
    const bool is_proven = r.kind == Kind::Structural ||
                           (r.kind == Kind::Proven && !(r.has_floats && r.sense > accepted));
    return r.kind == Kind::Refuted || (o.is_strict && !is_proven);
  });
}

}  // namespace

int merge_reports(const ProveOptions& o) {
  const MergedProofs all = require_value(merge_proofs(o.reports_to_merge));
  if (o.merged_report_path.empty()) print_report(all.json);
  else require_value(write_file(o.merged_report_path, all.json));
  return all.is_refuted;
}

int prove_selected_rules(const ProveOptions& options) {
  if (!options.live_tinygrad().empty()) return prove_rules_of_tinygrad(options, options.live_tinygrad());
  if (options.should_list_instances)
    throw Failure(Diag{.message = "--list-instances lists rules of a tinygrad", .expected = "--live=PYTHON"});
  const ProgramWriter needs_live(options);
  return prove_rules(options);
}

}  // namespace tgc
