#include "lib/trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <utility>

#include "lib/records/input_file.h"
#include "lib/text/json_scan.h"

namespace tgc {

namespace {

constexpr std::string_view kHead = R"({"format":"tgc-trace")";
constexpr size_t kBuffer = 1 << 16;

std::string field_json(const std::string& text) { return text; }
template <class Number>
  requires std::is_arithmetic_v<Number>
std::string field_json(Number n) {
  return std::to_string(n);
}

template <class... Fields>
std::string event_line(std::string_view name, const Fields&... fields) {
  std::string out = "[\"" + std::string(name) + "\"";
  ((out += "," + field_json(fields)), ...);
  return out + "]\n";
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path) {
  auto whole = FileWriter::create(path);
  if (!whole) return whole.diag();
  int fd = ::fcntl(whole->descriptor(), F_DUPFD_CLOEXEC, 0);
  gzFile file = fd < 0 ? nullptr : gzdopen(fd, path.ends_with(".gz") ? "wb1" : "wbT");
  if (!file) {
    Diag diag{.message = std::string("cannot write: ") + std::strerror(errno), .file = path};
    if (fd >= 0) ::close(fd);
    return diag;
  }
  std::unique_ptr<TraceWriter> out(new TraceWriter(path, std::move(*whole), file));
  out->output_buffer_ = std::string(kHead) + ",\"version\":2}\n";
  return out;
}

TraceWriter::~TraceWriter() {
  if (file_) gzclose(gzFile(file_));
}

Status TraceWriter::close() {
  flush_buffer();
  if (gzclose(gzFile(std::exchange(file_, nullptr))) != Z_OK) has_failed_ = true;
  if (has_failed_) return Diag{.message = "the trace could not be written completely", .file = file_path_};
  return file_writer_.commit_file();
}

void TraceWriter::flush_buffer() {
  if (!output_buffer_.empty() && gzwrite(gzFile(file_), output_buffer_.data(), unsigned(output_buffer_.size())) <= 0)
    has_failed_ = true;
  output_buffer_.clear();
}

void TraceWriter::write_line(const std::string& text) {
  output_buffer_ += text;
  if (output_buffer_.size() > kBuffer) flush_buffer();
}

std::string TraceWriter::node_json(UOp u) {
  constexpr std::string_view kId = "{\"id\":";
  std::string lines, out = std::to_string(node_writer_->append_lines(u, lines));
  for (size_t from = 0, end; from < lines.size(); from = end) {
    end = lines.find('\n', from) + 1;
    const size_t comma = lines.find(',', from);
    const auto id = uint32_t(std::strtoul(lines.c_str() + from + kId.size(), nullptr, 10));
    output_buffer_ += std::string(kId) + std::to_string(node_number(current_graph_->at(id)));
    output_buffer_.append(lines, comma, end - comma);
  }
  return out;
}

void TraceWriter::begin_kernel(std::string_view id, std::string_view target, UOp ast) {
  node_writer_ = std::make_unique<JsonNodeWriter>(ast.graph());
  current_graph_ = &ast.graph();
  write_line(event_line("graph", json_string(producer_name(ast.graph().release()))));
  std::string root = node_json(ast);
  write_line(event_line("kernel", json_string(id), json_string(target), root));
}
void TraceWriter::user_operation(std::string_view what) { write_line(event_line("made_for", json_string(what))); }
void TraceWriter::begin_stage(std::string_view name, UOp input) {
  std::string root = node_json(input);
  write_line(event_line("stage", json_string(name), root));
}
void TraceWriter::end_stage(UOp result) {
  std::string root = node_json(result);
  write_line(event_line("stage_end", root));
}
void TraceWriter::begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) {
  std::string root = node_json(input);
  write_line(event_line("begin", depth, json_string(rewrite.name), root, rewrite.num_rules,
                        std::string(rewrite.bottom_up ? "true" : "false"), json_string(rewrite.rule_set)));
}
void TraceWriter::end_rewrite(int depth, UOp result) {
  std::string root = result ? node_json(result) : "null";
  write_line(event_line("end", depth, root));
}
void TraceWriter::on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) {
  auto [it, is_new] = rule_numbers_.emplace(std::tuple(rule.file, rule.line, rule.branch), rule_numbers_.size());
  if (is_new)
    write_line(event_line("rule", json_string(rule.name), json_string(rule.file), rule.line, json_string(rule.branch),
                          json_string(rule.source)));
  std::string from = node_json(before), to = node_json(after);
  write_line(event_line("rewrite", depth, it->second, from, to, cost.first_made_node_number, cost.end_made_node_number,
                        int64_t(cost.time_ns)));
}
void TraceWriter::on_node_rebuilt(int depth, UOp before, UOp after) {
  std::string from = node_json(before), to = node_json(after);
  write_line(event_line("rebuilt", depth, from, to));
}
void TraceWriter::on_node_gated(int depth, UOp u) {
  std::string n = node_json(u);
  write_line(event_line("gated", depth, n));
}

