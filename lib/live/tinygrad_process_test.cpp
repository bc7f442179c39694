#include "lib/live/tinygrad_process.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("CompileQuestion: a question to tinygrad, and one to a port about a single stage") {
  CompileQuestion question{
      .id = "k", .target = "CPU:CLANG", .graph_json = "{\n\"nodes\":[]}\n", .finished_stages = {"expander"}};
  question.settings = {{"NOOPT", "1"}};
  question.named_texts = {{"devectorize", "ast"}};
  question.last_stage = "decompositions";
  CHECK(question.json() == R"({"id":"k","target":"CPU:CLANG","settings":{"NOOPT":"1"},"after":["expander"],)"
                           R"("texts":{"devectorize":"ast"},"until":"decompositions","graph":{"nodes":[]}})");
  CompileQuestion tensors{.id = "t", .graph_json = "{}", .is_tensor_graph = true};
  CHECK(tensors.json() == R"({"id":"t","target":"","level":"tensor","settings":{},"after":[],"graph":{}})");
  CompileQuestion port{.id = "k", .target = "CPU:CLANG", .graph_json = "{}", .stage = "linear"};
  CHECK(port.json() == R"({"id":"k","stage":"linear","target":"CPU:CLANG","settings":{},"graph":{}})");
}

}  // namespace tgc
