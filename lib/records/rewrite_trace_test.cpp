#include "lib/records/rewrite_trace.h"

#include <doctest/doctest.h>

#include "lib/records/golden.h"
#include "lib/records/input_file.h"
#include "lib/records/pickled_nodes.h"
#include "lib/support/lines.h"

using namespace tgc;

namespace {

// Returns a pickle of a UOp as tinygrad stores it, with equal CONSTs as sources.
std::string pickled_uop(int op, int sources, int const_op) {
  auto text = [](std::string_view s) { return std::string("\x8c") + char(s.size()) + std::string(s); };
  auto object = [&](std::string_view module, std::string_view name, const std::string& arguments) {
    return text(module) + text(name) + "\x93(" + arguments + "tR";
  };
  auto number = [](int n) { return std::string("K") + char(n); };
  auto uop = [&](int o, const std::string& src, const std::string& arg) {
    std::string dtype =
        object("tinygrad.dtype", "DType", number(5) + number(32) + text("int") + text("i") + number(1) + "N");
    std::string number_of_op = object("tinygrad.uop", "Ops", number(o));
    return object("tinygrad.uop.ops", "UOp", number_of_op + dtype + "(" + src + "t" + arg + "N");
  };
  std::string src;
  for (int n = 0; n < sources; n++) src += uop(const_op, "", number(3));
  return "\x80\x04" + uop(op, src, "N") + ".";
}

std::string problem_of(const std::string& pickle) {
  auto read = Pickle::read(pickle, is_tinygrad_name, "a test");
  if (!read) return read.diag().message;
  auto made = catch_failures([&] { return &find_fitting_dialect({read->root(), read->root()[2][0]}); });
  return made ? (*made)->producer : made.diag().message;
}

}  // namespace

TEST_CASE("rewrites.pkl: becomes a recording with the producer, stages and sources") {
  for (std::string_view version : {"12", "13", "14"}) {
    const std::string path = "testdata/fuzz/profile/rewrites_0." + std::string(version) + ".pkl";
    CHECK(is_start_of_rewrites(read_first_bytes(path, 100)));
    std::string text = read_file(path).value_or_throw();
    auto lines = lines_of(text);
    REQUIRE(lines.size() >= 2);
    const std::string producer = "tinygrad 0." + std::string(version) + ".0";
    CHECK(parse_golden_header({std::string(lines[0]), 1}, path)->producer == producer);
    size_t kernels = 0;
    for (size_t n = 1; n < lines.size(); n++) {
      GoldenRecord r = parse_golden_record({std::string(lines[n]), uint32_t(n + 1)}, path).value_or_throw();
      CHECK(!r.stages.empty());
      if (!r.program) continue;
      kernels++;
      CHECK(r.program->function_name == "E_2");
      CHECK(r.source->find("E_2") != std::string::npos);
      CHECK(r.target == "CPU:CLANG");
    }
    CHECK(kernels == 1);
  }
}

TEST_CASE("pickled nodes: the numbers of ops must fit one version") {
  CHECK(problem_of(pickled_uop(200, 1, 1)).find("no known version") != std::string::npos);
  // 0.13.0: ADD is 37, CONST 64; in other versions, the same numbers belong to other ops whose nodes can look the same
  CHECK(problem_of(pickled_uop(37, 2, 64)).find("fit several versions") != std::string::npos);
  CHECK(problem_of(pickled_uop(37, 3, 64)).find("no known version") != std::string::npos);  // an ADD has two sources
}

TEST_CASE("pickled nodes: values that share values do not expand without end") {
  auto is_any = [](std::string_view, std::string_view) { return true; };
  const PickleDialect dialect{Release::v0_14, "tinygrad 0.14.0", {""}};
  auto printed = [&](const std::string& bytes) {
    const Pickle pickle = Pickle::read(bytes, is_any, "").value_or_throw();
    return catch_failures([&] { return PickledNodeWriter(dialect).value_text(pickle.root()); });
  };
  std::string pairs = "N", rows = "N";
  CHECK(printed("N2\x86.").ok());
  for (int i = 0; i < 40; i++) pairs += "2\x86";                                   // x = (x, x)
  for (int i = 0; i < 8; i++) rows += "q" + std::string(1, '\0') + "0](" + [] {    // x = [x, x, ... 20 times]
    std::string out;
    for (int k = 0; k < 20; k++) out += "h" + std::string(1, '\0');
    return out;
  }() + "e";
  for (const std::string& bytes : {pairs, rows}) {
    auto text = printed(bytes + ".");
    REQUIRE_FALSE(text);
    CHECK(text.diag().message.find("unpacked bytes") != std::string::npos);
  }
}
