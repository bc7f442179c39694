#include "lib/text/graph_json.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "lib/support/deep_stack.h"
#include "lib/support/pytext.h"
#include "lib/support/sha256.h"
#include "lib/text/json_scan.h"
#include "lib/text/parse_cache.h"
#include "lib/text/py_values.h"
#include "lib/text/repr.h"
#include "lib/text/text_buffer.h"
#include "lib/uop/release.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

constexpr std::string_view kFormat = "tgc-graph";

// The only raw args in graphs of 0.12.0: of a CustomKernel, and of a source outside its listing (print_uops.h). In
// these graphs, any other text in "raw" is an error, because a reader in Python might run it.
constexpr std::string_view kRawArgs[] = {"CustomKernel(panic)", "--"};

// Returns true for a text such as "AxisType.WEAK": enum values that 0.12.0 lacks are stored as raw args.
bool is_dotted_name(std::string_view text) {
  bool dot = false, start = true;
  for (char c : text) {
    if (c == '.' && !start) dot = start = true;
    else if (c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (!start && c >= '0' && c <= '9'))
      start = false;
    else return false;
  }
  return dot && !start;
}

class GraphJsonWriter {
 public:
  explicit GraphJsonWriter(Graph& graph) : node_numbers_(graph) {}

  int64_t append_node_lines(UOp root, std::string& out) {
    size_t first = nodes_.size();
    add_nodes(root);
    out_.clear();
    for (size_t i = first; i < nodes_.size(); i++) {
      put("{\"id\":"), out_.put_integer(nodes_[i].id()), put(',');
      put_node(nodes_[i]);
      put('\n');
    }
    out += out_.view();
    return *node_numbers_.find(root);
  }

  // A node inside an arg gets a smaller number than the node that has the arg.
  void add_nodes(UOp root) {
    auto is_new = [&](UOp u) { return !node_numbers_.contains(u); };
    for (UOp u : nodes_.empty() ? toposort(root) : toposort(root, is_new)) {
      add_nodes_of_arg(u.arg());
      add_nodes_of_arg(u.tag());
      if (!is_new(u)) continue;
      node_numbers_[u] = int64_t(nodes_.size());
      nodes_.push_back(u);
    }
  }

  std::string write(const GraphInfo& info, std::span<const UOp> list) {
    put("{\"format\":\"tgc-graph\",\"version\":1");
    if (std::string members = info_members_json(info); !members.empty()) put(','), put(members);
    put(",\"nodes\":[");
    for (size_t i = 0; i < nodes_.size(); i++) {
      put(i ? ",\n{" : "\n{");
      put_node(nodes_[i]);
    }
    put("\n]");
    if (!list.empty()) {
      put(",\"list\":[");
      for (size_t i = 0; i < list.size(); i++) put_number(list[i], i);
      put(']');
    }
    put("}\n");
    return out_.str();
  }

 private:
  void add_nodes_of_arg(Arg a) {
    if (a.is_uop()) call_with_stack([&] { add_nodes(a.uop()); });
    else if (a.is_tuple() || a.kind() == Arg::Kind::Record)
      for (Arg item : a.items()) add_nodes_of_arg(item);
  }

  void put(char c) { out_.put(c); }
  void put(std::string_view s) { out_.put(s); }
  void put_string(std::string_view s) {
    if (find_special_byte<'"', '\\'>(s, 0) == s.size()) return put('"'), put(s), put('"');
    scratch_.clear();
    append_json_string(scratch_, s);
    put(scratch_);
  }
  // Writes u's number as item `i` of a JSON array: with a comma before it, unless `i` is 0.
  void put_number(UOp u, size_t i) {
    if (i) put(',');
    out_.put_integer(*node_numbers_.find(u));
  }
  void dtype(DType d) { d.is_image() ? put(complete_repr(d)) : put(d.repr()); }

