#include "lib/text/golden.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tgc {

using nlohmann::json;

struct GoldenReader::Impl {
  std::string path;
  gzFile file = nullptr;
  uint32_t line = 0;
  GoldenHeader header;

  ~Impl() {
    if (file) gzclose(file);
  }

  [[noreturn]] void fail(std::string message, std::string expected = {}) const {
    throw Failure(Diag{.message = std::move(message), .file = path, .line = line, .expected = std::move(expected)});
  }

  // The next line without its end; false at the end of the file.
  bool read_line(std::string& out) {
    out.clear();
    char chunk[1 << 16];
    line++;
    for (;;) {
      if (!gzgets(file, chunk, sizeof chunk)) {
        int error = 0;
        const char* text = gzerror(file, &error);
        if (error != Z_OK && error != Z_STREAM_END) fail("the compressed data is damaged: " + std::string(text), "a complete gzip file");
        return !out.empty();
      }
      size_t n = std::strlen(chunk);
      out.append(chunk, n);
      if (n && chunk[n - 1] == '\n') {
        out.pop_back();
        return true;
      }
    }
  }

  json parse(const std::string& text) const {
    try {
      return json::parse(text);
    } catch (const json::exception& e) {
      fail("the line is no JSON: " + std::string(e.what()), "a JSON object");
    }
  }

  void read_header() {
    std::string text;
    if (!read_line(text)) fail("the file is empty", "a golden header");
    json j = parse(text);
    if (!j.is_object() || j.value("format", "") != "tgc-golden") fail("the first line is no golden header", R"({"format":"tgc-golden",...})");
    if (j.value("version", 0) != 1) fail("golden version " + j["version"].dump(), "version 1");
    header.level = j.value("level", "");
    header.producer = j.value("producer", "");
    if (header.level != "kernel" && header.level != "tensor") fail("unknown level '" + header.level + "'", "kernel or tensor");
    json settings = j.value("settings", json::object());
    for (auto& [key, value] : settings.items()) header.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
};

namespace {

std::optional<std::string> optional_text(const json& j, const char* key) {
  auto it = j.find(key);
  return it == j.end() || it->is_null() ? std::nullopt : std::optional(it->is_string() ? it->get<std::string>() : it->dump());
}

std::string text_of(const json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); }

std::vector<std::string> texts(const json& j) {
  std::vector<std::string> out;
  if (j.is_array())
    for (auto& x : j) out.push_back(text_of(x));
  return out;
}

GoldenProgram program_of(const json& j) {
  GoldenProgram p;
  p.name = j.value("name", "");
  p.function_name = j.value("function_name", "");
  p.applied_opts = text_of(j.value("applied_opts", json("")));
  p.ops = text_of(j.value("ops", json("")));
  p.lds = text_of(j.value("lds", json("")));
  p.mem = text_of(j.value("mem", json("")));
  p.global_size = texts(j.value("global_size", json()));
  p.has_local_size = j.contains("local_size") && !j["local_size"].is_null();
  p.local_size = texts(j.value("local_size", json()));
  p.vars = texts(j.value("vars", json()));
  p.globals = j.value("globals", std::vector<int64_t>());
  p.outs = j.value("outs", std::vector<int64_t>());
  p.ins = j.value("ins", std::vector<int64_t>());
  return p;
}

std::map<std::string, int64_t> variables(const json& j, const char* key) {
  std::map<std::string, int64_t> out;
  if (auto it = j.find(key); it != j.end() && it->is_object())
    for (auto& [name, value] : it->items()) out[name] = value.get<int64_t>();
  return out;
}

GoldenRecord record_of(const json& j) {
  GoldenRecord r;
  r.id = j.at("id").get<std::string>();
  r.target = j.value("target", "");
  if (auto device = optional_text(j, "device")) r.device = *device;
  r.nodes = j.value("nodes", int64_t(0));
  r.ast = j.at("ast").get<std::string>();
  for (auto& s : j.value("stages", json::array()))
    r.stages.push_back({s.at("name").get<std::string>(), s.value("same", false), optional_text(s, "ir")});
  r.linear = optional_text(j, "linear");
  r.source = optional_text(j, "source");
  r.source_error = optional_text(j, "source_error");
  r.error = optional_text(j, "error");
  if (auto it = j.find("program"); it != j.end() && it->is_object()) r.program = program_of(*it);
  if (auto it = j.find("kernels"); it != j.end())
    for (auto& k : *it) {
      GoldenKernel kernel;
      kernel.ast = optional_text(k, "ast").value_or("");
      for (auto& b : k.value("bufs", json::array()))
        kernel.bufs.push_back({b.value("base", int64_t(0)), b.value("offset", int64_t(0)), b.value("size", int64_t(0)), b.value("dtype", "")});
      kernel.fixedvars = variables(k, "fixedvars");
      r.kernels.push_back(std::move(kernel));
    }
  r.var_vals = variables(j, "var_vals");
  return r;
}

}  // namespace

GoldenReader::GoldenReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GoldenReader::GoldenReader(GoldenReader&&) noexcept = default;
GoldenReader::~GoldenReader() = default;

Result<GoldenReader> GoldenReader::open(const std::string& path) {
  return catch_failures([&] {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    errno = 0;
    impl->file = gzopen(path.c_str(), "rb");
    if (!impl->file) throw Failure(Diag{.message = std::string("cannot open: ") + std::strerror(errno ? errno : ENOMEM), .file = path});
    gzbuffer(impl->file, 1 << 18);
    impl->read_header();
    return GoldenReader(std::move(impl));
  });
}

const GoldenHeader& GoldenReader::header() const { return impl_->header; }

Result<std::optional<GoldenRecord>> GoldenReader::next() {
  return catch_failures([&]() -> std::optional<GoldenRecord> {
    std::string text;
    do {
      if (!impl_->read_line(text)) return std::nullopt;
    } while (text.empty());
    json j = impl_->parse(text);
    try {
      GoldenRecord r = record_of(j);
      r.line = impl_->line;
      return r;
    } catch (const json::exception& e) {
      impl_->fail("the record is malformed: " + std::string(e.what()), "a golden record");
    }
  });
}

}  // namespace tgc
