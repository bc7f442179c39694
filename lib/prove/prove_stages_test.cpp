// Tests how rewrites are decided that have no values to compare: REF runs the graphs after stages and between rewrites.
#include <doctest/doctest.h>

#include <algorithm>

#include "lib/driver/source.h"
#include "lib/prove/prove_kernel.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::unique_ptr<KernelProof> proof_of(const std::string& file, const std::string& kernel) {
  std::unique_ptr<KernelProof> out;
  Session session;
  REQUIRE(for_each_graph(session, test_path(file), "", [&](InputGraph in) {
            if (out || in.info.name != kernel) return Status(Unit{});
            ProofCache cache;
            out = prove_kernel(std::move(session.begin(std::move(in)).value_or_throw()), cache);
            return Status(Unit{});
          }));
  REQUIRE(out);
  return out;
}

const RewriteProof& refuted(const KernelProof& proof) {
  INFO(proof_text(proof));
  REQUIRE(proof.num_with_verdict(Kind::Refuted) == 1);
  return *std::ranges::find(proof.rewrites, Kind::Refuted, &RewriteProof::kind);
}

TEST_CASE("prove_kernel: of several rewrites of a wrong stage, only the wrong one is refuted") {
  auto pixel = proof_of("unsound_kernels.md", "gated-pixel");
  CHECK(refuted(*pixel).place.rule == "index-given-valid");
  CHECK(pixel->num_with_verdict(Kind::Sampled) > 2);
}

TEST_CASE("prove_kernel: a later stage shows an error of one that REF cannot run") {
  auto power = proof_of("unsound_kernels.md", "integer-power");
  CHECK(refuted(*power).place.rule == "const-pow");
  CHECK(refuted(*power).counterexample.at("stored").ends_with("after 'expander'"));
}

TEST_CASE("prove_kernel: a store that no longer waits for another one is refuted") {
  auto products = proof_of("unsound_kernels.md", "gated-products");
  CHECK(refuted(*products).place.rule == "split-load-store");
}

TEST_CASE("prove_kernel: launch indices that lose an iteration are refuted, permuted indices of warps are not") {
  auto grid = proof_of("unsound.jsonl.gz", "gpudims-limits");
  CHECK(refuted(*grid).place.rule == "grid-to-specials");
  CHECK(refuted(*grid).counterexample.at("runs") == "0 times");
  auto product = proof_of("golden/kernels.jsonl.gz", "gemm_half_16_16_16.0");
  CHECK(product->verdict == Kind::Sampled);
}

TEST_CASE("prove_kernel: stores of words to a memory of bytes are compared by the stage") {
  auto packed = proof_of("golden/kernels.jsonl.gz", "unary_isnan.0");
  CHECK(packed->verdict == Kind::Sampled);
}

}  // namespace
}  // namespace tgc
