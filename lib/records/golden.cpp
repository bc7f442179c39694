#include "lib/records/golden.h"

#include <algorithm>

#include "lib/records/input_file.h"
#include "lib/records/read_graph.h"
#include "lib/records/repro.h"
#include "lib/support/counted.h"
#include "lib/support/visible.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

std::string read_text(JsonScanner& in) {
  return in.peek_type() == JsonScanner::Type::String ? in.string() : std::string(in.skip_any());
}

// Reports print a name, id or target within a line; a text with a line break could look like lines of the report.
std::string read_one_line_name(JsonScanner& in) {
  const size_t at = in.position();
  std::string out = in.string();
  if (!is_one_line(out))
    in.throw_error(at, "'" + visible_text(out) + "' has a line break or a control character", "a name of one line");
  return out;
}

std::optional<std::string> read_text_or_null(JsonScanner& in) {
  if (in.read_null()) return std::nullopt;
  return read_text(in);
}

std::vector<std::string> read_texts(JsonScanner& in) {
  std::vector<std::string> out;
  if (!in.read_null()) in.array([&] { out.push_back(read_text(in)); });
  return out;
}

std::vector<std::string> read_strings(JsonScanner& in) {
  std::vector<std::string> out;
  in.array([&] { out.push_back(in.string()); });
  return out;
}

std::vector<int64_t> read_integers(JsonScanner& in) {
  std::vector<int64_t> out;
  if (!in.read_null()) in.array([&] { out.push_back(in.read_int64()); });
  return out;
}

std::map<std::string, int64_t> read_variables(JsonScanner& in) {
  std::map<std::string, int64_t> out;
  if (!in.read_null())
    in.object([&](std::string_view name) {
      std::string key(name);
      out[key] = in.read_int64();
    });
  return out;
}

GoldenProgram read_program(JsonScanner& in) {
  GoldenProgram p;
  in.object([&](std::string_view key) {
    if (key == "name") p.name = read_one_line_name(in);
    else if (key == "function_name") p.function_name = read_one_line_name(in);
    else if (key == "applied_opts") p.applied_opts = read_text(in);
    else if (key == "ops") p.ops = read_text(in);
    else if (key == "lds") p.lds = read_text(in);
    else if (key == "mem") p.mem = read_text(in);
    else if (key == "global_size") p.global_size = read_texts(in);
    else if (key == "local_size")
      p.has_local_size = in.peek_type() != JsonScanner::Type::Null, p.local_size = read_texts(in);
    else if (key == "vars") p.vars = read_texts(in);
    else if (key == "globals") p.globals = read_integers(in);
    else if (key == "outs") p.outs = read_integers(in);
    else if (key == "ins") p.ins = read_integers(in);
    else in.skip_any();
  });
  return p;
}

double read_seconds(JsonScanner& in) { return std::strtod(std::string(in.number()).c_str(), nullptr); }

GoldenStage read_stage(JsonScanner& in) {
  GoldenStage s;
  size_t at = in.position();
  in.object([&](std::string_view key) {
    if (key == "name") s.name = read_one_line_name(in);
    else if (key == "same") s.is_unchanged = in.read_boolean();
    else if (key == "ir") s.ir = in.read_string_or_null();
    else if (key == "letters") s.pyrender = in.read_string_or_null();
    else if (key == "full") s.full_text = in.read_string_or_null();
    else if (key == "at") s.call_places = read_strings(in);
    else if (key == "function") s.function = read_one_line_name(in);
    else if (key == "seconds") s.stage_seconds = read_seconds(in);
    else in.skip_any();
  });
  if (s.name.empty()) in.throw_error(at, "a stage without a name", R"("name")");
  return s;
}

GoldenBuffer read_buffer(JsonScanner& in) {
  GoldenBuffer b;
  in.object([&](std::string_view key) {
    if (key == "base") b.base = in.read_int64();
    else if (key == "offset") b.offset = in.read_int64();
    else if (key == "size") b.size = in.read_int64();
    else if (key == "dtype") b.dtype = in.string();
    else if (key == "multi") in.array([&] { b.device_buffers.push_back(read_buffer(in)); });
    else in.skip_any();
  });
  return b;
}

