// testdata/models/mlp.onnx has zeros in place of its weights, which are in a separate file (scripts/tools/make_models
// --apart).
#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

CommandResult run_mlp(const std::string& options) {
  std::string model = test_path("models/mlp");
  return run_tgc("run " + model + ".onnx --inputs=" + model + ".inputs.npz --expect=" + model + ".expect.npz " +
                 options);
}

void passes_with(const std::string& weights) {
  CommandResult r = run_mlp("--weights=" + weights);
  INFO(r.out << r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("p float32 (2, 5): same within tolerance") != std::string::npos);
}

}  // namespace

TEST_CASE("cli: run --weights reads safetensors and npz files, and the results equal onnxruntime's") {
  passes_with(test_path("models/mlp.safetensors"));
  passes_with(test_path("models/mlp.weights.npz"));
  CommandResult without = run_mlp("");
  CHECK(without.code == 1);
  CHECK(without.out.find("10 of 10 differ") != std::string::npos);
}

TEST_CASE("cli: run refuses weights that do not fit the model and names them") {
  std::string model = test_path("models/mlp.onnx");
  expect_error("run " + model + " --weights=" + test_path("models/gpt2.inputs.npz"),
               "these weights do not fit the model:\n  the model has no initializer and no input 'input_ids'");
  std::string cut = read_text(test_path("models/mlp.safetensors"));
  expect_error("run " + model + " --weights=" + write_scratch_file("cut.safetensors", cut.substr(0, cut.size() - 1)),
               "cut.safetensors: tensor 'w0': its data end at 724, the file has 723 bytes of data");
}