  void put_node(UOp u) {  // the caller wrote the opening brace
    Arg a = u.arg();
    std::string_view op = name_of(u.op());
    if (u.is(Op::OTHER)) op = printed_op_name(u), a = printed_arg(u);
    put("\"op\":\""), put(op), put("\",\"dtype\":\""), dtype(u.dtype()), put('"');
    if (u.num_src()) {
      put(",\"src\":[");
      for (size_t i = 0; i < u.num_src(); i++) put_number(u.src(i), i);
      put(']');
    }
    if (!a.is_none()) put(",\"arg\":"), put_arg(a);
    if (!u.tag().is_none()) put(",\"tag\":"), put_arg(u.tag());
    put('}');
  }

  void put_tagged_value(std::string_view key, std::string_view value) {
    put("{\""), put(key), put("\":"), put_string(value), put('}');
  }
  void put_number(Arg a) {
    if (a.kind() == Arg::Kind::Int) return out_.put_integer(a.small_int());
    scratch_.clear();
    a.append_repr(scratch_);
    put(scratch_);
  }

  void put_arg(Arg a) {
    switch (a.kind()) {
      case Arg::Kind::None: put("null"); break;
      case Arg::Kind::Bool: put(a.as_bool() ? "true" : "false"); break;
      case Arg::Kind::Int:
      case Arg::Kind::BigInt: put_number(a); break;
      case Arg::Kind::Float:
        std::isfinite(a.to_const().as_float()) ? put_number(a) : put_tagged_value("float", a.repr());
        break;
      case Arg::Kind::Str: put_string(a.text()); break;
      case Arg::Kind::Bytes: put_tagged_value("bytes", sha256_hex(a.text())); break;
      case Arg::Kind::Raw:
        if (a.text() == kNegativeZero) put(a.text());
        else put_tagged_value(is_dotted_name(a.text()) ? "value" : "raw", a.text());
        break;
      case Arg::Kind::DType: put("{\"value\":\""), dtype(a.dtype()), put("\"}"); break;
      case Arg::Kind::Op: put("{\"value\":\"Ops."), put(name_of(a.op())), put("\"}"); break;
      case Arg::Kind::AxisType: put("{\"value\":\"AxisType."), put(name_of(a.axis_type())), put("\"}"); break;
      case Arg::Kind::Invalid:
      case Arg::Kind::AddrSpace:
      case Arg::Kind::OptOps: put_tagged_value("value", a.repr()); break;
      case Arg::Kind::UOp: put("{\"uop\":"), put_number(a.uop(), 0), put('}'); break;
      case Arg::Kind::Tuple: put_list(a.items()); break;
      case Arg::Kind::Record: put_record(RecordView(a)); break;
    }
  }
  void put_list(std::span<const Arg> items) {
    put('[');
    for (size_t i = 0; i < items.size(); i++) {
      if (i) put(',');
      put_arg(items[i]);
    }
    put(']');
  }

  // Writes {"NAME":{"field":value,...}}. The member "*", an array, has the values without a field name.
  void put_record(RecordView r) {
    put('{'), put_string(r.name()), put(":{");
    size_t i = 0, n = r.size();
    while (i < n && r.field(i).empty()) i++;
    if (i) put("\"*\":"), put_list(r.values().first(i));
    for (; i < n; i++) {
      if (i) put(',');
      put_string(r.field(i)), put(':'), put_arg(r.values()[i]);
    }
    put("}}");
  }

  UOpMap<int64_t> node_numbers_;
  std::vector<UOp> nodes_;
  TextBuffer out_;
  std::string scratch_;
};

class JsonReader {
 public:
  JsonReader(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places)
      : JsonReader(graph, JsonScanner(text, file), places) {}
  JsonReader(Graph& graph, JsonScanner in, NodePlaces* places)
      : graph_(graph), node_places_(places), scanner_(std::move(in)), start_position_(scanner_.position()) {}

  GraphFile read() {
    GraphFile out = read_object();
    scanner_.expect_end();
    return out;
  }

