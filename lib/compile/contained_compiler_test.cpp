#include "lib/compile/contained_compiler.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "lib/compile/backends.h"
#include "lib/compile/job_bytes.h"
#include "lib/contain/contain.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::string odd_compiler(const CompileJob& job, Artifact) {
  if (job.source == "crash") raise(SIGSEGV);
  for (volatile bool go = job.source == "endless"; go;) {
  }
  if (job.source == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (job.source == "wrong") throw RejectedSource(Diag{.message = "what is this", .line = 3, .column = 7});
  return std::to_string(getpid());
}

std::string compiled(const std::string& source) {
  CompileJob job{.language = Language::LlvmIr, .source = source, .name = "E_4",
                 .timeout_seconds = source == "endless" ? 0.3 : 60};
  try {
    return compile_by_worker(job, Artifact::Binary, odd_compiler);
  } catch (const RejectedSource& r) {
    return "rejected at " + std::to_string(r.diag().line) + ":" + std::to_string(r.diag().column) + ": " +
           r.diag().message;
  } catch (const Failure& f) {
    return f.diag().message;
  }
}

}  // namespace

TEST_CASE("compile worker: reused for the next source, but not after a crash, a timeout or a rejection") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  std::string first = compiled("a");
  CHECK(first != std::to_string(getpid()));
  CHECK(compiled("b") == first);
  std::string other_thread;
  std::thread([&] { other_thread = compiled("a"); }).join();
  CHECK(other_thread == first);
  CHECK(compiled("a") == first);
  bool apart = false;  // whether concurrent sources used two workers; repeats, because one may start late
  for (int tries = 0; tries < 50 && !apart; tries++) {
    std::string one, two;
    std::thread with_one([&] { one = compiled("slow"); });
    two = compiled("slow");
    with_one.join();
    apart = one != two;
  }
  CHECK(apart);
  auto in_child = run_in_sandbox([](Worker&) -> Result<std::string> { return compiled("a"); });
  REQUIRE(in_child);
  CHECK(*in_child != first);
  first = compiled("a");

  CHECK(compiled("crash").starts_with("the compiler of kernel 'E_4' (LLVM IR) was killed by SIGSEGV"));
  std::string second = compiled("a");
  CHECK(second != first);
  CHECK(compiled("endless") == "the compiler of kernel 'E_4' (LLVM IR) did not end within 0.3 seconds");
  CHECK(compiled("wrong") == "rejected at 3:7: what is this");
  CHECK(compiled("a") != second);
}

TEST_CASE("compile worker: receives every member of a job") {
  CompileJob job{.language = Language::Hip,
                 .machine = "amdgcn",
                 .arch = "gfx1100",
                 .source = "a\nb",
                 .name = "E_4",
                 .annotates_lines = true,
                 .timeout_seconds = 0.5,
                 .max_passes = -1,
                 .uses_other_compiler = true,
                 .llvm_fault = "xor"};
  ByteWriter out;
  write_member(out, job);
  std::string bytes = out.take_bytes();
  CompileJob read;
  CHECK(job_members(read) != job_members(job));
  ByteReader in(bytes);
  read_member(in, read);
  CHECK(in.empty());
  CHECK(job_members(read) == job_members(job));
}

}  // namespace tgc
