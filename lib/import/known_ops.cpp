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
  // nullopt: all sources of the recorded node
  std::optional<std::vector<std::variant<int64_t, std::unique_ptr<NodeForm>>>> src;
  ArgForm arg;
  std::string dtype;                // empty: see `dtype_source`
  // number of the source with this dtype; nullopt: the dtype is that of the recorded node
  std::optional<int64_t> dtype_source;
};

struct UpgradeRow {
  std::string op;
  NodeForm replacement;
  Release since = Release::v0_11;  // an unknown release counts as Release::Other
};

// The built-in upgrades, for ops of releases after 0.14. None so far.
constexpr std::string_view kBuiltIn = R"({"format":"tgc-upgrades","version":1,"ops":[
]})";

class UpgradeFileReader {
 public:
  UpgradeFileReader(std::string_view json, const std::string& file) : scanner_(json, file) {}

  std::vector<UpgradeRow> read() {
    std::vector<UpgradeRow> out;
    std::string format, version;
    read_members({"format", "version", "ops"}, [&](std::string_view key) {
      if (key == "format") format = scanner_.string();
      else if (key == "version") version = scanner_.number();
      else scanner_.array([&] { out.push_back(read_row()); });
    });
    scanner_.expect_end();
    if (format != "tgc-upgrades" || version != "1")
      scanner_.throw_error(0, "this is no file of upgrades", R"({"format":"tgc-upgrades","version":1,"ops":[...]})");
    return out;
  }

 private:
  template <class Read>
  void read_members(std::initializer_list<std::string_view> known, Read read) {
    scanner_.object([&](std::string_view key) {
      const size_t at = scanner_.position();
      if (std::ranges::find(known, key) != known.end()) return read(key);
      std::string names;
      for (std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
      scanner_.throw_error(at, "unknown member '" + std::string(key) + "'", names);
    });
  }

  UpgradeRow read_row() {
    const size_t at = scanner_.position();
    UpgradeRow out;
    out.replacement = read_node({"op", "is", "src", "arg", "dtype", "since"}, &out);
    if (out.op.empty()) scanner_.throw_error(at, "a row without 'op'", R"({"op":"NEW","is":"KNOWN"})");
    return out;
  }

  // `to` gets the members that only a row has; null for an object in "src".
  NodeForm read_node(std::initializer_list<std::string_view> known, UpgradeRow* to) {
    const size_t begin = scanner_.position();
    NodeForm out;
    std::string is;
    if (++nesting_depth_ > kMostNested)
      scanner_.throw_error(begin, "nodes nested more than " + std::to_string(kMostNested) + " deep");
    read_members(known, [&](std::string_view key) {
      const size_t at = scanner_.position();
      if (key == "op") to->op = check_name(scanner_.string(), at);
      else if (key == "since") to->since = release_of("tinygrad " + scanner_.string());
      else if (key == "is") is = scanner_.string(), out.op = parse_known_op(is, at);
      else if (key == "arg") out.arg = arg();
      else if (key == "dtype") read_dtype(out);
      else read_sources(out);
    });
    nesting_depth_--;
    if (is.empty() && to && !to->op.empty())
      out.op = parse_known_op(to->op, begin), is = to->op;  // without "is": same op
    if (is.empty() && to) return out;
    if (is.empty()) scanner_.throw_error(begin, "a node without 'is'", R"({"is":"ADD","src":[0,1]})");
    return out;
  }

  void read_sources(NodeForm& out) {
    out.src.emplace();
    scanner_.array([&] {
      if (scanner_.peek_type() == JsonScanner::Type::Object)
        out.src->push_back(std::make_unique<NodeForm>(read_node({"is", "src", "arg", "dtype"}, nullptr)));
      else out.src->push_back(read_number(kMostSources));
    });
  }

  void read_dtype(NodeForm& out) {
    const size_t at = scanner_.position();
    if (scanner_.peek_type() == JsonScanner::Type::Object)
      return read_members({"source"}, [&](std::string_view) { out.dtype_source = read_number(kMostSources); });
    out.dtype = scanner_.string();
    Graph graph;
    graph.set_release(Release::Other);
    auto value = catch_failures([&] { return read_value(graph, out.dtype); });
    if (!value || value->kind() != Arg::Kind::DType) scanner_.throw_error(at, "found '" + out.dtype + "'", "a dtype");
  }

  ArgForm arg() {
    using enum JsonScanner::Type;
    const size_t at = scanner_.position();
    ArgForm out{.kind = ArgForm::Kind::Constant};
    switch (scanner_.peek_type()) {
      case Null: scanner_.read_null(); return out;
      case True:
      case False: return out.constant = scanner_.read_boolean(), out;
      case String: return out.constant = scanner_.string(), out;
      case Number: return read_constant_number(out), out;
      case Array:
        out.kind = ArgForm::Kind::Tuple;
        if (++nesting_depth_ > kMostNested)
          scanner_.throw_error(at, "lists nested more than " + std::to_string(kMostNested) + " deep");
        scanner_.array([&] { out.items.push_back(arg()); });
        nesting_depth_--;
        return out;
      case Object: break;
    }
    out.kind = ArgForm::Kind::Same;
    read_members({"field", "item", "value", "same"}, [&](std::string_view key) {
      if (key == "field") out.kind = ArgForm::Kind::Field, out.text = scanner_.string();
      else if (key == "item") out.kind = ArgForm::Kind::Item, out.item = read_number(kMostSources);
      else if (key == "value") out.kind = ArgForm::Kind::Value, out.text = read_enum_value();
      else scanner_.read_boolean();
    });
    return out;
  }

  void read_constant_number(ArgForm& out) {
    const size_t at = scanner_.position();
    const std::string text(scanner_.number());
    if (text.find_first_of(".eE") != text.npos) out.constant = parse_py_float(text).value_or(0);
    else if (auto i = Int::parse(text); i && i->is_small()) out.constant = i->small_value();
    else scanner_.throw_error(at, "found " + text, "a number of 64 bits");
  }

  std::string read_enum_value() {
    const size_t at = scanner_.position();
    std::string text = scanner_.string();
    const size_t dot = text.find('.');
    if (dot == text.npos) scanner_.throw_error(at, "found '" + text + "'", "a value such as Ops.ADD");
    return check_name(text.substr(0, dot), at), check_name(text.substr(dot + 1), at), text;
  }

  std::string check_name(std::string text, size_t at) {
    auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    auto is_in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    if (text.empty() || !is_letter(text[0]) || !std::ranges::all_of(text, is_in_name))
      scanner_.throw_error(at, "found '" + text + "'", "a name");
    return text;
  }
  Op parse_known_op(const std::string& text, size_t at) {
    const Op op = op_of(text);
    if (op == Op::OTHER)
      scanner_.throw_error(at, "unknown op '" + text + "'", "'is' with an op of tinygrad that tgc knows");
    if (kHoldCode.contains(op)) scanner_.throw_error(at, "the op '" + text + "' holds code", "an op without code");
    return op;
  }
  int64_t read_number(int64_t limit) {
    const size_t at = scanner_.position();
    const int64_t n = scanner_.read_int64();
    if (n < 0 || n >= limit)
      scanner_.throw_error(at, "found " + std::to_string(n), "a number from 0 to " + std::to_string(limit - 1));
    return n;
  }

  JsonScanner scanner_;
  int nesting_depth_ = 0;
};

// A recorded node. Throws DoesNotApply if it lacks a source, or a field or item of its arg, that the row names.
struct RecordedNode {
  struct DoesNotApply {};
  Graph& graph;
  DType dtype;
  std::span<const UOp> src;
  Arg arg;

