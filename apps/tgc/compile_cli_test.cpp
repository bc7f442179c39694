#include <doctest/doctest.h>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

const std::string kKernel =
    "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nc2 = UOp.range(8, 0, AxisType.LOOP)\n"
    "c4 = UOp.const(dtypes.float, 1.0)\nc6 = c0.index(c2, ptr=True).store(c4).end(c2)\n"
    "ast = c6.sink()\n";

std::string kernel() { return write_scratch_file("kernel.txt", kKernel); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

void prints(const std::string& arguments, std::initializer_list<std::string_view> words,
            const std::string& environment = "") {
  CommandResult r = run_tgc("dump " + kernel() + " " + arguments, "/dev/null", environment);
  INFO(arguments << "\n" << r.err << r.out);
  CHECK(r.code == 0);
  for (std::string_view word : words) CHECK(contains(r.out, word));
}

}  // namespace

TEST_CASE("cli: dump prints LLVM IR and assembly of every CPU family on any machine") {
  std::string fresh = "TGC_CACHE=0";
  prints("--stage=llvm-ir --target=CPU:LLVM", {"define void @", "store <4 x float>"}, fresh);
  prints("--stage=llvm-ir --optimized --target=CPU:LLVM", {"define void @", "target triple = ", "store <"}, fresh);
  prints("--stage=asm --machine=x86_64", {"# kernel E_2_4", "movaps", "retq"}, fresh);
  prints("--stage=asm --machine=aarch64 --target=CPU:LLVM", {"// kernel E_2_4", "fmov\tv", "ret"}, fresh);
  prints("--stage=asm --target=AMD", {"; kernel E_2_4", "s_endpgm", "gfx1100"}, fresh);
  prints("--stage=asm --target=AMD:LLVM:gfx942", {"s_endpgm", "gfx942"}, fresh);
  prints("--stage=asm --target=CUDA", {".visible .entry E_2_4", ".target sm_80"}, "TGC_NVRTC=0 " + fresh);
  prints("--stage=asm --target=CUDA:PTX", {".version 7.5", ".target sm_80"}, fresh);
}

TEST_CASE("cli: dump --lines prints assembly with source lines") {
  CommandResult c = run_tgc("dump " + kernel() + " --stage=asm --lines --machine=x86_64");
  REQUIRE(c.code == 0);
  CHECK(contains(c.out, "# 2: void E_2_4("));
  CHECK_FALSE(contains(c.out, ".loc"));
  CHECK_FALSE(contains(c.out, "debug_"));
  CHECK(contains(run_tgc("dump " + kernel() + " --stage=asm --lines --machine=x86_64 --target=CPU:LLVM").out,
                 "store <4 x float>"));
  CHECK(contains(run_tgc("dump " + kernel() + " --stage=asm --lines --target=AMD:LLVM").out,
                 "; 1: define amdgpu_kernel void @E_2_4"));
  CHECK(contains(run_tgc("dump " + kernel() + " --stage=asm --lines --target=CUDA", "/dev/null", "TGC_NVRTC=0").out,
                 "// 4: extern \"C\" __global__ void"));
}

TEST_CASE("cli: dump writes binaries unchanged") {
  CommandResult object = run_tgc("dump " + kernel() + " --stage=binary");
  CHECK(object.out.starts_with("\x7F" "ELF"));
  std::string file = (scratch_folder() / "kernel.hsaco").string();
  CHECK(run_tgc("dump " + kernel() + " --stage=binary --target=AMD -o " + file).code == 0);
  std::string code_object = read_text(file);
  REQUIRE(code_object.size() > 20);
  CHECK(code_object.starts_with("\x7F" "ELF"));
  CHECK(int(code_object[18]) == char(224));  // EM_AMDGPU
  CHECK(int(code_object[16]) == 3);          // ELF type: shared object
}

TEST_CASE("cli: dump disassembles machine code of CPUs and AMD code objects") {
  for (auto [target, last] : {std::pair("CPU:CLANG", "ret"), std::pair("CPU:LLVM", "ret"),
                              std::pair("AMD:LLVM:gfx1100", "s_endpgm"), std::pair("AMD:HIP:gfx942", "s_endpgm")}) {
    CAPTURE(target);
    CommandResult ran = run_tgc("dump " + kernel() + " --stage=disasm --target=" + target);
    CHECK(ran.code == 0);
    CHECK(ran.out.find(":\n") != std::string::npos);  // the function's label
    CHECK(ran.out.find(last) != std::string::npos);
    CHECK(ran.out.find(".byte") == std::string::npos);
  }
  expect_error("dump " + kernel() + " --stage=disasm --target=CUDA:PTX:sm_80", "--stage=sass");
}