  GraphFile read_object() {
    GraphFile out;
    std::string format, version;
    graph_.set_release(Release::v0_12);
    scanner_.object([&](std::string_view key) {
      if (key == "format") format = scanner_.string();
      else if (key == "version") version = scanner_.number();
      else if (read_info_member(scanner_, key, out.info)) {
        if (key != "producer") return;
        if (!nodes_.empty())
          scanner_.throw_error(scanner_.position(), "the producer after the nodes", "\"producer\" before \"nodes\"");
        graph_.set_release(release_of(out.info.producer));
      } else if (key == "nodes") scanner_.array([&] { nodes_.push_back(read_node()); });
      else if (key == "list") scanner_.array([&] { out.list.push_back(read_node_reference()); });
      else if (key == "texts" && format.empty())  // the output of `tgc dump --format=json` for several graphs
        scanner_.throw_error(start_position_, "several graphs in one text", "one graph; golden records hold several");
      else scanner_.skip_any();
    });
    if (format != kFormat)
      scanner_.throw_error(start_position_, "the format '" + format + "'", R"("format":"tgc-graph")");
    if (version != "1") scanner_.throw_error(start_position_, "version '" + version + "' of the format", "version 1");
    if (nodes_.empty()) scanner_.throw_error(start_position_, "the input holds no graph", "a list of nodes");
    out.root = out.list.empty() ? nodes_.back() : out.list.back();
    return out;
  }

  std::pair<UOp, int64_t> read_node_line(std::string_view text, std::string_view file, uint32_t line) {
    scanner_ = JsonScanner(text, file, line);
    node_id_ = -1;
    UOp u = read_node();
    scanner_.expect_end();
    nodes_.push_back(u);
    return {u, node_id_};
  }
  const std::vector<UOp>& nodes() const { return nodes_; }

 private:
  UOp read_node_reference() {
    const size_t at = scanner_.position();
    const auto short_int = scanner_.short_int();
    const int64_t i = short_int ? *short_int : scanner_.read_int64();
    if (i < 0 || size_t(i) >= nodes_.size())
      scanner_.throw_error(at, "found node " + std::to_string(i), "one of the nodes above");
    return nodes_[size_t(i)];
  }

  UOp read_node() {
    size_t at = scanner_.position();
    std::optional<Op> op;
    std::string other;
    std::optional<DType> dtype;
    Arg a, tag;
    sources_.clear();
    scanner_.object([&](std::string_view key) {
      size_t value_at = scanner_.position();
      if (key == "op") {
        std::string_view name = scanner_.string_view(string_buffer_);
        op = parse_op(name);
        if (graph_.is_foreign() && (!op || *op == Op::OTHER)) op = Op::OTHER, other = name;
        if (!op) scanner_.throw_error(value_at, "unknown op '" + std::string(name) + "'", "an op of tinygrad 0.12.0");
      } else if (key == "dtype") {
        std::string_view text = scanner_.string_view(string_buffer_);
        Arg value = parse_value(text, value_at);
        if (value.kind() != Arg::Kind::DType)
          scanner_.throw_error(value_at, "found '" + std::string(text) + "'", "a dtype");
        dtype = value.dtype();
      } else if (key == "src") {
        scanner_.array([&] { sources_.push_back(read_node_reference()); });
      } else if (key == "arg") {
        a = read_arg();
      } else if (key == "tag") {
        tag = read_arg();
      } else if (key == "id") {
        node_id_ = scanner_.read_int64();
      } else {
        scanner_.skip_any();
      }
    });
    if (!op || !dtype) scanner_.throw_error(at, "a node without its op or dtype", R"("op" and "dtype")");
    if (!graph_.is_foreign()) {
      if (!has_structure(*op, sources_, a)) scanner_.throw_error(at, structure_error(*op, sources_, a));
    } else if (*op == Op::OTHER) {
      a = other_node_arg(graph_, other, a);
    }
    if (node_places_) node_places_->push_back({uint32_t(graph_.size()), at});
    return graph_.node(*op, *dtype, sources_, a, tag);
  }