GoldenMetadata read_metadata(JsonScanner& in) {
  GoldenMetadata m;
  if (in.peek_type() != JsonScanner::Type::Object) return m.name = read_text(in), m;
  in.object([&](std::string_view key) {
    if (key == "name") m.name = in.string();
    else if (key == "caller") m.call_place = in.string();
    else if (key == "node") m.onnx_node = in.string();
    else if (key == "backward") m.is_backward = in.read_boolean();
    else if (key == "nodes") in.array([&] { m.node_numbers.push_back(in.read_int64()); });
    else in.skip_any();
  });
  return m;
}

std::vector<GoldenMetadata> read_metadata_list(JsonScanner& in) {
  std::vector<GoldenMetadata> out;
  if (!in.read_null()) in.array([&] { out.push_back(read_metadata(in)); });
  return out;
}

GoldenStoredValue read_stored_value(JsonScanner& in) {
  GoldenStoredValue s;
  in.object([&](std::string_view key) {
    if (key == "node") s.node_text = in.string();
    else if (key == "added_for") s.added_for_op = in.string();
    else if (key == "buffers") s.num_buffers = in.read_int64();
    else if (key == "reduces") s.has_buffer_reduction = in.read_boolean();
    else if (key == "made_by") s.made_by = read_metadata_list(in);
    else if (key == "reasons")
      in.array([&] {
        auto& reason = s.reasons.emplace_back();
        in.object([&](std::string_view member) {
          if (member == "why") reason.reason = in.string();
          else if (member == "at") reason.decision_place = in.string();
          else if (member == "by") reason.requiring_op = in.string();
          else in.skip_any();
        });
      });
    else in.skip_any();
  });
  return s;
}

GoldenKernel read_kernel(JsonScanner& in) {
  GoldenKernel k;
  in.object([&](std::string_view key) {
    if (key == "ast") k.ast = in.read_string_or_null().value_or("");
    else if (key == "id") k.id = read_one_line_name(in);
    else if (key == "bufs") in.array([&] { k.buffer_args.push_back(read_buffer(in)); });
    else if (key == "fixedvars") k.fixed_variables = read_variables(in);
    else if (key == "metadata") k.metadata = read_metadata_list(in);
    else if (key == "stored") k.stored_value = read_stored_value(in);
    else in.skip_any();
  });
  return k;
}

// Reads {"uop/symbolic.py:102": [matches, attempts, seconds of the matches, seconds of the attempts]}.
std::vector<GoldenRuleTimes> read_rule_times(JsonScanner& in) {
  std::vector<GoldenRuleTimes> out;
  in.object([&](std::string_view place) {
    GoldenRuleTimes& rule = out.emplace_back();
    rule.place = place;
    size_t n = 0;
    in.array([&] {
      switch (n++) {
        case 0: rule.num_matches = in.read_int64(); break;
        case 1: rule.num_attempts = in.read_int64(); break;
        case 2: rule.match_seconds = read_seconds(in); break;
        case 3: rule.attempt_seconds = read_seconds(in); break;
        default: in.skip_any();
      }
    });
  });
  return out;
}

