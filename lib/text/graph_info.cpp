#include "lib/text/graph_info.h"

#include <algorithm>

#include "lib/text/json_scan.h"

namespace tgc {
namespace {

constexpr std::string_view kHeader = "# tgc: ";

// Returns npos if `text` has no header.
size_t find_header(std::string_view text) {
  size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && text.substr(at).starts_with(kHeader) ? at : text.npos;
}

}  // namespace

std::string info_members_json(const GraphInfo& info) {
  std::string out;
  auto key = [&](std::string_view name) { out.append(out.empty() ? "\"" : ",\"").append(name).append("\":"); };
  auto text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) key(name), append_json_string(out, value);
  };
  text("producer", info.producer), text("name", info.name), text("stage", info.stage), text("target", info.target);
  if (info.settings.empty()) return out;
  key("settings");
  char before = '{';
  for (auto& [setting, value] : info.settings) {
    out += before, append_json_string(out, setting), out += ':', append_json_string(out, value);
    before = ',';
  }
  return out + '}';
}

bool read_info_member(JsonScanner& in, std::string_view key, GraphInfo& info) {
  if (key == "producer") return info.producer = in.string(), true;
  if (key == "name") return info.name = in.string(), true;
  if (key == "stage") return info.stage = in.string(), true;
  if (key == "target") return info.target = in.string(), true;
  if (key != "settings") return false;
  in.object([&](std::string_view name) {
    std::string setting(name);
    info.settings[setting] = in.string();
  });
  return true;
}

std::string text_header(const GraphInfo& info) { return std::string(kHeader) + "{" + info_members_json(info) + "}\n"; }

bool has_header(std::string_view text) { return find_header(text) != text.npos; }

Result<std::optional<GraphInfo>> read_header(std::string_view text, std::string_view file) {
  size_t at = find_header(text);
  if (at == text.npos) return std::optional<GraphInfo>();
  auto line = uint32_t(1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n'));
  std::string_view json = text.substr(at, text.find('\n', at) - at).substr(kHeader.size());
  return catch_failures([&] {
    JsonScanner in(json, file, line);
    GraphInfo info;
    in.object([&](std::string_view key) {
      if (!read_info_member(in, key, info)) in.skip_any();
    });
    in.expect_end();
    return std::optional(std::move(info));
  });
}

std::string text_with_name(std::string text, std::string_view name) {
  auto info = read_header(text);
  if (!info || !*info) return text;
  size_t at = find_header(text), end = std::min(text.find('\n', at), text.size() - 1) + 1;
  (*info)->name = name;
  return text.replace(at, end - at, text_header(**info));
}

}  // namespace tgc
