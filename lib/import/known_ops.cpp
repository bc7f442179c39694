#include "lib/import/known_ops.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "lib/text/json_scan.h"
#include "lib/text/py_values.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

// A description must not make ops with code, so that no file decides what is executed.
constexpr OpSet kHoldCode{Op::CUSTOM, Op::CUSTOMI, Op::CUSTOM_FUNCTION, Op::CUSTOM_KERNEL, Op::PROGRAM,
                          Op::SOURCE, Op::BINARY,  Op::INS,             Op::OTHER};
constexpr int64_t kMostSources = 1 << 16;
constexpr int kMostNested = 16;

struct ArgForm {
  enum class Kind : uint8_t { Same, Field, Item, Value, Constant, Tuple } kind = Kind::Same;
  std::string text;  // of a Field: its name; of a Value: its text
  std::variant<std::monostate, bool, int64_t, double, std::string> constant;  // monostate: None
  int64_t item = 0;
  std::vector<ArgForm> items;
};

// "is", "src", "arg" and "dtype" of a row, or of an object in "src".
struct NodeForm {
  Op op = Op::NOOP;
  std::optional<std::vector<std::variant<int64_t, std::unique_ptr<NodeForm>>>> src;  // nullopt: all sources
  ArgForm arg;
  std::string dtype;                // empty: see `dtype_of`
  std::optional<int64_t> dtype_of;  // source with this dtype; nullopt: that of the recorded node
};

struct Row {
  std::string op;
  NodeForm made;
  Release since = Release::v0_11;  // an unknown release counts as Release::Other
};

// The built-in upgrades, for ops of releases after 0.14. None so far.
constexpr std::string_view kBuiltIn = R"({"format":"tgc-upgrades","version":1,"ops":[
]})";

class FileReader {
 public:
  FileReader(std::string_view json, const std::string& file) : in_(json, file) {}

  std::vector<Row> read() {
    std::vector<Row> out;
    std::string format, version;
    members({"format", "version", "ops"}, [&](std::string_view key) {
      if (key == "format") format = in_.string();
      else if (key == "version") version = in_.number();
      else in_.array([&] { out.push_back(row()); });
    });
    in_.expect_end();
    if (format != "tgc-upgrades" || version != "1")
      in_.throw_error(0, "this is no file of upgrades", R"({"format":"tgc-upgrades","version":1,"ops":[...]})");
    return out;
  }

