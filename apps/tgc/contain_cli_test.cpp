// What runs is contained, and what is wrong with it is said: seen from the command line.
#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

// data0[store] = data1[load] for r from 0 to 15, of arrays of 16 ints.
std::string kernel(const std::string& store, const std::string& load) {
  std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), ";
  return put("beside.uop", "r = UOp.range(16, 0, AxisType.LOOP)\nast = " + global + "0).index(" + store +
                               ", ptr=True).store(" + global + "1).index(" + load +
                               ")).end(r).sink(arg=KernelInfo(name='beside'))\n");
}

}  // namespace

TEST_CASE("cli: a model whose kernel crashes is trouble, with the kernel's name; so is one alone") {
  if (kSanitized) return;
  Ran r = run_tgc("run " + test_path("hostile/modrun.onnx"));
  CHECK(r.code == 2);
  CHECK(r.err.find("kernel 'E_4' on CPU:LLVM: killed by SIGFPE (integer division by zero") != std::string::npos);
}

TEST_CASE("cli: an access outside of a buffer is named with the buffer and how far outside it is") {
  if (kSanitized) return;
  Ran far = run_tgc("run " + kernel("r", "r+1000") + " --reference=none");
  CHECK(far.code == 2);
  CHECK(far.err.find("after the end of data1, 64 bytes)") != std::string::npos);
  Ran near = run_tgc("run " + kernel("r-1", "r") + " --reference=none");
  CHECK(near.code == 2);
  CHECK(near.err.find("the kernel wrote 4 bytes before the beginning of data0, 64 bytes") != std::string::npos);
}

TEST_CASE("cli: --sanitize names the line of the kernel") {
  if (kSanitized) return;
  for (std::string device : {"CPU:CLANG", "CPU:LLVM"}) {
    Ran r = run_tgc("run " + kernel("r", "r+1") + " --reference=none --sanitize --device=" + device);
    INFO(r.out << r.err);
    CHECK(r.code == 2);
    CHECK(has(r.err, "AddressSanitizer: heap-buffer-overflow, READ of size "));
    CHECK(has(r.err, " bytes after the end of data1, 64 bytes, at line "));
    Ran sound = run_tgc("run " + kernel("r", "r") + " --sanitize --device=" + device);
    CHECK(sound.code == 0);
  }
}

TEST_CASE("cli: verify and REF tell of iterations that store different values to one element") {
  Ran verified = run_tgc("verify " + kernel("UOp.const(dtypes.index, 3)", "r"));
  CHECK(verified.code == 1);
  CHECK(has(verified.err + verified.out, "every iteration of the range (0, AxisType.LOOP) stores a value of its own"));
  Ran ran = run_tgc("run --device=REF " + kernel("r//2", "r"));
  CHECK(ran.out.find("stores of another value to an element that was stored before") != std::string::npos);
  std::string negative = "r = UOp.range(-3, 0, AxisType.LOOP)\na = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), 0)\n"
                         "ast = a.index(r, ptr=True).store(UOp.const(dtypes.int, 1)).end(r).sink()\n";
  trouble("run --device=REF " + put("negative.uop", negative), "its size is negative");
}