TEST_CASE("cli: dump prints SASS if ptxas and nvdisasm are installed") {
  std::string tools = run_tgc("devices").out;
  auto here = [&](std::string_view tool) { return tools.find("yes  " + std::string(tool) + " ") != std::string::npos; };
  for (std::string target : {"CUDA:PTX:sm_80", "CUDA:CUDA:sm_80"}) {
    CAPTURE(target);
    std::string dump = "dump " + kernel() + " --stage=sass --target=" + target;
    if (!here("ptxas") || !(here("nvdisasm") || here("cuobjdump"))) {
      expect_error(dump, "missing");
      continue;
    }
    CommandResult ran = run_tgc(dump);
    CHECK(ran.code == 0);
    CHECK(ran.out.find("EXIT ;") != std::string::npos);
    if (here("nvdisasm")) CHECK(run_tgc(dump + " --lines").out.find(", line ") != std::string::npos);
    else expect_error(dump + " --lines", "cuobjdump does not show source lines");
  }
}

TEST_CASE("cli: a target without a compiler on this machine is an error") {
  expect_error("dump " + kernel() + " --stage=asm --target=METAL", "macOS");
  expect_error("dump " + kernel() + " --stage=binary --target=WEBGPU", "WGSL");
  expect_error("dump " + kernel() + " --stage=sass", "NVIDIA");
  expect_error("dump " + kernel() + " --stage=asm --machine=vax", "unknown machine 'vax'");
  expect_error("dump " + kernel() + " --stage=asm --machine=aarch64 --target=AMD", "--machine is for CPU targets");
}

TEST_CASE("cli: a linear list is rendered, and one that the renderer cannot express is an error") {
  CommandResult list = run_tgc("dump " + kernel() + " --stage=linear");
  std::string listing = write_scratch_file("kernel.uops", list.out);
  CHECK(contains(run_tgc("dump " + listing + " --stage=source").out, "void "));
  expect_error("dump " + listing + " --stage=optimize", "a linear list has no stages before it");
  CommandResult fp8 =
      run_tgc("dump " +
              write_scratch_file("fp8.txt",
                  "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.double.ptr(8), (), 0)\nc2 = UOp.range(8, 0, AxisType.LOOP)\n"
                                 "c4 = UOp.const(dtypes.double, 1.0)\nc6 = c0.index(c2, ptr=True).store(c4).end(c2)\n"
                                 "ast = c6.sink()\n") +
              " --stage=source --target=WEBGPU");
  CHECK(fp8.code == 2);
  CHECK(contains(fp8.err, "WEBGPU:WGSL"));
}

TEST_CASE("cli: a compiler error names the message, the source line and the kept file") {
  CommandResult r = run_tgc("dump '" +
                            write_scratch_file("broken.txt",
                      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nc2 = UOp.range(8, 0, AxisType.LOOP)\n"
                                     "c4 = UOp(Ops.CUSTOM, dtypes.float, (), 'nowhere')\n"
                                     "c6 = c0.index(c2, ptr=True).store(c4).end(c2)\nast = c6.sink()\n") +
                  "' --stage=asm --allow-custom");
  CHECK(r.code == 2);
  INFO(r.err);
  CHECK(contains(r.err, "use of undeclared identifier 'nowhere'"));
  size_t begin = r.err.find('/'), end = r.err.find(".c:");
  REQUIRE(end != r.err.npos);
  CHECK(contains(read_text(r.err.substr(begin, end + 2 - begin)), "nowhere"));
}

TEST_CASE("cli: devices, cache and compile print text and JSON") {
  CommandResult devices = run_tgc("devices --json");
  CHECK(devices.code == 0);
  for (std::string_view word :
       {"\"kind\":\"renderer\"", "\"kind\":\"compiler\"", "\"kind\":\"runtime\"", "CPU:CLANG", "LLVM"})
    CHECK(contains(devices.out, word));
  std::string folder = (scratch_folder() / "cache").string(), environment = "TGC_CACHE_DIR=" + folder;
  auto cache = [&](const std::string& arguments) {
    return run_tgc("cache " + arguments, "/dev/null", environment).out;
  };
  CHECK(contains(cache(""), " 0 entries"));
  prints("--stage=binary", {"ELF"}, environment);
  CHECK(contains(cache("--json"), "\"entries\":1,"));
  prints("--stage=binary", {"ELF"}, environment);
  CHECK(contains(cache("--json"), "\"entries\":1,"));
  CHECK(contains(cache("--clear"), "removed 1 entries"));
  CHECK(contains(cache(""), " 0 entries"));
  CommandResult table = run_tgc("compile " + kernel() + " --target=CPU:LLVM");
  CHECK(table.code == 0);
  CHECK(contains(table.out, "CPU:LLVM"));
}

