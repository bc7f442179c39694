#include "lib/records/pickled_nodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "lib/support/json_writer.h"
#include "lib/support/result.h"
#include "lib/support/sha256.h"
#include "lib/uop/arg.h"

namespace tgc {
namespace {

constexpr size_t kUnfinished = SIZE_MAX;
constexpr size_t kSourceBytes = 8;  // counted in a PickleBudget for each source of a node
constexpr int kMaxDepth = 1000;

[[noreturn]] void fail(const std::string& what) { throw Failure("a pickled graph: " + what); }

// Members of tinygrad's enums, whose numbers begin at 1.
using EnumMembers = std::array<std::string_view, 12>;
constexpr EnumMembers kOptOps{"TC", "UPCAST", "UNROLL", "LOCAL", "THREAD", "GROUP", "GROUPTOP", "NOLOCALS", "PADTO",
                              "SWAP"};
constexpr EnumMembers kAddrSpaces{"GLOBAL", "LOCAL", "REG", "ALU"};
constexpr EnumMembers kAxisTypes[] = {
    {"GLOBAL", "WARP", "LOCAL", "LOOP", "GROUP_REDUCE", "REDUCE", "UPCAST", "UNROLL", "THREAD", "OUTER", "PLACEHOLDER"},
    {"GLOBAL", "WARP", "LOCAL", "LOOP", "GROUP_REDUCE", "REDUCE", "UPCAST", "UNROLL", "THREAD", "PLACEHOLDER"},
    {"DEVICE", "GLOBAL", "WARP", "LOCAL", "LOOP", "GROUP_REDUCE", "REDUCE", "UPCAST", "UNROLL", "THREAD",
     "PLACEHOLDER"},
    {"DEVICE", "GLOBAL", "WARP", "LOCAL", "WEAK", "GROUP_REDUCE", "REDUCE", "UPCAST", "UNROLL", "THREAD", "PLACEHOLDER",
     "LOOP"},
};

// Pairs of a dtype's names: in pickles, and in tinygrad's class dtypes.
constexpr std::pair<std::string_view, std::string_view> kDtypes[] = {
    {"signed char", "char"},       {"unsigned char", "uchar"}, {"unsigned short", "ushort"},
    {"unsigned int", "uint"},      {"unsigned long", "ulong"}, {"__bf16", "bfloat16"},
    {"float8_e4m3", "fp8e4m3"},    {"float8_e5m2", "fp8e5m2"}, {"float8_e4m3fnuz", "fp8e4m3fnuz"},
    {"float8_e5m2fnuz", "fp8e5m2fnuz"}, {"uint128", "_uint128"}, {"uint256", "_uint256"},
};

// The JSON of a ParamArg omits fields with these defaults, as tinygrad's repr does.
struct FieldDefault {
  std::string_view field, json;
};
constexpr FieldDefault kParamDefaults[] = {
    {"vmin_vmax", "null"}, {"multiple_of", "null"}, {"name", "null"}, {"addrspace", R"({"value":"AddrSpace.GLOBAL"})"},
    {"axis", "null"}, {"device", "null"}, {"volatile", "false"},
};

std::string float_text(double x) {
  if (!std::isfinite(x)) return R"({"float":")" + std::string(std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf") + "\"}";
  char digits[32];
  std::string out(digits, std::to_chars(digits, std::end(digits), x).ptr);
  return out.find_first_of(".e") == out.npos ? out + ".0" : out;
}

PickleDialect dialect_of(Release release) {
  PickleDialect out{release, producer_name(release) + ".0", {""}};
  out.axis_type_table_index = release == Release::v0_12 ? 0 : release == Release::v0_13 ? 1 : 3;
  for (int i = 0; i < kNumAllOps; i++) {
    Op op = Op(i);
    if (!has_op(release, op) || op == Op::OTHER) continue;
    auto number = size_t(op_order_of(release, op));
    if (out.ops.size() <= number) out.ops.resize(number + 1);
    out.ops[number] = name_of(op);
  }
  return out;
}