bool is_trace_file(const std::string& path) {
  if (path == "-") return false;  // standard input could not be read again
  auto lines = LineReader::open(path);
  std::string first;
  if (!lines) return false;
  auto more = (*lines)->next_line_text(first);
  return more && *more && first.starts_with(kHead);
}

namespace {

class TraceFileReader {
 public:
  TraceFileReader(std::string file, TraceConsumer& to) : file_(std::move(file)), consumer_(to), scanner_({}) {}

  void finish() {
    if (is_in_kernel_) consumer_.end_kernel();
    is_in_kernel_ = is_in_stage_ = false;
    num_open_rewrites_ = 0;
    consumer_.set_node_numbers(nullptr);
  }

  void read_line(std::string_view text, uint32_t number) {
    scanner_ = JsonScanner(text, file_, number);
    if (text.starts_with('{')) {
      if (!node_reader_) scanner_.throw_error(0, "a node before the first graph");
      auto [u, id] = node_reader_->read_line(text, number);
      if (id < 0 || id > UINT32_MAX) scanner_.throw_error(0, "a node without its id");
      (*node_ids_)[u] = uint32_t(id);
      return;
    }
    num_fields_ = 0;
    std::string name;
    scanner_.array([&] {
      if (num_fields_++ == 0) name = scanner_.string();
      else read_field(name);
    });
    scanner_.expect_end();
    report_event(name);
  }

 private:
  struct EventFields {
    int64_t number[8];
    std::string text[4];
    UOp node[2];
    bool flag;
  };

  UOp node() {
    size_t at = scanner_.position();
    if (scanner_.read_null()) return {};
    int64_t n = scanner_.read_int64();
    if (!node_reader_ || n < 0 || size_t(n) >= node_reader_->size())
      scanner_.throw_error(at, "found node " + std::to_string(n), "one of the nodes above");
    return node_reader_->node_of_line(size_t(n));
  }

  // Returns the kinds of an event's fields after its name: n number, s text, u node, o node or null, b flag.
  static std::string_view field_kinds(std::string_view name) {
    if (name == "graph" || name == "made_for") return "s";
    if (name == "kernel") return "ssu";
    if (name == "stage") return "su";
    if (name == "stage_end") return "u";
    if (name == "begin") return "nsunbs";
    if (name == "end") return "no";
    if (name == "rule") return "ssnss";
    if (name == "rewrite") return "nnuunnn";
    if (name == "rebuilt") return "nuu";
    if (name == "gated") return "nu";
    return "";
  }
  void read_field(std::string_view name) {
    std::string_view all = field_kinds(name);
    size_t i = num_fields_ - 2;
    if (i >= all.size()) scanner_.throw_error(scanner_.position(), "'" + std::string(name) + "' has a field too many");
    auto count = size_t(std::count(all.begin(), all.begin() + long(i), all[i]));
    switch (all[i]) {
      case 'n': event_.number[count] = scanner_.read_int64(); break;
      case 's': event_.text[count] = scanner_.string(); break;
      case 'u':
        event_.node[count] = node();
        if (!event_.node[count])
          scanner_.throw_error(scanner_.position(), "'" + std::string(name) + "' of no node", "a node's number");
        break;
      case 'o': event_.node[count] = node(); break;
      case 'b': event_.flag = scanner_.read_boolean(); break;
    }
  }

  void report_event(const std::string& name) {
    if (name != "graph" && num_fields_ - 1 != field_kinds(name).size())
      scanner_.throw_error(0, "'" + name + "' lacks fields");
    if (!is_in_kernel_ && name != "kernel" && name != "rule" && name != "graph" && !field_kinds(name).empty())
      scanner_.throw_error(0, "'" + name + "' before its kernel");
    if (name == "graph") begin_graph(num_fields_ > 1 ? release_of(event_.text[0]) : Release::v0_12);
    else if (name == "kernel")
      kernel_id_ = event_.text[0], target_ = event_.text[1], is_in_kernel_ = true,
      consumer_.begin_kernel(kernel_id_, target_, event_.node[0]);
    else if (name == "made_for") consumer_.user_operation(event_.text[0]);
    else if (name == "stage")
      stage_name_ = event_.text[0], is_in_stage_ = true, consumer_.begin_stage(stage_name_, event_.node[0]);
    else if (!is_in_stage_ && name != "rule" && !field_kinds(name).empty())
      scanner_.throw_error(0, "'" + name + "' outside of a stage");
    else if (name == "stage_end") is_in_stage_ = false, num_open_rewrites_ = 0, consumer_.end_stage(event_.node[0]);
    else if (name == "begin") begin_rewrite();
    else if (name == "end") consumer_.end_rewrite(num_open_rewrites_ = event_depth(), event_.node[0]);
    else if (name == "rule")
      rules_.push_back({event_.text[0], event_.text[1], uint32_t(event_.number[0]), event_.text[2], event_.text[3]});
    else if (name == "rewrite") apply_rewrite(event_depth());
    else if (name == "rebuilt") consumer_.on_node_rebuilt(event_depth(), event_.node[0], event_.node[1]);
    else if (name == "gated") consumer_.on_node_gated(event_depth(), event_.node[0]);
    else scanner_.throw_error(0, "unknown event '" + name + "'");
  }

