#include "lib/lint/jit_lint.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

constexpr std::string_view kHeader =
    R"({"format":"tgc-golden","version":1,"level":"jit","producer":"tinygrad 0.12.0","settings":{}})";

// Returns the event of a call of the function "f" in f.py. `more` has further JSON members.
std::string call(int number, std::string_view phase, std::string_view more) {
  return R"({"id":"x","event":"call","jit":0,"function":"f","place":"f.py:1","from":"f.py:)" +
         std::to_string(10 + number) + R"(","call":)" + std::to_string(number) + R"(,"phase":")" + std::string(phase) +
         "\"" + std::string(more) + "}";
}

JitLinter lint_of(std::initializer_list<std::string> events) {
  JitLinter lint;
  REQUIRE(lint.add_line(kHeader, "t", 1));
  uint32_t line = 2;
  for (const std::string& e : events) REQUIRE(lint.add_line(e, "t", line++));
  return lint;
}

JitFinding only(std::initializer_list<std::string> events) {
  JitLinter lint = lint_of(events);
  REQUIRE(lint.findings().size() == 1);
  return lint.findings()[0];
}

TEST_CASE("JitLint: a number that changes after the capture is reported once, at its first use") {
  JitFinding f = only({call(0, "warmup", R"(,"sees":{"mult":"1"})"), call(1, "capture", R"(,"sees":{"mult":"2"})"),
                       call(2, "replay", R"(,"sees":{"mult":"3"})"), call(3, "replay", R"(,"sees":{"mult":"4"})")});
  CHECK(f.kind == "frozen-value");
  CHECK(f.python_location == "f.py:12");
  CHECK(f.problem_text == "'mult' is 3 here, and stays 2, as captured");
}

TEST_CASE("JitLint: arguments, objects and tensors that differ from the captured ones are reported") {
  auto arg = [](std::string_view fact) { return R"(,"args":{"a":)" + std::string(fact) + "}"; };
  CHECK(only({call(1, "capture", arg(R"({"kind":"value","value":"False"})")),
              call(2, "replay", arg(R"({"kind":"value","value":"True"})"))})
            .kind == "frozen-value");
  CHECK(only({call(1, "capture", arg(R"({"kind":"object","type":"Model","object":1})")),
              call(2, "replay", arg(R"({"kind":"object","type":"Model","object":2})"))})
            .kind == "frozen-object");
  CHECK(only({call(1, "capture", R"(,"sees":{"w":"buffer 1"})"), call(2, "replay", R"(,"sees":{"w":"buffer 2"})")})
        .kind == "frozen-tensor");
}

TEST_CASE("JitLint: a tensor of the capture that is computed later from a moved buffer or old arguments is reported") {
  auto arg = [](int buffer) {
    return R"(,"args":{"x":{"kind":"tensor","buffer":)" + std::to_string(buffer) + R"(,"shape":[4]}},"moved":[])";
  };
  auto late = [](const std::string& moved, const std::string& inputs) {
    return R"({"id":"x","event":"late","jit":0,"call":1,"moved":)" + moved + R"(,"inputs":)" + inputs +
           R"(,"place":"f.py:20"})";
  };
  JitFinding moved =
      only({call(1, "capture", arg(3)), call(2, "replay", arg(3)), late("[9]", "[3]"), late("[9]", "[3]")});
  CHECK(moved.kind == "unwritten-buffer");
  CHECK(moved.python_location == "f.py:20");
  CHECK(moved.buffer == 9);
  CHECK(only({call(1, "capture", arg(3)), call(2, "replay", arg(4)), late("[]", "[3]")}).kind == "stale-tensor");
  // all calls have the same argument, so the tensor has the value of the last call
  CHECK(lint_of({call(1, "capture", arg(3)), call(2, "replay", arg(3)), late("[]", "[3]")}).findings().empty());
  CHECK(lint_of({call(1, "capture", "")}).text().find("not decided") != std::string::npos);
  CHECK_FALSE(lint_of({call(1, "capture", "")}).has_all_facts());
  CHECK(lint_of({call(1, "capture", arg(3))}).text().starts_with("1 call of "));
}

TEST_CASE("JitLint: an assignment that no schedule has is reported at its line") {
  JitFinding f = only({R"({"id":"x","event":"unscheduled","place":"f.py:6::<module>","count":3})"});
  CHECK(f.kind == "lost-store");
  CHECK(f.python_location == "f.py:6::<module>");
  CHECK(f.problem_text ==
        "no schedule has any of the 3 assignments that are made here, so that no kernel performs them");
}

