// Tests that tgc proves no compilation by a tinygrad 0.14.0 with an injected fault.
#include <doctest/doctest.h>

#include <map>

#include "lib/driver/source.h"
#include "lib/prove/prove_kernel.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::map<std::string, std::unique_ptr<KernelProof>> proofs_of(const std::string& file, bool should_check_stages) {
  std::map<std::string, std::unique_ptr<KernelProof>> out;
  static std::map<std::string, ProofCache> caches;
  ProofCache& cache = caches[file];
  Session session;
  REQUIRE(for_each_graph(session, test_path(file), "", [&](InputGraph in) {
            std::string name = in.info.name.substr(0, in.info.name.find('.'));
            out[name] = prove_recording(in, cache, {.should_check_stages = should_check_stages});
            return Status(Unit{});
          }));
  return out;
}

TEST_CASE("prove_recording: wrong compilations are refuted") {
  auto all = proofs_of("prove/wrong.jsonl.gz", true);
  const std::map<std::string, std::string> refuted{{"gap", ""},
                                                   {"afterg", "uop/wrong.py:19"},
                                                   {"accreset", "codegen/__init__.py:234"},
                                                   {"race", ""},
                                                   {"mask", "uop/wrong.py:7"},
                                                   {"inf", "uop/wrong.py:25"},
                                                   {"oobload", "uop/wrong.py:34"}};
  for (auto& [name, rule] : refuted) {
    const KernelProof& proof = *all.at(name);
    INFO(proof_text(proof));
    CHECK(proof.verdict == Kind::Refuted);
    CHECK(proof_text(proof).find("a bug of tgc's prover") == std::string::npos);
    for (const RewriteProof& r : proof.rewrites)
      if (r.kind == Kind::Refuted) CHECK(r.place.rule == rule);
  }
  for (const char* name : {"gap_nomatch", "fp8cast", "cmpadd", "f2i", "order"}) {
    INFO(proof_text(*all.at(name)));
    CHECK(all.at(name)->verdict != Kind::Proven);
    CHECK(all.at(name)->verdict != Kind::Refuted);
  }
  CHECK(proof_text(*all.at("order")).find("defines data0 after data1") != std::string::npos);
  CHECK(all.at("f2i")->error->message.starts_with("the record has no compiled kernel: tinygrad raised KeyError"));
  CHECK(all.at("oobload")->error.has_value());
}

TEST_CASE("prove_recording: without the check in REF, wrong compilations are not proven either") {
  for (auto& [name, proof] : proofs_of("prove/wrong.jsonl.gz", false)) {
    INFO(proof_text(*proof));
    CHECK(proof->verdict != Kind::Proven);
  }
}

TEST_CASE("prove_recording: compilations by mutants of tinygrad 0.14.0 are refuted") {
  auto all = proofs_of("prove/mutants.jsonl.gz", true);
  CHECK(all.size() == 40);
  for (auto& [name, proof] : all) {
    INFO(proof_text(*proof));
    CHECK(proof->verdict == Kind::Refuted);
  }
}

TEST_CASE("prove_recording: without the check in REF, compilations by mutants are not proven either") {
  for (auto& [name, proof] : proofs_of("prove/mutants.jsonl.gz", false)) {
    INFO(proof_text(*proof));
    CHECK(proof->verdict != Kind::Proven);
  }
}

}  // namespace
}  // namespace tgc