GoldenRecord read_record(JsonScanner& in) {
  GoldenRecord r;
  bool has_id = false, has_ast = false;
  in.object([&](std::string_view key) {
    if (key == "id") r.id = read_one_line_name(in), has_id = true;
    else if (key == "ast") r.ast = in.string(), has_ast = true;
    else if (key == "ast_full") r.ast_full = in.read_string_or_null();
    else if (key == "target") r.target = read_one_line_name(in);
    else if (key == "device") r.device = read_text(in);
    else if (key == "nodes") r.num_nodes = in.read_int64();
    else if (key == "stages") in.array([&] { r.stages.push_back(read_stage(in)); });
    else if (key == "linear") r.linear = read_text_or_null(in);
    else if (key == "source") r.source = read_text_or_null(in);
    else if (key == "source_error") r.source_error = read_text_or_null(in);
    else if (key == "error") r.error = read_text_or_null(in);
    else if (key == "error_stage") r.error_stage = read_one_line_name(in);
    else if (key == "program") {
      if (!in.read_null()) r.program = read_program(in);
    } else if (key == "kernels") {
      if (!in.read_null()) in.array([&] { r.kernels.push_back(read_kernel(in)); });
    } else if (key == "var_vals") r.var_vals = read_variables(in);
    else if (key == "runtime") r.is_of_runtime = in.read_boolean();
    else if (key == "rewrites") r.rewrites_json = in.skip_any();
    else if (key == "made_by") r.methods_json = in.skip_any();
    else if (key == "rules") r.rule_times = read_rule_times(in);
    else if (key == "seconds") r.record_seconds = read_seconds(in);
    else if (key == "metadata") r.metadata = read_metadata_list(in);
    else if (key == "settings")
      in.object([&](std::string_view name) {
        std::string setting(name);
        r.settings[setting] = read_text_or_null(in);
      });
    else in.skip_any();
  });
  in.expect_end();
  if (!has_id || !has_ast)
    in.throw_error(0, std::string("a record without '") + (has_id ? "ast'" : "id'"), "a golden record");
  return r;
}

GoldenHeader read_golden_header(JsonScanner& in) {
  GoldenHeader h;
  std::string format, version, commit;
  in.object([&](std::string_view key) {
    if (key == "format") format = read_text(in);
    else if (key == "version") version = read_text(in);
    else if (key == "level") h.level = read_one_line_name(in);
    else if (key == "producer") h.producer = read_one_line_name(in);
    else if (key == "commit") commit = in.read_null() ? "" : read_one_line_name(in);
    else if (key == "settings")
      in.object([&](std::string_view name) {
        std::string setting(name);
        h.settings[setting] = read_text(in);
      });
    else in.skip_any();
  });
  in.expect_end();
  if (format != "tgc-golden")
    in.throw_error(0, "the first line is not a golden header", R"({"format":"tgc-golden",...})");
  if (version != "1") in.throw_error(0, "golden version '" + version + "'", "version 1");
  if (h.level == "jit")
    in.throw_error(0, "these records are TinyJit calls, which have no graph",
                   "records of kernels or tensors; `tgc lint` reads these");
  if (!commit.empty()) h.producer += " at " + commit.substr(0, 10);
  if (h.level != "kernel" && h.level != "tensor")
    in.throw_error(0, "unknown level '" + h.level + "'", "kernel or tensor");
  return h;
}

}  // namespace

std::string program_text(const GoldenProgram& p) {
  std::string out;
  auto line = [&](std::string_view key, std::string_view value) { out.append(key).append(": ").append(value) += '\n'; };
  auto list = [](const auto& items) {
    std::string text;
    for (auto& item : items) {
      if (!text.empty()) text += ' ';
      if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>) text += std::to_string(item);
      else text += item;
    }
    return text;
  };
  line("name", p.name), line("function_name", p.function_name);
  line("global_size", list(p.global_size)), line("local_size", p.has_local_size ? list(p.local_size) : "None");
  line("vars", list(p.vars)), line("globals", list(p.globals)), line("outs", list(p.outs)), line("ins", list(p.ins));
  line("applied_opts", p.applied_opts), line("ops", p.ops), line("lds", p.lds), line("mem", p.mem);
  return out;
}

std::vector<GoldenMetadata> read_methods(std::string_view json) {
  if (json.empty()) return {};
  JsonScanner in(json, "made_by");
  return read_metadata_list(in);
}

