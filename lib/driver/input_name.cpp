#include "lib/driver/input_name.h"

#include <unistd.h>

#include <filesystem>

#include "lib/model/onnx.h"
#include "lib/records/input_file.h"
#include "lib/support/counted.h"
#include "lib/support/open_input.h"
#include "lib/support/write_file.h"
#include "lib/text/json_scan.h"

namespace tgc {

namespace fs = std::filesystem;

// If `spec` is the name of a file, there is no id. Otherwise looks for the first '#' that follows "-" or a file's name
// or, if there is none, for the first '#'.
InputName InputName::parse(const std::string& spec) {
  std::error_code error;
  size_t first = spec.find('#');
  if (first == spec.npos || fs::exists(spec, error)) return {spec, ""};
  size_t hash = first;
  auto is_input = [&](const std::string& file) { return file == "-" || fs::exists(file, error); };
  while (hash != spec.npos && !is_input(spec.substr(0, hash))) hash = spec.find('#', hash + 1);
  if (hash == spec.npos) hash = first;
  if (hash + 1 == spec.size()) return {spec, ""};  // keep a "#" that no id follows, so that opening the file fails
  return {spec.substr(0, hash), spec.substr(hash + 1)};
}

std::string InputName::display_name() const { return input_name(file); }

std::string InputName::stem() const {
  if (file == "-") return "kernel";
  std::string name = fs::path(file).filename().string();
  size_t dot = name.find('.', 1);
  return dot == name.npos ? name : name.substr(0, dot);
}

std::string InputName::name_without_extension(const std::string& graph, bool is_record) const {
  if (is_record || !id.empty() || file == "-") return file_name_of(graph);
  return fs::path(file).replace_extension().string();
}

std::string InputName::schedules_file() const {
  const size_t at = file.rfind(".jsonl");
  if (at == file.npos || std::string_view(file).substr(0, at).ends_with(".tensor")) return {};
  std::string out = file;
  out.insert(at, ".tensor");
  std::error_code error;
  return fs::exists(out, error) ? out : std::string();
}

Result<bool> is_model_file(const std::string& path) {
  if (path == "-") return false;
  int file = open_input_file(path);
  if (file < 0) return false;  // the code that reads the file reports it
  char head[16];
  ssize_t size = ::read(file, head, sizeof head);
  ::close(file);
  std::error_code error;
  if (size < 0 && !fs::is_directory(path, error)) return Diag{.message = "cannot read", .file = path};
  return onnx::looks_like_model({head, size < 0 ? 0 : size_t(size)});
}

Result<VariableValues> parse_variables(const std::vector<std::string>& texts) {
  VariableValues out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    const auto value = parse_number<int64_t>(text.substr(std::min(text.size(), equals + 1)));
    if (equals == text.npos || equals == 0 || !value)
      return Diag{.message = "--var takes NAME=INTEGER, not '" + text + "'"};
    if (!out.emplace(text.substr(0, equals), *value).second)
      return Diag{.message = "--var gives '" + text.substr(0, equals) + "' twice"};
  }
  return out;
}

Result<NamedRecordReader> NamedRecordReader::open(const InputName& name) {
  auto reader = GoldenReader::open(name.file);
  if (!reader) return reader.diag();
  return NamedRecordReader(std::move(*reader), name.id);
}

Result<bool> NamedRecordReader::next_line(GoldenLine& line) {
  for (;;) {
    auto more = golden_reader_.next_line(line);
    if (!more || !*more || record_id_.empty()) return more;
    if (!may_name_record(record_id_, line)) continue;
    auto is_named = catch_failures([&] {
      std::string id, target;
      JsonScanner in(line.text, golden_reader_.path(), line.line_number);
      in.object([&](std::string_view key) {
        if (key == "id") id = in.string();
        else if (key == "target") target = in.string();
        else in.skip_any();
      });
      return is_name_of_record(record_id_, line.make_distinct_id(std::move(id)), target);
    });
    if (!is_named) return is_named.diag();
    if (*is_named) return true;
  }
}

}  // namespace tgc