struct DialectRow {
  std::string_view date;
  Release closest_release;
  size_t axis_type_table;
  std::string_view changes;
};
constexpr DialectRow kHistory[] = {
#define X(date, like, axis_types, changes) {date, Release::like, axis_types, changes},
#include "lib/records/pickle_dialects.def"
#undef X
};

// Returns the dialects of the releases since 0.12, then those of other commits.
std::vector<PickleDialect> make_dialects() {
  std::vector<PickleDialect> out;
  for (Release release : known_releases())
    if (release >= Release::v0_12) out.push_back(dialect_of(release));
  std::vector<std::string_view> ops{""};
  for (const DialectRow& row : kHistory) {
    for (std::string_view rest = row.changes; !rest.empty();) {
      std::string_view change = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(change.size() + 1, rest.size()));
      size_t mark = std::min(change.find('<'), change.size());
      std::string_view name = change.substr(1, mark - 1), after = change.substr(std::min(mark + 1, change.size()));
      if (change[0] == '-') std::erase(ops, name);
      else ops.insert(std::ranges::find(ops, after) + 1, name);
    }
    const bool is_later = row.closest_release == Release::v0_13 && row.date > "2026-05-22";
    out.push_back({row.closest_release, producer_name(row.closest_release) + (is_later ? ".0.post" : ".0.dev"), ops,
                   row.axis_type_table});
  }
  return out;
}
const std::vector<PickleDialect>& known_dialects() {
  static const std::vector<PickleDialect> out = make_dialects();
  return out;
}

constexpr size_t kOp = 0, kDtype = 1, kSources = 2, kArg = 3, kTag = 4, kFields = 5;

// Returns the number of an enum member; -1 for a value of another kind.
int64_t enum_number(PickleValue v) {
  return v.kind() == Pickle::Object && v.size() == 1 ? v[0].int_value().value_or(-1) : -1;
}

std::string_view axis_type(const PickleDialect& d, PickleValue arg) {
  int64_t number = enum_number(arg[arg.size() - 1]);
  return number >= 1 && number <= 12 ? kAxisTypes[d.axis_type_table_index][size_t(number - 1)] : std::string_view();
}

enum class ArgKind : uint8_t { Anything, Nothing, Number, Text, Tuple, Bytes, Ops };
// The number of sources and the kind of arg that nodes of these ops have in every version.
struct NodeForm {
  std::initializer_list<std::string_view> ops;
  size_t min_sources, max_sources;
  ArgKind arg_kind;
};
constexpr size_t kUnlimited = SIZE_MAX;
const NodeForm kNodeForms[] = {
    {{"ADD",   "MUL", "SHL", "SHR", "IDIV",     "CDIV", "MAX",  "MOD", "CMOD",     "CMPLT",    "CMPNE",
      "CMPEQ", "XOR", "OR",  "AND", "THREEFRY", "SUB",  "FDIV", "POW", "FLOORDIV", "FLOORMOD", "BIND"},
     2,
     2,
     ArgKind::Nothing},
    {{"WHERE", "MULACC"}, 3, 3, ArgKind::Nothing},
    {{"EXP2", "LOG2", "SIN", "SQRT", "RECIP", "RECIPROCAL", "NEG", "TRUNC"}, 1, 1, ArgKind::Nothing},
    {{"CAST", "BITCAST"}, 1, 1, ArgKind::Anything},
    {{"STORE", "ASSIGN"}, 2, kUnlimited, ArgKind::Nothing},
    {{"END", "LOAD"}, 1, kUnlimited, ArgKind::Nothing},
    {{"GROUP", "AFTER", "VECTORIZE", "STACK", "BARRIER", "LINEAR", "TUPLE", "IF", "ENDIF"},
     0,
     kUnlimited,
     ArgKind::Nothing},
    {{"SPECIAL"}, 1, 1, ArgKind::Text},
    {{"SOURCE", "CUSTOM", "CUSTOMI", "REWRITE_ERROR", "CUSTOM_FUNCTION"}, 0, kUnlimited, ArgKind::Text},
    {{"BINARY"}, 0, 0, ArgKind::Bytes},
    {{"UNIQUE", "LUNIQUE"}, 0, 0, ArgKind::Number},
    {{"DEFINE_GLOBAL"}, 0, 0, ArgKind::Number},
    {{"GETTUPLE", "MSELECT"}, 1, 1, ArgKind::Number},
    {{"GEP", "PERMUTE", "FLIP", "UNROLL", "CONTRACT", "REDUCE_AXIS"}, 1, 1, ArgKind::Tuple},
    {{"VCONST"}, 0, kUnlimited, ArgKind::Tuple},
    {{"DEFINE_VAR"}, 0, 0, ArgKind::Tuple},
    {{"WMMA"}, 3, 3, ArgKind::Tuple},
    {{"ALLREDUCE"}, 1, kUnlimited, ArgKind::Anything},
};

