// Tests that malicious kernels do no harm. The attacks are limited: at most 100 processes, no network traffic.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/compile/engines.h"
#include "lib/runtime/contained_device.h"
#include "lib/runtime/devices.h"
#include "lib/runtime/testing.h"
#include "lib/support/sanitized.h"

namespace tgc {
namespace {

#ifdef __x86_64__
const std::string kCall = R"(
static long call(long n, long a, long b, long c) {
  long out;
  __asm__ volatile("syscall" : "=a"(out) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return out;
}
)";

std::string file_name() { return "/tmp/tgc-hostile-" + std::to_string(getpid()); }

// These functions and strings are C code of kernels. call() makes a system call; `out` has 8 longs.
std::string file_write() {
  return "static const char name[] = \"" + file_name() + "\"; out[0] = call(2, (long)name, 0101, 0600);";
}
const std::string kNetwork = "out[0] = call(41, 2, 1, 0);";                      // socket(AF_INET, SOCK_STREAM)
const std::string kForkBomb = "for (int i = 0; i < 100; i++) if (call(57, 0, 0, 0) == 0) for (;;) call(34, 0, 0, 0);"
                              "for (;;) call(34, 0, 0, 0);";                     // fork, pause
const std::string kExec = "static const char name[] = \"/bin/true\"; out[0] = call(59, (long)name, 0, 0);";
// ioctl(0, TIOCSTI, "x") with a bit that Linux ignores, and prlimit64 on the parent process
const std::string kTypes = "static const char key[] = \"x\"; out[0] = call(16, 0, 0x100005412, (long)key);";
const std::string kLimits = "out[0] = call(302, call(110, 0, 0, 0), 7, 0);";
const std::string kEndless = "for (volatile int i = 0;; i++) {}";
// maps up to 100 GB of memory, 1 GB at a time, and writes to each GB
const std::string kMemory = R"(
  long n = 0;
  for (; n < 100; n++) {
    register long flags __asm__("r10") = 0x22;
    register long fd __asm__("r8") = -1;
    register long offset __asm__("r9") = 0;
    long p;
    __asm__ volatile("syscall" : "=a"(p) : "a"(9L), "D"(0L), "S"(1L << 30), "d"(3L), "r"(flags), "r"(fd), "r"(offset)
                     : "rcx", "r11", "memory");
    if (p < 0) break;
    *(volatile char*)p = 1;
  }
  out[0] = n;)";
const std::string kStack = "out[0] = deep(0, out);";
const std::string kDeep = R"(
__attribute__((noinline)) static long deep(long n, long* out) {
  volatile char room[4096];
  room[n % 4096] = 1;
  return n < 0 ? 0 : deep(n + 1, out) + room[(n + 1) % 4096];
}
)";
const std::string kOutside = "out[1 << 12] = 1;";
const std::string kBeside = "((char*)out)[-3] = 1;";

std::string object_of(const std::string& body, bool through_ir) {
  std::string text = kCall + kDeep + "void k(long* out, int core_id) {" + body + "}\n";
  std::vector<std::string> arguments{"-x", "c", "-O1", "-fPIC", "-ffreestanding", "-w"};
  arguments.push_back("--target=x86_64-none-unknown-elf");
  ClangEngine* clang = clang_engine().value_or_throw();
  auto made = clang->compile(text, "kernel.c", arguments, through_ir ? OutputForm::Ir : OutputForm::Object);
  REQUIRE_MESSAGE(made.ok, made.compiler_error.message);
  if (!through_ir) return made.value;
  MachineSpec machine{.triple = "x86_64-none-unknown-elf", .cpu = "x86-64", .cpu_features = ""};
  auto object = (*llvm_engine().value_or_throw()).compile(made.value, machine, OutputForm::Object, false);
  REQUIRE_MESSAGE(object.ok, object.compiler_error.message);
  return object.value;
}

struct Outcome {
  std::string error;
  int64_t value = 0;  // value of out[0], if there is no error
};

Outcome run_on(const std::string& target, const KernelSource& source, const std::string& code, double seconds = 20) {
  auto inner = std::move(make_device(target).value_or_throw());
  ContainedDevice device(*inner, target, seconds);
  std::vector<int64_t> out(8);
  auto done = catch_failures([&] {
    device.open().value_or_throw();
    DeviceBuffer buffer = device.allocate(64).value_or_throw();
    device.copy_in(buffer, out.data()).value_or_throw();
    auto kernel = std::move(device.load(source, code).value_or_throw());
    kernel->launch({{&buffer, 1}, {}, {}}).value_or_throw();
    device.synchronize().value_or_throw();
    check_all_guards(device).value_or_throw();
    device.copy_out(out.data(), buffer).value_or_throw();
    return Unit{};
  });
  return done ? Outcome{"", out[0]} : Outcome{done.diag().text(), 0};
}

