#include <sstream>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;
using namespace std::string_literals;

namespace {

// Checks what commands do with a bundle that is alone in a folder, with only PATH and HOME set.
void check_bundle_alone(const std::string& bundle, const std::string& rule) {
  namespace fs = std::filesystem;
  fs::path elsewhere = scratch_folder() / ("elsewhere." + bundle);
  fs::create_directories(elsewhere);
  fs::rename(scratch_folder() / bundle, elsewhere / bundle);
  auto there = [&](const std::string& arguments, int code) {
    CommandResult r = run_in_shell("cd '" + elsewhere.string() + "' && env -i PATH=\"$PATH\" HOME='" +
                                   elsewhere.string() + "' tgc " + arguments);
    INFO(arguments << "\n" << r.out << r.err);
    CHECK(r.code == code);
    return r.out;
  };
  CHECK(contains_text(there("run " + bundle, 1), "it still happens, '"));
  std::string blamed = there("bisect " + bundle, 1);
  CHECK(contains_text(blamed, ": rewrite " + rule));
  CHECK(contains_text(blamed, "again: tgc bisect " + bundle));
  CHECK(contains_text(there("trace " + bundle + " --stage=all", 0), rule));
  CHECK(contains_text(there("dump " + bundle + " --stage=linear", 0), "Ops.STORE"));
  CHECK(contains_text(there("verify " + bundle, 0), "all good by the specification"));
  CHECK(contains_text(there("check " + bundle + " 2>&1", 2), "this is a repro bundle, expected golden records"));
  there("view " + bundle + " -o page.html", 0);
  CHECK(std::filesystem::file_size(elsewhere / "page.html") > 100000);
}

}  // namespace

TEST_CASE("cli: a kernel's bundle is one file and gives the same results in another folder") {
  std::string kernel = test_path("golden/kernels.jsonl.gz#bert_mini.31");
  CommandResult r =
      run_tgc("run '" + kernel + "' --device=CPU:LLVM --repro=kernel.repro", "/dev/null", "TGC_FAULT=load-index");
  INFO(r.out << r.err);
  REQUIRE(r.code == 1);
  CHECK(contains_text(r.out, "again: tgc run kernel.repro"));
  check_bundle_alone("kernel.repro", "load-index");
}

TEST_CASE("cli: the bundle of a wrong recorded list fails again") {
  REQUIRE(run_in_shell("zcat '" + test_path("golden/kernels.jsonl.gz") + "' | sed -n '1p;/\"bert_mini.98\"/p' | "
                       "sed 's/Ops.XOR /Ops.AND /' > list.jsonl").code == 0);
  CommandResult r = run_tgc("run list.jsonl#bert_mini.98 --recorded --repro=list.repro");
  INFO(r.out << r.err);
  REQUIRE(r.code == 1);
  CHECK(contains_text(run_tgc("run list.repro").out, "it still happens, 'wrong'"));
}

TEST_CASE("cli: the command that repeats a failure has every option that was given") {
  struct Row {
    const char *command, *options, *id = "bert_mini.31";
  };
  constexpr Row kRows[] = {
      {"bisect", "--device=CPU:LLVM --seed=7 --set=NOOPT=1 --rtol=0.0625 --atol=0.25"},
      {"bisect", "--device=CPU:LLVM --timeout=50 --seconds=300 --limit=nodes=100000 --allow-custom --reference=REF"},
      {"bisect", "--device=REF --target=CPU:CLANG --each-stage --ulp=4 --opts=[]"},
      {"bisect", "--device=CUDA:CUDA:sm_80 --emulate --race", "bin_add_half.0"},
      {"run", "--device=CPU:LLVM --timeout=50 --in-process --limit=nodes=100000 --allow-custom"},
      {"run", "--device=CUDA:CUDA:sm_80 --emulate --race", "bin_add_half.0"},
      {"run", "--device=CPU:LLVM --timeout=50 --repro=again.repro"},
      {"reduce", "--device=CPU:LLVM --timeout=50 --limit=nodes=100000 -o reduced.repro"},
  };
  for (const Row& row : kRows) {
    const std::string kernel = test_path("golden/kernels.jsonl.gz#"s + row.id);
    CommandResult r = run_tgc(row.command + " "s + row.options + " " + kernel, "/dev/null", "TGC_FAULT=load-index");
    CAPTURE(row.command);
    CAPTURE(row.options);
    INFO(r.out << r.err);
    const size_t begin = r.out.find("again: ");
    REQUIRE(begin != std::string::npos);
    const std::string again = r.out.substr(begin, r.out.find('\n', begin) - begin) + " ";
    std::istringstream words(row.options);
    bool in_bundle = contains_text(row.options, ".repro");  // `again:` then names the bundle, which has the device
    for (std::string word; words >> word;)
      if (!(in_bundle && (word.starts_with("--device") || word == "-o" || contains_text(word, ".repro"))))
        CHECK_MESSAGE((contains_text(again, " " + word + " ") ||
                       contains_text(again, " " + word.substr(0, word.find("=[")) + "='[]' ")),
                      word << " in " << again);
  }
}