std::string methods_text(const std::vector<GoldenMetadata>& metadata) {
  struct Method {
    std::string name;
    bool forward = false, backward = false;
  };
  std::vector<std::pair<std::string, std::vector<Method>>> lines;
  for (const GoldenMetadata& m : metadata) {
    const std::string at = m.call_place.substr(0, m.call_place.find("::"));
    std::string where = at.empty() ? "" : " at " + at;
    if (!m.onnx_node.empty()) where += " (node " + m.onnx_node + ")";
    auto line = std::ranges::find(lines, where, [](auto& l) { return l.first; });
    if (line == lines.end()) line = lines.insert(line, {where, {}});
    auto method = std::ranges::find(line->second, m.name, &Method::name);
    if (method == line->second.end()) method = line->second.insert(method, Method{m.name});
    (m.is_backward ? method->backward : method->forward) = true;
  }
  std::string out;
  for (auto& [where, methods] : lines) {
    std::string names;
    for (const Method& m : methods) {
      names += (names.empty() ? "" : ", ") + std::string(m.forward ? "" : "gradient of ") + m.name;
      if (m.forward && m.backward) names += " with gradient";
    }
    out += (out.empty() ? "" : "; ") + names + where;
  }
  return out;
}

GoldenSettings settings_of(const GoldenHeader& header, const GoldenRecord& record) {
  GoldenSettings out = header.settings;
  for (auto& [name, value] : record.settings) {
    if (value) out[name] = *value;
    else out.erase(name);
  }
  return out;
}

