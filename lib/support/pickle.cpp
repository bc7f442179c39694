#include "lib/support/pickle.h"

#include <algorithm>
#include <bit>

#include "lib/support/limits.h"

namespace tgc {

class PickleReader {
 public:
  PickleReader(std::string bytes, Pickle::AllowedNameTest is_allowed, std::string_view expected)
      : is_allowed_(is_allowed), expected_text_(expected) {
    pickle_.pickle_bytes_ = std::move(bytes);
    check_limit(Limit::InputBytes, int64_t(pickle_.pickle_bytes_.size()));
    max_nodes_ = size_t(std::min<int64_t>(limit_value(Limit::Nodes), UINT32_MAX / 2));
  }

  Pickle read() {
    while (!run_opcode()) {}
    if (stack_.size() != 1 || !marks_.empty()) fail("more than one value");
    pickle_.root_index_ = stack_[0];
    return std::move(pickle_);
  }

 private:
  using Kind = Pickle::Kind;
  using Node = Pickle::Node;

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(Diag{.message = "a pickle: " + what + " at byte " + std::to_string(position_),
                       .expected = std::string(expected_text_)});
  }
  uint64_t read_number(size_t bytes) {
    if (pickle_.pickle_bytes_.size() - position_ < bytes) fail("it ends early");
    uint64_t out = 0;
    for (size_t i = 0; i < bytes; i++) out |= uint64_t(uint8_t(pickle_.pickle_bytes_[position_ + i])) << 8 * i;
    position_ += bytes;
    return out;
  }
  void push(const Node& node) {
    if (pickle_.pickle_nodes_.size() >= max_nodes_) throw Failure(limit_error(Limit::Nodes));
    pickle_.pickle_nodes_.push_back(node);
    push_node_index(uint32_t(pickle_.pickle_nodes_.size() - 1));
  }
  // Needs no limit of its own: an opcode pushes at most one entry, so the limit on the input's size bounds the stack,
  // too.
  void push_node_index(uint32_t node) { stack_.push_back(node); }
  void push_number(int64_t n) { push({.kind = Kind::Number, .int_value = n}); }
  void push_bytes(Kind kind, uint64_t size) {
    if (pickle_.pickle_bytes_.size() - position_ < size) fail("it ends early");
    if (size > UINT32_MAX) fail("a text of more than 4 GiB");
    push({.kind = kind, .text_size = uint32_t(size), .text = position_});
    position_ += size;
  }
  void push_long(uint64_t size) {
    if (pickle_.pickle_bytes_.size() - position_ < size) fail("it ends early");
    if (size > UINT32_MAX) fail("an integer of more than 4 GiB");
    Node node{.kind = Kind::Number, .text_size = uint32_t(size), .text = position_};
    if (size > 8) {
      node.is_big = true;
      position_ += size;
    } else if (size) {
      unsigned unused = unsigned(64 - 8 * size);
      node.int_value = int64_t(read_number(size) << unused) >> unused;
    }
    push(node);
  }
  void push_list(Kind kind) {
    pickle_.item_lists_.emplace_back();
    push({.kind = kind, .items_begin = uint32_t(pickle_.item_lists_.size() - 1)});
  }