  // Caches the values, because graphs repeat the same few.
  Arg parse_value(std::string_view text, size_t at) {
    static constinit thread_local ParseCache<DType> known_dtypes;
    const bool is_dtype = text.size() >= sizeof(uint64_t) && text.starts_with("dtypes.");
    if (is_dtype)
      if (const DType* d = known_dtypes.find_value(text);
          d && (graph_.is_foreign() || d->scalar_kind() != Scalar::Other))
        return *d;
    auto known = values_by_text_.find(text);
    if (known != values_by_text_.end()) return known->second;
    auto value = catch_failures([&] { return read_value(graph_, text); });
    if (!value) scanner_.throw_error(at, value.diag().message, value.diag().expected);
    if (is_dtype && value->kind() == Arg::Kind::DType) return known_dtypes.store_value(text, value->dtype()), *value;
    return values_by_text_.emplace(text, *value).first->second;
  }

  Arg read_arg() {
    if (++arg_depth_ > kMaxArgDepth)
      scanner_.throw_error(scanner_.position(), "arguments nested more than " + std::to_string(kMaxArgDepth) + " deep");
    Arg out = arg_depth_ % kStackCheckLevels ? read_arg_value() : call_with_stack([&] { return read_arg_value(); });
    arg_depth_--;
    return out;
  }
  Arg read_arg_value() {
    using Type = JsonScanner::Type;
    switch (scanner_.peek_type()) {
      case Type::Null: scanner_.read_null(); return {};
      case Type::True:
      case Type::False: return scanner_.read_boolean();
      case Type::String: return graph_.str(scanner_.string_view(string_buffer_));
      case Type::Number: return read_number();
      case Type::Array: {
        const size_t first = args_.size();
        scanner_.array([&] { args_.push_back(read_arg()); });
        Arg out = graph_.tuple(std::span(args_).subspan(first));
        args_.resize(first);
        return out;
      }
      case Type::Object: break;
    }
    Arg out;
    size_t at = scanner_.position(), members = 0;
    scanner_.object([&](std::string_view key) {
      members++;
      std::string kind(key);
      out = read_object_arg(kind);
    });
    if (members != 1) scanner_.throw_error(at, "an argument of " + std::to_string(members) + " members", "one member");
    return out;
  }

  Arg read_number() {
    if (auto value = scanner_.short_int()) return *value;
    size_t at = scanner_.position();
    std::string_view text = scanner_.number();
    if (text.find_first_of(".eE") == text.npos) {
      if (text.size() > 5000)
        scanner_.throw_error(at, "an integer of " + std::to_string(text.size()) + " digits", "at most 5000");
      if (auto i = Int::parse(text)) return *i;
    } else if (auto d = parse_py_float(text)) {
      return graph_.is_foreign() ? const_float(graph_, *d) : Arg(*d);
    }
    scanner_.throw_error(at, "found " + std::string(text.substr(0, 40)), "a number");
  }
  Arg read_object_arg(const std::string& kind) {
    size_t at = scanner_.position();
    if (kind == "uop") return read_node_reference();
    if (kind == "value") return parse_value(scanner_.string_view(string_buffer_), at);
    if (kind == "raw") {
      const std::string text = scanner_.string();
      if (!graph_.is_foreign() && std::ranges::find(kRawArgs, text) == std::end(kRawArgs))
        scanner_.throw_error(at, "an argument of the kind raw, '" + text.substr(0, 40) + "'",
                             "data, not the text of a Python object");
      return graph_.raw_arg(text);
    }
    if (kind == "float") {
      std::string text = scanner_.string();
      if (auto d = parse_py_float(text)) return *d;
      scanner_.throw_error(at, "found '" + text + "'", "inf, -inf or nan");
    }
    if (kind == "bytes") {
      if (auto bytes = bytes_from_hex(scanner_.string())) return graph_.bytes(*bytes);
      scanner_.throw_error(at, "malformed bytes", "pairs of hexadecimal digits");
    }
    if (graph_.is_foreign()) return read_open_record(kind);
    auto c = parse_record_class(kind);
    if (!c)
      scanner_.throw_error(at, "an argument of unknown kind '" + kind + "'",
                           "uop, value, float, bytes or a class such as KernelInfo");
    auto fields = fields_of(*c);
    std::vector<Arg> values(fields.size());
    scanner_.object([&](std::string_view name) {
      auto field = std::find(fields.begin(), fields.end(), name);
      if (field == fields.end()) scanner_.throw_error(at, kind + " has no field '" + std::string(name) + "'");
      values[size_t(field - fields.begin())] = read_arg();
    });
    if (!is_valid_record(*c, values)) scanner_.throw_error(at, "a " + kind + " with fields of wrong types");
    return graph_.record(*c, values);
  }