TEST_CASE("cli: compile reports why no kernel has a source, on standard error and in its JSON") {
  std::string refusal = "dtypes.bfloat16 is not supported by AND";
  std::string kernels = test_path("golden/kernels.jsonl.gz");
  CommandResult ran = run_tgc("compile --json --target=WEBGPU:WGSL " + kernels + "#bin_sub___bf16.0");
  INFO(ran.out << ran.err);
  CHECK(ran.code == 2);
  CHECK(contains(ran.err, refusal));
  CHECK(contains(ran.out, "\"refused\":["));
  CHECK(contains(ran.out, refusal));
}

TEST_CASE("cli: a sample of the golden kernels compiles for every target that has a compiler on this machine") {
  CommandResult table =
      run_tgc("compile --every 8 --json -j 2 " + test_path("golden/kernels.jsonl.gz"), "/dev/null", "TGC_NVRTC=0");
  INFO(table.out);
  auto count = [&](std::string_view part) {
    size_t n = 0;
    for (size_t at = 0; (at = table.out.find(part, at)) != table.out.npos; at += part.size()) n++;
    return n;
  };
  CHECK(table.code <= 1);
  // testdata/known_gaps.md lists these kernels
  CHECK(count("\"message\":") == count("unknown type name 'float8_"));
  CHECK(count("\"compiled\":0") <= 3);  // targets without a compiled kernel
  CHECK(contains(table.out, "\"CPU:CLANG\":{"));
}

TEST_CASE("cli: compile --asm prints the assembly of a kernel written by hand") {
  const std::string file = write_scratch_file("add.c", "/* adds\n#if */\nvoid add(float* a, float b) { a[0] += b; }\n");
  CommandResult made = run_tgc("compile --language=c --asm " + file);
  INFO(made.out << made.err);
  CHECK(made.code == 0);
  CHECK(contains(made.out, "add:"));
  CHECK(run_tgc("compile --asm " + file).code == 2);
  for (const char* other : {"--json", "--resources"})
    expect_error("compile --language=c --asm " + file + " " + other, other);
}

TEST_CASE("cli: errors of kernels written by hand show the line that the user wrote") {
  const std::string line = "  out[threadIdx.x + gridDim.x] = undeclared;";
  const std::string file =
      write_scratch_file("wrong.hip", "#define N 4\n__global__ void fill(float* out) {\n" + line + "\n}\n");
  for (const char* options : {"", " --resources", " --asm"}) {
    CommandResult made = run_tgc("compile --language=hip " + file + options);
    INFO(options << made.out << made.err);
    CHECK(made.code != 0);
    CHECK(contains(made.out + made.err, "wrong.hip:3"));
    CHECK(contains(made.out + made.err, line + "\n"));
  }
  const std::string only_template =
      write_scratch_file("template.cu", "template <typename T>\n__global__ void fill(T* out) { out[0] = 1; }\n");
  expect_error("compile --language=cuda --resources " + only_template, "all kernels of the source are templates: fill");
}

TEST_CASE("cli: a HIP kernel written by hand knows the number of its work groups; a missing barrier is named") {
  const std::string file = write_scratch_file("grid.hip", "__global__ void fill(int* out) {\n  __shared__ int s[128];\n"
                                              "  s[threadIdx.x] = gridDim.x * 10 + gridDim.y;\n  __syncthreads();\n"
                                              "  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];\n}\n");
  const std::string launch = "run --language=hip --emulate --grid=3,2 --block=128 --arg out=384 ";
  CommandResult done = run_tgc(launch + file);
  INFO(done.out << done.err);
  CHECK(done.code == 0);
  CHECK(contains(done.out, "32 32 32"));
  REQUIRE(run_in_shell("sed 's/__syncthreads();//' " + file + " >none.hip").code == 0);
  CommandResult wrong = run_tgc(launch + "none.hip");
  CHECK(contains(wrong.err, "if another thread stores it, a barrier is missing before this load"));
  CHECK(contains(wrong.err, "line 5: out[blockIdx.x * 128 + threadIdx.x]"));
}
