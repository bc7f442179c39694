// tgc prove: proves the rewrites of compilations.
#include "apps/tgc/options.h"
#include "lib/driver/failure_collector.h"
#include "lib/prove/prove_kernel.h"
#include "lib/support/ordered_pool.h"

namespace tgc {
namespace {

struct ProveOptions {
  std::string input = "-", kernel;
  bool json = false, strict = false;
  unsigned jobs = 1;
  Overrides over;
};

int run(const ProveOptions& o) {
  using Kind = RewriteProof::Kind;
  Session session = terminal_session(o.over, o.jobs);
  FailureCollector refusals(session);
  ProofCache cache;
  cache.read();
  std::map<Kind, size_t> verdicts;
  size_t failed = 0;
  {
    OrderedPool pool(session.jobs);
    require(refusals.for_each(o.input, o.kernel, [&](InputGraph graph) -> Status {
      auto compilation = session.begin(std::move(graph));
      if (!compilation) return compilation.diag();
      auto c = std::make_shared<Compilation>(std::move(*compilation));
      pool.submit([c, &cache] { return prove_kernel(std::move(*c), cache); },
                  [&](std::unique_ptr<KernelProof>&& proof) {
                    verdicts[proof->verdict]++, failed += proof->error.has_value();
                    print_report(o.json ? proof_json(*proof) : proof_text(*proof));
                  });
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
  cmd.flag("--strict", o.strict, "fail (exit code 1) for each kernel that is not proven");
  cmd.jobs(o.jobs, "1");
  cmd.group(Group::Output);
  cmd.json(o.json, "print one JSON object for each kernel");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return run(o); });
}

}  // namespace tgc