TEST_CASE("JitLint: a list of layers that grows after the capture is reported once") {
  auto layers = [](std::string_view of) { return R"(,"sees":{"net.layers":"list of )" + std::string(of) + "\"}"; };
  JitFinding f = only({call(0, "warmup", ""), call(1, "capture", layers("1")), call(2, "replay", layers("1")),
                       call(3, "replay", layers("2")), call(4, "replay", layers("3"))});
  CHECK(f.kind == "frozen-list");
  CHECK(f.python_location == "f.py:13");
  CHECK(f.problem_text == "'net.layers' is a list of 2 here; the list of 1 that was captured is used");
}

TEST_CASE("JitLint: code that works because of a precaution is a note, not a finding") {
  auto notes = [](std::initializer_list<std::string> events) {
    JitLinter lint = lint_of(events);
    CHECK(lint.findings().empty());
    std::string out;
    for (const JitFinding& n : lint.notes()) out += n.kind + " ";
    return out;
  };
  const std::string out = R"(,"outputs":[{"buffer":7}])", sees = R"(,"sees":{"x":"buffer 5"})",
                    assign = R"({"id":"a","event":"assign","buffer":5,"place":"f.py:30"})",
                    list = R"(,"args":{"a":{"kind":"several","items":[{"kind":"tensor","buffer":1}]}})";
  CHECK(notes({call(1, "capture", out), call(2, "replay", out), call(3, "replay", out)}) == "shared-output ");
  CHECK(notes({call(1, "capture", sees), assign, call(2, "replay", sees)}) == "implicit-input ");
  CHECK(notes({call(1, "capture", sees), call(2, "replay", sees)}) == "");
  CHECK(notes({call(1, "capture", list), call(2, "replay", list)}) == "contained-input ");
  JitLinter bitten = lint_of({call(1, "capture", out), call(2, "replay", out),
                            R"({"id":"r","event":"read","jit":0,"call":1,"buffer":7,"place":"f.py:40"})"});
  CHECK(bitten.findings().size() == 1);
  CHECK(bitten.notes().empty());
  // The function updates and returns a tensor of the program, which reads this tensor: no result is lost.
  const std::string state = out + R"(,"sees":{"x":"buffer 7"})",
                    made = state + R"(,"rebinds":[{"name":"x","was":3,"is":7,"computed":true}])",
                    read = R"({"id":"r","event":"read","jit":0,"call":1,"buffer":7,"place":"f.py:40"})";
  CHECK(notes({call(0, "warmup", state), call(1, "capture", state), call(2, "replay", state), read}) == "");
  CHECK(lint_of({call(1, "capture", made), call(2, "replay", state), read}).findings().size() == 2);
  JitLinter usual = lint_of({call(1, "capture", out + R"(,"moved":[])"), call(2, "replay", out)});
  CHECK(usual.text(true).find("f.py:12: note: shared-output in f\n") != std::string::npos);
  CHECK(usual.text() == "2 calls of 1 TinyJit, 0 findings, 1 note with --notes\n");
  JitLinter both = lint_of({call(1, "capture", sees + out + R"(,"moved":[])"), assign, call(2, "replay", sees + out)});
  CHECK(both.text().starts_with("f.py:12: note: implicit-input in f\n"));
  CHECK(both.text().ends_with("2 calls of 1 TinyJit, 0 findings, 1 note, 1 more with --notes\n"));
}

TEST_CASE("JitLint: side effects of the function are reported") {
  CHECK(only({call(1, "capture", R"(,"reads":[{"place":"f.py:3"}])")}).kind == "baked-value");
  CHECK(only({call(0, "warmup", R"(,"changes":["count"])"), call(1, "capture", R"(,"changes":["count"])")}).kind ==
        "side-effect");
  JitFinding lost = only({call(1, "capture", R"(,"pending":[{"place":"f.py:4"}],"kernels":[])")});
  CHECK(lost.kind == "lost-assign");
  CHECK(lost.python_location == "f.py:4");
  JitFinding gradient = only(
      {call(1, "capture", ""), R"({"id":"l","event":"lost","jit":0,"call":1,"place":"f.py:5","from":"f.py:9"})"});
  CHECK(gradient.kind == "lost-assign");
  CHECK(gradient.python_location == "f.py:5");
  CHECK(gradient.problem_text.find("the gradient that f.py:9 reads") != std::string::npos);
  JitFinding error = only({call(2, "replay", R"(,"error":"JitError: duplicate inputs to JIT")")});
  CHECK(error.kind == "refused");
  CHECK(error.fix_text.find("clone") != std::string::npos);
  JitFinding own = only({call(0, "warmup", R"(,"error":"RuntimeError: the sizes must be equal")")});
  CHECK(own.problem_text == "call 0 raises RuntimeError: the sizes must be equal");
  CHECK(own.fix_text == "see the message");
}