  uint32_t pop() {
    if (stack_.size() <= stack_floor()) fail("nothing on the stack");
    uint32_t out = stack_.back();
    stack_.pop_back();
    return out;
  }
  uint32_t pop(Kind kind) {
    uint32_t out = pop();
    if (pickle_.pickle_nodes_[out].kind != kind) fail("another kind of value");
    return out;
  }
  size_t stack_floor() const { return marks_.empty() ? 0 : marks_.back(); }
  size_t pop_mark() {
    if (marks_.empty()) fail("no mark on the stack");
    size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  void push_items(Kind kind, size_t from) {
    Node node{.kind = kind, .items_begin = uint32_t(pickle_.items_.size())};
    if (pickle_.items_.size() + (stack_.size() - from) > max_nodes_) throw Failure(limit_error(Limit::Nodes));
    pickle_.items_.insert(pickle_.items_.end(), stack_.begin() + long(from), stack_.end());
    node.items_end = uint32_t(pickle_.items_.size());
    stack_.resize(from);
    push(node);
  }
  void push_tuple(size_t size) {
    if (stack_.size() - stack_floor() < size) fail("nothing on the stack");
    push_items(Kind::Tuple, stack_.size() - size);
  }
  // Moves the values from index `from` to the top of the stack to the end of the list, dict or set below them.
  void append_to_container(Kind kind, size_t from) {
    if (from <= stack_floor() || from > stack_.size()) fail("nothing on the stack");
    const Node& to = pickle_.pickle_nodes_[stack_[from - 1]];
    bool is_list_like = to.kind == kind || (kind == Kind::List && to.kind == Kind::Set);
    if (!is_list_like) fail("another kind of value");
    if (kind == Kind::Dict && (stack_.size() - from) % 2) fail("a key without a value");
    auto& list = pickle_.item_lists_[to.items_begin];
    list.insert(list.end(), stack_.begin() + long(from), stack_.end());
    stack_.resize(from);
  }

  void memoize(uint64_t index) {
    if (stack_.size() <= stack_floor()) fail("nothing to remember");
    if (index > memo_.size() && index > pickle_.pickle_bytes_.size())
      fail("an impossible number to remember a value by");
    if (index >= memo_.size()) memo_.resize(index + 1, kNoNode);
    memo_[index] = stack_.back();
  }
  void push_memo(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNoNode) fail("nothing was remembered by that number");
    push_node_index(memo_[index]);
  }

  bool is_getattr(std::string_view module, std::string_view name) { return module == "builtins" && name == "getattr"; }
  void push_global(const Node& module, const Node& name) {
    auto text = [&](const Node& n) { return std::string_view(pickle_.pickle_bytes_).substr(n.text, n.text_size); };
    if (!is_getattr(text(module), text(name)) && !is_allowed_(text(module), text(name)))
      fail("the name " + std::string(text(module)) + "." + std::string(text(name)));
    push({.kind = Kind::Global, .text_size = name.text_size, .module_size = module.text_size, .text = name.text,
          .module = module.text});
  }
  void push_stack_global() {
    Node name = pickle_.pickle_nodes_[pop(Kind::Text)], module = pickle_.pickle_nodes_[pop(Kind::Text)];
    push_global(module, name);
  }
  void push_line_global() {
    auto line = [&] {
      size_t end = pickle_.pickle_bytes_.find('\n', position_);
      if (end == std::string::npos || end - position_ > UINT32_MAX) fail("it ends early");
      Node out{.kind = Kind::Text, .text_size = uint32_t(end - position_), .text = position_};
      position_ = end + 1;
      return out;
    };
    Node module = line(), name = line();
    push_global(module, name);
  }
  void make_object() {
    uint32_t arguments = pop(Kind::Tuple), callee = pop(Kind::Global);
    if (PickleValue called(pickle_, callee); is_getattr(called.module(), called.text())) {
      PickleValue tuple(pickle_, arguments);
      if (tuple.size() != 2 || tuple[0].kind() != Kind::Global || tuple[1].kind() != Kind::Text)
        fail("getattr of something else than a class");
      callee = tuple[0].id();
      push_node_index(tuple[1].id());
      push_tuple(1);
      arguments = pop(Kind::Tuple);
    }
    uint32_t no_state = kNoNode;
    uint32_t begin = uint32_t(pickle_.items_.size());
    pickle_.items_.insert(pickle_.items_.end(), {callee, arguments, no_state});
    push({.kind = Kind::Object, .items_end = begin + 3, .items_begin = begin});
  }
  void set_object_state() {
    uint32_t state = pop();
    if (stack_.size() <= stack_floor()) fail("nothing on the stack");
    const Node& object = pickle_.pickle_nodes_[stack_.back()];
    if (object.kind != Kind::Object) fail("a state of something that is not an object");
    pickle_.items_[object.items_begin + 2] = state;
  }

