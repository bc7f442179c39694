#include "lib/records/svod_tree.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "lib/text/py_values.h"
#include "lib/text/repr.h"

namespace tgc {
namespace {

struct NamePair {
  std::string_view svod, tinygrad;
};

// Ops that Svod names differently; it prints arithmetic in CamelCase.
constexpr NamePair kOps[] = {
    {"Neg", "NEG"},       {"Sqrt", "SQRT"},         {"Exp2", "EXP2"},         {"Log2", "LOG2"},
    {"Sin", "SIN"},       {"Trunc", "TRUNC"},       {"Add", "ADD"},           {"Mul", "MUL"},
    {"Sub", "SUB"},       {"FloorMod", "FLOORMOD"}, {"CMod", "CMOD"},         {"Max", "MAX"},
    {"Pow", "POW"},       {"FloorDiv", "FLOORDIV"}, {"CDiv", "CDIV"},         {"Fdiv", "FDIV"},
    {"Lt", "CMPLT"},      {"Eq", "CMPEQ"},          {"Ne", "CMPNE"},          {"And", "AND"},
    {"Or", "OR"},         {"Xor", "XOR"},           {"Shl", "SHL"},           {"Shr", "SHR"},
    {"Where", "WHERE"},   {"MulAcc", "MULACC"},     {"Threefry", "THREEFRY"}, {"Reciprocal", "RECIPROCAL"},
    {"END_IF", "ENDIF"},  {"INVALID", "CONST"},
};
// Ops whose arg is None, the dtype or, for a SINK, a KernelInfo.
constexpr std::string_view kPlainOps[] = {
    "SINK", "END", "STORE", "INDEX", "LOAD", "CAST", "BITCAST", "GROUP", "RESHAPE", "EXPAND", "PAD", "SHRINK",
    "CONTIGUOUS", "CONTIGUOUS_BACKWARD", "MSTACK", "IF", "BARRIER", "DETACH", "AFTER", "NOOP", "STACK", "TUPLE"};
// Ops whose arg the tree prints.
constexpr std::string_view kOpsWithArg[] = {"CONST", "PARAM",   "BUFFER",   "RANGE",  "REDUCE", "PERMUTE",
                                            "FLIP",  "SPECIAL", "GETTUPLE", "MSELECT"};
// Ops whose arg the tree omits or truncates, so that it cannot be read.
constexpr std::string_view kOpsWithoutArg[] = {
    "STAGE", "CALL",   "FUNCTION", "PROGRAM", "LINEAR",     "SOURCE",   "BINARY",          "INS", "VCONST",
    "MULTI", "COPY",   "CUSTOM",   "SLICE",   "ALL_REDUCE", "CUSTOM_I", "CUSTOM_FUNCTION", "WMMA", "GETADDR"};
constexpr NamePair kDTypes[] = {
    {"Bool", "bool"},         {"WeakInt", "weakint"},   {"WeakFloat", "weakfloat"}, {"Int8", "char"},
    {"UInt8", "uchar"},       {"Int16", "short"},       {"UInt16", "ushort"},       {"Int32", "int"},
    {"UInt32", "uint"},       {"Int64", "long"},        {"UInt64", "ulong"},        {"Float16", "half"},
    {"BFloat16", "bfloat16"}, {"Float32", "float"},     {"Float64", "double"},      {"Void", "void"},
    {"FP8E4M3", "fp8e4m3"},   {"FP8E5M2", "fp8e5m2"},   {"FP8E4M3FNUZ", "fp8e4m3fnuz"}, {"FP8E5M2FNUZ", "fp8e5m2fnuz"}};
constexpr std::string_view kKernelInfo =
    "KernelInfo(name='test', axis_types=(), dont_use_locals=False, applied_opts=(), opts_to_apply=None, "
    "estimates=None, beam=0)";
constexpr std::string_view kVariableSlot = "18446744073709551615";  // the slot that Svod gives to a variable

std::string_view tinygrad_name(std::span<const NamePair> names, std::string_view svod) {
  auto found = std::ranges::find(names, svod, &NamePair::svod);
  return found == names.end() ? std::string_view() : found->tinygrad;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string_view> text_between(std::string_view text, std::string_view open, std::string_view close) {
  if (!take_prefix(text, open) || !text.ends_with(close)) return std::nullopt;
  return text.substr(0, text.size() - close.size());
}

class SvodTreeReader : public PyScanner {
 public:
  SvodTreeReader(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places)
      : PyScanner(text, file), graph_(graph), places_(places) {}

  UOp read() {
    for (size_t next; position_ < input_text_.size(); position_ = next) {
      const size_t end = std::min(input_text_.find('\n', position_), input_text_.size());
      next = end + 1;
      std::string_view line = input_text_.substr(position_, end - position_);
      line = line.substr(0, line.find_last_not_of(" \r") + 1);
      if (!line.empty() && line[0] != '#') read_node(line);
    }
    close_nodes(0);
    if (!root_) throw_error(0, "the input holds no tree", "a line such as '[97] SINK[KERNEL] : Scalar(Void)'");
    return root_;
  }

 private:
  struct OpenNode {
    size_t text_offset;
    std::string_view id;
    Op op;
    DType dtype;
    Arg arg;
    std::optional<size_t> num_expected_sources;
    std::vector<UOp> sources;
  };

  size_t offset_of(std::string_view part) const { return size_t(part.data() - input_text_.data()); }

  // `text` is Python text, into which the text at byte `at` was translated.
  Arg read_python_value(size_t at, const std::string& text) {
    auto value = catch_failures([&] { return read_value(graph_, text); });
    if (!value) throw_error(at, value.diag().message, value.diag().expected);
    return *value;
  }

  // A line has the branches of the tree, then a node or a reference to a node above.
  void read_node(std::string_view line) {
    std::string_view rest = line;
    size_t depth = 0;
    while (take_prefix(rest, "│   ") || take_prefix(rest, "    ")) depth++;
    if (take_prefix(rest, "├── ") || take_prefix(rest, "└── ")) depth++;
    const size_t at = offset_of(rest);
    const size_t bracket = rest.find("] ");
    if (!rest.starts_with('[') || bracket == rest.npos)
      throw_error(at, "found " + found_text(at), "a node such as '[5] Add : Scalar(Float32) shape=[]'");
    const std::string_view id = rest.substr(1, bracket - 1);
    rest.remove_prefix(bracket + 2);
    if (depth > open_nodes_.size() || (depth == 0 && (root_ || !open_nodes_.empty())))
      throw_error(at, depth ? "a node without the node above it" : "a second tree in one text", "one tree");
    close_nodes(depth);
    if (!rest.starts_with("→")) return open_node(at, id, rest);
    auto known = nodes_.find(id);
    if (known == nodes_.end()) throw_error(at, "no node [" + std::string(id) + "] above this line", "a node above");
    if (open_nodes_.empty()) throw_error(at, "a tree that is a reference", "a node");
    open_nodes_.back().sources.push_back(known->second);
  }

  // `label` is the part of the line after the node's id.
  void open_node(size_t text_offset, std::string_view id, std::string_view label) {
    const size_t colon = label.find(" : ");
    if (colon == label.npos) throw_error(text_offset, "a node without its dtype", "'NAME : DTYPE'");
    const std::string_view name = label.substr(0, colon);
    std::string_view type = label.substr(colon + 3);
    type = type.substr(0, type.find(" shape="));
    OpenNode f{.text_offset = text_offset,
               .id = id,
               .op = Op::NOOP,
               .dtype = {},
               .arg = {},
               .num_expected_sources = {},
               .sources = {}};
    const std::string dtype_text = python_dtype(type);
    f.dtype = read_python_value(offset_of(type), dtype_text).dtype();
    std::string_view word = name.substr(0, name.find_first_of("(["));
    const std::string_view args = name.substr(word.size());
    std::string_view known = tinygrad_name(kOps, word);
    if (known.empty() && (std::ranges::count(kPlainOps, word) || std::ranges::count(kOpsWithArg, word))) known = word;
    if (known.empty() && std::ranges::count(kOpsWithoutArg, word))
      throw_error(offset_of(name), "the tree omits the arg of '" + std::string(word) + "'",
                  "an op whose arg a tree prints");
    if (known.empty())
      throw_error(offset_of(name), "unknown op '" + std::string(word) + "'",
                  "an op of Svod that tinygrad 0.14 has, too");
    f.op = op_of(known);
    const std::string arg = arg_text(word, args, dtype_text);
    if (!arg.empty()) f.arg = read_python_value(offset_of(name), arg);
    if (f.op == Op::CONST) f.arg = const_float(graph_, f.arg);
    if (auto length = text_between(args, "(len=", ")"); length && (f.op == Op::STACK || f.op == Op::TUPLE))
      f.num_expected_sources = size_t(std::strtoull(std::string(*length).c_str(), nullptr, 10));
    open_nodes_.push_back(std::move(f));
  }

  void close_nodes(size_t depth) {
    while (open_nodes_.size() > depth) {
      OpenNode f = std::move(open_nodes_.back());
      open_nodes_.pop_back();
      if (f.num_expected_sources && *f.num_expected_sources != f.sources.size())
        throw_error(f.text_offset, "found " + std::to_string(f.sources.size()) + " sources",
                    std::to_string(*f.num_expected_sources));
      if (places_) places_->push_back({uint32_t(graph_.size()), f.text_offset});
      UOp u = graph_.node(f.op, f.dtype, f.sources, f.arg);
      nodes_[f.id] = u;
      if (open_nodes_.empty()) root_ = u;
      else open_nodes_.back().sources.push_back(u);
    }
  }

  // Returns "dtypes.float" for "Scalar(Float32)".
  std::string python_dtype(std::string_view type) const {
    auto scalar = text_between(type, "Scalar(", ")");
    std::string_view known = scalar ? tinygrad_name(kDTypes, *scalar) : std::string_view();
    if (known.empty())
      throw_error(offset_of(type), "unknown dtype '" + std::string(type) + "'", "a scalar that tinygrad 0.14 has, too");
    return "dtypes." + std::string(known);
  }

  // Returns the Python text of the arg that the tree prints as `args` after the op's name; "" for None.
  std::string arg_text(std::string_view word, std::string_view args, const std::string& dtype) const {
    auto wrong = [&]() -> std::string {
      throw_error(offset_of(args), "found '" + std::string(args) + "' behind " + std::string(word),
                  "the arg as Svod prints it");
    };
    auto list = [&](std::optional<std::string_view> items) -> std::string {
      if (!items) return wrong();
      return items->empty() ? "()" : "(" + std::string(*items) + ",)";
    };
    if (word == "INVALID") return "Invalid";
    if (word == "SINK") return args == "[KERNEL]" ? std::string(kKernelInfo) : args.empty() ? "" : wrong();
    if (word == "CAST" || word == "BITCAST") return dtype;
    if (word == "CONST") return constant_text(args);
    if (word == "PARAM" || word == "BUFFER") return param_arg_text(args, dtype);
    if (word == "PERMUTE") return list(text_between(args, "(axes=[", "])"));
    if (word == "FLIP") {
      std::string text = list(text_between(args, "(axes=[", "])"));
      for (auto [rust, python] : {std::pair("true", "True"), std::pair("false", "False")})
        for (size_t at; (at = text.find(rust)) != text.npos;) text.replace(at, std::string_view(rust).size(), python);
      return text;
    }
    if (word == "RANGE") {
      auto inner = text_between(args, "(", ")");
      const size_t comma = inner ? inner->find(", ") : args.npos;
      if (comma == args.npos || (!inner->starts_with('R') && !inner->starts_with('U'))) return wrong();
      std::string path(inner->substr(1, comma - 1)), type(inner->substr(comma + 2));
      for (size_t at; (at = path.find('_')) != path.npos;) path.replace(at, 1, ", ");
      if (type == "GroupReduce") type = "GROUP_REDUCE";
      std::ranges::transform(type, type.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
      return "(" + path + ", AxisType." + type + ")";
    }
    if (word == "REDUCE") {
      auto inner = text_between(args, "(", ")");
      if (!inner) return wrong();
      std::string_view op = tinygrad_name(kOps, inner->substr(0, inner->find(','))), axes = *inner;
      axes.remove_prefix(std::min(axes.find(", num_axes="), axes.size()));
      if (op.empty() || !take_prefix(axes, ", num_axes=")) return wrong();
      return "(Ops." + std::string(op) + ", " + std::string(axes.substr(0, axes.find(','))) + ")";
    }
    auto inner = text_between(args, word == "MSELECT" ? "(idx=" : "(", ")");
    if (std::ranges::count(kOpsWithArg, word)) return inner ? std::string(*inner) : wrong();
    if (!args.empty() && word != "STACK" && word != "TUPLE") return wrong();
    return "";
  }

  std::string constant_text(std::string_view args) const {
    for (std::string_view kind : {"(Int(", "(UInt(", "(Float(", "(Bool("})
      if (auto value = text_between(args, kind, "))"))
        return *value == "true" ? "True" : *value == "false" ? "False" : *value == "NaN" ? "nan" : std::string(*value);
    throw_error(offset_of(args), "found '" + std::string(args) + "'", "a constant such as '(Float(1.0))'");
  }

  // Returns the Python text of the ParamArg for "(slot=1)" or "(slot=1, addrspace=Some(Reg))".
  std::string param_arg_text(std::string_view args, const std::string& dtype) const {
    auto inner = text_between(args, "(slot=", ")");
    if (!inner) throw_error(offset_of(args), "found '" + std::string(args) + "'", "the number of a buffer, '(slot=0)'");
    const std::string_view slot = inner->substr(0, inner->find(','));
    std::string_view space = inner->substr(slot.size());
    if (slot == kVariableSlot)
      throw_error(offset_of(args), "a variable, whose name and bounds the tree omits", "the number of a buffer");
    std::string text = "ParamArg(" + std::string(slot) + ", " + dtype;
    if (take_prefix(space, ", addrspace=Some(") && space == "Reg)") text += ", addrspace=AddrSpace.REG";
    else if (space == "Local)") text += ", addrspace=AddrSpace.LOCAL";
    else if (space != "" && space != "Global)")
      throw_error(offset_of(args), "unknown address space in '" + std::string(args) + "'");
    return text + ")";
  }

  Graph& graph_;
  NodePlaces* places_;
  UOp root_;
  std::vector<OpenNode> open_nodes_;
  std::unordered_map<std::string_view, UOp> nodes_;  // complete nodes, by the tree's ids
};

}  // namespace

bool is_start_of_svod_tree(std::string_view line) {
  if (!line.starts_with('[')) return false;
  const size_t digits = line.find_first_not_of("0123456789", 1);
  return digits != line.npos && digits > 1 && line.substr(digits, 2) == "] " &&
         line.substr(0, line.find('\n')).find(" : ") != line.npos;
}

Result<UOp> read_svod_tree(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places) {
  return catch_failures([&] { return SvodTreeReader(graph, text, file, places).read(); });
}

}  // namespace tgc