// Classes of args, and the ops that may have such args.
struct ArgClass {
  std::string_view name;
  std::initializer_list<std::string_view> ops;
};
const ArgClass kArgClasses[] = {
    {"KernelInfo", {"SINK", "PROGRAM"}}, {"ProgramInfo", {"PROGRAM"}}, {"Kernel", {"KERNEL"}},
    {"BufferizeOpts", {"BUFFERIZE", "STAGE"}}, {"ConstFloat", {"CONST"}}, {"InvalidType", {"CONST"}},
    {"ParamArg", {"PARAM", "BUFFER", "DEFINE_LOCAL", "DEFINE_REG"}}, {"Ops", {"REDUCE", "ALLREDUCE"}},
    {"CallInfo", {"CALL", "FUNCTION", "SINK"}}, {"CustomKernel", {"CUSTOM_KERNEL"}},
    {"DType", {"CAST", "BITCAST"}}, {"PtrDType", {"CAST", "BITCAST"}},
};

bool has_kind(ArgKind kind, PickleValue arg) {
  switch (kind) {
    case ArgKind::Anything: return true;
    case ArgKind::Nothing: return arg.is_none();
    case ArgKind::Number: return arg.kind() == Pickle::Number;
    case ArgKind::Text: return arg.kind() == Pickle::Text;
    case ArgKind::Tuple: return arg.kind() == Pickle::Tuple;
    case ArgKind::Bytes: return arg.kind() == Pickle::Bytes;
    case ArgKind::Ops: return arg.class_name() == "Ops";
  }
  return false;
}

// `second` is the op of the second source, if known.
bool fits_known_forms(std::string_view op, size_t sources, PickleValue arg, std::string_view second) {
  auto is = [&](std::initializer_list<std::string_view> ops) { return std::ranges::find(ops, op) != ops.end(); };
  for (const NodeForm& s : kNodeForms)
    if (is(s.ops) && (sources < s.min_sources || sources > s.max_sources || !has_kind(s.arg_kind, arg))) return false;
  const std::string_view type = arg.class_name();
  for (const ArgClass& c : kArgClasses)
    if (type == c.name && !is(c.ops)) return false;
  if (arg.find("_raw") && op != "INS") return false;  // only a machine instruction has the attribute _raw
  bool has_axis = arg.kind() == Pickle::Tuple && arg.size() > 1 && arg[arg.size() - 1].class_name() == "AxisType";
  if (has_axis != (op == "RANGE")) return false;
  if (arg.kind() == Pickle::Bytes && op != "BINARY") return false;
  if ((arg.kind() == Pickle::Float || arg.kind() == Pickle::Bool) && op != "CONST") return false;
  if (op == "CONST")
    return type == "ConstFloat" || type == "InvalidType" || arg.kind() == Pickle::Float ||
           arg.kind() == Pickle::Bool || arg.kind() == Pickle::Number;
  if (op == "DEVICE") return sources == 0 && (arg.kind() == Pickle::Text || arg.kind() == Pickle::Tuple);
  if (op == "ALLREDUCE" && type == "Ops") return second.empty() || second == "DEVICE";
  if (op == "SINK") return arg.is_none() || !type.empty();
  if (op == "INS") return !type.empty() || arg.kind() == Pickle::Tuple || arg.is_none();
  if (op == "KERNEL") return type == "Kernel";
  if (op == "CUSTOM_KERNEL") return type == "CustomKernel";
  if (op == "BUFFERIZE") return type == "BufferizeOpts";
  return true;
}

}  // namespace

