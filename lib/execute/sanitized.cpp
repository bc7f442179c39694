#include "lib/execute/sanitized.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lib/compile/compile.h"
#include "lib/compile/driver_room.h"
#include "lib/contain/bytes.h"
#include "lib/contain/process.h"
#include "lib/contain/temporary_folder.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

constexpr const char* kClangFolder = TGC_CLANG_FOLDER;

// Source of the program that calls the kernel for each thread, one after the other. The program reads buffers and
// variables from standard input, writes the buffers to standard output, and writes their addresses to standard error,
// because AddressSanitizer's report names addresses.
constexpr std::string_view kHarness = R"(#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
extern void KERNEL();
static uint64_t args[1024], bytes[1024], buffers, variables, threads;
static void take(void* to, size_t n) { if (n && fread(to, 1, n, stdin) != n) exit(3); }
int main(void) {
  take(&buffers, 8), take(&variables, 8), take(&threads, 8);
  for (uint64_t i = 0; i < buffers; i++) {
    void* p = 0;
    take(&bytes[i], 8);
    if (posix_memalign(&p, 64, bytes[i])) exit(4);
    take(p, bytes[i]), args[i] = (uint64_t)p;
    fprintf(stderr, "buffer %llu 0x%llx\n", (unsigned long long)i, (unsigned long long)args[i]);
  }
  take(&args[buffers], 8 * variables);
  for (uint64_t core = 0; core < threads; core++) {
    args[buffers + variables] = core;
    ((void (*)(TYPES))KERNEL)(VALUES);
  }
  for (uint64_t i = 0; i < buffers; i++) fwrite((void*)args[i], 1, bytes[i], stdout);
  return 0;
}
)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

std::string harness_source(const std::string& function, size_t arguments) {
  std::string types, values, out(kHarness);
  for (size_t i = 0; i < arguments; i++) {
    types += i ? ", uint64_t" : "uint64_t";
    values += (i ? ", args[" : "args[") + std::to_string(i) + "]";
  }
  replace_all(out, "KERNEL", function), replace_all(out, "TYPES", types), replace_all(out, "VALUES", values);
  return out;
}

// Returns C unchanged; LLVM IR optimized, with line numbers and sanitizer attributes.
std::string text_for_clang(const KernelSource& source, bool is_c) {
  if (is_c) return source.text;
  CompileJob job{.language = Language::LlvmIr, .source = source.text, .name = source.name, .annotates_lines = true};
  std::string out = std::move(compile(job, Artifact::LlvmIr).value_or_throw());
  for (size_t at = 0; (at = out.find("\ndefine ", at)) != out.npos; at++) {
    size_t line = out.find('\n', at + 1),
           end = std::min({out.find(" #", at), out.find(" !dbg", at), out.find(" {", at)});
    if (end < line) out.insert(end, " sanitize_address");
  }
  return out;
}

struct SanitizedOutcome {
  int exit_code = 0;
  std::string out, err;
};

// Copies the linked program to an executable file, because a confined worker cannot change the mode of a file.
void copy_as_executable(const std::string& from, const std::string& to) {
  std::string bytes = read_whole_file(from).value_or_throw();
  int fd = open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  size_t written = 0;
  for (ssize_t n; fd >= 0 && written < bytes.size(); written += size_t(n))
    if ((n = write(fd, bytes.data() + written, bytes.size() - written)) <= 0) break;
  if (fd >= 0) close(fd);
  if (written < bytes.size()) throw Failure("cannot write the program for AddressSanitizer");
}

SanitizedOutcome compile_and_run(const DriverSandbox& sandbox, const std::string& text, const std::string& main,
                                 bool is_c, const std::string& input, double seconds) {
  std::string clang = find_program("clang-19", {kClangFolder});
  if (clang.empty()) clang = find_program("clang", {kClangFolder});
  if (clang.empty()) throw Failure(Diag{.message = "--sanitize compiles by clang, which is not here",
                                        .expected = "the packages clang-19 and libclang-rt-19-dev"});
  const TemporaryFolder& folder = sandbox.folder();
  std::string kernel = folder.file("kernel.src"), main_file = folder.file("main.c"), program = folder.file("program");
  write_file(kernel, text).value_or_throw(), write_file(main_file, main).value_or_throw();
  auto call = [&](std::vector<std::string> command) {
    auto done = run_process(command);
    if (!done) throw Failure(done.diag());
    if (done->exit_code)
      throw Failure(Diag{.message = "the kernel does not compile for AddressSanitizer", .context = done->err});
  };
  std::vector<std::string> compiler{clang,          "-c", "-w", "-g", "-O1", "-fsanitize=address", "-fno-math-errno",
                                    "-march=native"};
  compiler.insert(compiler.end(), {"-x", is_c ? "c" : "ir", kernel, "-o", folder.file("kernel.o")});
  call(compiler);
  call({clang, "-w", "-O1", "-fsanitize=address", main_file, folder.file("kernel.o"), "-lm", "-o",
        folder.file("linked")});
  copy_as_executable(folder.file("linked"), program);
  rlimit data;  // the sanitizer's shadow memory exceeds the soft limit
  if (getrlimit(RLIMIT_DATA, &data) == 0) data.rlim_cur = data.rlim_max, setrlimit(RLIMIT_DATA, &data);
  setenv("ASAN_OPTIONS", "detect_leaks=0:hard_rss_limit_mb=8192:allocator_may_return_null=0:color=never", 1);
  setenv("ASAN_SYMBOLIZER_PATH", (std::string(kClangFolder) + "/llvm-symbolizer").c_str(), 1);
  constexpr int kNoLimit = 24 * 3600;  // in seconds; run_process() needs a limit
  auto ran =
      std::move(run_process({program}, input, seconds > 0 ? int(std::ceil(seconds)) : kNoLimit).value_or_throw());
  return {ran.exit_code, std::move(ran.out), std::move(ran.err)};
}

