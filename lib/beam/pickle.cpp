#include "lib/beam/pickle.h"

#include <algorithm>
#include <map>
#include <memory>

namespace tgc {
namespace {

constexpr std::string_view kModule = "tinygrad.codegen.opt";

// The OptOps in the order of their values, which start at 1.
constexpr OptOps kByValue[] = {OptOps::TC,    OptOps::UPCAST,   OptOps::UNROLL,   OptOps::LOCAL, OptOps::THREAD,
                               OptOps::GROUP, OptOps::GROUPTOP, OptOps::NOLOCALS, OptOps::PADTO, OptOps::SWAP};

int64_t value_of(OptOps op) { return 1 + std::ranges::find(kByValue, op) - std::begin(kByValue); }

// ---- writing

class Pickler {
 public:
  std::string list(std::span<const Opt> opts) {
    out_ = "]";
    memoize();
    if (opts.size() > 1) out_ += '(';
    for (size_t i = 0; i < opts.size(); i++) {
      auto known = std::find_if(opts.begin(), opts.begin() + long(i), [&](const Opt& o) {
        return o.op == opts[i].op && o.axis == opts[i].axis && o.arg == opts[i].arg;
      });
      size_t at = size_t(known - opts.begin());
      if (at < i) objects_.push_back(objects_[at]), get(objects_[at]);
      else object(opts[i]);
    }
    if (!opts.empty()) out_ += opts.size() > 1 ? 'e' : 'a';
    out_ += '.';
    constexpr size_t kLeastFrame = 4;
    std::string frame = out_.size() < kLeastFrame ? "" : "\x95" + little_endian(out_.size(), 8);
    return "\x80\x04" + frame + out_;
  }

 private:
  static std::string little_endian(uint64_t value, size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; i++) out += char(value >> 8 * i & 255);
    return out;
  }
  size_t memoize() { return out_ += '\x94', memo_++; }
  void get(size_t index) { out_ += index < 256 ? "h" + little_endian(index, 1) : "j" + little_endian(index, 4); }

  void text(const std::string& s) {
    auto [it, is_new] = texts_.emplace(s, memo_);
    if (!is_new) return get(it->second);
    out_ += "\x8c" + little_endian(s.size(), 1) + s;
    memoize();
  }
  void global(const std::string& name) {
    auto known = globals_.find(name);
    if (known != globals_.end()) return get(known->second);
    text(std::string(kModule));
    text(name);
    out_ += '\x93';
    globals_[name] = memoize();
  }
  void number(int64_t n) {
    if (n >= 0 && n < 256) out_ += "K" + little_endian(uint64_t(n), 1);
    else if (n >= 0 && n < 65536) out_ += "M" + little_endian(uint64_t(n), 2);
    else if (n >= INT32_MIN && n <= INT32_MAX) out_ += "J" + little_endian(uint64_t(n), 4);
    else throw Failure("an opt has the number " + std::to_string(n) + ", which does not fit 32 bits");
  }
  void arg(Arg a) {
    if (a.is_none()) out_ += 'N';
    else if (a.is_integral()) number(a.as_int().int64_or_throw("the arg of an Opt"));
    else if (a.is_tuple() && a.items().size() == 3) {
      for (Arg item : a.items()) arg(item);
      out_ += '\x87';
      memoize();
    } else throw Failure("an opt has the arg " + a.repr());
  }
  void object(const Opt& opt) {
    global("Opt");
    out_ += ")\x81";
    objects_.push_back(memoize());
    out_ += '}';
    memoize();
    out_ += '(';
    text("op");
    if (auto known = ops_.find(opt.op); known != ops_.end()) {
      get(known->second);
    } else {
      global("OptOps");
      number(value_of(opt.op));
      out_ += '\x85';
      memoize();
      out_ += 'R';
      ops_[opt.op] = memoize();
    }
    text("axis");
    if (opt.axis) number(*opt.axis);
    else out_ += 'N';
    text("arg");
    arg(opt.arg);
    out_ += "ub";
  }