size_t PickledNodeWriter::add_node(PickleValue node) {
  added_objects_.emplace(node.id(), node);
  return add_key(NodeKey{node.id(), false});
}
size_t PickledNodeWriter::add_numbered_node(int64_t number) { return add_key(NodeKey{number, true}); }

PickleValue PickledNodeWriter::fields_of(NodeKey key) const {
  const PickledFields* all = key.is_field_number ? pickled_fields_ : &added_objects_;
  auto found = all ? all->find(key.id) : added_objects_.end();
  if (!all || found == all->end()) fail("node " + std::to_string(key.id) + " is missing");
  const PickleValue& v = found->second;
  bool is_node = key.is_field_number ? v.kind() == Pickle::Tuple : v.class_name() == "UOp";
  if (!is_node || v.size() < kFields) fail("a node has other fields than op, dtype, src, arg and tag");
  return v;
}

PickledNodeWriter::NodeKey PickledNodeWriter::source_key_of(PickleValue source) const {
  if (auto number = source.int_value()) return {*number, true};
  if (source.class_name() != "UOp") fail("a source is no node");
  return {source.id(), false};
}

size_t PickledNodeWriter::add_key(NodeKey root) {
  constexpr int kMaxNesting = 200;
  if (arg_nesting_ > kMaxNesting) fail("nodes nest too deep within args");
  arg_nesting_++;
  std::vector<std::pair<NodeKey, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [key, is_visited] = stack.back();
    stack.pop_back();
    if (is_visited) {
      write_node(key);
      continue;
    }
    auto [known, is_new] = node_numbers_.emplace(key, kUnfinished);
    if (!is_new) {
      if (known->second == kUnfinished) fail("a node depends on itself");
      continue;
    }
    stack.emplace_back(key, true);
    PickleValue sources = fields_of(key)[kSources];
    // counted for each node, because nodes may share the tuple
    pickle_budget_.spend_bytes(kSourceBytes * sources.size());
    for (size_t n = sources.size(); n-- > 0;) {
      PickleValue source = sources[n];
      NodeKey next = source_key_of(source);
      if (!next.is_field_number) added_objects_.emplace(source.id(), source);
      // A source that waits on the stack is pushed again, because it must be written before this node. If an open
      // source is pushed, it depends on this node; the loop reports the cycle when it pops the source.
      auto begun = node_numbers_.find(next);
      if (begun == node_numbers_.end() || begun->second == kUnfinished) stack.emplace_back(next, false);
    }
  }
  arg_nesting_--;
  return node_numbers_.at(root);
}

void PickledNodeWriter::write_node(NodeKey key) {
  PickleValue f = fields_of(key), arg = f[kArg], tag = f[kTag], sources = f[kSources];
  std::string op = op_name(f[kOp]),
              line = "{\"op\":" + json_string(op) + ",\"dtype\":" + json_string(dtype_text(f[kDtype]));
  for (size_t n = 0; n < sources.size(); n++) {
    auto known = node_numbers_.find(source_key_of(sources[n]));
    if (known == node_numbers_.end() || known->second == kUnfinished) fail("a node depends on itself");
    line += (n ? "," : ",\"src\":[") + std::to_string(known->second);
  }
  if (sources.size()) line += "]";
  if (!arg.is_none()) {
    bool is_const_float = op == "CONST" && arg.class_name() == "ConstFloat" && arg.size() == 1 && arg[0].float_value();
    line += ",\"arg\":" + (is_const_float ? float_text(*arg[0].float_value()) : value_text(arg));
  }
  if (!tag.is_none()) line += ",\"tag\":" + value_text(tag);
  node_numbers_[key] = node_lines_.size();  // the arg may have added nodes
  node_lines_.push_back(line + "}");
}

