// The parts of an INPUT: InputName of source.h.
#include <filesystem>

#include "lib/driver/source.h"
#include "lib/records/input_file.h"
#include "lib/support/file_name.h"

namespace tgc {

namespace fs = std::filesystem;

// A `spec` that is a file has no id. Else splits at the first '#' after a file's name or "-", else at the first '#'.
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

std::string InputName::shown() const { return input_name(file); }

std::string InputName::stem() const {
  if (file == "-") return "kernel";
  std::string name = fs::path(file).filename().string();
  size_t dot = name.find('.', 1);
  return dot == name.npos ? name : name.substr(0, dot);
}

std::string InputName::without_extension(const std::string& graph, bool is_record) const {
  if (is_record || !id.empty() || file == "-") return file_name_of(graph);
  return fs::path(file).replace_extension().string();
}

}  // namespace tgc