 private:
  template <class Read>
  void members(std::initializer_list<std::string_view> known, Read read) {
    in_.object([&](std::string_view key) {
      const size_t at = in_.position();
      if (std::ranges::find(known, key) != known.end()) return read(key);
      std::string names;
      for (std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
      in_.throw_error(at, "unknown member '" + std::string(key) + "'", names);
    });
  }

  Row row() {
    const size_t at = in_.position();
    Row out;
    out.made = node({"op", "is", "src", "arg", "dtype", "since"}, &out);
    if (out.op.empty()) in_.throw_error(at, "a row without 'op'", R"({"op":"NEW","is":"KNOWN"})");
    return out;
  }

  // `to` gets the members that only a row has; null for an object in "src".
  NodeForm node(std::initializer_list<std::string_view> known, Row* to) {
    const size_t begin = in_.position();
    NodeForm out;
    std::string is;
    if (++nested_ > kMostNested)
      in_.throw_error(begin, "nodes nested more than " + std::to_string(kMostNested) + " deep");
    members(known, [&](std::string_view key) {
      const size_t at = in_.position();
      if (key == "op") to->op = name(in_.string(), at);
      else if (key == "since") to->since = release_of("tinygrad " + in_.string());
      else if (key == "is") is = in_.string(), out.op = known_op(is, at);
      else if (key == "arg") out.arg = arg();
      else if (key == "dtype") read_dtype(out);
      else sources(out);
    });
    nested_--;
    if (is.empty() && to && !to->op.empty()) out.op = known_op(to->op, begin), is = to->op;  // without "is": same op
    if (is.empty() && to) return out;
    if (is.empty()) in_.throw_error(begin, "a node without 'is'", R"({"is":"ADD","src":[0,1]})");
    return out;
  }

  void sources(NodeForm& out) {
    out.src.emplace();
    in_.array([&] {
      if (in_.peek_type() == JsonScanner::Type::Object)
        out.src->push_back(std::make_unique<NodeForm>(node({"is", "src", "arg", "dtype"}, nullptr)));
      else out.src->push_back(number(kMostSources));
    });
  }

  void read_dtype(NodeForm& out) {
    const size_t at = in_.position();
    if (in_.peek_type() == JsonScanner::Type::Object)
      return members({"source"}, [&](std::string_view) { out.dtype_of = number(kMostSources); });
    out.dtype = in_.string();
    Graph graph;
    graph.set_release(Release::Other);
    auto value = catch_failures([&] { return read_value(graph, out.dtype); });
    if (!value || value->kind() != Arg::Kind::DType) in_.throw_error(at, "found '" + out.dtype + "'", "a dtype");
  }

  ArgForm arg() {
    using enum JsonScanner::Type;
    const size_t at = in_.position();
    ArgForm out{.kind = ArgForm::Kind::Constant};
    switch (in_.peek_type()) {
      case Null: in_.read_null(); return out;
      case True:
      case False: return out.constant = in_.read_boolean(), out;
      case String: return out.constant = in_.string(), out;
      case Number: return constant_number(out), out;
      case Array:
        out.kind = ArgForm::Kind::Tuple;
        if (++nested_ > kMostNested)
          in_.throw_error(at, "lists nested more than " + std::to_string(kMostNested) + " deep");
        in_.array([&] { out.items.push_back(arg()); });
        nested_--;
        return out;
      case Object: break;
    }
    out.kind = ArgForm::Kind::Same;
    members({"field", "item", "value", "same"}, [&](std::string_view key) {
      if (key == "field") out.kind = ArgForm::Kind::Field, out.text = in_.string();
      else if (key == "item") out.kind = ArgForm::Kind::Item, out.item = number(kMostSources);
      else if (key == "value") out.kind = ArgForm::Kind::Value, out.text = enum_value();
      else in_.read_boolean();
    });
    return out;
  }

  void constant_number(ArgForm& out) {
    const size_t at = in_.position();
    const std::string text(in_.number());
    if (text.find_first_of(".eE") != text.npos) out.constant = parse_py_float(text).value_or(0);
    else if (auto i = Int::parse(text); i && i->is_small()) out.constant = i->small_value();
    else in_.throw_error(at, "found " + text, "a number of 64 bits");
  }

  std::string enum_value() {
    const size_t at = in_.position();
    std::string text = in_.string();
    const size_t dot = text.find('.');
    if (dot == text.npos) in_.throw_error(at, "found '" + text + "'", "a value such as Ops.ADD");
    return name(text.substr(0, dot), at), name(text.substr(dot + 1), at), text;
  }

  std::string name(std::string text, size_t at) {
    auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    auto is_in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    if (text.empty() || !is_letter(text[0]) || !std::ranges::all_of(text, is_in_name))
      in_.throw_error(at, "found '" + text + "'", "a name");
    return text;
  }
  Op known_op(const std::string& text, size_t at) {
    const Op op = op_of(text);
    if (op == Op::OTHER) in_.throw_error(at, "unknown op '" + text + "'", "'is' with an op of tinygrad that tgc knows");
    if (kHoldCode.contains(op)) in_.throw_error(at, "the op '" + text + "' holds code", "an op without code");
    return op;
  }
  int64_t number(int64_t limit) {
    const size_t at = in_.position();
    const int64_t n = in_.read_int64();
    if (n < 0 || n >= limit)
      in_.throw_error(at, "found " + std::to_string(n), "a number from 0 to " + std::to_string(limit - 1));
    return n;
  }

  JsonScanner in_;
  int nested_ = 0;
};

// A recorded node. Throws DoesNotApply if it lacks a source, or a field or item of its arg, that the row names.
struct Recorded {
  struct DoesNotApply {};
  Graph& graph;
  DType dtype;
  std::span<const UOp> src;
  Arg arg;