std::string PickledNodeWriter::op_name(PickleValue op) const {
  int64_t number = op.class_name() == "Ops" ? enum_number(op) : -1;
  if (number < 0 || size_t(number) >= pickle_dialect_.ops.size() || pickle_dialect_.ops[size_t(number)].empty())
    fail(pickle_dialect_.producer + " has no op " + std::to_string(number));
  return std::string(pickle_dialect_.ops[size_t(number)]);
}

std::string PickledNodeWriter::enum_name(PickleValue v) const {
  const std::string_view name = v.class_name();
  if (name == "Ops") return "Ops." + op_name(v);
  const EnumMembers& members = name == "AxisType" ? kAxisTypes[pickle_dialect_.axis_type_table_index]
                           : name == "OptOps" ? kOptOps : kAddrSpaces;
  int64_t number = enum_number(v);
  if (number < 1 || size_t(number) > members.size() || members[size_t(number - 1)].empty())
    fail(pickle_dialect_.producer + " has no such member of " + std::string(name));
  return std::string(name) + "." + std::string(members[size_t(number - 1)]);
}

std::string PickledNodeWriter::dtype_text(PickleValue v) const {
  std::string_view type = v.class_name();
  bool is_pointer = type == "PtrDType" || type == "ImageDType";
  if ((!is_pointer && type != "DType") || v.size() < (is_pointer ? 10u : 4u)) fail("a dtype is of an unknown kind");
  auto vector = [](PickleValue count) {
    int64_t n = count.int_value().value_or(1);
    return n == 1 ? "" : ".vec(" + std::to_string(n) + ")";
  };
  if (type == "ImageDType") {
    if (v.size() < 11) fail("an image has no shape");
    std::string shape;
    for (size_t n = 0; n < v[10].size(); n++)
      shape += (n ? ", " : "") + std::to_string(v[10][n].int_value().value_or(0));
    int64_t pitch = v.size() > 11 ? v[11].int_value().value_or(-1) : -1;
    return "dtypes." + std::string(v[2].text()) + "((" + shape + (v[10].size() == 1 ? ",)" : ")") +
           (pitch == -1 ? "" : ", " + std::to_string(pitch)) + ")" + vector(v[8]);
  }
  if (is_pointer) {
    if (v[6].class_name() != "DType") fail("a pointer to another kind of dtype");
    std::string space = enum_name(v[7]);
    return dtype_text(v[6]) + ".ptr(" + std::to_string(v[9].int_value().value_or(-1)) +
           (space == "AddrSpace.GLOBAL" ? "" : ", " + space) + ")" + vector(v[8]);
  }
  const bool is_vector = v.size() > 5 && v[5].class_name() == "DType" && v[5].size() > 2;
  std::string_view name = is_vector ? v[5][2].text() : v[2].text();  // the element dtype of a vector
  for (auto& [pickled, own] : kDtypes)
    if (name == pickled) name = own;
  return "dtypes." + std::string(name) + (v.size() > 4 ? vector(v[4]) : "");
}

