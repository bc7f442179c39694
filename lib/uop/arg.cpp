#include "lib/uop/arg.h"

#include <algorithm>
#include <cmath>

#include "lib/support/pytext.h"
#include "lib/uop/graph_reps.h"
#include "lib/uop/uop.h"

namespace tgc {
namespace {

struct RecordInfo {
  std::string_view name;
  std::span<const std::string_view> fields;
};
constexpr std::string_view kKernelInfo[] = {"name", "axis_types", "dont_use_locals", "applied_opts", "opts_to_apply"};
constexpr std::string_view kOpt[] = {"op", "axis", "arg"};
constexpr std::string_view kBufferizeOpts[] = {"device", "addrspace", "removable"};
constexpr std::string_view kKernel[] = {"ast", "metadata"};
constexpr std::string_view kMetadata[] = {"name", "caller", "backward"};
constexpr RecordInfo kRecords[kNumRecordClasses] = {{"KernelInfo", kKernelInfo},
                                                    {"Opt", kOpt},
                                                    {"BufferizeOpts", kBufferizeOpts},
                                                    {"Kernel", kKernel},
                                                    {"Metadata", kMetadata}};

void append_items(std::string& out, std::span<const Arg> items) {
  out += '(';
  for (size_t i = 0; i < items.size(); i++) {
    if (i) out += ", ";
    items[i].append_repr(out);
  }
  out += items.size() == 1 ? ",)" : ")";
}

void append_bytes(std::string& out, std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  const char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  const size_t begin = out.size();
  out.resize(begin + 4 * bytes.size() + 3);
  char* to = out.data() + begin;
  *to++ = 'b', *to++ = quote;
  for (char c : bytes) {
    const char letter = c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : c == quote || c == '\\' ? c : '\0';
    if (letter) *to++ = '\\', *to++ = letter;
    else if (c >= ' ' && c < 0x7f) *to++ = c;
    else *to++ = '\\', *to++ = 'x', *to++ = kHex[uint8_t(c) >> 4], *to++ = kHex[c & 15];
  }
  *to++ = quote;
  out.resize(size_t(to - out.data()));
}

Order order_of(std::strong_ordering o) { return o < 0 ? Order::Less : o > 0 ? Order::Greater : Order::Equal; }

Order compare_const(Const a, Const b) {
  if (py_equal(a, b)) return Order::Equal;
  // in tinygrad, every NaN is the same Python object, and Python's tuple comparison treats identical objects as equal
  if (a.is_float() && b.is_float() && std::isnan(a.as_float()) && std::isnan(b.as_float())) return Order::Equal;
  return py_less(a, b) ? Order::Less : py_less(b, a) ? Order::Greater : Order::Unordered;
}

}  // namespace

std::string_view name_of(RecordClass c) { return c == RecordClass::Open ? "object" : kRecords[int(c)].name; }
std::span<const std::string_view> fields_of(RecordClass c) {
  return c == RecordClass::Open ? std::span<const std::string_view>() : kRecords[int(c)].fields;
}
std::optional<RecordClass> parse_record_class(std::string_view name) {
  for (int i = 0; i < kNumRecordClasses; i++)
    if (kRecords[i].name == name) return RecordClass(i);
  return std::nullopt;
}

bool is_valid_record(RecordClass c, std::span<const Arg> v) {
  auto tuple_of = [](Arg a, auto is) { return a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), is); };
  auto is_opt = [](Arg a) { return a.is(RecordClass::Opt); };
  if (c != RecordClass::Open && v.size() != fields_of(c).size()) return false;
  switch (c) {
    case RecordClass::KernelInfo:
      return v[0].is_str() && tuple_of(v[1], [](Arg a) { return a.kind() == Arg::Kind::AxisType; }) &&
             v[2].kind() == Arg::Kind::Bool && tuple_of(v[3], is_opt) && (v[4].is_none() || tuple_of(v[4], is_opt));
    case RecordClass::Opt:
      return v[0].kind() == Arg::Kind::OptOps && (v[1].is_none() || v[1].is_int()) &&
             (v[2].is_none() || v[2].is_int() || v[2].is_tuple());
    case RecordClass::BufferizeOpts: return v[1].kind() == Arg::Kind::AddrSpace && v[2].kind() == Arg::Kind::Bool;
    case RecordClass::Kernel: return v[0].is_uop();
    case RecordClass::Metadata: return true;
    case RecordClass::Open:
      return v.size() >= 2 && v[0].is_str() && tuple_of(v[1], [](Arg a) { return a.is_str(); }) &&
             v[1].items().size() + 2 == v.size();
  }
  return false;
}

std::string_view Arg::text() const { return static_cast<const Graph::InternedText*>(pointer_)->as_view(); }
std::span<const Arg> Arg::items() const { return static_cast<const Graph::InternedItems*>(pointer_)->as_view(); }

