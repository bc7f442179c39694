// Arg: the value of a UOp's `arg` or `tag`, that is, any Python value that can occur in a graph. An Arg is trivially
// copyable and has 16 bytes. Strings, tuples and records (dataclasses such as KernelInfo) are interned in a Graph.
// Tuples that are equal in Python but print differently, such as (0, 1) and (False, True), are different Args, which ==
// treats as equal.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/dtype/const.h"
#include "lib/uop/ops.h"

namespace tgc {

class UOp;
class Graph;

// The dataclasses of tinygrad 0.12.0 that occur in graphs, except CustomKernel, which is read as Raw. Open is any
// dataclass in a graph of another release; an Open record stores the names of its class and fields, and the values.
enum class RecordClass : uint8_t { KernelInfo, Opt, BufferizeOpts, Kernel, Metadata, Open };
inline constexpr int kNumRecordClasses = 5;  // does not count Open
std::string_view name_of(RecordClass c);
std::span<const std::string_view> fields_of(RecordClass c);  // returns the fields' names; empty for Open
std::optional<RecordClass> parse_record_class(std::string_view name);
class Arg;
// Returns true if `fields` have the number and types that a record of class `c` needs.
bool is_valid_record(RecordClass c, std::span<const Arg> fields);

class Arg {
 public:
  enum class Kind : uint8_t {
    Bool, Int, BigInt, Float, Invalid,  // have the values of Const::Kind's enumerators, because to_const() casts them
    None, Str, Bytes, Tuple, Record, Op, AxisType, AddrSpace, OptOps, DType, UOp,
    Raw,  // the text of a Python object that has none of the other kinds
  };

  constexpr Arg() : kind_(Kind::None), record_class_(0), int_value_(0) {}
  Arg(Const c) : kind_(Kind(c.kind_)), record_class_(0), int_value_(c.int_value_) {}
  constexpr Arg(bool v) : kind_(Kind::Bool), record_class_(0), int_value_(v) {}
  constexpr Arg(int v) : kind_(Kind::Int), record_class_(0), int_value_(v) {}
  constexpr Arg(int64_t v) : kind_(Kind::Int), record_class_(0), int_value_(v) {}
  constexpr Arg(double v) : kind_(Kind::Float), record_class_(0), float_value_(v) {}
  Arg(tgc::Int v) : Arg(Const(v)) {}
  constexpr Arg(tgc::Op op) : kind_(Kind::Op), record_class_(0), int_value_(int(op)) {}
  constexpr Arg(tgc::AxisType t) : kind_(Kind::AxisType), record_class_(0), int_value_(int(t)) {}
  constexpr Arg(tgc::AddrSpace s) : kind_(Kind::AddrSpace), record_class_(0), int_value_(int(s)) {}
  constexpr Arg(tgc::OptOps o) : kind_(Kind::OptOps), record_class_(0), int_value_(int(o)) {}
  Arg(tgc::DType d) : kind_(Kind::DType), record_class_(0), pointer_(d.info()) {}
  Arg(tgc::UOp u);

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_const() const { return kind_ <= Kind::Invalid; }
  bool is_integral() const { return kind_ <= Kind::BigInt; }
  bool is_int() const { return kind_ == Kind::Int || kind_ == Kind::BigInt; }
  bool is_float() const { return kind_ == Kind::Float; }
  bool is_invalid() const { return kind_ == Kind::Invalid; }
  bool is_str() const { return kind_ == Kind::Str; }
  bool is_tuple() const { return kind_ == Kind::Tuple; }
  bool is_uop() const { return kind_ == Kind::UOp; }
  bool is_op() const { return kind_ == Kind::Op; }
  bool is(tgc::Op op) const { return kind_ == Kind::Op && int_value_ == int64_t(op); }
  bool is(RecordClass c) const { return kind_ == Kind::Record && record_class_ == uint8_t(c); }

  // Accessors. They do not check the kind, so call each accessor only on an Arg of the kind that its name says.
  Const to_const() const {
    Const c;
    c.kind_ = Const::Kind(kind_);
    c.int_value_ = int_value_;
    return c;
  }
  tgc::Int as_int() const { return to_const().as_int(); }
  int64_t small_int() const { return int_value_; }
  bool as_bool() const { return int_value_ != 0; }
  std::string_view text() const;           // requires Str, Bytes or Raw
  std::span<const Arg> items() const;      // requires Tuple or Record
  const Arg& operator[](size_t i) const { return items()[i]; }
  RecordClass record_class() const { return RecordClass(record_class_); }
  tgc::Op op() const { return tgc::Op(int_value_); }
  tgc::AxisType axis_type() const { return tgc::AxisType(int_value_); }
  tgc::AddrSpace addrspace() const { return tgc::AddrSpace(int_value_); }
  tgc::OptOps opt_op() const { return tgc::OptOps(int_value_); }
  tgc::DType dtype() const { return tgc::DType(static_cast<const DTypeInfo*>(pointer_)); }
  tgc::UOp uop() const;

  // Python's ==, except that all NaNs are equal and no Op equals a number. Interned args must belong to the same graph.
  friend bool operator==(Arg a, Arg b) {
    return (a.kind_ == b.kind_ && a.record_class_ == b.record_class_ && a.int_value_ == b.int_value_) ||
           is_equal_slowly(a, b);
  }
  uint32_t hash() const {
    return kind_ == Kind::Int ? mixed_hash(uint64_t(int_value_), Kind::Int) : hash_of_other_kinds();
  }

  // Returns true if `a` and `b` have the same type and value, and so print alike.
  static bool is_identical(Arg a, Arg b) {
    return a.kind_ == b.kind_ && a.record_class_ == b.record_class_ && a.int_value_ == b.int_value_;
  }

  // append_repr() and repr() write Python's repr(arg), str() writes str(arg). The texts differ only for strings. Nodes
  // in the arg are abbreviated.
  void append_repr(std::string& out) const;
  std::string repr() const;
  std::string str() const;

 private:
  friend class Graph;
  static bool is_equal_slowly(Arg a, Arg b);
  static uint32_t mixed_hash(uint64_t value, Kind kind) {
    uint64_t h = (value ^ uint64_t(kind)) * 0x9E3779B97F4A7C15ull;
    return uint32_t(h >> 32) ^ uint32_t(h);
  }
  uint32_t hash_of_other_kinds() const;

  Kind kind_;
  uint8_t record_class_;
  union {
    int64_t int_value_;
    double float_value_;
    const void* pointer_;
  };
};

// Gives access to the class name, the fields and the values of a record, printed as NAME(value, field=value). The items
// of an Open record are its class name, a tuple of its field names ("" for a positional value), and its values.
class RecordView {
 public:
  explicit RecordView(Arg record) : record_(record) {}
  std::string_view name() const { return is_open() ? record_[0].text() : name_of(record_.record_class()); }
  size_t size() const { return values().size(); }
  std::span<const Arg> values() const { return record_.items().subspan(is_open() ? 2 : 0); }
  std::string_view field(size_t i) const {
    return is_open() ? record_[1][i].text() : fields_of(record_.record_class())[i];
  }

 private:
  bool is_open() const { return record_.is(RecordClass::Open); }
  Arg record_;
};

// The result of a three-way comparison. Unordered means that the values differ but neither is less than the other.
enum class Order : int8_t { Less = -1, Equal = 0, Greater = 1, Unordered = 2 };
// Compares `a` with `b` as Python does. Throws Failure where Python raises an error, and for
// different Bytes, Raws or UOps.
Order py_compare(Arg a, Arg b);

}  // namespace tgc