std::string PickledNodeWriter::value_text(PickleValue v, int depth) {
  if (depth > kMaxDepth) fail("values nest too deep");
  pickle_budget_.spend_bytes(v.text().size());
  switch (v.kind()) {
    case Pickle::None: return "null";
    case Pickle::Bool: return v.is_true() ? "true" : "false";
    case Pickle::Number:
      if (auto n = v.int_value()) return std::to_string(*n);
      if (auto n = v.unsigned_number()) return std::to_string(*n);
      fail("an integer of more than 64 bits");
    case Pickle::Float: return float_text(v.float_value().value_or(0));
    case Pickle::Text: return json_string(v.text());
    case Pickle::Bytes: return R"({"bytes":")" + sha256_hex(v.text()) + "\"}";
    case Pickle::Tuple: case Pickle::List: {
      std::string out;
      for (size_t n = 0; n < v.size(); n++) out += (n ? "," : "[") + value_text(v[n], depth + 1);
      return out.empty() ? "[]" : out + "]";
    }
    case Pickle::Object: return object_text(v, depth);
    // Objects that tgc does not model are written as raw text; the number distinguishes different objects.
    case Pickle::Dict: return R"({"raw":"<dict )" + std::to_string(v.id()) + ">\"}";
    case Pickle::Set: return R"({"raw":"<set )" + std::to_string(v.id()) + ">\"}";
    case Pickle::Global: return R"({"raw":)" + json_string("<" + std::string(v.text()) + ">") + "}";
  }
  fail("a value of an unknown kind");
}

std::string PickledNodeWriter::object_text(PickleValue v, int depth) {
  const std::string name(v.class_name());
  if (name == "UOp") return R"({"uop":)" + std::to_string(add_node(v)) + "}";
  if (name == "Ops" || name == "AxisType" || name == "OptOps" || name == "AddrSpace")
    return R"({"value":")" + enum_name(v) + "\"}";
  if (name == "DType" || name == "PtrDType" || name == "ImageDType")
    return R"({"value":)" + json_string(dtype_text(v)) + "}";
  if (name == "InvalidType") return R"({"value":"Invalid"})";
  auto state = v.state();
  std::string out;
  auto member = [&](std::string_view field, const std::string& json) {
    out += (out.empty() ? "" : ",") + json_string(field) + ":" + json;
  };
  auto positional = [&](size_t count) {
    std::string list;
    for (size_t n = 0; n < std::min(count, v.size()); n++) list += (n ? "," : "") + value_text(v[n], depth + 1);
    member("*", "[" + list + "]");
  };
  if (name == "ConstFloat") {
    positional(1);
  } else if (name == "CallInfo") {  // the repr shows all members but `aux`
    positional(pickle_dialect_.release >= Release::v0_14 ? 4 : 5);
  } else if (name == "ParamArg" && state && state->kind() == Pickle::Dict) {
    auto field = [&](std::string_view key) {
      auto found = state->find(key);
      return found ? value_text(*found, depth + 1) : "null";
    };
    std::string slot = field("slot");
    member("*", "[" + slot + "," + field("dtype") + "]");
    for (const FieldDefault& d : kParamDefaults)
      if (std::string json = state->find(d.field) ? field(d.field) : std::string(d.json); json != d.json)
        member(d.field, json);
  } else if (name == "Target" && state) {  // the repr of a Target is not Python: "AMD:HIP:gfx1100"
    auto joined = [&](std::initializer_list<std::string_view> fields) {
      std::string text;
      for (std::string_view key : fields)
        if (auto found = state->find(key)) text += (key == *fields.begin() ? "" : ":") + std::string(found->text());
      return text.substr(0, text.find_last_not_of(':') + 1);
    };
    std::string driver = joined({"interface", "indices"});
    return R"({"raw":)" + json_string(driver + (driver.empty() ? "" : "+") + joined({"device", "renderer", "arch"})) +
           "}";
  } else if (name == "Kernel" && state) {  // a Kernel's metadata is not a part of the graph
    auto ast = state->find("ast");
    if (!ast) fail("a Kernel has no AST");
    auto number = ast->int_value();
    member("ast",
           number ? R"({"uop":)" + std::to_string(add_numbered_node(*number)) + "}" : value_text(*ast, depth + 1));
    member("metadata", "[]");
  } else if (state && state->kind() == Pickle::Dict) {
    // leave out None fields that 0.12.0 does not have, because commits near 0.12.0 have them
    auto known = parse_record_class(name);
    auto is_known = [&](std::string_view field) {
      return pickle_dialect_.release != Release::v0_12 || !known || std::ranges::count(tgc::fields_of(*known), field);
    };
    for (size_t n = 0; n + 1 < state->size(); n += 2)
      if (std::string_view field = (*state)[n].text(); is_known(field) || !(*state)[n + 1].is_none())
        member(field, value_text((*state)[n + 1], depth + 1));
  } else {
    return R"({"raw":)" + json_string("<" + name + " " + std::to_string(v.id()) + ">") + "}";
  }
  return "{" + json_string(name) + ":{" + out + "}}";
}