namespace {

// Removes `"key": "value"`, and the blanks and commas before it, from the beginning of `text`. Returns the value;
// nullopt if `text` begins otherwise, or if the value has an escape.
std::optional<std::string_view> remove_member(std::string_view& text, std::string_view key) {
  std::string_view rest = text;
  for (std::string_view part : {std::string_view("\""), key, std::string_view("\""), std::string_view(":"),
                                std::string_view("\"")}) {
    if (part != key) rest.remove_prefix(std::min(rest.find_first_not_of(" \t,"), rest.size()));
    if (!rest.starts_with(part)) return std::nullopt;
    rest.remove_prefix(part.size());
  }
  const size_t end = rest.find_first_of("\"\\");
  if (end == rest.npos || rest[end] == '\\') return std::nullopt;
  text = rest.substr(end + 1);
  return rest.substr(0, end);
}

// Returns "ID@TARGET" if the line begins with the members `id` and `target`, as the exporter writes them; "ID@" if it
// begins with `id` alone; else "".
std::string id_and_target_key(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t{"), line.size()));
  auto id = remove_member(line, "id");
  return id ? std::string(*id) + "@" + std::string(remove_member(line, "target").value_or("")) : "";
}

}  // namespace

std::string GoldenLine::make_distinct_id(std::string id) const {
  return num_same_id ? id + "~" + std::to_string(num_same_id + 1) : id;
}

std::string target_label(std::string_view target) {
  const size_t features = target.find(':', target.find(':') + 1);
  const auto commas = std::ranges::count(target, ',');
  if (features == target.npos || target.find(':') == target.npos || commas < 3) return std::string(target);
  const char* what = target.starts_with("CL:") ? "extension" : "feature";
  return std::string(target.substr(0, features)) + ", " + count_text(size_t(commas) + 1, what);
}

std::string record_label(std::string_view id, std::string_view target) {
  return std::string(id) + (target.empty() ? "" : " (" + target_label(target) + ")");
}

std::string kernel_ids_text(const GoldenRecord& record) {
  constexpr size_t kShown = 8;
  std::string out;
  size_t shown = 0;
  for (const GoldenKernel& k : record.kernels) {
    if (k.id.empty()) continue;
    if (shown++ == kShown) return out + ", ...";
    out.append(out.empty() ? "" : ", ").append(k.id);
  }
  return out;
}

bool is_name_of_record(std::string_view wanted, std::string_view id, std::string_view target) {
  if (!wanted.starts_with(id)) return false;
  wanted.remove_prefix(id.size());
  if (wanted.empty()) return true;
  const std::string parts = std::string(target) + ":";
  return wanted.size() > 1 && wanted[0] == '@' && parts.starts_with(std::string(wanted.substr(1)) + ":");
}

bool may_name_record(std::string_view wanted, const GoldenLine& line) {
  constexpr std::string_view kKey = "\"id\"", kBlanks = " \t";
  const std::string_view text = line.text;
  for (size_t at = 0; (at = text.find(kKey, at)) != text.npos;) {
    at = text.find_first_not_of(kBlanks, at + kKey.size());
    if (at == text.npos || text[at] != ':') continue;
    at = text.find_first_not_of(kBlanks, at + 1);
    if (at == text.npos || text[at] != '"') continue;
    at++;
    const std::string_view id = text.substr(at, text.find('"', at) - at);
    const std::string_view rest = wanted.starts_with(id) ? wanted.substr(id.size()) : "-";
    if (rest.empty() || rest[0] == '@' || rest[0] == '~' || id.find('\\') != id.npos) return true;
  }
  return false;
}

Result<GoldenRecord> parse_golden_record(const GoldenLine& line, std::string_view file) {
  return catch_failures([&] {
    JsonScanner in(line.text, file, line.line_number);
    GoldenRecord r = read_record(in);
    r.line = line.line_number;
    r.id = line.make_distinct_id(std::move(r.id));
    return r;
  });
}

Result<GoldenHeader> parse_golden_header(const GoldenLine& line, std::string_view file) {
  return catch_failures([&] {
    JsonScanner in(line.text, file, line.line_number);
    return read_golden_header(in);
  });
}

GoldenReader::GoldenReader(std::string path, std::unique_ptr<LineReader> lines)
    : file_path_(std::move(path)), line_reader_(std::move(lines)) {}
GoldenReader::GoldenReader(GoldenReader&&) noexcept = default;
GoldenReader& GoldenReader::operator=(GoldenReader&&) noexcept = default;
GoldenReader::~GoldenReader() = default;

Result<GoldenReader> GoldenReader::open(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.diag();
  GoldenLine first;
  auto read = (*lines)->next_line_text(first.text);
  if (!read) return read.diag();
  if (!*read) return Diag{.message = "the file is empty", .file = input_name(path), .expected = "a golden header"};
  first.line_number = (*lines)->line_number();
  if (InputKind kind = detect_input_kind(first.text); kind != InputKind::Golden && kind != InputKind::Repro)
    return Diag{.message = "the first line is not a golden header",
                .file = input_name(path),
                .expected = "golden records, see `tgc help recording`; a graph is for tgc dump, run, view and others"};
  return make_from_lines(std::move(*lines), first, input_name(path));
}

Result<GoldenReader> GoldenReader::make_from_lines(std::unique_ptr<LineReader> lines, const GoldenLine& first,
                                                   std::string name) {
  if (is_start_of_repro(first.text))
    return Diag{.message = "this is a repro bundle", .file = name,
                .expected = "golden records; tgc run, bisect and reduce take bundles"};
  GoldenReader reader(std::move(name), std::move(lines));
  auto header = parse_golden_header(first, reader.file_path_);
  if (!header) return header.diag();
  reader.file_header_ = std::move(*header);
  return reader;
}

Result<bool> GoldenReader::next_line(GoldenLine& line) {
  for (;;) {
    auto read = next_whole_line(*line_reader_, line.text, file_path_, truncation_error_);
    line.line_number = line_reader_->line_number(), line.num_same_id = 0;
    if (!read || !*read) return read;
    if (line.text.find_first_not_of(" \t\r") == line.text.npos) continue;
    if (std::string key = id_and_target_key(line.text); !key.empty()) line.num_same_id = id_counts_[std::move(key)]++;
    return read;
  }
}

Result<std::optional<GoldenRecord>> GoldenReader::next_record() {
  GoldenLine line;
  auto read = next_line(line);
  if (!read) return read.diag();
  if (!*read) return std::optional<GoldenRecord>();
  auto record = parse_golden_record(line, file_path_);
  if (!record) return record.diag();
  return std::optional(std::move(*record));
}

}  // namespace tgc