  std::string out_;
  size_t memo_ = 0;
  std::map<std::string, size_t> texts_, globals_;
  std::map<OptOps, size_t> ops_;
  std::vector<size_t> objects_;  // memo numbers of the Opts
};

// ---- reading

struct Value {
  enum Kind : uint8_t { None, Number, Text, Global, Tuple, List, Dict, Op, Object, Mark } kind = None;
  int64_t number = 0;
  std::string text = {};
  std::shared_ptr<std::vector<Value>> items = {};  // elements of a dict or an object: name, value, name, value, ...

  static Value with_items(Kind kind, std::vector<Value> items = {}) {
    return {.kind = kind, .items = std::make_shared<std::vector<Value>>(std::move(items))};
  }
};

class Unpickler {
 public:
  Unpickler(Graph& graph, std::string_view bytes) : graph_(graph), bytes_(bytes) {}

  std::vector<Opt> list() {
    constexpr size_t kMost = 1 << 20;
    if (bytes_.size() > kMost) fail("it is too long");
    while (!step()) {}
    std::vector<Opt> out;
    Value list = pop(Value::List);
    if (!stack_.empty()) fail("more than one value");
    for (const Value& v : *list.items) out.push_back(opt(v));
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    throw Failure(
        Diag{.message = "a pickle: " + what + " at byte " + std::to_string(at_), .expected = "a list of Opts"});
  }
  uint64_t number(size_t bytes) {
    if (bytes_.size() - at_ < bytes) fail("it ends early");
    uint64_t out = 0;
    for (size_t i = 0; i < bytes; i++) out |= uint64_t(uint8_t(bytes_[at_ + i])) << 8 * i;
    at_ += bytes;
    return out;
  }
  std::string text(size_t size) {
    if (bytes_.size() - at_ < size) fail("it ends early");
    return std::string(bytes_.substr((at_ += size) - size, size));
  }
  Value pop() {
    if (stack_.empty()) fail("nothing on the stack");
    Value out = std::move(stack_.back());
    stack_.pop_back();
    return out;
  }
  Value pop(Value::Kind kind) {
    Value out = pop();
    if (out.kind != kind) fail("another kind of value");
    return out;
  }
  std::vector<Value> pop_to_mark() {
    std::vector<Value> out;
    while (!stack_.empty() && stack_.back().kind != Value::Mark) out.push_back(pop());
    pop(Value::Mark);
    std::ranges::reverse(out);
    return out;
  }
  void push(Value v) { stack_.push_back(std::move(v)); }
  void push_tuple(size_t size) {
    std::vector<Value> items;
    for (size_t i = 0; i < size; i++) items.push_back(pop());
    std::ranges::reverse(items);
    push(Value::with_items(Value::Tuple, std::move(items)));
  }
  void add_to(Value::Kind kind, const std::vector<Value>& items) {
    if (stack_.empty() || stack_.back().kind != kind) fail("another kind of value");
    if (kind == Value::Dict && items.size() % 2) fail("a name without a value");
    stack_.back().items->insert(stack_.back().items->end(), items.begin(), items.end());
  }
  void get(uint64_t index) {
    if (index >= memo_.size()) fail("nothing was remembered by that number");
    push(memo_[index]);
  }
  void make_op() {
    Value arguments = pop(Value::Tuple), callee = pop(Value::Global);
    if (callee.text != "OptOps" || arguments.items->size() != 1 || (*arguments.items)[0].kind != Value::Number)
      fail("a call of " + callee.text);
    int64_t n = (*arguments.items)[0].number;
    if (n < 1 || n > int64_t(std::size(kByValue))) fail("no OptOps has the value " + std::to_string(n));
    push({.kind = Value::Op, .number = n});
  }
  void make_object() {
    Value arguments = pop(Value::Tuple), type = pop(Value::Global);
    if (type.text != "Opt" || !arguments.items->empty()) fail("an object of " + type.text);
    push(Value::with_items(Value::Object));
  }
  void make_global() {
    Value name = pop(Value::Text), module = pop(Value::Text);
    if (module.text != kModule || (name.text != "Opt" && name.text != "OptOps"))
      fail("the name " + module.text + "." + name.text);
    push({.kind = Value::Global, .text = name.text});
  }
  void build() {
    Value state = pop(Value::Dict);
    add_to(Value::Object, *state.items);
  }

