#include "lib/live/tinygrad_process.h"

#include "lib/support/json_writer.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

constexpr double kSeconds = 60;

std::string command_of(const std::string& tinygrad) {
  bool is_python = tinygrad.find(' ') == std::string::npos;
  return tinygrad + (is_python ? " -m tgc.export" : "") + " --answer";
}

// Returns the record in an answer {"record":{...}}. For an answer {"error":"..."}, returns a record with this error.
GoldenRecord record_in(const std::string& answer, const CompileQuestion& question) {
  constexpr const char* kFile = "tinygrad's answer";
  std::optional<GoldenRecord> out;
  JsonScanner in(answer, kFile, 1);
  in.object([&](std::string_view key) {
    if (key == "record") {
      out = std::move(parse_golden_record({std::string(in.skip()), 1}, kFile).value_or_throw());
    } else if (key == "error") {
      out = {.id = question.id, .target = question.target, .ast = question.ast};
      out->error = in.string();
    } else {
      in.skip();
    }
  });
  in.end();
  if (!out) in.fail(0, "an answer that says nothing", R"({"record":...} or {"error":"..."})");
  return std::move(*out);
}

// Returns the error for a failure at the first question. Most likely, the command does not run tinygrad.
Diag no_tinygrad(const Diag& why) {
  return {.message = "tinygrad does not answer: " + why.text(),
          .expected = "a Python that has tinygrad 0.12.0 and tgc.export, or 'python .../tinygrad_export.py'"};
}

}  // namespace

std::string CompileQuestion::json() const {
  std::string graph = nodes;
  std::erase(graph, '\n');
  return json_object([&](JsonWriter& json) {
    json.member("id", id);
    if (!stage.empty()) json.member("stage", stage);
    json.member("target", target);
    if (is_tensor_graph) json.member("level", "tensor");
    json.member("settings", settings);
    if (stage.empty()) json.member("after", after);
    if (!texts.empty()) json.member("texts", texts);
    if (!until.empty()) json.member("until", until);
    json.key("graph").raw(graph);
  });
}

TinygradProcess::TinygradProcess(const std::string& tinygrad, std::function<bool()> stop)
    : process_(command_of(tinygrad), kSeconds, std::move(stop)) {}

Result<GoldenRecord> TinygradProcess::ask(const CompileQuestion& question) {
  return catch_failures([&] {
    const std::string text = question.json();
    std::lock_guard guard(lock_);
    auto answer = process_.ask(text);
    if (!answer) throw Failure(has_answered_ ? answer.diag() : no_tinygrad(answer.diag()));
    has_answered_ = true;
    auto record = catch_failures([&] { return record_in(*answer, question); });
    if (!record) process_.fail();
    return std::move(record.value_or_throw());
  });
}

}  // namespace tgc