bool Arg::is_equal_slowly(Arg a, Arg b) {
  if (a.kind_ == b.kind_ && a.record_class_ == b.record_class_ && (a.kind_ == Kind::Tuple || a.kind_ == Kind::Record)) {
    auto *x = static_cast<const Graph::InternedItems*>(a.pointer_),
         *y = static_cast<const Graph::InternedItems*>(b.pointer_);
    return x->hash == y->hash && std::ranges::equal(x->as_view(), y->as_view());
  }
  if (!a.is_const() || !b.is_const()) return false;
  return compare_const(a.to_const(), b.to_const()) == Order::Equal;
}

// Returns the hash of an Arg of any kind except Int. Equal numbers of different kinds must have equal hashes.
uint32_t Arg::hash_of_other_kinds() const {
  switch (kind_) {
    case Kind::Bool: return mixed_hash(uint64_t(int_value_), Kind::Int);
    case Kind::Float:
      if (std::isnan(float_value_)) return mixed_hash(0x7FF8, kind_);
      if (float_value_ != std::trunc(float_value_) || std::isinf(float_value_))
        return mixed_hash(uint64_t(int_value_), kind_);
      if (std::fabs(float_value_) < 9.2e18) return mixed_hash(uint64_t(int64_t(float_value_)), Kind::Int);
      return Arg(tgc::Int::trunc(float_value_)).hash();
    case Kind::Str:
    case Kind::Bytes:
    case Kind::Raw: return mixed_hash(static_cast<const Graph::InternedText*>(pointer_)->hash, kind_);
    case Kind::Tuple:
    case Kind::Record: return mixed_hash(static_cast<const Graph::InternedItems*>(pointer_)->hash, kind_);
    case Kind::UOp: return mixed_hash(static_cast<const Node*>(pointer_)->hash, kind_);
    default: return mixed_hash(uint64_t(int_value_), kind_);
  }
}

void Arg::append_repr(std::string& out) const {
  switch (kind_) {
    case Kind::Bool: case Kind::Int: case Kind::BigInt: case Kind::Float:
    case Kind::Invalid: to_const().append_str(out); break;
    case Kind::None: out += "None"; break;
    case Kind::Str: append_py_repr(out, text()); break;
    case Kind::Bytes: append_bytes(out, text()); break;
    case Kind::Raw: out += text(); break;
    case Kind::Tuple: append_items(out, items()); break;
    case Kind::Record: {
      if (is(RecordClass::Kernel)) {  // print "ast" for the kernel's AST, which has no one-line repr
        out += "Kernel(ast, ";
        items()[1].append_repr(out);
        out += ')';
        break;
      }
      RecordView record(*this);
      out.append(record.name()) += '(';
      for (size_t i = 0; i < record.size(); i++) {
        if (i) out += ", ";
        if (!record.field(i).empty()) out.append(record.field(i)) += '=';
        record.values()[i].append_repr(out);
      }
      out += ')';
      break;
    }
    case Kind::Op: out.append("Ops.").append(name_of(op())); break;
    case Kind::AxisType: out.append("AxisType.").append(name_of(axis_type())); break;
    case Kind::AddrSpace: out.append("AddrSpace.").append(name_of(addrspace())); break;
    case Kind::OptOps: out.append("OptOps.").append(name_of(opt_op())); break;
    case Kind::DType: out += dtype().repr(); break;
    case Kind::UOp: out += "UOp(Ops." + std::string(name_of(uop().op())) + ", ...)"; break;
  }
}

std::string Arg::repr() const {
  std::string out;
  append_repr(out);
  return out;
}

std::string Arg::str() const { return is_str() ? std::string(text()) : repr(); }

Order py_compare(Arg a, Arg b) {
  if (Arg::is_identical(a, b)) return Order::Equal;
  auto number = [](Arg x) { return x.is_op() ? Const(int(x.op())) : x.to_const(); };  // in Python, an Ops is an int
  if ((a.is_const() || a.is_op()) && (b.is_const() || b.is_op())) return compare_const(number(a), number(b));
  if (a.kind() == b.kind()) switch (a.kind()) {
      case Arg::Kind::Str: return order_of(a.text().compare(b.text()) <=> 0);
      case Arg::Kind::OptOps: return order_of(int(a.opt_op()) <=> int(b.opt_op()));
      case Arg::Kind::DType:
        return a.dtype() < b.dtype() ? Order::Less : b.dtype() < a.dtype() ? Order::Greater : Order::Unordered;
      case Arg::Kind::Record:
        if (!a.is(RecordClass::Opt) || !b.is(RecordClass::Opt)) break;
        [[fallthrough]];
      case Arg::Kind::Tuple: {
        auto x = a.items(), y = b.items();
        for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
          if (Order o = py_compare(x[i], y[i]); o != Order::Equal) return o;
        return order_of(x.size() <=> y.size());
      }
      default: break;
    }
  if (a == b) return Order::Equal;
  throw Failure("'<' is not supported between " + a.repr() + " and " + b.repr());
}

}  // namespace tgc
