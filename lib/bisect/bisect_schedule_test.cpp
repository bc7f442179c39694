// Schedules that are wrong, of tensor graphs whose kernels are right: faults in the rewrites of tensors are named.
#include <doctest/doctest.h>

#include <cstring>

#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

BisectReport bisected_schedule(const std::string& id, const std::string& fault,
                               const std::string& file = "golden/tensor.jsonl.gz") {
  WithEnvironment with("TGC_FAULT", fault);
  Session session;
  auto source = std::move(Source::open(session, test_path(file) + "#" + id).value_or_throw());
  InputGraph in = std::move(*std::move(source.next().value_or_throw()));
  return bisect_tensor_graph(Session(), in, {.device = {.name = "REF"}});
}

}  // namespace

TEST_CASE("bisect: a schedule is held against a kernel for each operation, on the same arrays") {
  for (const char* id : {"gemm_int8", "bin_pow_half", "nn_randn", "mod_const_1"}) {
    CAPTURE(id);
    BisectReport report = bisected_schedule(id, "");
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Same);
  }
}

TEST_CASE("bisect: a schedule whose kernel reads beside its array: the rewrite that made it so, by its own kernels") {
  // in mv_flip the fault is in the kernels for each operation, too: these cannot tell
  for (auto [id, fault] : {std::pair("mv_flip", "add-zero@2"), std::pair("gemm_int8", "divmod-general@2")}) {
    BisectReport report = bisected_schedule(id, "tensor:" + std::string(fault));
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Schedule);
    CHECK(report.rule == std::string(fault, strcspn(fault, "@")));
    CHECK(report.stage == "apply rangeify");
    CHECK(report.rewrite == 2);
    CHECK(report.confirmed);
    CHECK(report.detail.starts_with("kernel 0, as it was scheduled: out of bounds: load from data1"));
  }
}

TEST_CASE("bisect: rewrites of tensors are named, whatever their stage: their sides are compared element by element") {
  struct Seeded {
    const char *id, *rule;
    uint64_t number;
    const char* stage;
    uint64_t in_stage;
  };
  for (const Seeded& f : {Seeded{"unary_ceil", "number", 9, "number the uops", 9},
                          {"int_xor_unsigned_char", "remove-tag", 2, "remove all tags", 1},
                          {"gemm_int8", "remove-bufferize", 1, "symbolic+reduce_collapse+debuf", 1},
                          {"red_min_all", "flatten-bufferize", 1, "bufferize to store", 1},
                          {"gemm_int8", "drop-movement", 4, "apply rangeify", 4},
                          {"mv_flip", "read-sources", 2, "apply rangeify", 2},
                          {"mv_arange", "reduce-over-ranges", 1, "apply rangeify", 1},
                          // it is a part of another, which differs as much
                          {"gemm_int8", "commutative-order", 5, "symbolic+reduce_collapse+debuf", 1},
                          // nothing that comes after it makes sense
                          {"mv_interp_linear", "pad-to-where", 1, "apply rangeify", 1}}) {
    BisectReport report = bisected_schedule(f.id, std::string("tensor:") + f.rule + "@" + std::to_string(f.number));
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Schedule);
    CHECK(report.rule == f.rule);
    CHECK(report.stage == f.stage);
    CHECK(report.rewrite == f.in_stage);
  }
}

TEST_CASE("bisect: the part of a rewrite is named without which that one is right, though it differs at fewer points") {
  // Tensor.empty(4, 4).topk(2)[0]; where the condition of an index does not hold a part of it is of no matter
  for (uint64_t number : {1, 8, 11}) {
    CAPTURE(number);
    BisectReport report =
        bisected_schedule("code.0", "tensor:index-given-valid@" + std::to_string(number), "topk.jsonl.gz");
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Schedule);
    CHECK(report.rule == "index-given-valid");
    CHECK(report.stage == "symbolic+reduce_collapse+debuf");
    CHECK(report.rewrite == number);
  }
}

TEST_CASE("bisect: a fault in a graph that was scheduled before is where it is in a fresh one") {
  BisectReport report = bisected_schedule("sym_add", "tensor:add-zero@2");  // of a RANGE: it changes nothing
  INFO(report.text(), report.error);
  CHECK(report.verdict == Verdict::Same);
}

}  // namespace tgc
