#include "lib/records/merge_reports.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/records/input_file.h"

namespace tgc {

using Json = nlohmann::ordered_json;

Status for_each_report(const std::vector<std::string>& files, const std::string& command,
                       const std::function<void(size_t file, const std::string& report)>& take) {
  return catch_failures([&] {
    for (size_t i = 0; i < files.size(); i++) {
      auto file = LineReader::open(files[i]);
      std::string text;
      file.value_or_throw()->read_rest_of_text(text).value_or_throw();
      std::istringstream lines(text);
      try {
        for (std::string line; std::getline(lines, line);) take(i, line);
      } catch (const Json::exception& e) {
        throw Failure(Diag{.message = std::string("no report: ") + e.what(), .file = files[i],
                           .expected = "what `" + command + "` prints"});
      }
    }
    return Unit{};
  });
}

static void add_counts(Json& to, const Json& from) {
  for (auto& [name, value] : from.items()) {
    if (value.is_array()) continue;
    if (value.is_object()) add_counts(to.emplace(name, Json::object()).first.value(), value);
    else to[name] = to.value(name, uint64_t(0)) + value.get<uint64_t>();
  }
}

std::string add_report_counts(const std::string& a, const std::string& b) {
  Json out = Json::parse(a);
  add_counts(out, Json::parse(b));
  return out.dump();
}

}  // namespace tgc
