// Parses the PTX that compilers emit: module and function directives, variables, instructions, `.loc`. Functions that
// are not kernels are skipped; the translator refuses a kernel that calls one.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "lib/emulate/cuda/lexer.h"
#include "lib/emulate/cuda/ptx.h"

namespace tgc::ptx {
namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 32;
constexpr size_t kMostRegisters = 1 << 20, kMostNesting = 64;

class Parser {
 public:
  explicit Parser(Module& module) : m_(module), lex_({module.text.data(), module.text.size()}) {}

  void run() {
    while (lex_.peek_token().kind != Token::End) top_level();
    if (m_.target.empty()) fail(lex_.peek_token(), "the text has no .target");
  }

 private:
  [[noreturn]] void fail(const Token& at, std::string message, std::string expected = "") {
    throw Failure(Diag{.message = std::move(message), .line = at.line, .expected = std::move(expected)});
  }
  static std::string shown(const Token& t) {
    return t.kind == Token::End ? "the end of the text" : "'" + std::string(t.text.substr(0, 60)) + "'";
  }
  [[noreturn]] void unexpected(const Token& t, std::string expected) {
    fail(t, "found " + shown(t), std::move(expected));
  }
  bool next_is(char c) const { return lex_.peek_token().is(c); }
  bool next_is(std::string_view word) const { return lex_.peek_token().is(word); }
  bool accept(char c) { return next_is(c) && (lex_.take_token(), true); }
  bool accept(std::string_view word) { return next_is(word) && (lex_.take_token(), true); }
  void need(char c) {
    if (!accept(c)) unexpected(lex_.peek_token(), std::string("'") + c + "'");
  }
  Token need_word(const char* what) {
    if (lex_.peek_token().kind != Token::Word) unexpected(lex_.peek_token(), what);
    return lex_.take_token();
  }

  uint64_t integer(const char* what) {
    Token t = lex_.peek_token();
    bool minus = accept('-');
    t = lex_.peek_token();
    if (t.kind != Token::Number) unexpected(t, what);
    Operand o = number(lex_.take_token());
    if (o.kind != Operand::Integer) unexpected(t, what);
    return minus ? 0 - o.bits : o.bits;
  }
  uint64_t size_of(const char* what) {
    Token t = lex_.peek_token();
    uint64_t n = integer(what);
    if (n > kMostBytes) fail(t, shown(t) + " is too large for " + what);
    return n;
  }

  Operand number(const Token& t) {
    if (t.kind != Token::Number) unexpected(t, "a number");
    std::string_view s = t.text;
    auto parsed = [&](std::string_view digits, int base) {
      uint64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        fail(t, "'" + std::string(s.substr(0, 60)) + "' is no number");
      return value;
    };
    if (s.size() > 1 && s.back() == 'U') s.remove_suffix(1);
    char second = s.size() > 1 && s[0] == '0' ? char(s[1] | 32) : '\0';
    if (second == 'f' && s.size() == 10) return {.kind = Operand::Real, .bits = parsed(s.substr(2), 16)};
    if (second == 'd' && s.size() == 18)
      return {.kind = Operand::Real, .is_double = true, .bits = parsed(s.substr(2), 16)};
    if (s.find('.') != s.npos) {
      double value = 0;
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
      if (error != std::errc() || end != s.data() + s.size()) fail(t, "'" + std::string(s) + "' is no number");
      return {.kind = Operand::Real, .is_double = true, .bits = std::bit_cast<uint64_t>(value)};
    }
    uint64_t value = second == 'x'   ? parsed(s.substr(2), 16)
                     : second == 'b' ? parsed(s.substr(2), 2)
                     : second != 0   ? parsed(s.substr(1), 8)
                                     : parsed(s, 10);
    return {.kind = Operand::Integer, .bits = value};
  }

  void top_level() {
    Token t = need_word("a directive");
    if (t.is(".version")) lex_.take_token();
    else if (t.is(".target")) target();
    else if (t.is(".address_size")) {
      if (integer("64") != 64) fail(t, "only .address_size 64 is supported");
    } else if (t.is(".file")) file();
    else if (t.is(".section")) section();
    else if (t.is(".pragma")) lex_.take_token(), need(';');
    else if (t.is(".visible") || t.is(".weak") || t.is(".common")) return;
    else if (t.is(".extern")) is_extern_ = true;
    else if (t.is(".entry")) entry(t.line);
    else if (t.is(".func")) pass_over_function();
    else if (auto space = space_of(t.text)) m_.globals.push_back(variable(*space)), need(';');
    else unexpected(t, "a directive of a module: .entry, .global, .shared, ...");
    if (!t.is(".extern")) is_extern_ = false;
  }