  UOp source(int64_t i) const {
    if (size_t(i) >= src.size()) throw DoesNotApply();
    return src[size_t(i)];
  }

  Arg replacement(const ArgForm& form) const {
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
        for (const ArgForm& item : form.items) items.push_back(replacement(item));
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

  UOp replacement(const NodeForm& form, Arg tag) const {
    std::vector<UOp> sources;
    if (!form.src) sources.assign(src.begin(), src.end());
    else
      for (auto& s : *form.src)
        sources.push_back(s.index() == 0 ? source(std::get<0>(s)) : replacement(*std::get<1>(s), Arg()));
    DType d = form.dtype_source ? source(*form.dtype_source).dtype() : dtype;
    if (!form.dtype.empty()) d = read_value(graph, form.dtype).dtype();
    return graph.node(form.op, d, sources, replacement(form.arg), tag);
  }
};

std::vector<UpgradeRow>& upgrade_rows() {
  static std::vector<UpgradeRow> all = UpgradeFileReader(kBuiltIn, "built-in upgrades").read();
  return all;
}

}  // namespace

Status load_op_upgrades(std::string_view json, const std::string& file) {
  return catch_failures([&] {
    std::vector<UpgradeRow> own = UpgradeFileReader(json, file).read();
    upgrade_rows().insert(upgrade_rows().begin(), std::make_move_iterator(own.begin()),
                          std::make_move_iterator(own.end()));
    return Unit{};
  });
}

UOp KnownOps::replace_nodes(UOp root) {
  const Release release = root.graph().release();
  if (std::ranges::none_of(upgrade_rows(), [&](const UpgradeRow& row) { return row.since <= release; })) return root;
  for (UOp u : toposort(root, [&](UOp n) { return !replacements_.contains(n); }))
    if (!replacements_.contains(u)) replacements_.emplace(u, replacement_of_node(u));
  return replacements_.at(root);
}

UOp KnownOps::replacement_of_node(UOp u) {
  std::vector<UOp> src;
  for (UOp s : u.src()) src.push_back(replacements_.at(s));
  UOp replacement = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
  for (const UpgradeRow& row : upgrade_rows()) {
    if (row.op != printed_op_name(u) || row.since > u.graph().release()) continue;
    try {
      replacement = RecordedNode{u.graph(), u.dtype(), src, printed_arg(u)}.replacement(row.replacement, u.tag());
      break;
    } catch (const RecordedNode::DoesNotApply&) {
    }
  }
  if (!(replacement == u)) originals_.try_emplace(replacement, u);
  return replacement;
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
