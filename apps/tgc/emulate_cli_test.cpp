#include "apps/tgc/cli_testing.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("cli: run --emulate runs PTX and CUDA C on the emulator and reports that; without it nothing is emulated") {
  const std::string records = test_path("golden/kernels.jsonl.gz");
  for (const char* name : {"bcast_pow.0", "bin_ne_long.0"}) {
    CommandResult r = run_tgc("run --emulate --device=CUDA:PTX:sm_80 '" + records + "#" + name + "'");
    INFO(r.out, r.err);
    CHECK(r.code == 0);
    CHECK(contains_text(r.out, std::string(name) + ": passed on CUDA:PTX:sm_80, emulated, 1 array as REF has it"));
  }
  // CUDA C for sm_75
  CommandResult own = run_tgc("run --emulate --race '" + records + "#cast_long_to_float.0'");
  CHECK(contains_text(own.out, ": passed on CUDA:CUDA:sm_75, emulated"));
  CommandResult metal = run_tgc("run --emulate --race --device=METAL '" + records + "#bcast_pow.0'");
  INFO(metal.out, metal.err);
  CHECK(contains_text(metal.out,
                      "passed on METAL:METAL, emulated, compiled by clang, not by Apple, 1 array as REF has it"));
  CHECK(run_tgc("run --device=METAL '" + records + "#bcast_pow.0'").code == 2);
  CHECK_FALSE(contains_text(run_tgc("run --device=CUDA '" + records + "#bcast_pow.0'").out, "emulated"));
  CommandResult none = run_tgc("run --emulate --device=CL '" + records + "#bcast_pow.0'");
  CHECK(none.code == 2);
  CHECK(contains_text(none.err, "there is no emulator for CL, expected CUDA, AMD or METAL with --emulate"));
  CHECK(run_tgc("run --race '" + records + "#bcast_pow.0'").code == 2);
}

TEST_CASE("cli: exp2, log2 and sin of doubles are exact to a few units in the last place without NVRTC") {
  for (std::string op : {"EXP2", "LOG2", "SIN"}) {
    const std::string file = write_scratch_file("double_" + op + ".uop",
                                                "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.double.ptr(512), (), 0)\n"
                                                "c1 = UOp(Ops.DEFINE_GLOBAL, dtypes.double.ptr(512), (), 1)\n"
                                                "c2 = UOp.range(512, 0, AxisType.LOOP)\n"
                                                "c3 = UOp(Ops." + op + ", dtypes.double, (c1.index(c2),))\n"
                                                "c4 = c0.index(c2, ptr=True).store(c3).end(c2)\nast = c4.sink()\n");
    CommandResult r =
        run_tgc("run --emulate --device=CUDA --rtol=1e-15 --atol=1e-300 " + file, "/dev/null", "TGC_NVRTC=0");
    INFO(r.out, r.err);
    CHECK(contains_text(r.out, "passed on CUDA:CUDA:sm_80, emulated"));
  }
}

TEST_CASE("cli: emulate sets tinygrad's variables and returns the exit code of the program") {
  CommandResult r =
      run_tgc("emulate --race --device=cuda::sm_86 -- sh -c 'env; exit 7' -- --x", "/dev/null", "DEV=CUDA:PTX");
  INFO(r.out, r.err);
  CHECK(r.code == 7);
  for (const char* part : {"\nDEV=CUDA:PTX\n", "\nTGC_CUDA_EMULATOR_RACE=report\n", "\nTGC_CUDA_EMULATOR_ARCH=sm_86\n",
                           "/libtgc_cuda_emulator.so\n", "\nCUDA_PATH=/", "\nNVRTC_PATH=/", "\nCACHEDB=/"})
    CHECK_MESSAGE(contains_text("\n" + r.out, part), part);
  CommandResult hip = run_tgc("emulate --device=AMD -- env", "/dev/null", "DEV=CPU CACHEDB=own.db");
  for (const char* part : {"\nDEV=HIP\n", "\nHIP_PATH=/", "\nCOMGR_PATH=/", "\nCACHEDB=own.db\n"})
    CHECK_MESSAGE(contains_text("\n" + hip.out, part), part);
  CHECK(contains_text("\n" + run_tgc("emulate -- env", "/dev/null", "DEV= TGC_CACHE=0").out, "\nCCACHE=0\n"));
  auto trouble = [](const std::string& args, const std::string& message, const std::string& environment = "DEV=") {
    CommandResult refused = run_tgc("emulate " + args, "/dev/null", environment);
    CHECK(refused.code == 2);
    CHECK_MESSAGE(contains_text(refused.err, message), refused.err);
  };
  trouble("", "PROGRAM is required");
  trouble("--device=METAL -- true", "there is no emulator for 'METAL', expected CUDA or HIP");
  trouble("-- true", "DEV: there is no emulator for 'CPU', expected CUDA or HIP (or --device)", "DEV=CPU");
  trouble("--device=CUDA:PTX -- true", "--device='CUDA:PTX' names a renderer, expected CUDA or CUDA::ARCH");
  trouble("--device=CUDA::sm_5 -- true", "unknown arch 'sm_5'");
  trouble("--device=HIP::gfx950 -- true", "there is no emulator for gfx950");
  trouble("-- no-such-program", "cannot run 'no-such-program': No such file or directory");
}

