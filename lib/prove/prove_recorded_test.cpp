#include <doctest/doctest.h>

#include "lib/contain/process.h"
#include "lib/driver/source.h"
#include "lib/prove/prove_schedule.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::unique_ptr<KernelProof> proof_of_recording(const std::string& change = "", const std::string& to = "") {
  std::unique_ptr<KernelProof> out;
  Session session;
  REQUIRE(for_each_graph(session, test_path("import/prove.jsonl.gz"), "", [&](InputGraph in) {
            auto record = std::make_shared<GoldenRecord>(*in.record);
            size_t at = change.empty() ? std::string::npos : record->rewrites_json.find(change);
            CHECK((at != std::string::npos) == !change.empty());
            if (at != std::string::npos) record->rewrites_json.replace(at, change.size(), to);
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

TEST_CASE("prove_recording: a rewrite that the graphs of its stage do not show is not proven") {
  // changes the recorded rewrite x + 0 -> x to x + 0 -> x + 1, although the graph after the stage still has x
  auto proof = proof_of_recording("[13, \"uop/symbolic.py:111\", 69, 38,", "[13, \"uop/symbolic.py:111\", 69, 70,");
  INFO(proof_text(*proof));
  CHECK(proof->verdict == RewriteProof::Kind::Sampled);
  CHECK(proof_text(*proof).find("but the stage computes the same at sample inputs") != std::string::npos);
  CHECK(proof_text(*proof).find("without a recorded rewrite that explains it") != std::string::npos);
}

TEST_CASE("prove_recording: a value in place of Invalid refutes no schedule") {
  // The program is: for i in range(2): a[i+1] = a[i]*0.5 + a[i+1]. A rule removes a gate from a node whose user has the
  // same gate.
  Session session;
  REQUIRE(for_each_graph(session, test_path("import/set_rows.tensor.jsonl.gz"), "", [&](InputGraph in) {
    ProofCache cache;
    auto proof = prove_recording(in, cache);
    INFO(proof_text(*proof));
    CHECK(proof->verdict == RewriteProof::Kind::Unknown);
    CHECK(proof_json(*proof).find("before = Invalid") != std::string::npos);
    return Status(Unit{});
  }));
}

TEST_CASE("prove_schedule: a wrong schedule is refuted by what it computes, and is not proven without a run") {
  // in the first file, the offset of a SHRINK is added twice; in the second, an iteration of a kernel loads what an
  // earlier iteration stored
  using Case = std::pair<const char*, const char*>;
  for (auto [file, shown] : {Case("shrink_twice14", "12 of 12 differ"), Case("transposed_store14", "on their order")}) {
    Session session;
    const std::string path = test_path("verdicts/" + std::string(file) + ".tensor.jsonl.gz");
    REQUIRE(for_each_graph(session, path, "", [&](InputGraph in) {
      ProofCache cache;
      auto proof = prove_schedule(session, in, cache);
      INFO(proof_text(*proof));
      CHECK(proof->verdict == RewriteProof::Kind::Refuted);
      CHECK(proof_text(*proof).find(shown) != std::string::npos);
      auto open = prove_schedule(session, in, cache, {.should_check_stages = false});
      CHECK(open->verdict == RewriteProof::Kind::Unknown);
      return Status(Unit{});
    }));
  }
}

TEST_CASE("prove_recording: the unsound kernels of tinygrad 0.14.0 have the verdicts of the table") {
  const std::string table = read_whole_file(test_path("recorded_verdicts.md")).value_or_throw();
  Session session;
  size_t kernels = 0;
  auto prove = [&](InputGraph in) {
    ProofCache cache;
    auto proof = prove_recording(in, cache);
    INFO(proof_text(*proof));
    std::string row = "\n| `" + proof->kernel + "` | " + std::string(name_of(proof->verdict)) + " |";
    for (const RewriteProof& r : proof->rewrites)
      if (r.kind == RewriteProof::Kind::Refuted) row += " `" + std::string(r.place.rule) + "` |";
    CHECK(table.find(row) != std::string::npos);
    kernels++;
    return Status(Unit{});
  };
  REQUIRE(for_each_graph(session, test_path("import/prove_unsound.jsonl.gz"), "", prove));
  CHECK(kernels == 8);
}

}  // namespace
}  // namespace tgc
