#include <map>

#include "apps/tgc/options.h"
#include "apps/tgc/prove_command.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/recorded_facts.h"
#include "lib/driver/source.h"
#include "lib/prove/prove_schedule.h"
#include "lib/support/counted.h"
#include "lib/support/ordered_pool.h"

namespace tgc {
namespace {

constexpr double kMostProofSeconds = 1e6;

class VerdictCounts {
 public:
  void add(const KernelProof& p) {
    std::string name(name_of(p.verdict));
    const bool is_weak =
        p.verdict == RewriteProof::Kind::Proven && p.has_floats() && p.weakest_sense() > FloatSense::ButNan;
    if (is_weak) name += " (" + std::string(name_of(p.weakest_sense())) + ")";
    verdict_counts_[name]++, num_total_++, num_kernels_ += !p.is_schedule;
  }
  size_t total() const { return num_total_; }
  std::string text() const {
    std::string out = count_text(num_total_, num_kernels_ ? "kernel" : "schedule") + ":";
    for (auto& [name, n] : verdict_counts_) out += (out.back() == ':' ? " " : ", ") + std::to_string(n) + " " + name;
    if (num_kernels_) out += "; a proof covers neither the schedule before a kernel nor its source";
    return out + "\n";
  }

 private:
  std::map<std::string, size_t> verdict_counts_;
  size_t num_total_ = 0, num_kernels_ = 0;
};

int run_prove(const ProveOptions& o) {
  if (o.should_prove_rules) return prove_selected_rules(o);
  using Kind = RewriteProof::Kind;
  const FloatSense accepted = require_value(catch_failures([&] { return parse_float_sense(o.float_sense); }));
  const Shard shard = o.parsed_shard();
  const KernelProofOptions options{.should_check_stages = !o.should_skip_ref_check,
                                   .timeout_seconds = o.timeout_seconds};
  ProgramWriter programs(o);
  VerdictCounts counts;
  size_t number = 0, weak = 0;
  Session session = make_terminal_session(o.overrides, o.num_jobs);
  FailureCollector refusals(session);
  ProofCache cache;
  cache.make_persistent();
  std::map<Kind, size_t> verdicts;
  size_t failed = 0, done = 0;
  {
    OrderedPool pool(session.num_jobs);
    auto deliver = [&](std::unique_ptr<KernelProof>&& proof) {
      programs.write_proof(*proof);
      verdicts[proof->verdict]++, failed += proof->error.has_value(), counts.add(*proof);
      weak += proof->verdict == Kind::Proven && proof->has_floats() && proof->weakest_sense() > accepted;
      print_report(o.should_print_json ? proof_json(*proof) : proof_text(*proof));
      session.report_progress(count_text(++done, "kernel") + ", " + std::to_string(verdicts[Kind::Proven]) + " proven");
    };
    require_value(refusals.for_each_input(o.input, o.kernel, [&](InputGraph graph) -> Status {
      if (!shard.has_item(number++)) return Status(Unit{});
      // tgc's own pipeline repeats the rewrites of kernels that it can compile; for other graphs, the recorded rewrites
      // are proven
      if (!session.compiler()->can_compile(graph) || graph.is_tensor_graph) {
        if (is_runtime_kernel(graph))
          return session.report_note("'" + graph.info.name + "' is a kernel of tinygrad's runtime: it is not proven"),
                 Unit{};
        require_value(make_recorded_pipeline(graph)->require_ability(Ability::Rewrites));
        auto in = std::make_shared<InputGraph>(std::move(graph));
        pool.submit_task(
            [in, &session, &cache, &options] {
              return in->is_tensor_graph ? prove_schedule(session, *in, cache, options)
                                         : prove_recording(*in, cache, options);
            },
            deliver);
        return Status(Unit{});
      }
      auto compilation = session.begin(std::move(graph));
      if (!compilation) return compilation.diag();
      auto c = std::make_shared<Compilation>(std::move(*compilation));
      pool.submit_task([c, &cache, &options] { return prove_kernel(std::move(*c), cache, options); }, deliver);
      return Status(Unit{});
    }));
    require_value(pool.finish_tasks());
  }
  cache.write_answers();
  if (!o.should_print_json && counts.total()) print_report(counts.text());
  if (o.should_print_json) print_report(o.report_end_line());
  if (counts.total() && verdicts[Kind::Proven] == counts.total()) note_unchecked_schedules(session, o.input, "prove");
  if (verdicts[Kind::Refuted]) return 1;
  if (failed || (!counts.total() && shard.num_shards == 1)) return 2;
  return refusals.has_failures() || (o.is_strict && (verdicts[Kind::Sampled] || verdicts[Kind::Unknown] || weak));
}

}  // namespace

FloatSense parse_float_sense(const std::string& name) {
  if (name == "but-nan") return FloatSense::ButNan;
  for (int s = 0; s <= int(FloatSense::Real); s++)
    if (name_of(FloatSense(s)) == name) return FloatSense(s);
  throw Failure(Diag{.message = "'" + name + "' is no sense of floats",
                     .expected = "bit-exact, but-nan, finite, rounding or reals"});
}

void add_prove(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<ProveOptions>();
  cmd.set_description(
      "Prove that each rewrite of a compilation computes the same for all inputs.",
      "tgc prove kernel.uop --target=CPU:CLANG",
      "A kernel is proven, sampled (some rewrites are only equal at sample points in REF), refuted or unknown.\n"
      "Exit codes: 0, 1 a rewrite or rule is refuted or, with --strict, a kernel or rule is not proven (a conditional\n"
      "rule is not), 2 trouble.");
  CLI::App* join = cmd->add_subcommand("merge", "Join the reports of all shards (`tgc prove --shard=K/N --json`).");
  join->add_option("REPORTS", o.reports_to_merge, "what `tgc prove --shard=K/N --json` printed")->required();
  join->add_option("-o,--output", o.merged_report_path, "a file for the whole; default: standard output");
  add_input_options(cmd, o.input, o.kernel);
  auto* rules = cmd.add_cli_flag("--rules", o.should_prove_rules,
                                 "instead: prove the rules themselves, for all dtypes and values");
  cmd.add_option("--rule", o.rule, "RULE", "with --rules: only these rules: a name with `*`, or a part of FILE:LINE")
      ->needs(rules);
  cmd.add_option("--write-table", o.table_path, "FILE", "with --rules --live: write the verdicts to a Markdown table")
      ->needs(rules);
  cmd.add_cli_flag("--list-instances", o.should_list_instances,
                   "with --rules --live: also list what was decided of each rule")
      ->needs(rules);
  cmd.add_option("--stage", o.stage, "LIST", "with --rules: only the rules of these stages")->needs(rules);
  cmd.add_cli_flag("--strict", o.is_strict,
                   "fail (exit code 1) for each kernel, or rule with --rules, that is not proven");
  cmd.add_option("--floats", o.float_sense, "SENSE",
                 "the weakest sense that --strict accepts: bit-exact, but-nan, finite, rounding or reals (default)");
  cmd.add_cli_flag("--no-check", o.should_skip_ref_check,
                   "do not run the graphs of stages in REF if all rewrites are proven");
  cmd.add_number_option("--timeout", o.timeout_seconds, "S", 0, kMostProofSeconds,
                    "time limit for one kernel; default: 30 seconds of processor time; 0: none. The rest is unknown");
  cmd.add_option(
      "--program", o.program_path, "FILE.py",
      "with --live: also write a Python program that shows the wrong value with that tinygrad, if there is one");
  cmd.add_option("--shard", o.shard, "K/N", "prove the Kth of N parts of the kernels, or of the rules");
  cmd.add_jobs_option(o.num_jobs, "1");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.should_print_json, "print one JSON object for each kernel");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o, join] { return join->parsed() ? merge_reports(o) : run_prove(o); });
}

}  // namespace tgc