  UOp source(int64_t i) const {
    if (size_t(i) >= src.size()) throw DoesNotApply();
    return src[size_t(i)];
  }

  Arg made(const ArgForm& form) const {
    switch (form.kind) {
      case ArgForm::Kind::Same: return arg;
      case ArgForm::Kind::Item:
        if (!arg.is_tuple() || size_t(form.item) >= arg.items().size()) throw DoesNotApply();
        return arg.items()[size_t(form.item)];
      case ArgForm::Kind::Field: {
        if (arg.kind() != Arg::Kind::Record) throw DoesNotApply();
        const RecordView fields(arg);
        for (size_t i = 0; i < fields.size(); i++)
          if (fields.field(i) == form.text) return fields.values()[i];
        throw DoesNotApply();
      }
      case ArgForm::Kind::Value: return read_value(graph, form.text);
      case ArgForm::Kind::Tuple: {
        std::vector<Arg> items;
        for (const ArgForm& item : form.items) items.push_back(made(item));
        return graph.tuple(items);
      }
      case ArgForm::Kind::Constant: break;
    }
    if (auto text = std::get_if<std::string>(&form.constant)) return graph.str(*text);
    if (auto truth = std::get_if<bool>(&form.constant)) return *truth;
    if (auto whole = std::get_if<int64_t>(&form.constant)) return *whole;
    if (auto real = std::get_if<double>(&form.constant)) return *real;
    return {};
  }

  UOp made(const NodeForm& form, Arg tag) const {
    std::vector<UOp> sources;
    if (!form.src) sources.assign(src.begin(), src.end());
    else
      for (auto& s : *form.src)
        sources.push_back(s.index() == 0 ? source(std::get<0>(s)) : made(*std::get<1>(s), Arg()));
    DType d = form.dtype_of ? source(*form.dtype_of).dtype() : dtype;
    if (!form.dtype.empty()) d = read_value(graph, form.dtype).dtype();
    return graph.node(form.op, d, sources, made(form.arg), tag);
  }
};

std::vector<Row>& rows() {
  static std::vector<Row> all = FileReader(kBuiltIn, "built-in upgrades").read();
  return all;
}

}  // namespace

Status load_op_upgrades(std::string_view json, const std::string& file) {
  return catch_failures([&] {
    std::vector<Row> own = FileReader(json, file).read();
    rows().insert(rows().begin(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    return Unit{};
  });
}

UOp KnownOps::replace_nodes(UOp root) {
  const Release release = root.graph().release();
  if (std::ranges::none_of(rows(), [&](const Row& row) { return row.since <= release; })) return root;
  for (UOp u : toposort(root, [&](UOp n) { return !replacements_.contains(n); }))
    if (!replacements_.contains(u)) replacements_.emplace(u, replacement_of_node(u));
  return replacements_.at(root);
}

UOp KnownOps::replacement_of_node(UOp u) {
  std::vector<UOp> src;
  for (UOp s : u.src()) src.push_back(replacements_.at(s));
  UOp made = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
  for (const Row& row : rows()) {
    if (row.op != printed_op_name(u) || row.since > u.graph().release()) continue;
    try {
      made = Recorded{u.graph(), u.dtype(), src, printed_arg(u)}.made(row.made, u.tag());
      break;
    } catch (const Recorded::DoesNotApply&) {
    }
  }
  if (!(made == u)) originals_.try_emplace(made, u);
  return made;
}

UOp KnownOps::original(UOp u) const {
  auto found = originals_.find(u);
  return found == originals_.end() ? u : found->second;
}

std::string unknown_op_reason(UOp u) {
  return "tgc does not know Ops." + std::string(printed_op_name(u)) +
         "; --upgrades=FILE can say what it is (`tgc help upgrades`)";
}

}  // namespace tgc
