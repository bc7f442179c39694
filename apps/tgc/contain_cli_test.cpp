#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

// Writes a kernel to a file and returns its path: data0[store] = data1[load] for r from 0 to 15, arrays of 16 ints.
std::string kernel(const std::string& store, const std::string& load) {
  std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), ";
  return write_scratch_file("beside.uop", "r = UOp.range(16, 0, AxisType.LOOP)\nast = " + global + "0).index(" + store +
                            ", ptr=True).store(" + global + "1).index(" + load +
                            ")).end(r).sink(arg=KernelInfo(name='beside'))\n");
}

}  // namespace

TEST_CASE("cli: a crash of a kernel, alone or in a model, is trouble and names the kernel") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  CommandResult r = run_tgc("run " + test_path("hostile/modrun.onnx"));
  CHECK(r.code == 2);
  CHECK(r.err.find("kernel 'E_4' on CPU:LLVM: killed by SIGFPE (integer division by zero") != std::string::npos);
}

TEST_CASE("cli: an out-of-bounds access names the buffer and the distance") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  CommandResult far = run_tgc("run " + kernel("r", "r+1000") + " --reference=none");
  CHECK(far.code == 1);
  CHECK(far.err.find("after the end of data1, 64 bytes)") != std::string::npos);
  CommandResult near = run_tgc("run " + kernel("r-1", "r") + " --reference=none");
  CHECK(near.code == 1);
  CHECK(near.err.find("the kernel wrote 4 bytes before the beginning of data0, 64 bytes") != std::string::npos);
}

TEST_CASE("cli: --sanitize names the source line of an out-of-bounds access") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  for (std::string device : {"CPU:CLANG", "CPU:LLVM"}) {
    CommandResult r = run_tgc("run " + kernel("r", "r+1") + " --reference=none --sanitize --device=" + device);
    INFO(r.out << r.err);
    CHECK(r.code == 1);
    CHECK(contains_text(r.err, "AddressSanitizer: heap-buffer-overflow, READ of size "));
    CHECK(contains_text(r.err, " bytes after the end of data1, 64 bytes, at line "));
    CommandResult sound = run_tgc("run " + kernel("r", "r") + " --sanitize --device=" + device);
    CHECK(sound.code == 0);
  }
}

TEST_CASE("cli: --sanitize runs each kernel of a model under AddressSanitizer") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  CommandResult r = run_tgc("run --sanitize " + test_path("models/mlp.onnx"));
  INFO(r.out << r.err);
  CHECK(r.code == 0);
  CHECK(contains_text(r.out, "no access outside of a buffer under AddressSanitizer: 5 kernels"));
  expect_error("run --sanitize --device=REF " + test_path("models/mlp.onnx"), "--sanitize is for kernels on the CPU");
}

TEST_CASE("cli: a failure whose arrays cannot be written is reported with exit code 1") {
  std::string text = "r = UOp.range(4, 0, AxisType.LOOP)\nast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)"
                     ".index(r, ptr=True).store(UOp.const(dtypes.int, N)).end(r).sink()\n";
  auto storing = [&](char n) {
    std::string with = text;
    with[with.find('N', with.find("dtypes.int, ")) ] = n;
    return with;
  };
  write_scratch_file("one.uop", storing('1')), write_scratch_file("two.uop", storing('2'));
  CommandResult r = run_in_shell("mkdir -p kept/one-inputs.npz && "
                                 "tgc run one.uop --device=CPU --reference=two.uop --save-failures=kept");
  INFO(r.out << r.err);
  CHECK(r.code == 1);
  CHECK(contains_text(r.out, "FAILED on CPU:LLVM"));
  CHECK(contains_text(r.out, "its arrays could not be kept: kept/one-inputs.npz"));
}

TEST_CASE("cli: options that do not apply to the input are errors") {
  std::string model = test_path("models/mlp.onnx"), kernel_file = kernel("r", "r");
  expect_error("run --each-stage " + model, "--each-stage of a model or a tensor graph, expected a kernel");
  expect_error("run --recorded " + model, "--recorded of a model or a tensor graph");
  expect_error("run --emulate --device=CPU " + kernel_file, "--emulate does nothing for CPU:LLVM");
  expect_error("run --emulate --device=CPU " + model, "--emulate does nothing for CPU:LLVM");
  for (const char* command : {"dump ", "stats ", "verify "})
    if (contains_text(run_tgc(std::string(command) + "--help").out, "--var"))
      expect_error(std::string(command) + "--var n=3 " + kernel_file, "--var n=3 binds a size of a model, and this is");
  expect_error("run --device=NV " + kernel_file, "expected CUDA, which runs the same kernels by NVIDIA's driver");
  CommandResult one = run_tgc("run --kernel=1 " + model);  // a single kernel of the model
  INFO(one.out << one.err);
  CHECK(one.code == 0);
  CHECK(contains_text(one.out, "passed on CPU:LLVM"));
}

TEST_CASE("cli: a fault that is never injected is reported") {
  CommandResult r = run_tgc("dump --stage=source " + kernel("r", "r"), "/dev/null", "TGC_FAULT=add-zero@900");
  CHECK(r.code == 0);
  CHECK(contains_text(r.err, "TGC_FAULT: there was no application 900 of add-zero"));
}

TEST_CASE("cli: -o - writes to standard output") {
  std::string file = kernel("r", "r");
  CHECK(run_tgc("dump --stage=source -o - " + file).out == run_tgc("dump --stage=source " + file).out);
  CHECK(!std::filesystem::exists(scratch_folder() / "-"));
}

TEST_CASE("cli: record ids with escapes and special characters are found") {
  std::string record = R"({"format":"tgc-golden","version":1,"level":"kernel","settings":{}})" "\n";
  for (const char* id : {"plain", R"(caf\u00e9)", "a#b", R"(quo\"te)"})
    record += R"({"id":")" + std::string(id) + 
              R"x(","target":"CPU:LLVM","nodes":1,"ast":"ast = UOp.sink()","stages":[]})x" "\n";
  write_scratch_file("ids.jsonl", record);
  for (const char* id : {"plain", "caf\xC3\xA9", "a#b", "quo\"te"}) {
    CommandResult r = run_tgc("dump 'ids.jsonl#" + std::string(id) + "'");
    INFO(id << r.err);
    CHECK(r.code == 0);
  }
  expect_error("dump 'ids.jsonl#b'", "no record 'b'");
}

TEST_CASE("cli: verify and REF report iterations that store different values to one element") {
  CommandResult verified = run_tgc("verify " + kernel("UOp.const(dtypes.index, 3)", "r"));
  CHECK(verified.code == 1);
  CHECK(contains_text(verified.err + verified.out,
                      "every iteration of the range (0, AxisType.LOOP) stores a value of its own"));
  CommandResult ran = run_tgc("run --device=REF " + kernel("r//2", "r"));
  CHECK(ran.out.find(" of a different value to an element already stored to") != std::string::npos);
  std::string negative = "r = UOp.range(-3, 0, AxisType.LOOP)\na = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), 0)\n"
                         "ast = a.index(r, ptr=True).store(UOp.const(dtypes.int, 1)).end(r).sink()\n";
  expect_error("run --device=REF " + write_scratch_file("negative.uop", negative), "its size is negative");
}
