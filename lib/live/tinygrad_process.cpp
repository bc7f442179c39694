#include "lib/live/tinygrad_process.h"

#include <cstdlib>
#include <filesystem>

#include "lib/contain/process.h"
#include "lib/support/json_writer.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

constexpr double kAnswerSeconds = 60;

// Returns the arguments for a Python: the exporter's file, which an installation has in ../share/tgc and a source tree
// in scripts, or else the module tgc.export.
std::string exporter_arguments() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {"../share/tgc", "../../../scripts"})
    if (fs::path file = (bin / folder / "tinygrad_export.py").lexically_normal(); fs::exists(file, error))
      return " '" + file.string() + "'";
  // `-m` would also search the working folder, where an untrusted file may have the name of the module
  return " -c 'import runpy, sys; sys.path[:] = [p for p in sys.path if p]; "
         "runpy.run_module(\"tgc.export\", run_name=\"__main__\", alter_sys=True)'";
}

std::string tinygrad_command_of(const std::string& tinygrad) {
  bool is_python = tinygrad.find(' ') == std::string::npos;
  return tinygrad + (is_python ? exporter_arguments() : "") + " --answer";
}

GoldenRecord record_of_error(const CompileQuestion& question, std::string error) {
  GoldenRecord out{.id = question.id,
                   .target = question.target,
                   .ast = question.ast.empty() ? question.graph_json : question.ast};
  out.error = std::move(error);
  return out;
}

// Reads {"record":{...}}; makes a record with the error of {"error":"..."}.
GoldenRecord parse_record(const std::string& answer, const CompileQuestion& question) {
  constexpr const char* kFile = "tinygrad's answer";
  std::optional<GoldenRecord> out;
  JsonScanner in(answer, kFile, 1);
  in.object([&](std::string_view key) {
    if (key == "record") {
      out = std::move(parse_golden_record({std::string(in.skip_any()), 1}, kFile).value_or_throw());
    } else if (key == "error") {
      out = record_of_error(question, in.string());
    } else {
      in.skip_any();
    }
  });
  in.expect_end();
  if (!out) in.throw_error(0, "an answer that says nothing", R"({"record":...} or {"error":"..."})");
  return std::move(*out);
}

std::vector<GoldenRecord> parse_records(const std::string& answer) {
  constexpr const char* kFile = "tinygrad's answer";
  std::vector<GoldenRecord> out;
  JsonScanner in(answer, kFile, 1);
  in.object([&](std::string_view key) {
    if (key == "error") throw Failure("tinygrad cannot run the model: " + in.string());
    if (key != "records") return void(in.skip_any());
    in.array([&] {
      out.push_back(std::move(parse_golden_record({std::string(in.skip_any()), 1}, kFile).value_or_throw()));
      out.back().line = 0;
    });
  });
  in.expect_end();
  if (out.empty()) throw Failure("tinygrad made no kernel of the model");
  return out;
}

ProgramAnswer parse_program_answer(const std::string& answer) {
  ProgramAnswer out;
  JsonScanner in(answer, "tinygrad's answer", 1);
  in.object([&](std::string_view key) {
    if (key == "program") out.program = in.string();
    else if (key == "printed") out.printed_text = in.string();
    else if (key == "why" || key == "error") out.missing_reason = in.string();
    else in.skip_any();
  });
  in.expect_end();
  return out;
}

// Returns the error for a failed first question or export: the command most likely does not run tinygrad.
Diag tinygrad_missing_error(const Diag& why) {
  return {.message = "tinygrad does not answer: " + why.text(),
          .expected = "a Python with tinygrad (python -m pip install tinygrad), or 'python .../tinygrad_export.py'"};
}

TinygradFacts parse_facts(const std::string& answer) {
  TinygradFacts out;
  std::string error;
  JsonScanner in(answer, "tinygrad's answer", 1);
  in.object([&](std::string_view key) {
    if (key == "producer") out.producer = in.string();
    else if (key == "error") error = in.string();
    else if (key == "settings") in.array([&] { out.settings.insert(in.string()); });
    else in.skip_any();
  });
  in.expect_end();
  if (out.producer.empty())
    throw Failure(Diag{.message = "tinygrad does not say its release" + (error.empty() ? "" : ": " + error),
                       .expected = "the exporter of this tgc, scripts/tinygrad_export.py"});
  return out;
}

}  // namespace

std::string CompileQuestion::json() const {
  std::string graph = graph_json;
  std::erase(graph, '\n');
  return json_object([&](JsonWriter& json) {
    json.member("id", id);
    if (!stage.empty()) json.member("stage", stage);
    json.member("target", target);
    if (is_tensor_graph) json.member("level", "tensor");
    json.member("settings", settings);
    if (is_live) json.member("live", true);
    if (records_rewrites) json.member("rewrites", true);
    if (!opts.empty()) json.member("opts", opts);
    if (excluded_match)
      json.key("leave_out").object([&] {
        json.member("place", excluded_match->place).member("n", excluded_match->match_number);
        if (excluded_match->stage) json.member("stage", *excluded_match->stage);
      });
    if (stage.empty() && !is_live) json.member("after", finished_stages);
    if (!stage_graph_texts.empty()) json.member("texts", stage_graph_texts);
    if (!last_stage.empty()) json.member("until", last_stage);
    json.key("graph").raw_json(graph);
  });
}

std::string ModelQuestion::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("id", id).member("live", true).member("model", path).member("settings", settings);
    json.member("sizes", sizes);
  });
}