  int event_depth() {
    int64_t n = event_.number[0];
    if (n < 0 || n >= num_open_rewrites_)
      scanner_.throw_error(0, "found depth " + std::to_string(n),
                           std::to_string(num_open_rewrites_) + " rewrites are open here");
    return int(n);
  }
  void begin_rewrite() {
    if (event_.number[0] != num_open_rewrites_)
      scanner_.throw_error(0, "found depth " + std::to_string(event_.number[0]),
                           std::to_string(num_open_rewrites_) + ", what is open here");
    int depth = num_open_rewrites_++;
    const std::string& name = *rewrite_names_.insert(event_.text[0]).first;
    consumer_.begin_rewrite({name, *rewrite_names_.insert(event_.text[1]).first, size_t(event_.number[1]), event_.flag},
                            depth, event_.node[0]);
  }
  void apply_rewrite(int depth) {
    if (event_.number[1] < 0 || size_t(event_.number[1]) >= rules_.size())
      scanner_.throw_error(0, "found rule " + std::to_string(event_.number[1]), "one of the rules above");
    const auto& r = rules_[size_t(event_.number[1])];
    consumer_.on_rule_applied(depth, {r.name, r.file, r.line, r.branch, r.source}, event_.node[0], event_.node[1],
                              {uint32_t(event_.number[2]), uint32_t(event_.number[3]), uint64_t(event_.number[4])});
  }
  void begin_graph(Release release) {
    finish();
    node_reader_.reset();
    node_ids_.reset();
    graph_ = std::make_unique<Graph>();
    graph_->set_release(release);
    node_reader_ = std::make_unique<JsonNodeReader>(*graph_, file_);
    node_ids_ = std::make_unique<UOpMap<uint32_t>>(*graph_);
    consumer_.set_node_numbers(node_ids_.get());
  }

  struct RuleText {
    std::string name, file;
    uint32_t line;
    std::string branch, source;
  };
  std::string file_;
  TraceConsumer& consumer_;
  JsonScanner scanner_;
  size_t num_fields_ = 0;
  EventFields event_{};
  bool is_in_kernel_ = false, is_in_stage_ = false;
  int num_open_rewrites_ = 0;
  std::deque<RuleText> rules_;  // by number; consumers refer to the texts
  std::set<std::string> rewrite_names_;  // names of rewrites and of rule sets; consumers refer to them
  std::string kernel_id_, target_, stage_name_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<JsonNodeReader> node_reader_;
  std::unique_ptr<UOpMap<uint32_t>> node_ids_;
};

}  // namespace

Status read_trace(const std::string& path, TraceConsumer& to) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.diag();
  return catch_failures([&]() -> Unit {
    TraceFileReader reader(input_name(path), to);
    std::string text;
    bool first = true;
    while ((*lines)->next_line_text(text).value_or_throw()) {
      if (first && !text.starts_with(std::string(kHead) + ",\"version\":2"))
        throw Failure(Diag{.message = "not a trace of version 2", .file = path});
      if (!first && !text.empty()) reader.read_line(text, (*lines)->line_number());
      first = false;
    }
    reader.finish();
    return Unit{};
  });
}

void TraceReplay::begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) {
  pending_rewrites_.resize(size_t(depth));
  pending_rewrites_.push_back({input, rewrite.bottom_up, {}, {}});
}

void TraceReplay::on_rule_applied(int depth, const TraceRule&, UOp before, UOp after, TraceCost) {
  pending_rewrites_[size_t(depth)].rewrites.emplace_back(before, after);
}

void TraceReplay::on_node_gated(int depth, UOp node) { pending_rewrites_[size_t(depth)].gates.push_back(node); }

void TraceReplay::end_rewrite(int depth, UOp result) {
  PendingRewrite p = std::move(pending_rewrites_[size_t(depth)]);
  pending_rewrites_.resize(size_t(depth));
  if (!result) return;
  (apply_rewrites(p.input, p.is_bottom_up, p.rewrites, p.gates) == result ? num_same_ : num_different_)++;
}

std::string TraceReplay::text() const {
  return std::to_string(num_same_ + num_different_) + " graph rewrites replayed from their lists of rewrites, " +
         std::to_string(num_same_) + " give the same graph\n";
}

}  // namespace tgc