  bool run_opcode() {
    switch (uint8_t(read_number(1))) {
      case 0x80: if (uint64_t p = read_number(1); p > 5) fail("protocol " + std::to_string(p)); break;
      case 0x95: read_number(8); break;  // FRAME and its length, which is not needed
      case 'N': push({}); break;
      case 0x88: push({.kind = Kind::Bool, .int_value = 1}); break;
      case 0x89: push({.kind = Kind::Bool}); break;
      case 'K': push_number(int64_t(read_number(1))); break;
      case 'M': push_number(int64_t(read_number(2))); break;
      case 'J': push_number(int32_t(uint32_t(read_number(4)))); break;
      case 0x8a: push_long(read_number(1)); break;
      case 0x8b: push_long(read_number(4)); break;
      case 'G':
        push({.kind = Kind::Float, .float_value = std::bit_cast<double>(__builtin_bswap64(read_number(8)))});
        break;
      case 0x8c: push_bytes(Kind::Text, read_number(1)); break;
      case 'X': push_bytes(Kind::Text, read_number(4)); break;
      case 0x8d: push_bytes(Kind::Text, read_number(8)); break;
      case 'C': push_bytes(Kind::Bytes, read_number(1)); break;
      case 'B': push_bytes(Kind::Bytes, read_number(4)); break;
      case 0x8e: case 0x96: push_bytes(Kind::Bytes, read_number(8)); break;
      case ']': push_list(Kind::List); break;
      case '}': push_list(Kind::Dict); break;
      case 0x8f: push_list(Kind::Set); break;
      case ')': push_tuple(0); break;
      case 0x85: push_tuple(1); break;
      case 0x86: push_tuple(2); break;
      case 0x87: push_tuple(3); break;
      case '(': marks_.push_back(stack_.size()); break;
      case 't': { size_t mark = pop_mark(); push_items(Kind::Tuple, mark); break; }
      case 0x91: { size_t mark = pop_mark(); push_list(Kind::Set); end_frozen_set(mark); break; }
      case 'a':
        if (stack_.empty()) fail("nothing on the stack");
        append_to_container(Kind::List, stack_.size() - 1);
        break;
      case 'e': case 0x90: { size_t mark = pop_mark(); append_to_container(Kind::List, mark); break; }
      case 's':
        if (stack_.size() < 2) fail("nothing on the stack");
        append_to_container(Kind::Dict, stack_.size() - 2);
        break;
      case 'u': { size_t mark = pop_mark(); append_to_container(Kind::Dict, mark); break; }
      case '0': pop_or_mark(); break;
      case '1': stack_.resize(pop_mark()); break;
      case '2': if (stack_.size() <= stack_floor()) fail("nothing on the stack"); push_node_index(stack_.back()); break;
      case 0x94: memoize(memo_.size()); break;
      case 'q': memoize(read_number(1)); break;
      case 'r': memoize(read_number(4)); break;
      case 'h': push_memo(read_number(1)); break;
      case 'j': push_memo(read_number(4)); break;
      case 'c': push_line_global(); break;
      case 0x93: push_stack_global(); break;
      case 'R': case 0x81: make_object(); break;
      case 0x92: pop(Kind::Dict); make_object(); break;  // NEWOBJ_EX: ignores keyword arguments
      case 'b': set_object_state(); break;
      case '.': return true;
      default: position_--; fail("an unknown opcode");
    }
    return false;
  }
  void pop_or_mark() {
    if (!marks_.empty() && stack_.size() == marks_.back()) marks_.pop_back();
    else pop();
  }
  void end_frozen_set(size_t mark) {
    uint32_t set = stack_.back();
    stack_.pop_back();
    auto& list = pickle_.item_lists_[pickle_.pickle_nodes_[set].items_begin];
    list.assign(stack_.begin() + long(mark), stack_.end());
    stack_.resize(mark);
    push_node_index(set);
  }