TEST_CASE("cli: a bundle that was made with a fault in LLVM runs with that fault") {
  std::string kernel = test_path("golden/kernels.jsonl.gz#bert_mini.31");
  CommandResult r =
      run_tgc("run '" + kernel + "' --device=CPU:LLVM --repro=llvm.repro", "/dev/null", "TGC_FAULT=llvm:select");
  INFO(r.out << r.err);
  REQUIRE(r.code == 1);
  CommandResult again = run_tgc("run llvm.repro");
  INFO(again.out << again.err);
  CHECK(again.code == 1);
  CHECK(contains_text(run_tgc("bisect llvm.repro").out, "compiler"));
}

TEST_CASE("cli: a missing compiler engine is trouble, not a failure of the kernel") {
  namespace fs = std::filesystem;
  fs::path bare = scratch_folder() / "bare";  // a copy of tgc without its compiler engines
  fs::create_directories(bare);
  fs::copy_file(TGC_BINARY, bare / "tgc", fs::copy_options::overwrite_existing);
  const std::string kernel = "'" + test_path("golden/kernels.jsonl.gz#bin_add_half.0") + "'";
  CommandResult wrong =
      run_tgc("run " + kernel + " --device=CPU:LLVM --repro=wrong.repro", "/dev/null", "TGC_FAULT=load-index");
  REQUIRE(wrong.code == 1);
  const std::string reduce = "reduce " + kernel + " -o less.repro --while=";
  for (const char* device : {"CPU:CLANG", "CPU:LLVM"})
    for (const std::string& command : {reduce + "compile", reduce + "crash", "bisect " + kernel, "run wrong.repro"s}) {
      CommandResult r =
          run_in_shell("TGC_CACHE_DIR=none '" + (bare / "tgc").string() + "' " + command + " --device=" + device);
      INFO(command << device << "\n" << r.out << r.err);
      CHECK(r.code == 2);
      CHECK(contains_text(r.out + r.err, std::string(device) + " runs no kernel at all: cannot load libtgc_"));
      CHECK_FALSE(fs::exists(scratch_folder() / "less.repro"));
    }
}

TEST_CASE("cli: a bundle that cannot be written is trouble, whether or not the kernel failed") {
  std::string kernel = test_path("golden/kernels.jsonl.gz#bin_add_half.0");
  for (const char* fault : {"TGC_FAULT=fold-binary@1", "TGC_FAULT=load-index"}) {  // failures of two kinds
    CommandResult r = run_tgc("run '" + kernel + "' --target=CPU:LLVM --device=CPU:LLVM --repro=none/kernel.repro",
                              "/dev/null", fault);
    INFO(r.out << r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.err, "none/kernel.repro"));
  }
}

TEST_CASE("cli: a model's bundle holds the first wrong kernel with its arrays") {
  std::string model = test_path("models/mlp");
  CommandResult r = run_tgc("run " + model + ".onnx --weights=" + model +
                            ".safetensors --device=CPU:LLVM --reference=REF" + " --repro=mlp.repro",
                            "/dev/null", "TGC_FAULT=load-index");
  INFO(r.out << r.err);
  REQUIRE(r.code == 1);
  CHECK(contains_text(r.out, "again: tgc run mlp.repro"));
  check_bundle_alone("mlp.repro", "load-index");
}

TEST_CASE("cli: bisect --repro writes the culprit kernel and rule, also for a tensor graph") {
  for (const char* input : {"golden/kernels.jsonl.gz#bert_mini.31", "golden/tensor.jsonl.gz#gemm_int8"}) {
    CAPTURE(input);
    CommandResult r = run_tgc("bisect '" + test_path(input) + "' --device=CPU:LLVM --repro=blamed.repro", "/dev/null",
                              "TGC_FAULT=load-index");
    INFO(r.out << r.err);
    REQUIRE(r.code == 1);
    CHECK(contains_text(r.out, "again: tgc bisect blamed.repro"));
    CHECK(contains_text(read_text(scratch_folder() / "blamed.repro"), "\"blamed\":{\"rule\":\"load-index\""));
    check_bundle_alone("blamed.repro", "load-index");
  }
}

TEST_CASE("cli: bisect --repro writes nothing if the kernel is right") {
  std::string kernel = test_path("golden/kernels.jsonl.gz#bert_mini.31");
  CommandResult r = run_tgc("bisect '" + kernel + "' --device=CPU:LLVM --repro=no.repro");
  CHECK(r.code == 0);
  CHECK_FALSE(std::filesystem::exists(scratch_folder() / "no.repro"));
}