TEST_CASE("JitLint: an assignment is not called lost if the kernels of the capture were not recorded") {
  JitLinter lint = lint_of({call(1, "capture", R"(,"pending":[{"place":"f.py:4"}],"moved":[])")});
  CHECK(lint.findings().empty());
  CHECK_FALSE(lint.has_all_facts());
  CHECK(lint.text().find("not decided: ") != std::string::npos);
}

TEST_CASE("JitLint: the use of a result is reported only after the next call overwrote it") {
  std::string read = R"({"id":"x","event":"read","jit":0,"call":1,"buffer":7,"place":"f.py:20"})";
  auto out = [](int buffer) { return R"(,"outputs":[{"buffer":)" + std::to_string(buffer) + "}]"; };
  CHECK(only({call(1, "capture", out(7)), call(2, "replay", out(7)), read}).kind == "overwritten-output");
  CHECK(lint_of({call(1, "capture", out(7)), read, call(2, "replay", out(7))}).findings().empty());
  CHECK(lint_of({call(1, "warmup", out(7)), call(2, "capture", out(8)), read}).findings().empty());
}

TEST_CASE("JitLint: the captured output is passed in the first replay and another tensor later") {
  auto in = [](int buffer) { return R"(,"args":{"x":{"kind":"tensor","buffer":)" + std::to_string(buffer) + "}}"; };
  std::string capture = call(1, "capture", in(1) + R"(,"outputs":[{"buffer":7}])");
  CHECK(only({capture, call(2, "replay", in(7)), call(3, "replay", in(9))}).kind == "aliased-input");
  CHECK(lint_of({capture, call(2, "replay", in(7)), call(3, "replay", in(7))}).findings().empty());
  CHECK(lint_of({capture, call(2, "replay", in(9)), call(3, "replay", in(8))}).findings().empty());
}

TEST_CASE("JitLint: an output that is the next input is overwritten before the last kernel reads it") {
  auto x = [](int buffer) { return R"(,"args":{"x":{"kind":"tensor","buffer":)" + std::to_string(buffer) + "}}"; };
  auto capture = [&](std::string_view last_reads) {
    return call(1, "capture", x(2) + R"(,"outputs":[{"buffer":5},{"buffer":6}],"kernels":[)"
                              R"({"name":"a","reads":[2,4],"writes":[5]},{"name":"b","reads":[)" +
                                  std::string(last_reads) + R"(],"writes":[6]}])");
  };
  JitFinding f = only({capture("2"), call(2, "replay", x(5)), call(3, "replay", x(5))});
  CHECK(f.kind == "overwritten-input");
  CHECK(f.problem_text ==
        "'x' is a result of an earlier call; the kernel a overwrites it before the kernel b reads it");
  CHECK(f.fix_text == "pass a copy: x.clone().realize()");
  CHECK(f.kernel == "b");
  CHECK(f.buffer == 5);
  CHECK(lint_of({capture("5"), call(2, "replay", x(5))}).findings().empty());
  // kernel b reads x before it writes buffer 6
  CHECK(lint_of({capture("2"), call(2, "replay", x(6))}).findings().empty());
  CHECK(lint_of({capture("2"), call(2, "replay", x(7))}).findings().empty());
  JitLinter later;  // since 0.13, a replay copies an input that its kernels overwrite
  REQUIRE(later.add_line(R"({"format":"tgc-golden","version":1,"level":"jit","producer":"tinygrad 0.13.0"})", "t", 1));
  for (const std::string& event : {capture("2"), call(2, "replay", x(5))}) REQUIRE(later.add_line(event, "t", 2));
  CHECK(later.findings().empty());
}

