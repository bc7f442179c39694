#include "lib/live/tinygrad_process.h"

#include <doctest/doctest.h>

#include "lib/contain/process.h"
#include "lib/contain/temporary_folder.h"
#include "lib/support/deadline.h"

namespace tgc {

TEST_CASE("CompileQuestion: a question to tinygrad, and one to a port about a single stage") {
  CompileQuestion question{
      .id = "k", .target = "CPU:CLANG", .graph_json = "{\n\"nodes\":[]}\n", .finished_stages = {"expander"}};
  question.settings = {{"NOOPT", "1"}};
  question.stage_graph_texts = {{"devectorize", "ast"}};
  question.last_stage = "decompositions";
  CHECK(question.json() == R"({"id":"k","target":"CPU:CLANG","settings":{"NOOPT":"1"},"after":["expander"],)"
                           R"("texts":{"devectorize":"ast"},"until":"decompositions","graph":{"nodes":[]}})");
  CompileQuestion tensors{.id = "t", .graph_json = "{}", .is_tensor_graph = true};
  CHECK(tensors.json() == R"({"id":"t","target":"","level":"tensor","settings":{},"after":[],"graph":{}})");
  CompileQuestion port{.id = "k", .target = "CPU:CLANG", .graph_json = "{}", .stage = "linear"};
  CHECK(port.json() == R"({"id":"k","stage":"linear","target":"CPU:CLANG","settings":{},"graph":{}})");
}

TEST_CASE("export_rules: reports what the exporter does, and ends it on request") {
  const TemporaryFolder folder;
  const std::string path = folder.file("rules.gz"), script = folder.file("export.sh");
  const std::string text = "echo $$ >\"$3.pid\"; printf 'rule 7 of 9' >\"$3.progress\"; exec sleep 30\n";
  REQUIRE(run_process({"sh", "-c", "printf '%s' \"$1\" >\"$2\"", "sh", text, script}).ok());
  std::string said;
  const RulesExportOptions how{.should_stop = [&] { return !said.empty(); },
                        .on_progress = [&](const std::string& what) { said = what; }};
  const auto begin = Clock::now();
  const auto done = export_rules("sh " + script, how, path);
  REQUIRE_FALSE(done);
  CHECK(done.diag().message == "cancelled");
  CHECK(said == "rule 7 of 9");
  CHECK(seconds_since(begin) < 5);
  const std::string is_running = "sleep 0.1; grep -qs '^State:.[RSD]' \"/proc/$(cat \"$0\")/status\"";
  CHECK(run_process({"sh", "-c", is_running, path + ".pid"}).value_or_throw().exit_code != 0);
}

}  // namespace tgc