  // Reads one opcode and returns true if it was the last.
  bool step() {
    switch (uint8_t(number(1))) {
      case 0x80: if (uint64_t p = number(1); p > 5) fail("protocol " + std::to_string(p)); break;
      case 0x95: number(8); break;
      case ']': push(Value::with_items(Value::List)); break;
      case '}': push(Value::with_items(Value::Dict)); break;
      case ')': push(Value::with_items(Value::Tuple)); break;
      case '(': push({.kind = Value::Mark}); break;
      case 'N': push({}); break;
      case 'K': push({.kind = Value::Number, .number = int64_t(number(1))}); break;
      case 'M': push({.kind = Value::Number, .number = int64_t(number(2))}); break;
      case 'J': push({.kind = Value::Number, .number = int32_t(uint32_t(number(4)))}); break;
      case 0x8c: push({.kind = Value::Text, .text = text(number(1))}); break;
      case 'X': push({.kind = Value::Text, .text = text(number(4))}); break;
      case 0x85: push_tuple(1); break;
      case 0x86: push_tuple(2); break;
      case 0x87: push_tuple(3); break;
      case 't': push(Value::with_items(Value::Tuple, pop_to_mark())); break;
      case 0x94:
        if (stack_.empty() || memo_.size() > bytes_.size()) fail("nothing to remember");
        memo_.push_back(stack_.back());
        break;
      case 'h': get(number(1)); break;
      case 'j': get(number(4)); break;
      case 0x93: make_global(); break;
      case 0x81: make_object(); break;
      case 'R': make_op(); break;
      case 'a': { Value item = pop(); add_to(Value::List, {item}); break; }
      case 'e': { auto items = pop_to_mark(); add_to(Value::List, items); break; }
      case 's': { Value value = pop(), name = pop(); add_to(Value::Dict, {name, value}); break; }
      case 'u': { auto items = pop_to_mark(); add_to(Value::Dict, items); break; }
      case 'b': build(); break;
      case '.': return true;
      default: at_--; fail("an opcode that no list of Opts has");
    }
    return false;
  }

  Arg arg(const Value& v) {
    if (v.kind == Value::None) return {};
    if (v.kind == Value::Number) return v.number;
    if (v.kind != Value::Tuple) fail("an Opt's arg is no number and no tuple");
    std::vector<Arg> items;
    for (const Value& item : *v.items) {
      if (item.kind != Value::Number) fail("a tuple of something else than numbers");
      items.push_back(item.number);
    }
    return graph_.tuple(items);
  }
  Opt opt(const Value& v) {
    if (v.kind != Value::Object) fail("the list holds something else than Opts");
    std::map<std::string, Value> fields;
    for (size_t i = 0; i + 1 < v.items->size(); i += 2) fields[(*v.items)[i].text] = (*v.items)[i + 1];
    if (fields.size() != 3 || fields["op"].kind != Value::Op) fail("an Opt without op, axis and arg");
    const Value& axis = fields["axis"];
    if (axis.kind != Value::None && axis.kind != Value::Number) fail("an axis that is no number");
    Opt made{kByValue[fields["op"].number - 1], {}, arg(fields["arg"])};
    if (axis.kind == Value::Number) made.axis = axis.number;
    return made;
  }

  Graph& graph_;
  std::string_view bytes_;
  size_t at_ = 0;
  std::vector<Value> stack_, memo_;
};

}  // namespace

std::string pickle_opts(std::span<const Opt> opts) { return Pickler().list(opts); }

Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes) {
  return catch_failures([&] { return Unpickler(graph, bytes).list(); });
}

}  // namespace tgc
