#include "lib/session/with_tinygrad.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "lib/support/json_writer.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

std::string golden_text(std::span<const KernelText> kernels) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.member("format", "tgc-golden").member("version", 1).member("level", "kernel").member("producer", "tgc");
    json.key("settings").object([&] { json.member("CPU_COUNT", "4"); });
  });
  for (size_t i = 0; i < kernels.size(); i++) {
    text += '\n';
    JsonWriter record(text);
    record.object([&] {
      record.member("id", "kernel." + std::to_string(i)).member("target", kernels[i].target);
      record.key("settings").object([&] {
        for (auto& [name, value] : kernels[i].settings) record.member(name, value);
      });
      record.member("nodes", 0).member("ast", kernels[i].ast).key("stages").array([] {});
    });
  }
  return text + "\n";
}

}  // namespace

GoldenSettings changed_settings(const Settings& settings) {
  GoldenSettings out;
  for (const SettingInfo& s : all_settings())
    if (settings.*s.value != s.default_value) out[std::string(s.name)] = std::to_string(settings.*s.value);
  return out;
}

Result<MadeByTinygrad> MadeByTinygrad::make(const std::string& tinygrad, std::span<const KernelText> kernels) {
  static std::atomic<unsigned> number = 0;
  std::string stem =
      (fs::temp_directory_path() / ("tgc-" + std::to_string(::getpid()) + "-")).string() + std::to_string(number++);
  std::string given = stem + ".jsonl", log = stem + ".log";
  MadeByTinygrad out(stem + ".out.jsonl.gz");
  if (auto status = write_file(given, golden_text(kernels)); !status) return status.diag();
  bool is_python = tinygrad.find(' ') == std::string::npos;
  // what the header says is no setting of a Context: the program has to begin with it
  std::string command =
      "CPU_COUNT=4 " + tinygrad + (is_python ? " -m tgc.export" : "") + " -o " + out.path() + " --replay " + given;
  if (std::system((command + " >" + log + " 2>&1 </dev/null").c_str()) != 0)
    return Diag{.message = "'" + command + "' failed", .file = log};
  std::error_code error;
  for (const std::string& file : {given, log}) fs::remove(file, error);
  return out;
}

MadeByTinygrad::~MadeByTinygrad() {
  std::error_code error;
  if (!path_.empty()) fs::remove(path_, error);
}

Result<std::vector<RecordReport>> compared_with_tinygrad(const Session& session, const std::string& tinygrad,
                                                         std::span<const KernelText> kernels) {
  auto made = MadeByTinygrad::make(tinygrad, kernels);
  if (!made) return made.diag();
  std::vector<RecordReport> out;
  auto plan = make_check_plan("");
  if (!plan) return plan.diag();
  auto status = replay(session, made->path(), {.check = std::move(*plan)},
                       [&](const std::string&, const RecordReport& report) { out.push_back(report); });
  if (!status) return status.diag();
  return out;
}

}  // namespace tgc
