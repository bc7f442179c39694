// Compiles Metal for this computer's CPU with clang. ThreadSanitizer's instrumentation calls a function such as
// `__tsan_read4` before a memory access; lib/emulate/metal defines these functions and checks the address.
#include <algorithm>

#include "lib/compile/backends.h"
#include "lib/compile/metal/metal.h"
#include "lib/compile/metal/text.h"
#include "lib/contain/bytes.h"

namespace tgc {

std::string compile_metal_by_clang(const CompileJob& job, Artifact what) {
  if (what != Artifact::Binary) throw Failure("the Metal emulator compiles to machine code only");
  MachineSpec m = machine_of_job(job);
  bool arm = host_machine_name() == "aarch64";
  std::vector<std::string> args{(arm ? "-mcpu=" : "-march=") + m.cpu, "--target=" + m.triple, "-x", "c++",
                                "-std=c++20", "-O2", "-fPIC", "-ffreestanding", "-nostdlib", "-fno-ident",
                                "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-ffp-contract=off", "-fwrapv",
                                "-fsigned-char", "-fno-strict-aliasing", "-gline-tables-only", kHideFolderOption,
                                // no vectorized memory accesses, so that each one is checked
                                "-fno-vectorize", "-fno-slp-vectorize", "-Xclang", "-fsanitize=thread",
                                // round half and bfloat after each operation
                                "-Xclang", "-ffloat16-excess-precision=none", "-Xclang",
                                "-fbfloat16-excess-precision=none"};
  if (!arm) args.push_back("-mno-avx512bf16");  // flushes small numbers to zero
  ClangEngine& clang = *clang_engine().value_or_throw();
  std::string object =
      result_or_throw(clang.compile(convert_metal_to_cpp(job.source), "kernel.metal", args, OutputForm::Object));
  ByteWriter out;
  out.write_text(object);
  for (const CodeLine& l : result_or_throw(clang.code_lines(object))) out.write_number(l.offset).write_number(l.line);
  return out.take_bytes();
}

Result<std::string> compile_metal(const std::string& name, const std::string& source) {
  return compile({.language = Language::Metal, .source = source, .name = name}, Artifact::Binary);
}

Result<MetalCode> read_metal_code(std::string_view made) {
  return catch_failures([&] {
    ByteReader in(made);
    MetalCode out{in.read_text(), {}};
    while (!in.empty()) {
      uint64_t at = in.read_number();
      out.line_table.push_back({at, uint32_t(in.read_number())});
    }
    return out;
  });
}

uint32_t line_at_address(const std::vector<CodeLine>& lines, uint64_t at) {
  auto after = std::ranges::upper_bound(lines, at, {}, &CodeLine::offset);
  return after == lines.begin() ? 0 : std::prev(after)->line;
}

}  // namespace tgc
