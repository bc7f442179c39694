#include "lib/diff/renames.h"

#include <algorithm>
#include <array>

#include "lib/records/input_file.h"
#include "lib/support/lines.h"
#include "lib/support/pytext.h"

namespace tgc {
namespace {

struct RenameRow {
  std::string_view kind;
  std::string_view since, from, to;  // `since` is a release of releases.def
};
constexpr RenameRow kRows[] = {
#define X(kind, since, from, to) {#kind, since, from, to},
#include "lib/diff/renames.def"
#undef X
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a word or a "quoted text" from the beginning of `line`.
std::optional<std::string> take_word(std::string_view& line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return std::nullopt;
  line.remove_prefix(begin);
  const bool quoted = line[0] == '"';
  size_t end = quoted ? line.find('"', 1) : std::min(line.find_first_of(" \t"), line.size());
  if (end == line.npos) return std::nullopt;
  std::string word(line.substr(quoted, end - quoted));
  line.remove_prefix(end + quoted);
  return word;
}

// Ops and dtypes that releases represent differently, and how graphs are converted before the comparison.

constexpr std::string_view kForms[] = {
    "PARAM",    // its arg becomes its slot or name; its sources and an empty tag are removed
    "BUFFER",   // its arg becomes its number in the order of buffers; its sources and an empty tag are removed
    "COPY",     // the device is removed
    "CAST",     // the dtype in its arg is removed
    "BITCAST",  // the dtype in its arg is removed
    "REDUCE",   // the axes in its arg are replaced by their number
    "CONST",    // the dtype of numbers, and of ops on numbers only, becomes weak; their device and shape are removed
    "VCONST",   // becomes a STACK of its elements
    "STACK",    // its dtype becomes that of its elements
    "SHRINK",   // in the earlier release, constant ends of the axes become lengths
    "PAD",      // only the tensor and the padding before each axis are kept
    "SINK",     // a KernelInfo with only default fields is removed
    "CALL",     // the metadata of the earlier release's CallInfo is removed
    "INDEX",    // a pointer dtype, except of an image, becomes that of the element
    "pointer",  // a pointer dtype becomes its element dtype
};
bool is_known_form(std::string_view name) {
  return std::find(std::begin(kForms), std::end(kForms), name) != std::end(kForms);
}

// Returns the name or slot in a ParamArg, or the name in the arg of a DEFINE_VAR; other args unchanged.
Arg name_or_slot_of_param(Arg a) {
  if (a.is_tuple() && !a.items().empty() && a[0].is_str()) return a[0];
  if (!a.is(RecordClass::Open)) return a;
  RecordView record(a);
  for (size_t i = 0; i < record.size(); i++)
    if (record.field(i) == "name" && record.values()[i].is_str()) return record.values()[i];
  return record.size() && record.field(0).empty() ? record.values()[0] : a;
}

// Returns true for a KernelInfo with only default fields, which newer releases omit.
bool has_only_defaults(Arg a) {
  RecordView record(a);
  if (record.name() != "KernelInfo") return false;
  auto is_empty = [](Arg v) { return v.is_none() || v == Arg(false) || (v.is_tuple() && v.items().empty()); };
  for (size_t i = 0; i < record.size(); i++) {
    Arg value = record.values()[i];
    const bool is_usual_name = record.field(i) == "name" && value.is_str() && value.text() == "test";
    if (!is_usual_name && !is_empty(value)) return false;
  }
  return true;
}

DType weak_dtype_of(Arg value, DType d) {
  switch (value.kind()) {
    case Arg::Kind::Bool:
    case Arg::Kind::Invalid: return dtypes::bool_;
    case Arg::Kind::Int:
    case Arg::Kind::BigInt: return dtypes::parse_any_release("weakint");
    case Arg::Kind::Float: return dtypes::parse_any_release("weakfloat");
    default: return d;
  }
}

bool is_weak_dtype(DType d) { return d.repr() == "dtypes.weakint" || d.repr() == "dtypes.weakfloat"; }

std::span<const UOp> dimensions(const UOp& u) { return u.is(Op::STACK) ? u.src() : std::span(&u, 1); }

// Returns end - begin for each dimension; the empty UOp if they are not constant or differ in number.
UOp axis_lengths(UOp begin, UOp end) {
  auto from = dimensions(begin), to = dimensions(end);
  std::vector<UOp> out;
  for (size_t i = 0; i < std::min(from.size(), to.size()); i++) {
    if (!from[i].is_const() || !to[i].is_const() || !from[i].arg().is_int() || !to[i].arg().is_int()) return {};
    out.push_back(to[i].with_arg(to[i].arg().as_int() - from[i].arg().as_int()));
  }
  if (from.size() != to.size() || out.empty()) return {};
  return end.is(Op::STACK) ? end.with_src(out) : out[0];
}

}  // namespace

struct RenameTable::NodeParts {
  Op op;
  DType dtype;
  std::vector<UOp> src;
  Arg arg;
  bool is_older;
  int64_t num_buffers = 0;  // number of BUFFERs converted before this node
  UOp replacement = {};  // if set, replaces the node
};

void RenameTable::convert_to_common_form(Graph& graph, NodeParts& node) const {
  auto has = [&](std::string_view form) { return converted_forms_.find(form) != converted_forms_.end(); };
  if (has("pointer") && node.dtype.is_ptr()) node.dtype = node.dtype.base();
  if (has("CONST") && !node.src.empty()) {
    const bool moves = OpSet{Op::RESHAPE, Op::EXPAND, Op::PERMUTE}.contains(node.op);
    if (moves && node.src[0].is_const()) return void(node.replacement = node.src[0]);
    const bool computes = (ops::Unary | ops::Binary).contains(node.op) && node.dtype != dtypes::bool_;
    auto is_int = [](DType d) { return d.repr() == "dtypes.weakint"; };
    if (computes && std::ranges::all_of(node.src, is_weak_dtype, &UOp::dtype))
      node.dtype =
          dtypes::parse_any_release(std::ranges::all_of(node.src, is_int, &UOp::dtype) ? "weakint" : "weakfloat");
  }
  if (node.op != Op::CONST && !has(name_of(node.op))) return;
  switch (node.op) {
    case Op::STACK: node.dtype = node.dtype.scalar(); break;
    case Op::INDEX:
      if (node.dtype.is_ptr() && !node.dtype.is_image()) node.dtype = node.dtype.base().vec(node.dtype.vcount());
      break;
    case Op::SHRINK:
      if (!node.is_older || node.src.size() != 3) break;
      if (UOp size = axis_lengths(node.src[1], node.src[2])) node.src[2] = size;
      break;
    case Op::SINK:
      if (node.arg.kind() == Arg::Kind::Record && has_only_defaults(node.arg)) node.arg = {};
      break;
    case Op::PAD: node.src.resize(std::min<size_t>(node.src.size(), 2)); break;
    case Op::CALL:
      if (node.is_older && node.arg.is(RecordClass::Open) && RecordView(node.arg).size() == 5) {
        RecordView call(node.arg);
        std::vector<Arg> fields, values{graph.str(call.name()), Arg()};
        for (size_t i = 0; i < call.size(); i++)
          if (i != 1) fields.push_back(graph.str(call.field(i))), values.push_back(call.values()[i]);
        values[1] = graph.tuple(fields);
        node.arg = graph.record(RecordClass::Open, values);
      }
      break;
    case Op::PARAM:
      node.arg = name_or_slot_of_param(node.arg);
      node.src.clear();
      break;
    case Op::BUFFER:
      node.arg = node.num_buffers++;
      node.src.clear();
      break;
    case Op::COPY:
      node.src.resize(std::min<size_t>(node.src.size(), 1));
      node.arg = {};
      break;
    case Op::CAST:
    case Op::BITCAST: node.arg = {}; break;
    case Op::REDUCE:
      if (node.arg.is_op()) node.arg = graph.tuple({node.arg, Arg(int64_t(0))});
      else if (node.arg.is_tuple() && node.arg.items().size() == 2 && node.arg[1].is_tuple())
        node.arg = graph.tuple({node.arg[0], Arg(int64_t(node.arg[1].items().size()))});
      break;
    case Op::CONST:
      if (has("VCONST") && !has("CONST") && node.arg.is_tuple() && node.dtype.count() > 1) {
        std::vector<UOp> elements;
        for (Arg value : node.arg.items()) elements.push_back(graph.node(Op::CONST, node.dtype.scalar(), {}, value));
        node.replacement = graph.node(Op::STACK, node.dtype, elements);
      }
      if (!has("CONST")) break;
      std::erase_if(node.src, [](UOp s) { return s.is(Op::DEVICE); });
      if (has("STACK") && node.dtype.count() > 1) {
        std::vector<UOp> elements;
        for (int32_t i = 0; i < node.dtype.count(); i++) {
          Arg value = node.arg.is_tuple() && size_t(i) < node.arg.items().size() ? node.arg[size_t(i)] : node.arg;
          elements.push_back(graph.node(Op::CONST, weak_dtype_of(value, node.dtype.scalar()), node.src, value));
        }
        node.replacement = graph.node(Op::STACK, elements[0].dtype(), elements);
        break;
      }
      node.dtype = weak_dtype_of(node.arg, node.dtype);
      break;
    default: break;
  }
}

// Returns true if the text between `before` and `after`, such as "n1", is the suffix by which tinygrad distinguishes
// kernels of one name.
static bool is_name_counter(std::string_view before, std::string_view after) {
  if (before.ends_with("[90m") && (after.starts_with("\x1b[0m") || after.starts_with("\\x1b[0m"))) return true;
  auto is_word = [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  if (!after.empty() && is_word(after[0])) return false;
  size_t begin = before.size();
  while (begin > 0 && is_word(before[begin - 1])) begin--;
  const std::string_view name = before.substr(begin);
  return (name.starts_with("E_") || name.starts_with("r_")) && is_digit(name.back());
}

std::string remove_name_counters(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (text[at] == 'n' && end < text.size() && is_digit(text[end])) end++;
    if (end == at + 1 || !is_name_counter(out, text.substr(end))) out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string plain_kernel_name(std::string_view name) { return ansistrip(remove_name_counters(name)); }

RenameTable RenameTable::for_releases(Release a, Release b) {
  RenameTable out;
  for (const RenameRow& row : kRows) {
    const Release since = release_of("tinygrad " + std::string(row.since));
    if (since > std::min(a, b) && since <= std::max(a, b)) out.add_rename(row.kind, row.from, row.to);
  }
  return out;
}

Result<RenameTable> RenameTable::read(std::string_view text, std::string_view file) {
  RenameTable out;
  uint32_t number = 0;
  for (std::string_view line : lines_of(text)) {
    number++;
    line = trimmed_line(line);
    if (line.empty() || line.starts_with('#')) continue;
    auto kind = take_word(line), from = take_word(line), to = take_word(line);
    if (kind == "form") to.emplace();
    if (!kind || !from || !to || !out.add_rename(*kind, *from, *to))
      return Diag{.message = "a line that is no rename",
                  .file = std::string(file),
                  .line = number,
                  .expected = "op, dtype, value, stage or field, the old name and the new one; or form and its name"};
  }
  return out;
}

Result<std::optional<RenameTable>> read_requested_renames(const std::string& option) {
  if (option.empty()) return std::optional<RenameTable>();
  if (option == "none") return std::optional(RenameTable());
  auto text = read_file(option);
  if (!text) return text.diag();
  auto read = RenameTable::read(*text, option);
  if (!read) return read.diag();
  return std::optional(std::move(*read));
}

// Returns false if the kind or form is unknown. Earlier renames to `from` become renames to `to`.
bool RenameTable::add_rename(std::string_view kind, std::string_view from, std::string_view to) {
  auto* table = kind == "op"      ? &ops_
                : kind == "dtype" ? &dtypes_
                : kind == "value" ? &arg_values_
                : kind == "stage" ? &stages_
                : kind == "field" ? &new_fields_
                : kind == "form"  ? &converted_forms_
                                  : nullptr;
  if (!table || (table == &converted_forms_ && !is_known_form(from))) return false;
  for (auto& [old_name, new_name] : *table)
    if (new_name == from) new_name = to;
  (*table)[std::string(from)] = to;
  return true;
}

std::string RenameTable::stage_after_renames(std::string_view name) const {
  auto known = stages_.find(name);
  return known == stages_.end() ? std::string(name) : known->second;
}

DType RenameTable::renamed_dtype(DType d) const {
  if (dtypes_.empty() || d.is_image()) return d;
  if (d.is_ptr()) {
    DType base = renamed_dtype(d.base());
    return base == d.base() ? d : base.ptr(d.size(), d.addrspace()).vec(d.vcount());
  }
  auto known = dtypes_.find(d.scalar().repr().substr(7));
  return known == dtypes_.end() ? d : dtypes::parse_any_release(known->second).vec(d.count());
}

Arg RenameTable::renamed_arg(Graph& graph, Arg a) const {
  auto renamed = [&](const std::string& text) -> Arg {
    auto known = arg_values_.find(text);
    return known == arg_values_.end() ? a : graph.raw_arg(known->second);
  };
  switch (a.kind()) {
    case Arg::Kind::Op: {
      auto known = ops_.find(name_of(a.op()));
      if (known == ops_.end()) return a;
      const Op op = op_of(known->second);
      return op == Op::OTHER ? graph.raw_arg("Ops." + known->second) : Arg(op);
    }
    case Arg::Kind::DType: return renamed_dtype(a.dtype());
    case Arg::Kind::Raw:
    case Arg::Kind::AxisType:
    case Arg::Kind::AddrSpace:
    case Arg::Kind::OptOps: return arg_values_.empty() ? a : renamed(a.repr());
    case Arg::Kind::Tuple: {
      std::vector<Arg> items;
      for (Arg item : a.items()) items.push_back(renamed_arg(graph, item));
      return graph.tuple(items);
    }
    case Arg::Kind::Record: {
      if (a.is(RecordClass::Kernel)) return a;
      RecordView record(a);
      std::vector<Arg> fields, items{graph.str(record.name()), Arg()};
      for (size_t i = 0; i < record.size(); i++) {
        std::string_view field = record.field(i);
        if (new_fields_.contains(std::string(record.name()) + "." + std::string(field))) continue;
        Arg value = renamed_arg(graph, record.values()[i]);
        if (record.name() == "KernelInfo" && field == "name" && value.is_str())
          value = graph.str(plain_kernel_name(value.text()));
        fields.push_back(graph.str(field));
        items.push_back(value);
      }
      items[1] = graph.tuple(fields);
      return graph.record(RecordClass::Open, items);
    }
    default: return a;
  }
}

UOp RenameTable::rename_graph(UOp root, bool is_older) const {
  rename_graph(std::array{&root}, is_older);
  return root;
}

void RenameTable::rename_graph(std::span<UOp* const> roots, bool is_older) const {
  if (roots.empty()) return;
  UOpMap<UOp> made(roots[0]->graph());
  for (UOp* root : roots) {
    rename_graph(*root, is_older, made);
    *root = *made.find(*root);
  }
}

// Adds the renamed node of each node under `root` to `made`.
void RenameTable::rename_graph(UOp root, bool is_older, UOpMap<UOp>& made) const {
  Graph& graph = root.graph();
  NodeParts node{.op = {}, .dtype = {}, .src = {}, .arg = {}, .is_older = is_older};
  for (UOp u : toposort(root, [&](UOp s) { return !made.contains(s); })) {
    node.src.clear(), node.replacement = {};
    for (UOp s : u.src()) node.src.push_back(*made.find(s));
    auto known = ops_.empty() ? ops_.end() : ops_.find(printed_op_name(u));
    node.op = known == ops_.end() ? u.op() : op_of(known->second);
    node.dtype = renamed_dtype(u.dtype());
    node.arg = u.arg().kind() >= Arg::Kind::Tuple || u.arg().kind() == Arg::Kind::DType ? renamed_arg(graph, u.arg())
                                                                                        : u.arg();
    if (known != ops_.end() && node.op == Op::OTHER) node.arg = other_node_arg(graph, known->second, node.arg);
    if (!converted_forms_.empty()) convert_to_common_form(graph, node);
    if (node.replacement) {
      made[u] = node.replacement;
      continue;
    }
    const bool is_named = converted_forms_.contains(name_of(node.op)) && OpSet{Op::PARAM, Op::BUFFER}.contains(node.op);
    Arg tag = is_named && u.tag().is_tuple() && u.tag().items().empty() ? Arg() : u.tag();
    const bool same = node.op == u.op() && node.dtype == u.dtype() && node.arg == u.arg() &&
                      std::ranges::equal(node.src, u.src()) && tag == u.tag();
    made[u] = same ? u : graph.node(node.op, node.dtype, node.src, node.arg, tag);
  }
}

}  // namespace tgc