TEST_CASE("JitLint: a result keeps the variable of its shape as the capture bound it") {
  auto size = [](int n) {
    return R"(["UOp(Ops.BIND, dtypes.index, arg=None, src=(\n  UOp(Ops.DEFINE_VAR, dtypes.index, arg=('n', 1, 8), )"
           R"(src=()),\n  UOp(Ops.CONST, dtypes.index, arg=)" + std::to_string(n) + R"x(, src=()),))"])x";
  };
  auto facts = [&](int n, const std::string& result) {
    return R"(,"args":{"x":{"kind":"tensor","buffer":0,"shape":)" + size(n) + R"(}},"outputs":[{"buffer":2,"shape":)" +
           result + "}]";
  };
  JitFinding f = only({call(1, "capture", facts(2, size(2))), call(2, "replay", facts(5, size(2)))});
  CHECK(f.kind == "bound-shape");
  CHECK(f.problem_text == "the result has the shape of the capture, with n = 2; 'x' has n = 5 here");
  CHECK(lint_of({call(1, "capture", facts(2, size(2))), call(2, "replay", facts(2, size(2)))}).findings().empty());
  CHECK(lint_of({call(1, "capture", facts(2, "[]")), call(2, "replay", facts(5, "[]"))}).findings().empty());
}

TEST_CASE("JitLint: unread inputs and broken batches are reported") {
  auto kernel = [](std::string_view name, std::string_view devices, int reads, int writes) {
    return R"({"name":")" + std::string(name) + R"(","devices":[)" + std::string(devices) + R"(],"reads":[)" +
           std::to_string(reads) + R"(],"writes":[)" + std::to_string(writes) + R"(],"place":"f.py:5"})";
  };
  const std::string cpu = R"("CPU")", two = R"("CPU","CPU:1")", both = R"("PYTHON","CPU")";
  auto kernels = [](std::initializer_list<std::string> all) {
    std::string out;
    for (const std::string& k : all) out += (out.empty() ? "" : ",") + k;
    return R"(,"kernels":[)" + out + "]";
  };
  JitFinding unread = only(
      {call(1, "capture",
            R"(,"args":{"y":{"kind":"tensor","buffer":4}},"unread":["y"])" + kernels({kernel("E_4", cpu, 1, 2)}))});
  CHECK(unread.kind == "unread-input");
  CHECK(unread.buffer == 4);
  CHECK(unread.problem_text.find("none of the 1 captured kernels uses 'y'") == 0);

  JitFinding broken =
      only({call(1, "capture", kernels({kernel("a", cpu, 1, 2), kernel("copy", both, 2, 3), kernel("b", cpu, 3, 4)}))});
  CHECK(broken.kind == "broken-batch");
  CHECK(broken.python_location == "f.py:5");
  CHECK(broken.kernel == "copy");
  // A copy after the last kernel does not split a batch, and neither does one between devices of one kind.
  CHECK(
      lint_of({call(1, "capture", kernels({kernel("a", cpu, 1, 2), kernel("copy", both, 2, 3)}))}).findings().empty());
  CHECK(lint_of(
            {call(1, "capture", kernels({kernel("a", cpu, 1, 2), kernel("copy", two, 2, 3), kernel("b", cpu, 3, 4)}))})
            .findings()
            .empty());

  JitFinding frozen = only({call(1, "capture", R"(,"sees":{"w":"buffer 1"})" + kernels({kernel("E_8", cpu, 1, 2)})),
                            call(2, "replay", R"(,"sees":{"w":"buffer 9"})")});
  CHECK(frozen.kernel == "E_8");
  CHECK(frozen.buffer == 1);
}

TEST_CASE("JitLint: unrealized tensors and tensors in nested containers are reported") {
  CHECK(only({call(1, "capture", R"(,"sees":{"w":"buffer 1"})"), call(2, "replay", R"(,"sees":{"w":"unrealized 5"})")})
        .kind == "unrealized-tensor");
  auto nested = [](int outer, int inner) {
    return R"(,"args":{"a":{"kind":"several","items":[{"kind":"tensor","buffer":)" + std::to_string(outer) +
           R"(},{"kind":"several","items":[{"kind":"tensor","buffer":)" + std::to_string(inner) + "}]}]}}";
  };
  CHECK(only({call(1, "capture", nested(1, 2)), call(2, "replay", nested(1, 3))}).kind == "frozen-tensor");
  CHECK(lint_of({call(1, "capture", nested(1, 2)), call(2, "replay", nested(4, 2))}).findings().empty());
}

