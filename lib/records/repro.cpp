#include "lib/records/repro.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"
#include "lib/support/sha256.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

constexpr std::string_view kFormat = "tgc-repro";

void write_arrays(JsonWriter& json, std::string_view name, const std::vector<ReproArray>& arrays) {
  if (arrays.empty()) return;
  json.start_line().key(name).object([&] {
    for (const ReproArray& a : arrays)
      json.start_line().key(a.name).object(
          [&] { json.member("dtype", a.dtype.repr()).member("shape", a.shape).member("hex", sha256_hex(a.bytes)); });
  });
}

template <class Map>
void write_map(JsonWriter& json, std::string_view name, const Map& map) {
  if (map.empty()) return;
  json.start_line().key(name).object([&] {
    for (auto& [key, value] : map) json.member(key, value);
  });
}

std::string read_hex(JsonScanner& in) {
  size_t at = in.position();
  if (auto bytes = bytes_from_hex(in.string())) return *bytes;
  in.throw_error(at, "malformed bytes", "pairs of hexadecimal digits");
}

DType read_dtype(JsonScanner& in) {
  size_t at = in.position();
  std::string text = in.string();
  auto dtype = text.starts_with("dtypes.") ? dtypes::parse(std::string_view(text).substr(7)) : std::nullopt;
  if (!dtype || !dtype->is_value() || dtype->count() != 1 || dtype->is(Scalar::Void) || dtype->is(Scalar::Index))
    in.throw_error(at, "found '" + text + "'", "the dtype of an array's elements, such as dtypes.float");
  return *dtype;
}

ReproArray read_array(JsonScanner& in, std::string name) {
  ReproArray out{.name = std::move(name)};
  size_t at = in.position();
  in.object([&](std::string_view key) {
    if (key == "dtype") out.dtype = read_dtype(in);
    else if (key == "hex") out.bytes = read_hex(in);
    else if (key == "shape")
      in.array([&] {
        size_t size_at = in.position();
        out.shape.push_back(in.read_int64());
        if (out.shape.back() < 0 || out.shape.size() > 64) in.throw_error(size_at, "invalid array size", "0 or more");
      });
    else in.skip_any();
  });
  if (out.dtype.is(Scalar::Void)) in.throw_error(at, "an array without a dtype");
  // a product that overflows 64 bits does not fit in memory, unless a size is 0
  bool is_empty = std::ranges::find(out.shape, 0) != out.shape.end(), fits = true;
  auto bytes = size_t(out.dtype.itemsize());
  for (int64_t size : out.shape) fits &= is_empty || !__builtin_mul_overflow(bytes, size_t(size), &bytes);
  if (is_empty) bytes = 0;
  if (!fits || bytes != out.bytes.size())
    in.throw_error(at, "the array '" + out.name + "' has " + std::to_string(out.bytes.size()) + " bytes",
                   fits ? std::to_string(bytes) : "what its shape says");
  return out;
}

void read_arrays(JsonScanner& in, std::vector<ReproArray>& out) {
  std::unordered_set<std::string> names;
  for (const ReproArray& array : out) names.insert(array.name);
  in.object([&](std::string_view key) {
    size_t at = in.position();
    std::string name(key);
    if (!names.insert(name).second)
      in.throw_error(at, "the array '" + name + "' occurs twice");
    out.push_back(read_array(in, std::move(name)));
  });
}

template <class Read, class Map>
void read_map(JsonScanner& in, Map& map, Read read) {
  in.object([&](std::string_view key) {
    std::string name(key);
    map[name] = read();
  });
}

double read_tolerance(JsonScanner& in) {
  size_t at = in.position();
  std::string_view text = in.number();
  auto value = parse_py_float(text);
  if (!value || !(*value >= 0) || !std::isfinite(*value))
    in.throw_error(at, "found " + std::string(text.substr(0, 40)), "a tolerance, 0 or more");
  return *value;
}

}  // namespace

std::string repro_to_json(const Repro& repro, std::string_view graph) {
  std::string out;
  JsonWriter json(out);
  auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) json.start_line().member(name, value);
  };
  json.object([&] {
    json.member("format", kFormat).member("version", 1);
    text("while", repro.symptom), text("said", repro.description), text("script", repro.script);
    write_map(json, "blamed", repro.blamed_rewrite);
    text("device", repro.device), text("fault", repro.seeded_fault);
    write_map(json, "variables", repro.variables);
    write_map(json, "tolerance", repro.tolerance);
    write_arrays(json, "inputs", repro.inputs);
    write_arrays(json, "expected", repro.expected);
    write_map(json, "made_by", repro.made_by);
    while (graph.ends_with('\n')) graph.remove_suffix(1);
    json.start_line().key("graph").raw_json(graph);
  });
  return out + "\n";
}

bool is_start_of_repro(std::string_view head) {
  return head.substr(0, head.find('\n')).find("\"tgc-repro\"") != head.npos;
}

Result<GraphFile> repro_from_json(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places,
                                  Repro& repro) {
  return catch_failures([&] {
    JsonScanner in(text, file);
    std::string format, version;
    std::optional<GraphFile> out;
    in.object([&](std::string_view key) {
      auto string = [&] { return in.string(); };
      if (key == "format") format = in.string();
      else if (key == "version") version = in.number();
      else if (key == "while") repro.symptom = in.string();
      else if (key == "said") repro.description = in.string();
      else if (key == "script") repro.script = in.string();
      else if (key == "device") repro.device = in.string();
      else if (key == "fault") repro.seeded_fault = in.string();
      else if (key == "blamed") read_map(in, repro.blamed_rewrite, string);
      else if (key == "made_by") read_map(in, repro.made_by, string);
      else if (key == "variables") read_map(in, repro.variables, [&] { return in.read_int64(); });
      else if (key == "tolerance") read_map(in, repro.tolerance, [&] { return read_tolerance(in); });
      else if (key == "inputs") read_arrays(in, repro.inputs);
      else if (key == "expected") read_arrays(in, repro.expected);
      else if (key == "graph") {
        out = graph_from_json(graph, in, places).value_or_throw();
        in.skip_any();
      } else in.skip_any();
    });
    in.expect_end();
    if (format != kFormat) in.throw_error(0, "the format '" + format + "'", R"("format":"tgc-repro")");
    if (version != "1") in.throw_error(0, "version '" + version + "' of the format", "version 1");
    if (!out) in.throw_error(0, "the bundle holds no graph", R"("graph":{"format":"tgc-graph",...})");
    return std::move(*out);
  });
}

}  // namespace tgc