std::string ProgramQuestion::json() const {
  std::string nodes = graph;
  std::erase(nodes, '\n');
  return json_object([&](JsonWriter& json) {
    json.key("program").object([&] {
      json.member("place", place).member("values", values);
      if (is_rule_alone) json.member("alone", true);
      if (!file.empty()) json.member("file", file);
      json.key("graph").raw_json(nodes);
    });
  });
}

TinygradProcess::TinygradProcess(const std::string& tinygrad, std::function<bool()> stop)
    : answer_process_(tinygrad_command_of(tinygrad), kAnswerSeconds, std::move(stop)) {}

// Asks, and returns the answer. This thread must have locked mutex_. Throws Failure.
std::string TinygradProcess::ask_or_throw(const std::string& question) {
  auto text = answer_process_.ask_question(question);
  if (!text) throw Failure(has_answered_ ? text.diag() : tinygrad_missing_error(text.diag()));
  has_answered_ = true;
  return std::move(*text);
}

Result<std::string> TinygradProcess::ask_text(const std::string& question) {
  std::lock_guard guard(mutex_);
  return catch_failures([&] { return ask_or_throw(question); });
}

Result<GoldenRecord> TinygradProcess::ask_process(const CompileQuestion& question) {
  return catch_failures([&] {
    const std::string text = question.json();
    std::lock_guard guard(mutex_);
    const std::string said = ask_or_throw(text);
    auto record = catch_failures([&] { return parse_record(said, question); });
    if (!record) answer_process_.stop_process();
    return std::move(record.value_or_throw());
  });
}

Result<ProgramAnswer> TinygradProcess::ask_process(const ProgramQuestion& question) {
  return catch_failures([&] {
    std::lock_guard guard(mutex_);
    return parse_program_answer(ask_or_throw(question.json()));
  });
}

Result<std::string> resolve_tinygrad(const std::string& option) {
  if (option != kTinygradVariable) return option;
  const char* named = std::getenv(kTinygradVariable);
  if (named && *named) return std::string(named);
  return Diag{.message = "TGC_TINYGRAD names no Python", .expected = "--live=PYTHON, or TGC_TINYGRAD=PYTHON"};
}

Status export_rules(const std::string& tinygrad, const RulesExportOptions& options, const std::string& path) {
  auto quoted = [](const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  };
  const bool is_python = tinygrad.find(' ') == std::string::npos;
  const std::string progress = path + ".progress";
  const std::string command = "DEV=CPU " + tinygrad + (is_python ? exporter_arguments() : "") + " --rules -o " +
                              quoted(path) + " --progress " + quoted(progress) + " --shard " + quoted(options.shard) +
                              (options.rule_filter.empty() ? "" : " --only " + quoted(options.rule_filter));
  auto should_stop = [&] {
    auto text = options.on_progress ? read_whole_file(progress) : Result(std::string());
    if (text && !text->empty()) options.on_progress(*text);
    return options.should_stop && options.should_stop();
  };
  const auto exit_code = run_shell(command, {.should_stop = should_stop});
  if (exit_code && *exit_code == 0) return Unit{};
  if (!exit_code && options.should_stop && options.should_stop()) return exit_code.diag();
  return tinygrad_missing_error(Diag{.message = "'" + command + "' failed"});
}

std::unique_ptr<TinygradProcess> TinygradPool::take_process(ProcessGroup& group) {
  std::unique_lock guard(mutex_);
  process_freed_event_.wait(guard, [&] { return !group.free_processes.empty() || group.num_started < max_processes_; });
  std::unique_ptr<TinygradProcess> out;
  if (group.free_processes.empty())
    group.num_started++, out = std::make_unique<TinygradProcess>(tinygrad_command_, should_stop_);
  else out = std::move(group.free_processes.back()), group.free_processes.pop_back();
  if (limit_seconds_) out->set_limit_seconds(*limit_seconds_);
  return out;
}

void TinygradPool::return_process(ProcessGroup& group, std::unique_ptr<TinygradProcess> process) {
  {
    std::lock_guard guard(mutex_);
    group.free_processes.push_back(std::move(process));
  }
  process_freed_event_.notify_all();
}

Result<TinygradFacts>& TinygradPool::facts() {
  std::call_once(facts_once_flag_, [&] {
    auto process = take_process(compiling_processes_);
    facts_ = catch_failures([&] { return parse_facts(process->ask_text(R"({"about":true})").value_or_throw()); });
    return_process(compiling_processes_, std::move(process));
  });
  return *facts_;
}

Result<GoldenRecord> TinygradPool::ask_process(const CompileQuestion& question) {
  if (auto& known = facts(); !known) return known.diag();
  ProcessGroup& group =
      question.records_rewrites || question.excluded_match ? rewriting_processes_ : compiling_processes_;
  auto process = take_process(group);
  auto record = process->ask_process(question);
  return_process(group, std::move(process));
  if (record || (should_stop_ && should_stop_())) return record;
  return record_of_error(question, record.diag().text());
}

Result<std::vector<GoldenRecord>> TinygradPool::ask_process(const ModelQuestion& question) {
  if (auto& known = facts(); !known) return known.diag();
  auto process = take_process(compiling_processes_);
  auto answer = process->ask_text(question.json());
  return_process(compiling_processes_, std::move(process));
  if (!answer) return answer.diag();
  return catch_failures([&] { return parse_records(*answer); });
}

}  // namespace tgc