TEST_CASE("execute contains malicious kernels of C and LLVM IR on the CPU") {
  if (kIsSanitized || active_sandbox_mechanisms() == "limits") {
    MESSAGE("SKIPPED: there is no seccomp here; what stands is " << active_sandbox_mechanisms());
    return;
  }
  for (bool through_ir : {false, true}) {
    CAPTURE(through_ir);
    std::string target = through_ir ? "CPU:LLVM" : "CPU:CLANG", who = "kernel 'bad' on " + target + ": ";
    auto error = [&](const std::string& body, double seconds = 20) {
      return run_on(target, {"bad", "k", target, ""}, object_of(body, through_ir), seconds).error;
    };
    auto may_not = [&](const char* call) {
      return who + "killed by SIGSYS (it called '" + call + "', which it may not)";
    };
    CHECK(error(file_write()) == may_not("open"));
    CHECK(access(file_name().c_str(), F_OK) != 0);
    CHECK(error(kNetwork) == may_not("socket"));
    CHECK(error(kForkBomb) == may_not("fork"));
    CHECK(error(kExec) == may_not("execve"));
    CHECK(error(kTypes) == may_not("ioctl"));
    CHECK(error(kLimits) == may_not("getppid"));
    CHECK(error(kEndless, 0.5) == who + "did not end within 0.5 seconds");
    CHECK(run_on(target, {"bad", "k", target, ""}, object_of(kMemory, through_ir)).value <= 1);
    CHECK(error(kStack).starts_with(who + "killed by SIGSEGV (stack overflow"));
    CHECK(error(kOutside).ends_with(": 32704 bytes after the end of data0, 64 bytes)"));
    CHECK(error(kBeside) == "a kernel wrote 3 bytes before the beginning of a buffer of 64 bytes");
    Outcome good = run_on(target, {"good", "k", target, ""}, object_of("out[0] = 42;", through_ir));
    CHECK(good.error.empty());
    CHECK(good.value == 42);
  }
}

TEST_CASE("execute contains malicious OpenCL kernels, which a driver compiles and runs") {
  // a forked worker lacks the threads of a driver that an earlier test loaded in this process
  if (dlopen("libpocl.so.2", RTLD_NOW | RTLD_NOLOAD)) {
    MESSAGE("SKIPPED: another test has opened PoCL in this process");
    return;
  }
  auto probe = probe_device("CL");
  if (kIsSanitized || active_sandbox_mechanisms() == "limits" || !probe.is_available) {
    MESSAGE("SKIPPED: " << (probe.is_available ? "what stands is " + active_sandbox_mechanisms() : probe.detail_text));
    return;
  }
  if (probe.detail_text.find("pthread") == probe.detail_text.npos &&
      probe.detail_text.find("PoCL") == probe.detail_text.npos) {
    MESSAGE("SKIPPED: the kernels are for a CPU, not for " << probe.detail_text);
    return;
  }
  auto run = [&](std::string body, double seconds = 60) {
    for (size_t at; (at = body.find("static const")) != body.npos;) body.replace(at, 12, "const");
    std::string text = kCall + "__kernel void k(__global long* out) {" + body + "}\n";
    return run_on("CL", {"bad", "k", "CL:CL", text}, text, seconds);
  };
  Outcome fine = run("out[0] = 42;");
  REQUIRE_MESSAGE(fine.error.empty(), fine.error);
  CHECK(fine.value == 42);
  CHECK(run(file_write()).value == -13);  // EACCES
  CHECK(access(file_name().c_str(), F_OK) != 0);
  CHECK(run(kNetwork).value == -1);  // EPERM
  // twice: LLVM in PoCL may handle the first SIGSYS, which returns from the call without executing it
  std::string typed = run("{" + kTypes + "} {" + kTypes + "}").error;
  CHECK_MESSAGE(typed.find("killed by SIGSYS (it called 'ioctl'") != std::string::npos, typed);
  CHECK(run(kLimits).value == -38);  // ENOSYS
  CHECK(run(kForkBomb).error.find("started more processes than a driver needs") != std::string::npos);
  CHECK(run(kEndless, 5).error.find("did not end within 5 seconds") != std::string::npos);
  CHECK(run("out[0] = 42;").value == 42);
}
#endif

}  // namespace
}  // namespace tgc
