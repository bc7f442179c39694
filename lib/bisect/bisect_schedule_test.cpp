#include <doctest/doctest.h>

#include <cstring>

#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/run/run.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

BisectReport bisected_schedule(const std::string& id, const std::string& fault,
                               const std::string& file = "golden/tensor.jsonl.gz") {
  ScopedEnvironment with("TGC_FAULT", fault);
  Session session;
  auto source = std::move(GraphSource::open(session, test_path(file) + "#" + id).value_or_throw());
  InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
  return bisect_tensor_graph(Session(), in, {.device = {.name = "REF"}});
}

}  // namespace

TEST_CASE("bisect: a right schedule computes what the unfused one does") {
  for (const char* id : {"gemm_int8", "bin_pow_half", "nn_randn", "mod_const_1"}) {
    CAPTURE(id);
    BisectReport report = bisected_schedule(id, "");
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Same);
  }
}

TEST_CASE("bisect: names the rewrite because of which a scheduled kernel reads out of bounds") {
  // The fault also makes the unfused kernels of mv_flip wrong, so the unfused results cannot serve as a reference.
  for (auto [id, fault] : {std::pair("mv_flip", "add-zero@2"), std::pair("gemm_int8", "divmod-general@2")}) {
    BisectReport report = bisected_schedule(id, "tensor:" + std::string(fault));
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Schedule);
    CHECK(report.verdict.rule == std::string(fault, strcspn(fault, "@")));
    CHECK(report.verdict.stage == "apply rangeify");
    CHECK(report.verdict.rewrite_number == 2);
    CHECK(report.verdict.is_confirmed);
    CHECK(report.verdict.detail.starts_with("kernel 0 of the schedule: out of bounds: load from data1"));
  }
}

TEST_CASE("bisect: names wrong rewrites in every tensor stage by comparing tensor elements") {
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
                          // the rewrite is nested in one whose sides differ at equally many points
                          {"gemm_int8", "commutative-order", 5, "symbolic+reduce_collapse+debuf", 1},
                          // no expression exists for an element of the nodes above this rewrite
                          {"mv_interp_linear", "pad-to-where", 1, "apply rangeify", 1}}) {
    BisectReport report = bisected_schedule(f.id, std::string("tensor:") + f.rule + "@" + std::to_string(f.number));
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Schedule);
    CHECK(report.verdict.rule == f.rule);
    CHECK(report.verdict.stage == f.stage);
    CHECK(report.verdict.rewrite_number == f.in_stage);
  }
}

TEST_CASE("bisect: names a nested rewrite that differs at fewer points than the enclosing one") {
  // The graph is Tensor.empty(4, 4).topk(2)[0]. The sides of a right rewrite may differ where an index's gate is false.
  for (uint64_t number : {1, 8, 11}) {
    CAPTURE(number);
    BisectReport report =
        bisected_schedule("code.0", "tensor:index-given-valid@" + std::to_string(number), "topk.jsonl.gz");
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Schedule);
    CHECK(report.verdict.rule == "index-given-valid");
    CHECK(report.verdict.stage == "symbolic+reduce_collapse+debuf");
    CHECK(report.verdict.rewrite_number == number);
  }
}

TEST_CASE("bisect: a fault without effect in a tensor graph is no failure") {
  BisectReport report = bisected_schedule("sym_add", "tensor:add-zero@2");  // application 2 affects no result
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Same);
}

TEST_CASE("bisect: a kernel that reads a buffer after another kernel has overwritten it is an order") {
  for (const char* name : {"war13", "assignCL", "invalid_right13", "invalid_repeated", "refused_symbolic"}) {
    CAPTURE(name);
    Session session;
    const std::string file = test_path("verdicts/" + std::string(name) + ".tensor.jsonl.gz");
    auto source = std::move(GraphSource::open(session, file).value_or_throw());
    while (true) {
      auto next = std::move(source.next_graph().value_or_throw());
      if (!next) break;
      const BisectReport report = bisect_tensor_graph(session, *next, {});
      INFO(report.text(), report.error);
      const std::string_view n = name;
      CHECK(report.verdict.kind == (n == "war13" ? Kind::Order : n == "refused_symbolic" ? Kind::Refused : Kind::Same));
      if (n == "war13") {
        CHECK(report.verdict.kernel_numbers == std::vector<size_t>{1, 0});
        CHECK(report.verdict.shared_buffer == "data1");
        CHECK(report.verdict.function == "create_schedule (schedule/__init__.py)");
      }
      if (n == "refused_symbolic") CHECK(report.exit_code() == 2);
    }
  }
}

TEST_CASE("bisect: names a rewrite of a recorded schedule that is wrong for large values only") {
  for (auto [name, rule] : {std::pair("wide_cast14", "uop/symbolic.py:295"),
                            std::pair("wide_compare14", "uop/symbolic.py:273"),
                            std::pair("wide_product14", "uop/symbolic.py:298"),
                            std::pair("wide_half14", "uop/symbolic.py:294")}) {
    CAPTURE(name);
    Session session;
    const std::string file = test_path("verdicts/" + std::string(name) + ".tensor.jsonl.gz");
    auto source = std::move(GraphSource::open(session, file).value_or_throw());
    InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
    const ModelReport run = run_recorded_schedule(session, in, {}, false);
    CHECK(run.result() == RunReport::Result::Failed);
    CHECK(run.input_set_note == "of all sizes");
    const BisectReport report = bisect_tensor_graph(session, in, {});
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == rule);
  }
}

}  // namespace tgc