  void target() {
    m_.target = need_word("sm_NN").text;
    while (accept(',')) need_word("an option of .target");
  }
  void file() {
    uint64_t number = integer("the number of a file");
    if (number > 1000) fail(lex_.peek_token(), "a .file numbered " + std::to_string(number) + " is too many");
    if (lex_.peek_token().kind != Token::String) unexpected(lex_.peek_token(), "a file's name");
    if (m_.file_names.size() <= number) m_.file_names.resize(number + 1);
    m_.file_names[number] = lex_.take_token().text;
    while (accept(',')) integer("a number of .file");
  }
  void section() {
    need_word("a section's name");
    if (next_is('{')) pass_over_braces();
  }
  void pass_over_braces() {
    Token begin = lex_.peek_token();
    need('{');
    for (size_t depth = 1; depth > 0;) {
      Token t = lex_.take_token();
      if (t.kind == Token::End) fail(begin, "a '{' is not closed");
      depth += t.is('{') ? 1 : t.is('}') ? -1 : 0;
    }
  }
  void pass_over_function() {
    while (!next_is('{') && !next_is(';'))
      if (lex_.take_token().kind == Token::End) unexpected(lex_.peek_token(), "a function's body");
    if (next_is('{')) pass_over_braces();
    else lex_.take_token();
  }

  static std::optional<Space> space_of(std::string_view word) {
    static constexpr std::pair<std::string_view, Space> kSpaces[] = {
        {".global", Space::Global}, {".const", Space::Const}, {".shared", Space::Shared}, {".local", Space::Local}};
    for (auto& [name, space] : kSpaces)
      if (name == word) return space;
    return std::nullopt;
  }

  Type need_type() {
    Token t = need_word("a type");
    return need_type(t, t.text);
  }
  Type need_type(const Token& at, std::string_view word) {
    auto type = find_type(word.substr(1));
    if (!type || word[0] != '.') unexpected(at, "a type, as .b32");
    return *type;
  }

  // Parses a variable after its space: ".align 16 .b8 name[64] = {1, 2}".
  Variable variable(Space space) {
    Variable v{.space = space, .type = Type::B8, .line = lex_.peek_token().line, .is_extern = is_extern_};
    unsigned vector = 1;
    uint64_t align = 0;
    for (;;) {
      if (accept(".align")) {
        Token t = lex_.peek_token();
        align = size_of("an alignment");
        if (!std::has_single_bit(align)) fail(t, "an alignment of " + std::to_string(align) + " is no power of two");
      } else if (accept(".v2")) vector = 2;
      else if (accept(".v4")) vector = 4;
      else if (next_is(".ptr") || next_is(".global") || next_is(".shared") || next_is(".const") || next_is(".local"))
        lex_.take_token();
      else if (lex_.peek_token().kind == Token::Word && lex_.peek_token().text[0] == '.') {
        v.type = need_type();
        if (v.type == Type::Pred) fail(lex_.peek_token(), "a variable in memory cannot be a .pred");
      } else break;
    }
    v.name = need_word("a variable's name").text;
    uint64_t element = bits(v.type) / 8, count = vector;
    while (accept('[')) {
      Token t = lex_.peek_token();
      uint64_t n = next_is(']') ? 0 : size_of("an array's size");
      count = n > 0 && count > kMostBytes / n ? kMostBytes + 1 : count * n;
      if (count > kMostBytes / element) fail(t, "'" + std::string(v.name) + "' is too large");
      need(']');
    }
    v.bytes = count * element;
    v.align = align ? align : element * vector;
    if (accept('=')) initial(v, element);
    return v;
  }

  void initial(Variable& v, uint64_t element) {
    Token at = lex_.peek_token();
    if (v.bytes > m_.text.size() * 64) fail(at, "'" + std::string(v.name) + "' is too large for its initial values");
    v.initial_bytes.resize(v.bytes);
    uint64_t offset = 0;
    size_t depth = 0;
    do {
      while (accept('{')) depth++;
      uint64_t bits = next_is('-') ? integer("a value") : number(lex_.take_token()).bits;
      if (offset + element > v.bytes) fail(at, "'" + std::string(v.name) + "' has more initial values than room");
      std::memcpy(v.initial_bytes.data() + offset, &bits, std::min<uint64_t>(element, 8));
      offset += element;
      while (depth > 0 && accept('}')) depth--;
    } while (accept(','));
    if (depth != 0) unexpected(lex_.peek_token(), "'}'");
  }

  static void place(Variable& v, uint64_t& end) {
    v.offset = (end + v.align - 1) / v.align * v.align;
    end = v.offset + v.bytes;
  }

