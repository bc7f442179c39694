#include "lib/compare/check_merge.h"

#include <nlohmann/json.hpp>

#include "lib/records/input_file.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using Json = nlohmann::ordered_json;

// Adds the counts of `from` to the counts of `to` with the same names, also in nested objects.
void add(Json& to, const Json& from) {
  for (auto& [name, value] : from.items()) {
    if (value.is_object()) {
      if (!to.contains(name)) to[name] = Json::object();
      add(to[name], value);
    } else {
      uint64_t before = to.contains(name) ? to[name].get<uint64_t>() : 0;
      to[name] = before + value.get<uint64_t>();
    }
  }
}

void write(JsonWriter& out, const Json& counts) {
  out.object([&] {
    for (auto& [name, value] : counts.items()) {
      out.key(name);
      if (value.is_object()) write(out, value);
      else out.value(value.get<uint64_t>());
    }
  });
}

uint64_t sum(const Json& object) {
  uint64_t out = 0;
  for (auto& [name, value] : object.items()) out += value.get<uint64_t>();
  return out;
}

void add_file(Json& to, const std::string& path) {
  auto file = LineReader::open(path);
  std::string text;
  file.value_or_throw()->rest(text).value_or_throw();
  try {
    Json report = Json::parse(text);
    for (const char* name : {"records", "identical", "stages"}) (void)report.at(name);
    add(to, report);
  } catch (const Json::exception& e) {
    throw Failure(Diag{.message = std::string("no report: ") + e.what(), .file = path,
                       .expected = "what `tgc check --json` prints"});
  }
}

}  // namespace

Result<MergedCheck> merge_checks(const std::vector<std::string>& files) {
  return catch_failures([&] {
    Json all = {{"records", 0}, {"identical", 0}, {"errors", 0}, {"stages", Json::object()},
                {"first_divergence", Json::object()}};
    for (const std::string& path : files) add_file(all, path);
    uint64_t skipped = all.contains("skipped") ? sum(all["skipped"]) : 0, records = all["records"].get<uint64_t>();
    MergedCheck out{.all_identical = records > skipped && all["identical"].get<uint64_t>() + skipped == records};
    JsonWriter json(out.json);
    write(json, all);
    out.json += '\n';
    return out;
  });
}

}  // namespace tgc
