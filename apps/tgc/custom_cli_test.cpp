// Hostile code in CUSTOMI nodes, run with --allow-custom.
#include "apps/tgc/cli_testing.h"
#include "lib/contain/confine.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

// Writes a kernel that stores the value of `code`, an expression in the target's language, and returns the file's path.
std::string storing(const std::string& name, const std::string& code) {
  return write_scratch_file(name, "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\n"
                            "c1 = UOp(Ops.CUSTOMI, dtypes.int, (), '" + code + "')\n"
                            "c2 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1)\nast = c2.sink()\n");
}

struct Attack {
  const char *name, *code;  // with braces doubled, because CUSTOM formats its text
  const char* words;        // texts separated by |; the error message must contain one of them
  int seconds = 60;         // time limit for the kernel
};

void check_contained(const std::string& device, const Attack& a) {
  std::string file = storing(std::string(a.name) + ".uop", a.code), good = storing("good.uop", "(40+2)");
  std::string options = "run --allow-custom --reference=none --timeout=" + std::to_string(a.seconds) +
                        " --device=" + device + " ";
  CommandResult r = run_tgc(options + file + " " + good);
  INFO(device << " " << a.name << "\n" << r.out << r.err);
  CHECK((r.code == 1 || r.code == 2));
  bool said = false;
  std::string words = a.words;
  for (size_t at = 0; at <= words.size();) {
    size_t end = std::min(words.find('|', at), words.size());
    said |= contains_text(r.err, words.substr(at, end - at));
    at = end + 1;
  }
  CHECK(said);
  CHECK(contains_text(r.out, "good: run, not compared"));
  CHECK(!std::filesystem::exists(scratch_folder() / "made-by-a-kernel"));
}

// An expression that declares a function of the C library and calls it.
#define CALL(declaration, call) "({{ " declaration "; (int)" call "; }})"

constexpr const char* kNoSuch = "kernels may not call|does not compile|undefined|unresolved";

}  // namespace

TEST_CASE("cli: hostile CUSTOMI code in C is contained") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms() == "limits",
               "sanitizers are on, or the sandbox has no walls here");
  const Attack attacks[] = {
      {"write", CALL("int open(const char*, int, int)", "open(\"made-by-a-kernel\", 65, 384)"), kNoSuch},
      {"network", CALL("int socket(int, int, int)", "socket(2, 1, 0)"), kNoSuch},
      {"fork", CALL("int fork(void)", "fork()"), kNoSuch},
      {"exec", CALL("int execl(const char*, ...)", "execl(\"/bin/touch\", \"made-by-a-kernel\", (void*)0)"), kNoSuch},
      {"syscall", "({{ int r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(57)); r; }})", "inline assembly"},
      {"endless", "({{ volatile int i = 0; while (1) i++; 1; }})", "did not end within 2 seconds|used up its CPU", 2},
      {"memory", CALL("void* malloc(unsigned long)", "malloc(100ul << 30)"), kNoSuch},
      {"stack", "({{ volatile char a[1 << 27]; for (int i = (1 << 27) - 1; i > 0; i -= 4096) a[i] = 1; a[5]; }})",
       "killed by SIGSEGV"},
      {"outside", "(data0_4[1 << 10] = 1)", "killed by SIGSEGV|does not compile"},
      // machine code in an array of numbers, which calls fork()
      {"numbers",
       "({{ static const unsigned char code[] = {{0xb8, 57, 0, 0, 0, 15, 5, 0xc3}}; ((int (*)(void))code)(); }})",
       "killed by SIG"},
  };
  for (const Attack& a : attacks) check_contained("CPU:CLANG", a);
}

TEST_CASE("cli: CUSTOMI is an error for the LLVM IR renderer") {
  expect_error("run --allow-custom --reference=none --device=CPU:LLVM " + storing("ir.uop", "call i32 @fork()"),
               "the CPU:LLVM renderer cannot express Ops.CUSTOMI");
}

TEST_CASE("cli: hostile CUSTOMI code in OpenCL C is contained") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms() == "limits",
               "sanitizers are on, or the sandbox has no walls here");
  SKIP_TEST_IF(!contains_text(run_tgc("devices").out, "CL"), "there is no OpenCL device");
  if (run_tgc("run --allow-custom --reference=none --device=CL " + storing("good.uop", "(40+2)")).code) {
    MESSAGE("SKIPPED: OpenCL does not work here");
    return;
  }
  const Attack attacks[] = {
      {"cl_asm", "({{ int r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(57)); r; }})", "inline assembly"},
      {"cl_include", "1\\n#include \"/etc/hostname\"\\n", "must not read files"},
      {"cl_fork", CALL("int fork(void)", "fork()"), "does not compile|killed by|failed|CL_"},
      {"cl_endless", "({{ volatile int i = 0; while (1) i++; 1; }})", "did not end within 5 seconds", 5},
      {"cl_outside", "(data0_4[1 << 28] = 1)", "killed by SIGSEGV|does not compile"},
  };
  for (const Attack& a : attacks) check_contained("CL", a);
}

TEST_CASE("cli: hostile CUSTOMI code in CUDA C is contained on the emulated driver") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms() == "limits",
               "sanitizers are on, or the sandbox has no walls here");
  if (run_tgc("run --allow-custom --reference=none --emulate --device=CUDA " + storing("good.uop", "(40+2)")).code) {
    MESSAGE("SKIPPED: the emulated CUDA does not work here");
    return;
  }
  const Attack attacks[] = {
      {"cuda_include", "1\\n#include \"/etc/hostname\"\\n", "must not read files"},
      {"cuda_endless", "[]{{ volatile int i = 0; while (1) i++; return 1; }}()", "did not end within 2 seconds", 2},
      {"cuda_outside", "(data0_4[1 << 28] = 1)", "bytes behind the 16 bytes of argument 0"},
  };
  for (const Attack& a : attacks) check_contained("CUDA --emulate", a);
}
