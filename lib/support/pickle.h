// Reads Python pickles, protocols 2 to 5, as data. Nothing is imported, created or called: a class is its name, and an
// object or the result of a call is a node with its class, its arguments and its state. The bytes are untrusted: sizes,
// counts and references are checked, and nothing recurses over nested values.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

class PickleValue;

class Pickle {
 public:
  enum Kind : uint8_t {
    None, Bool, Number, Float, Text, Bytes, Tuple, List, Dict, Set,
    Global,  // a class or function; `module` has its module, `text` its name
    Object,  // the result of calling a Global, with the arguments of the call and the state that BUILD set, if any
  };
  // Decides whether a pickle may name the class or function `name` of `module`. builtins.getattr, which makes members
  // of enums, is always allowed.
  using AllowedNameTest = bool (*)(std::string_view module, std::string_view name);

  // Reads a whole pickle. Fails if the bytes are malformed, name something that is not allowed, or exceed a limit.
  // `expected` becomes Diag::expected of errors at a byte.
  static Result<Pickle> read(std::string bytes, AllowedNameTest is_allowed, std::string_view expected);

  PickleValue root() const;

 private:
  friend class PickleValue;
  friend class PickleReader;
  struct Node {
    Kind kind = None;
    bool is_big = false;       // for a Number: it has more than 8 bytes, the little-endian bytes at `text`
    uint32_t items_end = 0;    // Tuple, Object: one past the last item in items_
    uint32_t items_begin = 0;  // Tuple, Object: the first item in items_; List, Dict, Set: index in item_lists_
    uint32_t text_size = 0, module_size = 0;
    uint64_t text = 0, module = 0;  // offsets in pickle_bytes_
    int64_t int_value = 0;
    double float_value = 0;
  };
  std::string pickle_bytes_;
  std::vector<Node> pickle_nodes_;
  std::vector<uint32_t> items_;
  std::vector<std::vector<uint32_t>> item_lists_;  // a Dict's items: key, value, key, value, ...
  uint32_t root_index_ = 0;
};

// Counts the bytes of the values that a reader of a pickle visits. A short pickle can refer to one value many times, so
// a reader that copies values counts each visit.
class PickleBudget {
 public:
  // Counts `bytes`, plus the memory of one value. Throws a Failure if the sum exceeds Limit::InputBytes.
  void spend_bytes(size_t bytes);

 private:
  uint64_t spent_bytes_ = 0;
};

// A value in a Pickle, which must outlive it. Accessors return an empty value for another kind of value.
class PickleValue {
 public:
  PickleValue(const Pickle& pickle, uint32_t node) : pickle_(&pickle), node_index_(node) {}

  Pickle::Kind kind() const { return node().kind; }
  bool is_none() const { return kind() == Pickle::None; }
  uint32_t id() const { return node_index_; }  // values with equal ids are the same Python object

  std::string_view text() const;                    // Text, Bytes, or the name of a Global
  std::string_view module() const;
  std::optional<int64_t> int_value() const;         // Bool, or a Number that fits int64
  std::optional<uint64_t> unsigned_number() const;  // Bool, or a Number from 0 to 2^64 - 1
  std::optional<double> float_value() const;        // Float, Bool, or a Number that fits int64
  bool is_true() const { return int_value().value_or(0) != 0; }

  // The items of a Tuple, List or Set; the keys and values of a Dict, in turn; the arguments of an Object. The argument
  // of an enum member is its value or its name, depending on the Python that wrote the pickle.
  size_t size() const { return items().size(); }
  PickleValue operator[](size_t n) const { return {*pickle_, items()[n]}; }
  // Returns the value of the text key `key` in a Dict, or of the field `key` in the state of an Object.
  std::optional<PickleValue> find(std::string_view key) const;

  std::string_view class_name() const;       // "" unless this is an Object
  std::string_view class_module() const;     // "" unless this is an Object
  std::optional<PickleValue> state() const;  // the state that the opcode BUILD set for an Object

 private:
  const Pickle::Node& node() const { return pickle_->pickle_nodes_[node_index_]; }
  std::span<const uint32_t> items() const;

  const Pickle* pickle_;
  uint32_t node_index_;
};

}  // namespace tgc