  void entry(uint32_t line) {
    Function& f = m_.functions.emplace_back();
    f_ = &f;
    f.is_entry = true;
    f.line = line;
    f.name = need_word("a kernel's name").text;
    if (accept('(') && !accept(')')) {
      do {
        if (!accept(".param")) unexpected(lex_.peek_token(), ".param");
        f.parameters.push_back(variable(Space::Param));
        place(f.parameters.back(), f.parameter_bytes);
        if (f.parameter_bytes > 32764) fail(lex_.peek_token(), "more than 32764 bytes of parameters");
      } while (accept(','));
      need(')');
    }
    while (!next_is('{')) directive_of_entry();
    scopes_.clear();
    body();
  }

  void directive_of_entry() {
    Token t = need_word("a kernel's body");
    bool required = t.is(".reqntid"), most = t.is(".maxntid");
    if (!required && !most && !t.is(".minnctapersm") && !t.is(".maxnctapersm") && !t.is(".maxnreg"))
      unexpected(t, "'{' or a directive such as .maxntid");
    std::array<uint64_t, 3> values{1, 1, 1};
    size_t n = 0;
    do {
      if (n == 3) unexpected(lex_.peek_token(), "three numbers at most");
      values[n++] = size_of("a number of threads");
    } while (accept(','));
    if (required) f_->required_threads = values;
    if (most) f_->max_threads = values[0] * values[1] * values[2];
  }

  struct Scope {
    std::unordered_map<std::string_view, int32_t> names;
    std::unordered_map<std::string_view, std::pair<Type, uint64_t>> ranges;  // ".reg .b32 %r<9>" declares %r0 to %r8
  };

  void body() {
    source_line_ = 0;
    need('{');
    scopes_.emplace_back();
    while (!scopes_.empty()) {
      Token t = lex_.peek_token();
      if (t.kind == Token::End) fail(t, "the body of '" + std::string(f_->name) + "' does not end", "'}'");
      if (accept('}')) scopes_.pop_back();
      else if (accept('{')) {
        if (scopes_.size() >= kMostNesting) fail(t, "blocks are nested too deep");
        scopes_.emplace_back();
      } else if (!accept(';')) statement();
    }
    for (auto& [label, targets] : f_->branch_targets)
      for (std::string_view target : targets)
        if (!f_->labels.contains(target))
          throw Failure(Diag{.message = "there is no label '" + std::string(target) + "'", .line = f_->line});
  }

  void statement() {
    Token t = lex_.peek_token();
    if (t.is('@')) return instruction();
    if (t.kind != Token::Word) unexpected(t, "a statement");
    if (t.text[0] != '.') {
      lex_.take_token();
      if (accept(':')) return label(t);
      return instruction_named(t, {});
    }
    lex_.take_token();
    if (t.is(".reg")) registers(need_type());
    else if (t.text.starts_with(".reg.")) registers(need_type(t, t.text.substr(4)));  // without a blank: ".reg.b16 h;"
    else if (t.is(".loc")) location();
    else if (t.is(".pragma")) lex_.take_token(), need(';');
    else if (auto space = space_of(t.text)) f_->locals.push_back(variable(*space)), need(';');
    else unexpected(t, "a directive of a body: .reg, .shared, .local, .loc, .pragma");
  }

  void label(const Token& t) {
    if (accept(".branchtargets")) {
      auto& targets = f_->branch_targets[t.text];
      do targets.push_back(need_word("a label").text);
      while (accept(','));
      return need(';');
    }
    if (!f_->labels.emplace(t.text, uint32_t(f_->body.size())).second)
      fail(t, "the label '" + std::string(t.text) + "' is defined twice");
  }

  void registers(Type type) {
    do {
      Token name = need_word("a register's name");
      if (accept('<')) {
        scopes_.back().ranges[name.text] = {type, size_of("a number of registers")};
        need('>');
      } else {
        scopes_.back().names[name.text] = new_register(name, type);
      }
    } while (accept(','));
    need(';');
  }
  int32_t new_register(const Token& name, Type type) {
    if (f_->registers.size() >= kMostRegisters) fail(name, "more than a million registers");
    f_->registers.push_back({name.text, type});
    return int32_t(f_->registers.size() - 1);
  }

  // Returns the register's index, or -1 if it is not declared. A register of a range (%r<9>) is created on first use.
  int32_t find_register(const Token& t) {
    size_t digits = t.text.find_last_not_of("0123456789") + 1;
    std::string_view prefix = t.text.substr(0, digits), rest = t.text.substr(digits);
    uint64_t n = UINT64_MAX;
    if (!rest.empty() && (rest[0] != '0' || rest.size() == 1))
      std::from_chars(rest.data(), rest.data() + rest.size(), n);
    for (size_t i = scopes_.size(); i-- > 0;) {
      Scope& scope = scopes_[i];
      if (auto found = scope.names.find(t.text); found != scope.names.end()) return found->second;
      auto range = scope.ranges.find(prefix);
      if (range != scope.ranges.end() && n < range->second.second)
        return scope.names[t.text] = new_register(t, range->second.first);
    }
    return -1;
  }
  int32_t need_register(const Token& t) {
    int32_t r = t.kind == Token::Word ? find_register(t) : -1;
    if (r < 0) unexpected(t, "a register that was declared");
    return r;
  }