TEST_CASE("cli: run --emulate reports an out-of-bounds access as a failure of the kernel and shows the source line") {
  const std::string records = test_path("golden/kernels.jsonl.gz");
  std::string list = run_tgc("dump '" + records + "#bcast_pow.0' --stage=linear --target=CUDA:CUDA:sm_80").out;
  for (size_t at; (at = list.find("384")) != list.npos;) list[at] = '4';  // indexes beyond the 512 elements of data0
  CommandResult r =
      run_tgc("run --emulate --reference=none --device=CUDA:CUDA:sm_80 " + write_scratch_file("beyond.uops", list));
  INFO(r.out, r.err);
  CHECK(r.code == 1);
  CHECK(contains_text(r.err, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(contains_text(r.err, " bytes of argument 0)"));
  CHECK(contains_text(r.err, " of the source ("));
  CHECK(contains_text(r.err, "\n  "));  // the line of the source
  CommandResult lacks = run_tgc("run --emulate --device=AMD:LLVM:gfx950 '" + records + "#bcast_pow.0'");
  CHECK(lacks.code == 2);
  CHECK(contains_text(lacks.err, "there is no emulator for gfx950"));
}

TEST_CASE("cli: run --emulate --race prints both source lines of a race that a missing barrier causes") {
  std::string list = run_tgc("dump '" + test_path("golden/kernels.jsonl.gz") +
                             "#bert_mini.31' --stage=linear --target=CUDA:CUDA:sm_80").out;
  const std::string barrier = "Ops.BARRIER";
  REQUIRE(contains_text(list, barrier));
  list.replace(list.find(barrier), barrier.size(), "Ops.NOOP   ");
  SKIP_TEST_IF(tgc::kIsThreadSanitized, "ThreadSanitizer is on");
  CommandResult r =
      run_tgc("run --emulate --race --device=CUDA:CUDA:sm_80 " + write_scratch_file("no_barrier.uops", list));
  INFO(r.out, r.err);
  CHECK(r.code == 1);
  CHECK(contains_text(r.err, " reads an address that thread "));
  CHECK(contains_text(r.err, " stored with no barrier between"));
  CHECK(contains_text(r.err, "\n  line 14: float val2 = (*(temp0+Ridx102));\n  line 11: *(temp0+"));
}

TEST_CASE("cli: run --emulate runs AMD code objects on the emulator and reports that") {
  const std::string records = test_path("golden/kernels.jsonl.gz");
  for (const char* target : {"AMD:LLVM:gfx1100", "AMD:LLVM:gfx942", "AMD:HIP:gfx1201"}) {
    CommandResult r =
        run_tgc("run --emulate --race --device=" + std::string(target) + " '" + records + "#bcast_pow.0'");
    INFO(r.out, r.err);
    CHECK(r.code == 0);
    CHECK(contains_text(r.out, "bcast_pow.0: passed on " + std::string(target) + ", emulated, 1 array as REF has it"));
  }
}

TEST_CASE("cli: an emulated GPU has the default architecture of --target unless a variable names another") {
  const std::string record = " '" + test_path("golden/kernels.jsonl.gz") + "#bcast_pow.0'";
  for (const char* device : {"CUDA", "CUDA:PTX", "AMD", "AMD:LLVM", "METAL"}) {
    std::string header = run_tgc("dump --stage=expander --target=" + std::string(device) + record).out;
    size_t begin = header.find("\"target\":\"") + 10, end = header.find('"', begin);
    CommandResult r = run_tgc("run --emulate --device=" + std::string(device) + record);
    INFO(header.substr(0, end), r.out, r.err);
    CHECK(contains_text(r.out, " on " + header.substr(begin, end - begin) + ", emulated"));
  }
  CHECK(contains_text(run_tgc("run --emulate --device=CUDA" + record, "/dev/null", "TGC_CUDA_EMULATOR_ARCH=sm_75").out,
                      "CUDA:CUDA:sm_75, emulated"));
  CHECK(contains_text(run_tgc("run --emulate --device=CUDA::sm_86" + record).out, "CUDA:CUDA:sm_86, emulated"));
  CHECK(contains_text(run_tgc("run --emulate --device=CUDA:CUDA:sm_99" + record).err, "unknown arch 'sm_99'"));
}

TEST_CASE("cli: a tensor graph runs on its recorded device, or a message says that it does not work here") {
  const std::string file = write_scratch_file("recorded.uop",
                                              "c2 = UOp.new_buffer('CUDA:1', 16, dtypes.float, 1)\n"
                                              "c6 = (c2+c2).contiguous()\nast = c6.sink()\n");
  CommandResult here = run_tgc("run " + file);
  INFO(here.out, here.err);
  CHECK(contains_text(here.out, "passed on CPU:LLVM, 1 kernel, "));
  CHECK(contains_text(here.out, "  recorded on CUDA, run on CPU:LLVM instead\n"));
  CHECK(contains_text(run_tgc("run --json " + file).out, "\"recorded_on\":\"CUDA\""));
  CommandResult there = run_tgc("run --emulate " + file);
  INFO(there.out, there.err);
  CHECK(contains_text(there.out, "passed on CUDA:CUDA:sm_80, emulated, 1 kernel, "));
  CHECK_FALSE(contains_text(there.out, "recorded on"));
  CHECK(contains_text(run_tgc("run --device=CPU:CLANG " + file).out, "passed on CPU:CLANG, 1 kernel, "));
}