TEST_CASE("JitLint: one mistake is one finding") {
  CHECK(only({call(1, "capture", R"(,"changes":["n"],"sees":{"n":"1"})"), call(2, "replay", R"(,"sees":{"n":"2"})")})
        .kind == "side-effect");
  auto of = [](int object, int buffer) {
    return R"(,"args":{"self":{"kind":"object","type":"M","object":)" + std::to_string(object) +
           R"(}},"sees":{"self.scale":"buffer )" + std::to_string(buffer) + "\"}";
  };
  CHECK(only({call(1, "capture", of(1, 1)), call(2, "replay", of(2, 2))}).kind == "frozen-object");
  CHECK(only({call(1, "capture", of(1, 1)), call(2, "replay", of(1, 2))}).kind == "frozen-tensor");
}

TEST_CASE("JitLint: a rebound variable is reported unless each replay computes its new tensor") {
  auto capture = [](int was, int is, bool computed, int reads, int writes) {
    return call(1, "capture",
                R"(,"sees":{"m":"buffer )" + std::to_string(is) + R"("},"rebinds":[{"name":"m","was":)" +
                    std::to_string(was) + R"(,"is":)" + std::to_string(is) + R"(,"computed":)" +
                    (computed ? "true" : "false") + R"(}],"kernels":[{"name":"E","reads":[)" + std::to_string(reads) +
                    R"(],"writes":[)" + std::to_string(writes) + "]}]");
  };
  JitFinding mean = only({capture(3, 6, true, 3, 6), call(2, "replay", R"(,"sees":{"m":"buffer 6"})")});
  CHECK(mean.kind == "side-effect");
  CHECK(mean.problem_text.find("each replay reads the value from before the capture") != std::string::npos);
  CHECK(mean.fix_text == "assign to it in place: m.assign(...).realize()");
  CHECK(mean.kernel == "E");
  CHECK(mean.buffer == 3);
  CHECK(only({capture(3, 6, false, 1, 2)}).problem_text.ends_with("no captured kernel computes its new value"));
  CHECK(only({capture(3, 6, true, 1, 2)}).problem_text.ends_with("no captured kernel writes it"));
  CHECK(lint_of({capture(3, 6, true, 1, 6)}).findings().empty());
  // A lazy value from outside of the function must give one finding, not two.
  CHECK(only({capture(3, 6, false, 1, 2), call(2, "replay", R"(,"sees":{"m":"buffer 9"})")}).kind == "side-effect");
}

TEST_CASE("JitLint: an error is explained, with the argument that differs") {
  auto shaped = [](std::string_view shape) {
    return R"(,"args":{"a":{"kind":"tensor","buffer":1,"dtype":"dtypes.float","shape":[)" + std::string(shape) + "]}}";
  };
  JitFinding f =
      only({call(1, "capture", shaped("10,10")),
            call(2, "replay",
                 shaped("20,20") + R"(,"error":"JitError: args mismatch in JIT: self.expected_input_info=[(\nx")")});
  CHECK(f.problem_text ==
        "call 2 raises JitError: args mismatch in JIT: an input differs from the captured one; 'a' has the shape "
        "(20, 20) here, and had (10, 10)");
  const std::string training = R"(,"error":"RuntimeError: TRAINING=0, TRAINING must be enabled to use the optimizer.")";
  CHECK(only({call(0, "warmup", training)}).fix_text == "call it within Tensor.train() or Context(TRAINING=1)");
}

TEST_CASE("JitLint: a line that is no recording of TinyJits is an error with its line number") {
  JitLinter lint;
  CHECK_FALSE(lint.add_line(R"({"format":"tgc-golden","version":1,"level":"kernel"})", "t", 1));
  const std::string view = R"(,"args":{"a":{"kind":"tensor","buffer":1,"of":[]}})";  // "of" without a buffer
  CHECK_FALSE(lint_of({}).add_line(call(1, "capture", view), "t", 2));
  const std::string several = R"(,"args":{"a":{"kind":"several"}})";  // without "items"
  CHECK_FALSE(lint_of({call(1, "capture", several)}).add_line(call(2, "replay", several), "t", 3));
  auto wrong = lint.add_line("nothing", "t", 7);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.diag().line == 7);
}

}  // namespace
}  // namespace tgc