  static constexpr uint32_t kNoNode = UINT32_MAX;
  Pickle pickle_;
  Pickle::AllowedNameTest is_allowed_;
  std::string_view expected_text_;
  size_t position_ = 0, max_nodes_ = 0;
  std::vector<uint32_t> stack_, memo_;
  std::vector<size_t> marks_;
};

Result<Pickle> Pickle::read(std::string bytes, AllowedNameTest is_allowed, std::string_view expected) {
  return catch_failures([&] { return PickleReader(std::move(bytes), is_allowed, expected).read(); });
}

void PickleBudget::spend_bytes(size_t bytes) {
  constexpr uint64_t kValue = 64;
  spent_bytes_ += bytes + kValue;
  if (spent_bytes_ > uint64_t(limit_value(Limit::InputBytes))) throw Failure(limit_error(Limit::InputBytes));
}

PickleValue Pickle::root() const { return {*this, root_index_}; }

std::string_view PickleValue::text() const {
  const auto& n = node();
  bool has_text = n.kind == Pickle::Text || n.kind == Pickle::Bytes || n.kind == Pickle::Global;
  return has_text ? std::string_view(pickle_->pickle_bytes_).substr(n.text, n.text_size) : std::string_view();
}
std::string_view PickleValue::module() const {
  return kind() == Pickle::Global ? std::string_view(pickle_->pickle_bytes_).substr(node().module, node().module_size)
                                  : "";
}
std::optional<int64_t> PickleValue::int_value() const {
  if ((kind() != Pickle::Number && kind() != Pickle::Bool) || node().is_big) return {};
  return node().int_value;
}
std::optional<uint64_t> PickleValue::unsigned_number() const {
  if (auto n = int_value()) return *n < 0 ? std::nullopt : std::optional<uint64_t>(*n);
  if (kind() != Pickle::Number || node().text_size != 9 || pickle_->pickle_bytes_[node().text + 8]) return {};
  uint64_t out = 0;
  for (size_t i = 0; i < 8; i++) out |= uint64_t(uint8_t(pickle_->pickle_bytes_[node().text + i])) << 8 * i;
  return out;
}
std::optional<double> PickleValue::float_value() const {
  if (kind() == Pickle::Float) return node().float_value;
  if (auto n = int_value()) return double(*n);
  return {};
}

std::span<const uint32_t> PickleValue::items() const {
  const auto& n = node();
  switch (n.kind) {
    case Pickle::Tuple: return std::span(pickle_->items_).subspan(n.items_begin, n.items_end - n.items_begin);
    case Pickle::List: case Pickle::Dict: case Pickle::Set: return pickle_->item_lists_[n.items_begin];
    // recurses once, because the arguments are a Tuple
    case Pickle::Object: return PickleValue(*pickle_, pickle_->items_[n.items_begin + 1]).items();
    default: return {};
  }
}

std::optional<PickleValue> PickleValue::state() const {
  if (kind() != Pickle::Object || pickle_->items_[node().items_begin + 2] == UINT32_MAX) return {};
  return PickleValue(*pickle_, pickle_->items_[node().items_begin + 2]);
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  PickleValue dict = *this;
  if (kind() == Pickle::Object) {
    auto s = state();
    // the state of a class with __slots__ is (dict, slots)
    if (s && s->kind() == Pickle::Tuple && s->size() == 2) s = (*s)[1];
    if (!s) return {};
    dict = *s;
  }
  if (dict.kind() != Pickle::Dict) return {};
  for (size_t i = 0; i + 1 < dict.size(); i += 2)
    if (dict[i].kind() == Pickle::Text && dict[i].text() == key) return dict[i + 1];
  return {};
}

std::string_view PickleValue::class_name() const {
  return kind() == Pickle::Object ? PickleValue(*pickle_, pickle_->items_[node().items_begin]).text() : "";
}
std::string_view PickleValue::class_module() const {
  return kind() == Pickle::Object ? PickleValue(*pickle_, pickle_->items_[node().items_begin]).module() : "";
}

}  // namespace tgc
