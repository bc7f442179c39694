#include <doctest/doctest.h>

#include "lib/driver/source.h"
#include "lib/prove/prove_kernel.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::unique_ptr<KernelProof> proof_of_recording(const std::string& change = "", const std::string& to = "") {
  std::unique_ptr<KernelProof> out;
  Session session;
  REQUIRE(for_each_graph(session, test_path("import/prove.jsonl.gz"), "", [&](InputGraph in) {
            auto record = std::make_shared<GoldenRecord>(*in.record);
            size_t at = change.empty() ? std::string::npos : record->rewrites.find(change);
            CHECK((at != std::string::npos) == !change.empty());
            if (at != std::string::npos) record->rewrites.replace(at, change.size(), to);
            in.record = record;
            ProofCache cache;
            out = prove_recording(in, cache);
            return Status(Unit{});
          }));
  return out;
}

TEST_CASE("prove_recording: the rewrites of tinygrad 0.14.0") {
  auto proof = proof_of_recording();
  INFO(proof_text(*proof));
  CHECK(proof->verdict == RewriteProof::Kind::Proven);
  CHECK(proof->rewrites.size() > 60);
}

TEST_CASE("prove_recording: a wrong rewrite is refuted") {
  // 3 * 4 -> 3
  auto proof = proof_of_recording("\"uop/symbolic.py:150\", 3, 6,", "\"uop/symbolic.py:150\", 3, 0,");
  INFO(proof_text(*proof));
  CHECK(proof->verdict == RewriteProof::Kind::Refuted);
  CHECK(proof->count(RewriteProof::Kind::Refuted) == 1);
}

}  // namespace
}  // namespace tgc
