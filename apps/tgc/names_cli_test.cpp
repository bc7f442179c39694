#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"

using namespace tgc;

namespace {

// Returns a kernel that stores the value of a variable with the name `name`.
std::string with_variable(const std::string& name) {
  return "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\n"
         "c1 = UOp(Ops.DEFINE_VAR, dtypes.int, (), (" + name + ", 0, 3))\n"
         "c2 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1)\nast = c2.sink()\n";
}

// Runs commands that compile a kernel; checks that each fails with `words` and that none creates made-by-a-kernel.
void harmless(const std::string& file, const std::string& target, const std::string& words) {
  std::filesystem::path made = scratch_folder() / "made-by-a-kernel";
  for (const char* command : {"run --in-process --var x=1 --device=", "run --device=", "compile --target=",
                              "dump --stage=asm --target=", "dump --stage=binary --target="}) {
    CommandResult r = run_tgc(command + target + " '" + file + "'");
    INFO(std::string(command) << target << "\n" << r.out << r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.out + r.err, words));
    CHECK_FALSE(std::filesystem::exists(made));
  }
}

std::string chain(int n, const char* link) {
  std::string text = "c0 = UOp.variable(\"x\", 0, 1, dtype=dtypes.float)\nast = (";
  for (int i = 0; i < n && link[0] == '('; i++) text += '(';
  text += "c0";
  for (int i = 0; i < n; i++) text += link[0] == '(' ? link + 1 : link;
  return text + ").sink()\n";
}

}  // namespace

TEST_CASE("cli: code in a variable's name does not run with any renderer") {
  std::string c = write_scratch_file("c_name.uop",
                      with_variable("'x) { } int system(const char*); __attribute__((constructor)) void f() "
                                    "{ system(\"touch made-by-a-kernel\"); } void g(int y'"));
  std::string ir = write_scratch_file("ir_name.uop",
                       with_variable("'x) { ret void }\\n@s = global [23 x i8] c\"touch made-by-a-kernel\"\\n"
                                     "declare i32 @system(ptr)\\ndefine void @g(i32 %y'"));
  for (const char* target : {"CPU:CLANG", "CPU:LLVM"}) {
    harmless(c, target, "would be code");
    harmless(ir, target, "would be code");
  }
  CommandResult bidi =
      run_tgc("dump --stage=source '" + write_scratch_file("bidi.uop", with_variable("'x\xE2\x80\xAE\x1b[2J'")) + "'");
  CHECK(bidi.code == 2);
  CHECK(contains_text(bidi.err, "\\u202e\\x1b[2J"));
}

TEST_CASE("cli: dump prints CUSTOM code, which runs only with --allow-custom and never has the C library") {
  auto kernel = [](const std::string& code) {
    return "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\n"
           "c1 = UOp(Ops.CUSTOMI, dtypes.int, (), '" + code + "')\n"
           "c2 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1)\nast = c2.sink()\n";
  };
  std::string plain = write_scratch_file("custom.uop", kernel("(40+2)")),
              hostile = write_scratch_file("custom2.uop",
                            kernel("({{ int system(const char*); system(\"touch made-by-a-kernel\"); }})"));
  CHECK(contains_text(run_tgc("dump --stage=source --target=CPU:CLANG " + plain).out, "(40+2)"));
  harmless(plain, "CPU:CLANG", "--allow-custom");
  harmless(hostile, "CPU:CLANG", "--allow-custom");
  CommandResult allowed = run_tgc("run --allow-custom --reference=none --device=CPU:CLANG --save=custom.npz " + plain);
  INFO(allowed.out << allowed.err);
  CHECK(allowed.code == 0);
  expect_error("run --allow-custom --device=CPU:CLANG " + plain,
               "REF runs no code of CUSTOM nodes, so there is nothing");
  CommandResult refused = run_tgc("run --allow-custom --reference=none --device=CPU:CLANG " + hostile);
  INFO(refused.out << refused.err);
  CHECK(refused.code == 2);
  CHECK(contains_text(refused.err, "the code calls 'system', which kernels may not call"));
  CommandResult included = run_tgc("run --allow-custom --reference=none --device=CPU:CLANG " +
                                   write_scratch_file("custom3.uop", kernel("1\\n#include \"/etc/hostname\"\\n")));
  CHECK(included.code == 2);
  CHECK(contains_text(included.err, "a source must not read files"));
}

TEST_CASE("cli: --limit and TGC_LIMITS set limits, and exceeding one is exit code 2 with its name") {
  std::string small = write_scratch_file("small.uop", with_variable("'x'")),
              many = write_scratch_file("many.uop", chain(5000, "+c0.sin()"));
  CommandResult help = run_tgc("help limits");
  CHECK(help.code == 0);
  for (const char* name : {"input-bytes", "nodes", "int-bits", "model-nodes", "ref-steps", "seconds", "memory"})
    CHECK(contains_text(help.out, name));
  expect_error("dump --limit input-bytes=50 " + small, "small.uop: more than 50 unpacked bytes of a text");
  CommandResult variable = run_tgc("dump " + small, "/dev/null", "TGC_LIMITS=input-bytes=50");
  CHECK(variable.code == 2);
  CHECK(run_tgc("dump --limit=input-bytes=1M " + small, "/dev/null", "TGC_LIMITS=input-bytes=50").code == 0);
  expect_error("dump --limit nodes=1K " + many, "more than 1024 nodes of one graph");
  CHECK(run_tgc("dump --limit nodes=7 " + small).code == 0);  // the graph has 7 nodes
  expect_error("dump --limit nodes=6 " + small, "more than 6 nodes of one graph");
  expect_error("dump --limit node=1K " + many, "unknown limit 'node', expected nodes");
  CHECK(run_tgc("dump " + many, "/dev/null", "TGC_LIMITS=x").code == 2);
  CommandResult gzip = run_in_shell(
      "head -c 100000000 /dev/zero | tr '\\0' ' ' | gzip > zeros.gz; tgc dump --limit input-bytes=10M zeros.gz");
  CHECK(gzip.code == 2);
  CHECK(contains_text(gzip.err, "more than 10485760 unpacked bytes"));
}

TEST_CASE("cli: REF stops at its limits of steps and time") {
  std::string endless = write_scratch_file("endless.uop",
                                           "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 0)\n"
                                           "c1 = UOp.range(1099511627776, 0, AxisType.REDUCE)\n"
                                           "c2 = c1.cast(dtypes.int).reduce(c1, arg=Ops.ADD)\n"
                                           "ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c2).sink()\n");
  expect_error("run --device=REF --timeout=1 " + endless, "did not end within 1 second");
  expect_error("run --device=REF --limit ref-steps=1M " + endless,
               "more than 1048576 iterations of one kernel's ranges");
}

TEST_CASE("cli: deeply nested graphs are read and written, also with a small stack") {
  for (auto [name, link] : {std::pair("methods", ".sin()"), std::pair("sums", "(.sin()+c0)")}) {
    std::string file =
        write_scratch_file(std::string(name) + ".uop", chain(tgc::kIsThreadSanitized ? 3000 : 30000, link));
    CommandResult once = run_in_shell("ulimit -s 512; tgc dump --stage=ast '" + file +
                                      "' > once.uop && tgc dump --stage=ast once.uop | cmp - once.uop");
    INFO(name << once.err.substr(0, 500));
    CHECK(once.code == 0);
  }
  expect_error("dump --limit nesting=100 --stage=ast " + write_scratch_file("nested.uop", chain(200, "(.sin()+c0)")),
               "more than 100 levels of nested brackets");
}
