#include "renderers/names.h"

#include <doctest/doctest.h>

#include "lib/support/limits.h"
#include "lib/uop/graph.h"
#include "renderers/renderer.h"

using namespace tgc;

namespace {

constexpr const char* kTargets[] = {"CPU:CLANG", "CPU:LLVM", "CUDA:CUDA:sm_80",  "CUDA:PTX:sm_80",  "METAL",
                                    "CL",        "CL:INTEL", "AMD:HIP:gfx1100", "AMD:LLVM:gfx942", "WEBGPU"};

// Names that contain code in C, LLVM IR or assembly, contain invisible characters, or are not identifiers.
constexpr std::string_view kHostile[] = {"n){system(\"touch x\");}void f(int n",
                                         "%x) { ret void }\ndefine void @g(", "a b", "0", "",
                                         "n\n.visible .entry evil()", "n\xE2\x80\xAE", "*/ int y; /*", "n;"};

struct Names {
  Graph g;
  UOp out = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(4), {}, 0), zero = g.constant(dtypes::int32, Const(0));

  UOp variable(std::string_view name) {
    return g.node(Op::DEFINE_VAR, dtypes::int32, {}, g.tuple({g.str(name), Arg(0), Arg(3)}));
  }
  // Renders a kernel with the nodes `more`, the last of which is stored. Returns the error; an empty text on success.
  std::string render(const char* target, std::vector<UOp> more, std::string_view kernel = "k") {
    Settings settings;
    UOp value = more.empty() ? zero : more.back();
    UOp index = g.node(Op::INDEX, out.dtype(), {out, zero}), store = g.node(Op::STORE, dtypes::void_, {index, value});
    Arg fields[] = {g.str(kernel), g.tuple({}), false, g.tuple({}), Arg()};
    Arg info = g.record(RecordClass::KernelInfo, fields);
    std::vector<UOp> list{out, zero};
    list.insert(list.end(), more.begin(), more.end());
    list.insert(list.end(), {index, store, g.sink(store, info)});
    auto text = render_source(*parse_target(target, settings), list);
    return text ? "" : text.diag().text();
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("names: every renderer prints only C identifiers as names") {
  CHECK(is_identifier("start_pos"));
  CHECK(is_identifier("_0"));
  for (std::string_view name : kHostile) CHECK_FALSE(is_identifier(name));
  for (const char* target : kTargets) {
    INFO(target);
    Names n;
    CHECK(n.render(target, {n.variable("start_pos")}) == "");
    for (std::string_view name : kHostile) {
      Names hostile;
      INFO(name);
      std::string why = hostile.render(target, {hostile.variable(name)});
      CHECK(contains(why, "the name of Ops.DEFINE_VAR would be code: "));
      CHECK(contains(why, "expected a C identifier"));
      CHECK_FALSE(contains(why, "\xE2\x80\xAE"));
    }
  }
}

TEST_CASE("names: every renderer refuses code in the args of indices, tensor cores, buffers, ranges and constants") {
  for (const char* target : kTargets) {
    INFO(target);
    auto refused = [&](auto make) {
      Names n;
      return contains(n.render(target, {make(n)}), "would be code");
    };
    constexpr std::string_view kCode = "g */ system(\"x\"); /* 0";
    CHECK(refused([&](Names& n) { return n.g.node(Op::SPECIAL, dtypes::int32, {n.zero}, n.g.str(kCode)); }));
    CHECK(refused([&](Names& n) { return n.g.node(Op::SPECIAL, dtypes::int32, {n.zero}, n.g.str("gidx")); }));
    CHECK(refused(
        [&](Names& n) { return n.g.node(Op::SPECIAL, dtypes::int32, {n.variable(kCode)}, n.g.str("gidx0")); }));
    CHECK(refused([&](Names& n) { return n.g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(4), {}, n.g.str(kCode)); }));
    CHECK(refused([&](Names& n) {
      return n.g.node(Op::DEFINE_LOCAL, dtypes::int32.ptr(4, AddrSpace::LOCAL), {}, n.g.str(kCode));
    }));
    CHECK(refused([&](Names& n) {
      return n.g.node(Op::RANGE, dtypes::int32, {n.zero}, n.g.tuple({n.g.str(kCode), AxisType::LOOP}));
    }));
    CHECK(refused([&](Names& n) { return n.g.node(Op::CONST, dtypes::int32, {}, n.g.str(kCode)); }));
    CHECK(refused([&](Names& n) {
      return n.g.node(Op::WMMA, dtypes::int32, {n.zero, n.zero, n.zero}, n.g.tuple({n.g.str(kCode)}));
    }));
  }
}

TEST_CASE("names: the function name that tinygrad makes of a kernel name must be an identifier") {
  for (const char* target : kTargets) {
    INFO(target);
    Names n;
    CHECK(n.render(target, {}, "E_4\x1b[31mn1\x1b[0m") == "");
    CHECK(n.render(target, {}, "f(){system(\"x\");}") == "");  // characters of code are printed in hexadecimal
    CHECK(contains(n.render(target, {}, "4"), "would be code"));
    CHECK(contains(n.render(target, {}, ""), "would be code"));
  }
}

TEST_CASE("names: CUSTOM is always printed, but compiled only with --allow-custom") {
  Names n;
  UOp custom = n.g.node(Op::CUSTOMI, dtypes::int32, {}, n.g.str("system(\"x\")"));
  CHECK(n.render("CPU:CLANG", {custom}) == "");
  std::vector<UOp> list{custom};
  CHECK(contains(check_custom_nodes(list).diag().text(), "expected --allow-custom"));
  set_custom_ops_allowed(true);
  CHECK(check_custom_nodes(list).ok());
  set_custom_ops_allowed(false);
  list = {n.zero};
  CHECK(check_custom_nodes(list).ok());
}