// Returns what follows the first `begin` at or after `from`, up to the next `end` if there is one; "" without `begin`.
std::string text_between(const std::string& text, std::string_view begin, std::string_view end, size_t from = 0) {
  size_t a = text.find(begin, from);
  if (a == text.npos) return {};
  a += begin.size();
  return text.substr(a, text.find(end, a) - a);
}

// Returns an error such as "AddressSanitizer: heap-buffer-overflow, WRITE of size 4, ..., at line 5 of the kernel".
Diag sanitizer_error(const std::string& err, const Executable& kernel, const Arrays& inputs) {
  size_t report = err.find("ERROR: AddressSanitizer: ");
  if (report == err.npos)
    return {.message = "the program under AddressSanitizer failed", .context = err.substr(0, 2000)};
  Diag out{.message = "AddressSanitizer: " + text_between(err, "AddressSanitizer: ", " ", report),
           .is_kernel_fault = true};
  for (std::string_view access : {"READ of size ", "WRITE of size "})
    if (std::string size = text_between(err, access, " ", report); !size.empty())
      out.message += ", " + std::string(access) + size;
  // such as "is located 4 bytes after 64-byte region [0x50a0000000c0,0x50a000000100)"
  if (std::string where = text_between(err, " is located ", "-byte region", report); !where.empty()) {
    where.resize(std::min(where.size(), where.rfind(' ')));
    std::string region = text_between(err, "-byte region [", ",", report);
    for (size_t i = 0; i < inputs.size(); i++) {
      std::string begin = text_between(err, "buffer " + std::to_string(i) + " 0x", "\n");
      if (begin.empty() || !region.ends_with(begin)) continue;
      if (where.ends_with("after")) where += " the end";
      if (where.ends_with("before")) where += " the beginning";
      out.message += ", " + where + " of " + kernel.buffers()[i].name() + ", " +
                     std::to_string(inputs[i].array.nbytes()) + " bytes";
    }
  }
  // the line is 11 in "SUMMARY: AddressSanitizer: heap-buffer-overflow FILE:11:17 in k"
  std::string summary = text_between(err, "SUMMARY: AddressSanitizer: ", " in ", report);
  size_t colon = summary.find(':', summary.rfind('/') == summary.npos ? 0 : summary.rfind('/'));
  int line = colon == summary.npos ? 0 : std::atoi(summary.c_str() + colon + 1);
  if (line <= 0) return out;
  out.message += ", at line " + std::to_string(line) + " of the kernel";
  size_t at = 0;
  const std::string& text = kernel.source().text;
  for (int n = 1; n < line && at != text.npos; n++)
    at = text.find('\n', at) == text.npos ? text.npos : text.find('\n', at) + 1;
  if (at != text.npos) out.context = text.substr(at, text.find('\n', at) - at);
  return out;
}

}  // namespace

Result<ExecutionResult> execute_with_sanitizer(const Executable& kernel, const Arrays& inputs,
                                               const VariableValues& variables, const ExecuteOptions& options) {
  return catch_failures([&] {
    const KernelSource& source = kernel.source();
    bool is_c = source.target.starts_with("CPU:CLANG");
    if (!is_c && !source.target.starts_with("CPU:LLVM"))
      throw Failure(Diag{.message = "--sanitize is for kernels on the CPU", .expected = "--device=CPU or CPU:CLANG"});
    auto values = std::move(kernel.variable_arguments(variables).value_or_throw());
    auto size = kernel.launch_size(variables).value_or_throw();
    ByteWriter input;
    input.write_number(inputs.size()).write_number(values.size()).write_number(size.global_size[0]);
    for (const NamedArray& a : inputs)
      input.write_number(a.array.nbytes()).write_bytes(a.array.data(), a.array.nbytes());
    for (int64_t v : values) input.write_number(uint64_t(v));
    std::string bytes = input.take_bytes(), text = text_for_clang(source, is_c);
    std::string main = harness_source(source.function_name, inputs.size() + values.size() + 1);

    DriverSandbox sandbox;
    auto answer = run_in_sandbox(
        [&](Worker& worker) -> Result<std::string> {
          return catch_failures([&] {
            sandbox.confine_process(worker, 0);
            SanitizedOutcome ran = compile_and_run(sandbox, text, main, is_c, bytes, options.timeout_seconds);
            return ByteWriter()
                .write_number(uint64_t(ran.exit_code))
                .write_text(ran.out)
                .write_text(ran.err)
                .take_bytes();
          });
        },
        {.timeout_seconds = options.timeout_seconds > 0 ? options.timeout_seconds + 60 : 0});
    ByteReader in(answer.value_or_throw());
    uint64_t exit_code = in.read_number();
    std::string arrays = in.read_text(), err = in.read_text();
    if (exit_code) throw Failure(sanitizer_error(err, kernel, inputs));
    ExecutionResult out;
    ByteReader made(arrays);
    for (size_t i = 0; i < inputs.size(); i++) {
      Array array(inputs[i].array.dtype(), {inputs[i].array.shape().begin(), inputs[i].array.shape().end()});
      made.read_bytes(array.data(), array.nbytes());
      if (kernel.buffers()[i].is_written) out.outputs.push_back({inputs[i].name, std::move(array)});
    }
    return out;
  });
}

}  // namespace tgc
