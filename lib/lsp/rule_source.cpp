#include "lib/lsp/rule_source.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "lib/support/json_writer.h"

namespace tgc {

RuleLocation parse_rule_location(std::string_view text) {
  static const std::regex kPlace(R"(([A-Za-z_][\w/]*\.(?:py|cpp|h)):([1-9]\d{0,8}))");
  std::cmatch match;
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest || !std::regex_match(text.data(), text.data() + text.size(), match, kPlace)) return {};
  return {match[1].str(), std::stoll(match[2].str())};
}

std::string find_rule_file(const RuleLocation& place, const std::vector<std::string>& folders) {
  if (place.file.empty()) return "";
  std::error_code ignored;
  for (const std::string& folder : folders)
    for (const char* below : {"/tinygrad/", "/"})
      if (std::string path = folder + below + place.file; std::filesystem::is_regular_file(path, ignored)) return path;
  return "";
}

std::string rule_web_address(const RuleLocation& place, std::string_view producer) {
  static const std::regex kRelease(R"(tinygrad (\d{1,3}\.\d{1,3}\.\d{1,3}))");
  std::cmatch match;
  if (!place.file.ends_with(".py") || producer.size() > 30 ||
      !std::regex_match(producer.data(), producer.data() + producer.size(), match, kRelease))
    return "";
  return "https://github.com/tinygrad/tinygrad/blob/v" + match[1].str() + "/tinygrad/" + place.file + "#L" +
         std::to_string(place.line);
}

void write_rule_sources(JsonWriter& json, const std::vector<std::string>& rule_locations,
                        const std::vector<std::string>& folders) {
  json.array([&] {
    for (const std::string& text : rule_locations) {
      const RuleLocation place = parse_rule_location(text);
      const std::string path = find_rule_file(place, folders);
      if (path.empty()) continue;
      json.object([&] {
        json.member("uri", uri_of_path(path)).key("range").object([&] {
          for (const char* end : {"start", "end"})
            json.key(end).object([&] { json.member("line", place.line - 1).member("character", 0); });
        });
      });
    }
  });
}

std::string path_of_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme) || !uri.substr(kScheme.size()).starts_with('/')) return "";
  std::string out;
  for (size_t at = kScheme.size(); at < uri.size(); at++) {
    int value = 0;
    const std::string_view digits = uri.substr(at + 1, 2);
    const bool is_escape = uri[at] == '%' && digits.size() == 2 &&
                           std::from_chars(digits.begin(), digits.end(), value, 16).ptr == digits.end();
    out += is_escape ? char(value) : uri[at];
    if (is_escape) at += 2;
  }
  return out;
}

std::string uri_of_path(std::string_view path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out = "file://";
  for (char c : path) {
    char escape[4] = {};
    std::snprintf(escape, sizeof escape, "%%%02X", unsigned(uint8_t(c)));
    if (kPlain.find(c) != kPlain.npos) out += c;
    else out += escape;
  }
  return out;
}

}  // namespace tgc
