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
  explicit Parser(Module& module) : module_(module), lexer_({module.text.data(), module.text.size()}) {}

  void parse_module() {
    while (lexer_.peek_token().kind != Token::End) parse_top_level();
    if (module_.target.empty()) throw_error(lexer_.peek_token(), "the text has no .target");
  }

 private:
  [[noreturn]] void throw_error(const Token& at, std::string message, std::string expected = "") {
    throw Failure(Diag{.message = std::move(message), .line = at.line, .expected = std::move(expected)});
  }
  static std::string token_text(const Token& t) {
    return t.kind == Token::End ? "the end of the text" : "'" + std::string(t.text.substr(0, 60)) + "'";
  }
  [[noreturn]] void throw_unexpected(const Token& t, std::string expected) {
    throw_error(t, "found " + token_text(t), std::move(expected));
  }
  bool next_is(char c) const { return lexer_.peek_token().is(c); }
  bool next_is(std::string_view word) const { return lexer_.peek_token().is(word); }
  bool accept_token(char c) { return next_is(c) && (lexer_.take_token(), true); }
  bool accept_token(std::string_view word) { return next_is(word) && (lexer_.take_token(), true); }
  void expect(char c) {
    if (!accept_token(c)) throw_unexpected(lexer_.peek_token(), std::string("'") + c + "'");
  }
  Token expect_word(const char* what) {
    if (lexer_.peek_token().kind != Token::Word) throw_unexpected(lexer_.peek_token(), what);
    return lexer_.take_token();
  }

  uint64_t parse_integer(const char* what) {
    Token t = lexer_.peek_token();
    bool minus = accept_token('-');
    t = lexer_.peek_token();
    if (t.kind != Token::Number) throw_unexpected(t, what);
    Operand o = parse_number(lexer_.take_token());
    if (o.kind != Operand::Integer) throw_unexpected(t, what);
    return minus ? 0 - o.bits : o.bits;
  }
  uint64_t parse_size(const char* what) {
    Token t = lexer_.peek_token();
    uint64_t n = parse_integer(what);
    if (n > kMostBytes) throw_error(t, token_text(t) + " is too large for " + what);
    return n;
  }

  Operand parse_number(const Token& t) {
    if (t.kind != Token::Number) throw_unexpected(t, "a number");
    std::string_view s = t.text;
    auto parsed = [&](std::string_view digits, int base) {
      uint64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        throw_error(t, "'" + std::string(s.substr(0, 60)) + "' is no number");
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
      if (error != std::errc() || end != s.data() + s.size()) throw_error(t, "'" + std::string(s) + "' is no number");
      return {.kind = Operand::Real, .is_double = true, .bits = std::bit_cast<uint64_t>(value)};
    }
    uint64_t value = second == 'x'   ? parsed(s.substr(2), 16)
                     : second == 'b' ? parsed(s.substr(2), 2)
                     : second != 0   ? parsed(s.substr(1), 8)
                                     : parsed(s, 10);
    return {.kind = Operand::Integer, .bits = value};
  }

  void parse_top_level() {
    Token t = expect_word("a directive");
    if (t.is(".version")) lexer_.take_token();
    else if (t.is(".target")) parse_target();
    else if (t.is(".address_size")) {
      if (parse_integer("64") != 64) throw_error(t, "only .address_size 64 is supported");
    } else if (t.is(".file")) parse_file();
    else if (t.is(".section")) parse_section();
    else if (t.is(".pragma")) lexer_.take_token(), expect(';');
    else if (t.is(".visible") || t.is(".weak") || t.is(".common")) return;
    else if (t.is(".extern")) is_extern_ = true;
    else if (t.is(".entry")) parse_entry(t.line);
    else if (t.is(".func")) pass_over_function();
    else if (auto space = space_of(t.text)) module_.globals.push_back(parse_variable(*space)), expect(';');
    else throw_unexpected(t, "a directive of a module: .entry, .global, .shared, ...");
    if (!t.is(".extern")) is_extern_ = false;
  }

  void parse_target() {
    module_.target = expect_word("sm_NN").text;
    while (accept_token(',')) expect_word("an option of .target");
  }
  void parse_file() {
    uint64_t number = parse_integer("the number of a file");
    if (number > 1000) throw_error(lexer_.peek_token(), "a .file numbered " + std::to_string(number) + " is too many");
    if (lexer_.peek_token().kind != Token::String) throw_unexpected(lexer_.peek_token(), "a file's name");
    if (module_.file_names.size() <= number) module_.file_names.resize(number + 1);
    module_.file_names[number] = lexer_.take_token().text;
    while (accept_token(',')) parse_integer("a number of .file");
  }
  void parse_section() {
    expect_word("a section's name");
    if (next_is('{')) pass_over_braces();
  }
  void pass_over_braces() {
    Token begin = lexer_.peek_token();
    expect('{');
    for (size_t depth = 1; depth > 0;) {
      Token t = lexer_.take_token();
      if (t.kind == Token::End) throw_error(begin, "a '{' is not closed");
      depth += t.is('{') ? 1 : t.is('}') ? -1 : 0;
    }
  }
  void pass_over_function() {
    while (!next_is('{') && !next_is(';'))
      if (lexer_.take_token().kind == Token::End) throw_unexpected(lexer_.peek_token(), "a function's body");
    if (next_is('{')) pass_over_braces();
    else lexer_.take_token();
  }

  static std::optional<Space> space_of(std::string_view word) {
    static constexpr std::pair<std::string_view, Space> kSpaces[] = {
        {".global", Space::Global}, {".const", Space::Const}, {".shared", Space::Shared}, {".local", Space::Local}};
    for (auto& [name, space] : kSpaces)
      if (name == word) return space;
    return std::nullopt;
  }

  Type expect_type() {
    Token t = expect_word("a type");
    return expect_type(t, t.text);
  }
  Type expect_type(const Token& at, std::string_view word) {
    auto type = find_type(word.substr(1));
    if (!type || word[0] != '.') throw_unexpected(at, "a type, as .b32");
    return *type;
  }

  // Parses a variable after its space: ".align 16 .b8 name[64] = {1, 2}".
  Variable parse_variable(Space space) {
    Variable v{.space = space, .type = Type::B8, .line = lexer_.peek_token().line, .is_extern = is_extern_};
    unsigned vector = 1;
    uint64_t align = 0;
    for (;;) {
      if (accept_token(".align")) {
        Token t = lexer_.peek_token();
        align = parse_size("an alignment");
        if (!std::has_single_bit(align))
          throw_error(t, "an alignment of " + std::to_string(align) + " is no power of two");
      } else if (accept_token(".v2")) vector = 2;
      else if (accept_token(".v4")) vector = 4;
      else if (next_is(".ptr") || next_is(".global") || next_is(".shared") || next_is(".const") || next_is(".local"))
        lexer_.take_token();
      else if (lexer_.peek_token().kind == Token::Word && lexer_.peek_token().text[0] == '.') {
        v.type = expect_type();
        if (v.type == Type::Pred) throw_error(lexer_.peek_token(), "a variable in memory cannot be a .pred");
      } else break;
    }
    v.name = expect_word("a variable's name").text;
    uint64_t element = bits(v.type) / 8, count = vector;
    while (accept_token('[')) {
      Token t = lexer_.peek_token();
      uint64_t n = next_is(']') ? 0 : parse_size("an array's size");
      count = n > 0 && count > kMostBytes / n ? kMostBytes + 1 : count * n;
      if (count > kMostBytes / element) throw_error(t, "'" + std::string(v.name) + "' is too large");
      expect(']');
    }
    v.bytes = count * element;
    v.align = align ? align : element * vector;
    if (accept_token('=')) parse_initial_values(v, element);
    return v;
  }

  void parse_initial_values(Variable& v, uint64_t element) {
    Token at = lexer_.peek_token();
    if (v.bytes > module_.text.size() * 64)
      throw_error(at, "'" + std::string(v.name) + "' is too large for its initial values");
    v.initial_bytes.resize(v.bytes);
    uint64_t offset = 0;
    size_t depth = 0;
    do {
      while (accept_token('{')) depth++;
      uint64_t bits = next_is('-') ? parse_integer("a value") : parse_number(lexer_.take_token()).bits;
      if (offset + element > v.bytes)
        throw_error(at, "'" + std::string(v.name) + "' has more initial values than room");
      std::memcpy(v.initial_bytes.data() + offset, &bits, std::min<uint64_t>(element, 8));
      offset += element;
      while (depth > 0 && accept_token('}')) depth--;
    } while (accept_token(','));
    if (depth != 0) throw_unexpected(lexer_.peek_token(), "'}'");
  }

  static void assign_parameter_offset(Variable& v, uint64_t& end) {
    v.offset = (end + v.align - 1) / v.align * v.align;
    end = v.offset + v.bytes;
  }

  void parse_entry(uint32_t line) {
    Function& f = module_.functions.emplace_back();
    function_ = &f;
    f.is_entry = true;
    f.line = line;
    f.name = expect_word("a kernel's name").text;
    if (accept_token('(') && !accept_token(')')) {
      do {
        if (!accept_token(".param")) throw_unexpected(lexer_.peek_token(), ".param");
        f.parameters.push_back(parse_variable(Space::Param));
        assign_parameter_offset(f.parameters.back(), f.parameter_bytes);
        if (f.parameter_bytes > 32764) throw_error(lexer_.peek_token(), "more than 32764 bytes of parameters");
      } while (accept_token(','));
      expect(')');
    }
    while (!next_is('{')) parse_entry_directive();
    scopes_.clear();
    parse_body();
  }

  void parse_entry_directive() {
    Token t = expect_word("a kernel's body");
    bool required = t.is(".reqntid"), most = t.is(".maxntid");
    if (!required && !most && !t.is(".minnctapersm") && !t.is(".maxnctapersm") && !t.is(".maxnreg"))
      throw_unexpected(t, "'{' or a directive such as .maxntid");
    std::array<uint64_t, 3> values{1, 1, 1};
    size_t n = 0;
    do {
      if (n == 3) throw_unexpected(lexer_.peek_token(), "three numbers at most");
      values[n++] = parse_size("a number of threads");
    } while (accept_token(','));
    if (required) function_->required_threads = values;
    if (most) function_->max_threads = values[0] * values[1] * values[2];
  }

  struct Scope {
    std::unordered_map<std::string_view, int32_t> names;
    std::unordered_map<std::string_view, std::pair<Type, uint64_t>> ranges;  // ".reg .b32 %r<9>" declares %r0 to %r8
  };

  void parse_body() {
    source_line_ = 0;
    expect('{');
    scopes_.emplace_back();
    while (!scopes_.empty()) {
      Token t = lexer_.peek_token();
      if (t.kind == Token::End)
        throw_error(t, "the body of '" + std::string(function_->name) + "' does not end", "'}'");
      if (accept_token('}')) scopes_.pop_back();
      else if (accept_token('{')) {
        if (scopes_.size() >= kMostNesting) throw_error(t, "blocks are nested too deep");
        scopes_.emplace_back();
      } else if (!accept_token(';')) parse_statement();
    }
    for (auto& [label, targets] : function_->branch_targets)
      for (std::string_view target : targets)
        if (!function_->labels.contains(target))
          throw Failure(Diag{.message = "there is no label '" + std::string(target) + "'", .line = function_->line});
  }

  void parse_statement() {
    Token t = lexer_.peek_token();
    if (t.is('@')) return parse_instruction();
    if (t.kind != Token::Word) throw_unexpected(t, "a statement");
    if (t.text[0] != '.') {
      lexer_.take_token();
      if (accept_token(':')) return parse_label(t);
      return parse_instruction_named(t, {});
    }
    lexer_.take_token();
    if (t.is(".reg")) parse_registers(expect_type());
    else if (t.text.starts_with(".reg."))
      parse_registers(expect_type(t, t.text.substr(4)));  // without a blank: ".reg.b16 h;"
    else if (t.is(".loc")) parse_location();
    else if (t.is(".pragma")) lexer_.take_token(), expect(';');
    else if (auto space = space_of(t.text)) function_->locals.push_back(parse_variable(*space)), expect(';');
    else throw_unexpected(t, "a directive of a body: .reg, .shared, .local, .loc, .pragma");
  }

  void parse_label(const Token& t) {
    if (accept_token(".branchtargets")) {
      auto& targets = function_->branch_targets[t.text];
      do targets.push_back(expect_word("a label").text);
      while (accept_token(','));
      return expect(';');
    }
    if (!function_->labels.emplace(t.text, uint32_t(function_->body.size())).second)
      throw_error(t, "the label '" + std::string(t.text) + "' is defined twice");
  }

  void parse_registers(Type type) {
    do {
      Token name = expect_word("a register's name");
      if (accept_token('<')) {
        scopes_.back().ranges[name.text] = {type, parse_size("a number of registers")};
        expect('>');
      } else {
        scopes_.back().names[name.text] = new_register(name, type);
      }
    } while (accept_token(','));
    expect(';');
  }
  int32_t new_register(const Token& name, Type type) {
    if (function_->registers.size() >= kMostRegisters) throw_error(name, "more than a million registers");
    function_->registers.push_back({name.text, type});
    return int32_t(function_->registers.size() - 1);
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
  int32_t expect_register(const Token& t) {
    int32_t r = t.kind == Token::Word ? find_register(t) : -1;
    if (r < 0) throw_unexpected(t, "a register that was declared");
    return r;
  }

  // Parses ".loc 1 12 3", optionally followed by ", function_name $L, inlined_at 1 5 7". The last line number is the
  // line in the kernel.
  void parse_location() {
    uint64_t numbers[3];
    for (uint64_t& n : numbers) n = parse_integer("a number of .loc");
    while (accept_token(',')) {
      if (accept_token("function_name")) {
        expect_word("a label");
        if (accept_token('+')) parse_integer("an offset");
      } else if (accept_token("inlined_at")) {
        for (uint64_t& n : numbers) n = parse_integer("a number of .loc");
      } else throw_unexpected(lexer_.peek_token(), "function_name or inlined_at");
    }
    source_line_ = uint32_t(numbers[1]);
  }

  void parse_instruction() {
    expect('@');
    Operand guard{.is_negated = accept_token('!')};
    guard.reg = expect_register(lexer_.peek_token());
    if (function_->registers[size_t(guard.reg)].type != Type::Pred)
      throw_unexpected(lexer_.peek_token(), "a predicate");
    lexer_.take_token();
    parse_instruction_named(expect_word("an instruction"), guard);
  }
  void parse_instruction_named(const Token& t, const Operand& guard) {
    Instruction i{.line = t.line,
                  .source_line = source_line_,
                  .guard = guard.reg,
                  .is_guard_negated = guard.is_negated,
                  .opcode = t.text};
    if (!next_is(';')) {
      do i.operands.push_back(parse_operand(0));
      while (accept_token(','));
    }
    expect(';');
    function_->body.push_back(std::move(i));
  }

  Operand parse_operand(size_t depth) {
    Token t = lexer_.peek_token();
    if (depth > 2) throw_error(t, "operands are nested too deep");
    if (accept_token('[')) return parse_address();
    if (next_is('{') || next_is('(')) return parse_list(depth);
    if (accept_token('!')) {
      Operand o = parse_operand(depth + 1);
      if (o.kind != Operand::Reg) throw_unexpected(t, "a register after '!'");
      o.is_negated = !o.is_negated;
      return o;
    }
    if (accept_token('-')) {
      t = lexer_.peek_token();
      Operand o = t.kind == Token::Number ? parse_number(lexer_.take_token()) : Operand{};
      if (o.kind == Operand::Integer) o.bits = 0 - o.bits;
      else if (o.kind == Operand::Real) o.bits ^= o.is_double ? uint64_t(1) << 63 : uint64_t(1) << 31;
      else throw_unexpected(t, "a number after '-'");
      return o;
    }
    if (t.kind == Token::Number) return parse_number(lexer_.take_token());
    if (t.kind != Token::Word) throw_unexpected(t, "an operand");
    lexer_.take_token();
    if (t.is("_")) return {};
    Operand o{.kind = Operand::Reg, .reg = find_register(t)};
    if (o.reg >= 0) {
      if (accept_token('|')) {
        Token second = lexer_.take_token();
        if (!second.is("_")) o.second_register = expect_register(second);
      }
      return o;
    }
    o.kind = Operand::Name;
    o.name = t.text;
    if (accept_token('+')) o.bits = parse_integer("an offset");
    else if (accept_token('[')) o.bits = parse_integer("an index"), expect(']');
    return o;
  }

  Operand parse_address() {
    Operand o{.kind = Operand::Address};
    Token t = lexer_.peek_token();
    if (t.kind == Token::Word) {
      lexer_.take_token();
      o.reg = find_register(t);
      if (o.reg < 0) o.name = t.text;
      if (accept_token('[')) o.bits = parse_integer("an index"), expect(']');
      if (accept_token('+')) o.bits += parse_integer("an offset");
      else if (next_is('-')) o.bits += parse_integer("an offset");
    } else {
      o.bits = parse_integer("a register, a variable or a number");
    }
    expect(']');
    return o;
  }

  Operand parse_list(size_t depth) {
    bool braces = next_is('{');
    lexer_.take_token();
    Operand o{.kind = Operand::List};
    if (!next_is(braces ? '}' : ')')) {
      do o.parts.push_back(parse_operand(depth + 1));
      while (accept_token(','));
    }
    expect(braces ? '}' : ')');
    return o;
  }

  Module& module_;
  PtxLexer lexer_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  uint32_t source_line_ = 0;
  bool is_extern_ = false;
};

}  // namespace

Result<Module> parse_ptx(std::string_view text) {
  Module module{.text = {text.begin(), text.end()}};
  auto done = catch_failures([&] { return Parser(module).parse_module(), Unit{}; });
  if (!done) return done.diag();
  return module;
}

}  // namespace tgc::ptx
