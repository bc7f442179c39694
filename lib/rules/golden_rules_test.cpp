// Checks that each golden of testdata/golden passes all stages, or is refused by the stage that refused it in tinygrad.
#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "lib/compilation/compilation.h"
#include "lib/records/golden.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

// Compiles the record's graph to its source; a tensor graph to its schedule. Returns the error if a step fails.
std::optional<std::string> refusal(const GoldenRecord& record, const Settings& settings) {
  auto error_of = [](const auto& result) { return result ? std::nullopt : std::optional(result.diag().text()); };
  auto in = load_graph_text(settings, InputKind::Pyrender, record.ast, record.id);
  if (!in) return error_of(in);
  in->is_tensor_graph = record.target.empty();
  auto c = Compilation::begin(std::move(*in), {.target = record.target});
  if (!c) return error_of(c);
  if (c->is_tensor_graph()) return error_of(c->schedule());
  if (auto error = error_of(c->list())) return error;
  if (auto error = error_of(c->row_output(get_stage_row(OutputKind::LaunchFacts)))) return error;
  return record.source_error ? std::nullopt : error_of(c->source());
}

std::string_view refusing_stage(const GoldenRecord& record) {
  auto stages = kernel_stages();
  auto last = std::ranges::find(stages, std::string_view(record.stages.back().name), &Stage::name);
  return std::next(last)->name;
}

}  // namespace

TEST_CASE(
    "the goldens of testdata pass all stages, but for what tinygrad refuses: the message names the stage, the rule and "
    "the node") {
  size_t records = 0, refused = 0;
  for (auto& entry : std::filesystem::directory_iterator(test_path("golden"))) {
    auto reader = GoldenReader::open(entry.path().string());
    REQUIRE(reader);
    Settings settings;
    for (auto& [key, value] : reader->header().settings) REQUIRE(settings.set_value(key, value));
    for (;; records++) {
      auto record = reader->next_record();
      REQUIRE(record);
      if (!*record) break;
      INFO(entry.path() << " " << (*record)->id << " " << (*record)->target);
      auto message = refusal(**record, settings);
      INFO(message.value_or("passes"));
      CHECK(message.has_value() == (*record)->error.has_value());
      if (!message || !(*record)->error) continue;
      refused++;
      std::string stage = "'" + std::string(refusing_stage(**record)) + "'";
      CHECK(message->starts_with("stage " + stage + ": "));
      CHECK(message->find("\n  in stage " + stage + ", rule ") != message->npos);
      CHECK(message->find(", at\n    Ops.") != message->npos);
    }
  }
  CHECK(records > 100);
  CHECK(refused >= 2);
}