  // Reads a dataclass `name` of another release than 0.12.0, whose fields come next.
  Arg read_open_record(const std::string& name) {
    std::vector<Arg> items{graph_.str(name), Arg()}, fields;
    scanner_.object([&](std::string_view key) {
      std::string field(key);
      if (field == "*" && fields.empty())
        return scanner_.array([&] { items.push_back(read_arg()), fields.push_back(graph_.str("")); });
      fields.push_back(graph_.str(field));
      items.push_back(read_arg());
    });
    items[1] = graph_.tuple(fields);
    return graph_.record(RecordClass::Open, items);
  }

  Graph& graph_;
  NodePlaces* node_places_;
  JsonScanner scanner_;
  size_t start_position_;
  std::vector<UOp> nodes_, sources_;
  std::vector<Arg> args_;
  std::string string_buffer_;
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, Arg, TextHash, std::equal_to<>> values_by_text_;
  int64_t node_id_ = -1;
  int arg_depth_ = 0;
};

}  // namespace

std::string graph_to_json(UOp root, const GraphInfo& info) {
  GraphJsonWriter writer(root.graph());
  writer.add_nodes(root);
  return writer.write(info, {});
}

std::string list_to_json(std::span<const UOp> list, const GraphInfo& info) {
  if (list.empty()) return {};
  GraphJsonWriter writer(list[0].graph());
  for (UOp u : list) writer.add_nodes(u);
  return writer.write(info, list);
}

Result<GraphFile> graph_from_json(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places) {
  return catch_failures([&] { return JsonReader(graph, text, file, places).read(); });
}

Result<GraphFile> graph_from_json(Graph& graph, JsonScanner in, NodePlaces* places) {
  return catch_failures([&] { return JsonReader(graph, std::move(in), places).read_object(); });
}

struct JsonNodeWriter::Impl {
  explicit Impl(Graph& graph) : writer(graph) {}
  GraphJsonWriter writer;
};
JsonNodeWriter::JsonNodeWriter(Graph& graph) : impl_(std::make_unique<Impl>(graph)) {}
JsonNodeWriter::~JsonNodeWriter() = default;
int64_t JsonNodeWriter::append_lines(UOp u, std::string& out) { return impl_->writer.append_node_lines(u, out); }

struct JsonNodeReader::Impl {
  Impl(Graph& graph, std::string name) : file(std::move(name)), reader(graph, {}, file, nullptr) {}
  std::string file;
  JsonReader reader;
};
JsonNodeReader::JsonNodeReader(Graph& graph, std::string file)
    : impl_(std::make_unique<Impl>(graph, std::move(file))) {}
JsonNodeReader::~JsonNodeReader() = default;
std::pair<UOp, int64_t> JsonNodeReader::read_line(std::string_view text, uint32_t line) {
  return impl_->reader.read_node_line(text, impl_->file, line);
}
size_t JsonNodeReader::size() const { return impl_->reader.nodes().size(); }
UOp JsonNodeReader::node_of_line(size_t number) const { return impl_->reader.nodes()[number]; }

}  // namespace tgc