  // Parses ".loc 1 12 3", optionally followed by ", function_name $L, inlined_at 1 5 7". The last line number is the
  // line in the kernel.
  void location() {
    uint64_t numbers[3];
    for (uint64_t& n : numbers) n = integer("a number of .loc");
    while (accept(',')) {
      if (accept("function_name")) {
        need_word("a label");
        if (accept('+')) integer("an offset");
      } else if (accept("inlined_at")) {
        for (uint64_t& n : numbers) n = integer("a number of .loc");
      } else unexpected(lex_.peek_token(), "function_name or inlined_at");
    }
    source_line_ = uint32_t(numbers[1]);
  }

  void instruction() {
    need('@');
    Operand guard{.is_negated = accept('!')};
    guard.reg = need_register(lex_.peek_token());
    if (f_->registers[size_t(guard.reg)].type != Type::Pred) unexpected(lex_.peek_token(), "a predicate");
    lex_.take_token();
    instruction_named(need_word("an instruction"), guard);
  }
  void instruction_named(const Token& t, const Operand& guard) {
    Instruction i{.line = t.line,
                  .source_line = source_line_,
                  .guard = guard.reg,
                  .is_guard_negated = guard.is_negated,
                  .opcode = t.text};
    if (!next_is(';')) {
      do i.operands.push_back(operand(0));
      while (accept(','));
    }
    need(';');
    f_->body.push_back(std::move(i));
  }

  Operand operand(size_t depth) {
    Token t = lex_.peek_token();
    if (depth > 2) fail(t, "operands are nested too deep");
    if (accept('[')) return address();
    if (next_is('{') || next_is('(')) return list(depth);
    if (accept('!')) {
      Operand o = operand(depth + 1);
      if (o.kind != Operand::Reg) unexpected(t, "a register after '!'");
      o.is_negated = !o.is_negated;
      return o;
    }
    if (accept('-')) {
      t = lex_.peek_token();
      Operand o = t.kind == Token::Number ? number(lex_.take_token()) : Operand{};
      if (o.kind == Operand::Integer) o.bits = 0 - o.bits;
      else if (o.kind == Operand::Real) o.bits ^= o.is_double ? uint64_t(1) << 63 : uint64_t(1) << 31;
      else unexpected(t, "a number after '-'");
      return o;
    }
    if (t.kind == Token::Number) return number(lex_.take_token());
    if (t.kind != Token::Word) unexpected(t, "an operand");
    lex_.take_token();
    if (t.is("_")) return {};
    Operand o{.kind = Operand::Reg, .reg = find_register(t)};
    if (o.reg >= 0) {
      if (accept('|')) {
        Token second = lex_.take_token();
        if (!second.is("_")) o.second_register = need_register(second);
      }
      return o;
    }
    o.kind = Operand::Name;
    o.name = t.text;
    if (accept('+')) o.bits = integer("an offset");
    else if (accept('[')) o.bits = integer("an index"), need(']');
    return o;
  }

  Operand address() {
    Operand o{.kind = Operand::Address};
    Token t = lex_.peek_token();
    if (t.kind == Token::Word) {
      lex_.take_token();
      o.reg = find_register(t);
      if (o.reg < 0) o.name = t.text;
      if (accept('[')) o.bits = integer("an index"), need(']');
      if (accept('+')) o.bits += integer("an offset");
      else if (next_is('-')) o.bits += integer("an offset");
    } else {
      o.bits = integer("a register, a variable or a number");
    }
    need(']');
    return o;
  }

  Operand list(size_t depth) {
    bool braces = next_is('{');
    lex_.take_token();
    Operand o{.kind = Operand::List};
    if (!next_is(braces ? '}' : ')')) {
      do o.parts.push_back(operand(depth + 1));
      while (accept(','));
    }
    need(braces ? '}' : ')');
    return o;
  }

  Module& m_;
  PtxLexer lex_;
  Function* f_ = nullptr;
  std::vector<Scope> scopes_;
  uint32_t source_line_ = 0;
  bool is_extern_ = false;
};

}  // namespace

Result<Module> parse(std::string_view text) {
  Module module{.text = {text.begin(), text.end()}};
  auto done = catch_failures([&] { return Parser(module).run(), Unit{}; });
  if (!done) return done.diag();
  return module;
}

}  // namespace tgc::ptx
