#include "lib/replay/live_tinygrad.h"

#include "lib/compilation/stage_rows.h"
#include "lib/replay/replay.h"
#include "lib/support/json_writer.h"
#include "lib/text/json_scan.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

constexpr double kSeconds = 60;  // for an answer; the first one waits until tinygrad is imported

std::string command_of(const std::string& tinygrad) {
  bool is_python = tinygrad.find(' ') == std::string::npos;
  return tinygrad + (is_python ? " -m tgc.export" : "") + " --answer";
}

// {"id":..,"target":..,"level":"tensor","settings":{..},"after":[..],"texts":{..},"until":..,"graph":{..}}
std::string question_of(const InputGraph& kernel, const Tinygrad::Stops& stops) {
  std::string text, nodes = graph_to_json(kernel.root, {});
  std::erase(nodes, '\n');
  const Settings& settings = kernel.graph->settings();
  const StageRow* last = find_row(kernel.info.stage);
  JsonWriter json(text);
  json.object([&] {
    json.member("id", kernel.info.name).member("target", kernel.info.target);
    if (kernel.is_tensor_graph) json.member("level", "tensor");
    json.key("settings").object([&] {
      for (const SettingInfo& s : all_settings())
        json.member(s.name, std::to_string(s.name == "CPU_COUNT" ? settings.cpu_count() : settings.*s.value));
    });
    json.key("after").array([&] {
      for (const StageRow& row : stage_rows())
        if (last && row.kernel && &row <= last) json.value(row.name);
    });
    if (!stops.texts.empty())
      json.key("texts").object([&] {
        for (auto& [stage, made] : stops.texts) json.member(stage, made);
      });
    if (!stops.until.empty()) json.member("until", stops.until);
    json.key("graph").raw(nodes);
  });
  return text;
}

// {"record":{..}} or {"error":".."}
GoldenRecord record_in(const std::string& answer, const InputGraph& kernel) {
  constexpr const char* kFile = "tinygrad's answer";
  std::optional<GoldenRecord> out;
  JsonScanner in(answer, kFile, 1);
  in.object([&](std::string_view key) {
    if (key == "record") {
      out = std::move(parse_golden_record({std::string(in.skip()), 1}, kFile).value_or_throw());
    } else if (key == "error") {
      out = {.id = kernel.info.name, .target = kernel.info.target, .ast = pyrender(kernel.root).value_or_throw()};
      out->error = in.string();
    } else {
      in.skip();
    }
  });
  in.end();
  if (!out) in.fail(0, "an answer that says nothing", R"({"record":...} or {"error":"..."})");
  return std::move(*out);
}

// What the first question is answered by where there is no such Python.
Diag never_answered(const Diag& why) {
  return {.message = "tinygrad does not answer: " + why.text(),
          .expected = "a Python that has tinygrad 0.12.0 and tgc.export, or 'python .../tinygrad_export.py'"};
}

}  // namespace

GoldenSettings changed_settings(const Settings& settings) {
  GoldenSettings out;
  for (const SettingInfo& s : all_settings())
    if (settings.*s.value != s.default_value) out[std::string(s.name)] = std::to_string(settings.*s.value);
  return out;
}

Tinygrad::Tinygrad(const Session& session, const std::string& tinygrad)
    : process_(command_of(tinygrad), kSeconds, [&session] { return session.cancelled(); }) {}

Result<GoldenRecord> Tinygrad::record_of(const InputGraph& kernel, const Stops& stops) {
  return catch_failures([&] {
    const std::string question = question_of(kernel, stops);
    std::lock_guard guard(lock_);
    auto answer = process_.ask(question);
    if (!answer) throw Failure(answered_ ? answer.diag() : never_answered(answer.diag()));
    answered_ = true;
    auto record = catch_failures([&] { return record_in(*answer, kernel); });
    if (!record) process_.fail();
    return std::move(record.value_or_throw());
  });
}

Result<RecordReport> compared_with(Tinygrad& tinygrad, const KernelText& graph, const std::string& name) {
  return catch_failures([&] {
    CheckPlan plan = std::move(make_check_plan("").value_or_throw());
    plan.explain = true;
    InputGraph in = std::move(load_under(graph.settings, InputKind::Pyrender, graph.ast, name).value_or_throw());
    in.info.name = name, in.info.target = graph.target, in.is_tensor_graph = graph.target.empty();
    auto record = std::move(tinygrad.record_of(in).value_or_throw());
    return check_record(record, in.graph->settings(), plan);
  });
}

}  // namespace tgc