const PickleDialect& find_fitting_dialect(const std::vector<PickleValue>& nodes, std::optional<PickleValue> kernel) {
  std::vector<const PickleDialect*> fitting;
  auto name = [](const PickleDialect& d, PickleValue node) {
    int64_t number = node.size() < kFields ? -1 : enum_number(node[kOp]);
    return number >= 0 && size_t(number) < d.ops.size() ? d.ops[size_t(number)] : std::string_view();
  };
  for (const PickleDialect& d : known_dialects()) {
    bool is_fitting = std::ranges::all_of(nodes, [&](PickleValue v) {
      std::string_view op = name(d, v);
      bool has_object = !op.empty() && v[kSources].size() > 1 && v[kSources][1].class_name() == "UOp";
      return !op.empty() &&
             fits_known_forms(op, v[kSources].size(), v[kArg], has_object ? name(d, v[kSources][1]) : "");
    });
    if (kernel) is_fitting = is_fitting && (name(d, *kernel) == "SINK" || name(d, *kernel) == "PROGRAM");
    if (is_fitting) fitting.push_back(&d);
  }
  // several fitting dialects must read all nodes alike; then the first is taken, a release if possible
  bool is_clear = std::ranges::all_of(fitting, [&](const PickleDialect* d) {
    auto reads_alike = [&](PickleValue v) {
      bool has_axis = name(*d, v) == "RANGE";
      return name(*d, v) == name(*fitting[0], v) &&
             (!has_axis || axis_type(*d, v[kArg]) == axis_type(*fitting[0], v[kArg]));
    };
    return std::ranges::all_of(nodes, reads_alike);
  });
  if (!fitting.empty() && is_clear) return *fitting[0];
  throw Failure(Diag{.message = fitting.empty() ? "the numbers of its ops are those of no known version of tinygrad"
                                                : "the numbers of its ops fit several versions of tinygrad",
                     .expected = "a graph of tinygrad 0.12.0, 0.13.0 or 0.14.0"});
}

Result<std::string> pickled_graph_json(PickleValue root) {
  return catch_failures([&] {
    std::vector<PickleValue> all, stack{root};
    std::unordered_set<uint32_t> seen;
    PickleBudget budget;
    while (!stack.empty()) {
      PickleValue v = stack.back();
      stack.pop_back();
      if (v.class_name() != "UOp" || v.size() < kFields)
        fail("a node has other fields than op, dtype, src, arg and tag");
      if (!seen.insert(v.id()).second) continue;
      all.push_back(v);
      budget.spend_bytes(kSourceBytes * v[kSources].size());
      for (size_t n = 0; n < v[kSources].size(); n++) stack.push_back(v[kSources][n]);
    }
    const PickleDialect& dialect = find_fitting_dialect(all, root);
    PickledNodeWriter nodes(dialect);
    nodes.add_node(root);
    std::string out = R"({"format":"tgc-graph","version":1,)";
    if (dialect.release != Release::v0_12) out += "\"producer\":" + json_string(dialect.producer) + ",";
    out += "\"nodes\":[";
    for (const std::string& line : nodes.lines()) out += (out.back() == '[' ? "\n" : ",\n") + line;
    return out + "\n]}\n";
  });
}

}  // namespace tgc
