#include "lib/run/bounds_proof.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "lib/support/z3.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

std::string smt_literal(const Int& value) { return value < 0 ? "(- " + (-value).str() + ")" : value.str(); }

// Division and remainder truncate toward zero, as those of UOps do; SMT-LIB's own operators round differently.
constexpr std::string_view kPrelude =
    "(set-option :timeout 20000)\n"
    "(define-fun cdiv ((a Int) (b Int)) Int (ite (< a 0) (ite (< 0 b) (div (+ a (- b 1)) b) "
    "(div (- a (+ b 1)) b)) (div a b)))\n"
    "(define-fun cmod ((a Int) (b Int)) Int (- a (* (cdiv a b) b)))\n";

class SmtTranslator {
 public:
  explicit SmtTranslator(Graph& graph) : names_(graph) {}

  // Appends to text_ the declarations that `root` needs, and returns the SMT-LIB name of its value.
  std::string translate_value(UOp root) {
    for (UOp u : toposort(root, [&](UOp u) { return !names_.contains(u) && (is_scalar_integer(u) || is_bool(u)); }))
      define_value(u);
    const std::string* name = names_.find(root);
    return name ? *name : define_value(root);
  }
  std::string take_text() { return std::exchange(text_, {}); }
  // Returns true if translate_value() translated every op in the graph of `root` exactly, apart from LOADs.
  bool is_exact(UOp root) const {
    return std::ranges::none_of(inexact_ops_, [&](UOp op) { return in_backward_slice_with_self(root, op); });
  }
  // Maps the names that users see, such as "gidx0", to names in the SMT-LIB text.
  const std::map<std::string, std::string>& variables() const { return variables_; }

 private:
  static bool is_bool(UOp u) { return u.dtype() == dtypes::bool_; }
  static bool is_scalar_integer(UOp u) {
    return u.dtype().is_value() && u.dtype().count() == 1 && (dtypes::is_int(u.dtype()) || u.dtype() == dtypes::index);
  }

  std::string define_value(UOp u) {
    std::string name = "n" + std::to_string(u.id());
    names_[u] = name;
    std::string value = is_bool(u) ? bool_formula(u) : is_scalar_integer(u) ? integer_term(u) : "";
    if (!value.empty()) text_ += "(define-fun " + name + " () " + (is_bool(u) ? "Bool" : "Int") + " " + value + ")\n";
    else declare_unknown(u, name);
    return name;
  }
  const std::string& source_name(UOp u, size_t i) { return *names_.find(u.src(i)); }
  bool has_named_sources(UOp u) const {
    for (UOp s : u.src())
      if (!names_.contains(s)) return false;
    return true;
  }
  std::string apply_to_sources(std::string_view f, UOp u) {
    std::string out = "(" + std::string(f);
    for (size_t i = 0; i < u.num_src(); i++) out += " " + source_name(u, i);
    return out + ")";
  }

  // Declares a value of which at most the bounds are known.
  void declare_unknown(UOp u, const std::string& name) {
    text_ += "(declare-const " + name + (is_bool(u) ? " Bool" : " Int") + ")\n";
    if (!is_bool(u) && is_scalar_integer(u))
      assert_bounds(name, smt_literal(u.vmin().to_int()), smt_literal(u.vmax().to_int()));
    if (!u.is(Op::LOAD)) inexact_ops_.push_back(u);
    std::string what = u.is(Op::LOAD) ? "a loaded value" : std::string(tgc::name_of(u.op()));
    variables_[what + " (%" + std::to_string(u.id()) + ")"] = name;
  }
  void assert_bounds(const std::string& name, const std::string& least, const std::string& greatest) {
    text_ += "(assert (and (<= " + least + " " + name + ") (<= " + name + " " + greatest + ")))\n";
  }
  // Declares a variable that is less than source 0 of `u`, and not negative.
  std::string declare_bounded_variable(UOp u, const std::string& called) {
    std::string name = "v" + std::to_string(u.id());
    text_ += "(declare-const " + name + " Int)\n";
    assert_bounds(name, "0", "(- " + source_name(u, 0) + " 1)");
    variables_[called] = name;
    return name;
  }

  std::string integer_term(UOp u) {
    if (u.is(Op::CONST)) return u.arg().is_int() ? smt_literal(u.arg().as_int()) : "";
    if (u.is(Op::DEFINE_VAR)) {
      std::string name = "v" + std::to_string(u.id()), called(u.arg()[0].text());
      text_ += "(declare-const " + name + " Int)\n";
      assert_bounds(name, smt_literal(u.arg()[1].as_int()), smt_literal(u.arg()[2].as_int()));
      variables_[called] = name;
      return name;
    }
    if (u.is(Op::CAST) && u.src(0).dtype().is_ptr()) return "0";  // offsets are relative to the base address
    if (!has_named_sources(u)) return "";
    switch (u.op()) {
      case Op::RANGE: return declare_bounded_variable(u, "r" + range_str(u));
      case Op::SPECIAL: return declare_bounded_variable(u, std::string(u.arg().text()));
      case Op::ADD: return apply_to_sources("+", u);
      case Op::SUB: return apply_to_sources("-", u);
      case Op::MUL: return apply_to_sources("*", u);
      case Op::NEG: return apply_to_sources("-", u);
      case Op::IDIV: return apply_to_sources("cdiv", u);
      case Op::MOD: return apply_to_sources("cmod", u);
      case Op::MAX:
        return "(ite (< " + source_name(u, 0) + " " + source_name(u, 1) + ") " + source_name(u, 1) + " " +
               source_name(u, 0) + ")";
      case Op::WHERE: return is_bool(u.src(0)) ? apply_to_sources("ite", u) : "";
      case Op::CAST:
        return is_bool(u.src(0))             ? "(ite " + source_name(u, 0) + " 1 0)"
               : is_scalar_integer(u.src(0)) ? source_name(u, 0)
                                             : "";
      case Op::MULACC: return "(+ (* " + source_name(u, 0) + " " + source_name(u, 1) + ") " + source_name(u, 2) + ")";
      case Op::SHL:
      case Op::SHR: return shift_term(u);
      case Op::AND: return mask_term(u);
      default: return "";
    }
  }
  std::string shift_term(UOp u) {
    UOp by = u.src(1);
    if (!by.is_const() || !by.arg().is_int()) return "";
    Int n = by.arg().as_int();
    if (n < 0 || n > 62) return "";
    std::string power = Int::pow2(uint32_t(n.small_value())).str();
    return u.is(Op::SHL) ? "(* " + source_name(u, 0) + " " + power + ")"
                         : "(div " + source_name(u, 0) + " " + power + ")";
  }
  // Translates an AND with 2**n - 1, n <= 62, to a remainder. Returns "" for any other AND.
  std::string mask_term(UOp u) {
    UOp by = u.src(1);
    if (!by.is_const() || !by.arg().is_int()) return "";
    Int m = by.arg().as_int();
    if (m < 0 || m > Int::pow2(62)) return "";
    uint64_t bits = m.low_64_bits();
    return bits & (bits + 1) ? "" : "(mod " + source_name(u, 0) + " " + (m + 1).str() + ")";
  }

  std::string bool_formula(UOp u) {
    if (u.is(Op::CONST)) return u.arg().to_const().truthy() ? "true" : "false";
    if (!has_named_sources(u)) return "";
    bool bools = u.num_src() && is_bool(u.src(0)), numbers = u.num_src() && is_scalar_integer(u.src(0));
    switch (u.op()) {
      case Op::AND: return bools ? apply_to_sources("and", u) : "";
      case Op::OR: return bools ? apply_to_sources("or", u) : "";
      case Op::XOR: return bools ? apply_to_sources("xor", u) : "";
      case Op::CMPLT:
        return numbers ? apply_to_sources("<", u)
               : bools ? "(and (not " + source_name(u, 0) + ") " + source_name(u, 1) + ")"
                       : "";
      case Op::CMPNE: return numbers || bools ? "(not " + apply_to_sources("=", u) + ")" : "";
      case Op::CMPEQ: return numbers || bools ? apply_to_sources("=", u) : "";
      case Op::WHERE: return bools ? apply_to_sources("ite", u) : "";
      case Op::CAST: return numbers ? "(not (= " + source_name(u, 0) + " 0))" : bools ? source_name(u, 0) : "";
      default: return "";
    }
  }

  UOpMap<std::string> names_;
  std::string text_;
  std::vector<UOp> inexact_ops_;
  std::map<std::string, std::string> variables_;
};

struct ElementAccess {
  UOp index, gate;
  int64_t width = 1;
};

// True if an INDEX computes an address in bytes, as the stages for PTX make it.
bool is_byte_address(UOp u) {
  return u.is(Op::INDEX) && u.num_src() > 1 && u.dtype() == dtypes::int64 && u.src(1).dtype() == dtypes::int64;
}

UOp strip_after(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u;
}

// Parses Z3's answer to get-value: returns {"1", "-2"} for "((a 1) (b (- 2)))".
std::vector<std::string> parse_z3_values(const std::string& answer) {
  std::vector<std::string> out;
  int depth = 0;
  std::string pair;
  for (char c : answer) {
    if (c == ')' && --depth == 1) {
      std::string value = pair.substr(pair.find(' ') + 1);
      if (value.starts_with("(- ")) value = "-" + value.substr(3, value.size() - 4);
      out.push_back(value);
      pair.clear();
    } else if (depth >= 2) {
      pair += c;
    }
    depth += c == '(';
  }
  return out;
}

class BoundsProver {
 public:
  explicit BoundsProver(std::span<const UOp> nodes)
      : nodes_(nodes), access_widths_(nodes[0].graph()), translator_(nodes[0].graph()) {
    for (UOp u : nodes)  // the vector width of a LOAD or STORE, or of the pointer that an INDEX is cast to
      if (is_access_by_address(u))
        access_widths_[u.src(0)] = u.is(Op::LOAD) ? u.dtype().count() : u.src(1).dtype().count();
      else if (u.is(Op::CAST) && u.dtype().is_ptr() && u.src(0).is(Op::INDEX))
        access_widths_[u.src(0)] = std::max(access_widths_[u.src(0)], int64_t(u.dtype().count()));
  }

  BoundsProof prove_accesses() {
    for (size_t i = 0; i < nodes_.size(); i++)
      if (nodes_[i].is(Op::INDEX)) check_access(nodes_[i], i);
    return std::move(proof_);
  }

 private:
  static bool is_access_by_address(UOp u) {
    return u.in({Op::LOAD, Op::STORE}) && u.num_src() && is_byte_address(u.src(0));
  }

  void check_access(UOp u, size_t position) {
    UOp buffer = strip_after(u.src(0));
    if (u.num_src() < 2 || !buffer.dtype().is_ptr() || buffer.dtype().is_image() || buffer.dtype().size() < 0) return;
    ElementAccess a{u.src(1), u.num_src() > 2 && u.src(2).dtype() == dtypes::bool_ ? u.src(2) : UOp(), 1};
    if (a.index.is(Op::WHERE) && a.index.src(2).is(Op::CONST) && a.index.src(2).arg().is_invalid())
      a.gate = a.index.src(0), a.index = a.index.src(1);
    if (a.index.dtype().count() > 1 || (a.index.is(Op::CONST) && a.index.arg().is_invalid())) return;
    if (const int64_t* w = access_widths_.find(u)) a.width = std::max<int64_t>(1, *w);
    proof_.num_accesses++;
    int64_t size = buffer.dtype().size() * std::max(1, buffer.dtype().count());
    if (is_byte_address(u)) size *= buffer.dtype().base().itemsize(), a.width *= buffer.dtype().base().itemsize();
    if (!py_less(a.index.vmin(), 0) && !py_less(Const(Int(size - a.width)), a.index.vmax())) {
      proof_.num_proven_by_bounds++;
      return;
    }
    prove_with_z3(u, a, size, position);
  }

  void prove_with_z3(UOp u, const ElementAccess& a, int64_t size, size_t position) {
    if (!z3_session_) z3_session_ = std::make_unique<Z3Session>(), (void)z3_session_->ask_z3(std::string(kPrelude));
    std::string index = translator_.translate_value(a.index),
                gate = a.gate ? translator_.translate_value(a.gate) : "true";
    std::string out_of_bounds = "(or (< " + index + " 0) (< " + std::to_string(size - a.width) + " " + index + "))";
    std::string answer = z3_session_->ask_z3(translator_.take_text() + "(push)\n(assert " + gate + ")\n(assert " +
                                             out_of_bounds + ")\n(check-sat)\n");
    if (answer.starts_with("unsat")) {
      proof_.num_proven_by_z3++;
    } else {
      if (answer.find("(error") != answer.npos) throw Failure("Z3 does not accept the expression: " + answer);
      const bool is_exact = translator_.is_exact(a.index) && (!a.gate || translator_.is_exact(a.gate));
      OutOfBoundsAccess failure{u, position, render(a.index, false), a.gate ? render(a.gate, false) : "", a.width, size,
                          answer.starts_with("sat") && is_exact, {}};
      if (answer.starts_with("sat")) add_counterexample(failure, a, index);
      proof_.failed_accesses.push_back(std::move(failure));
    }
    (void)z3_session_->ask_z3("(pop)\n");
  }

  void add_counterexample(OutOfBoundsAccess& failure, const ElementAccess& a, const std::string& index) {
    std::vector<std::pair<std::string, std::string>> asked;
    for (auto& [called, name] : translator_.variables()) {
      auto id = uint32_t(std::stoul(name.substr(1)));
      UOp variable = a.index.graph().at(id);
      if (in_backward_slice_with_self(a.index, variable) || (a.gate && in_backward_slice_with_self(a.gate, variable)))
        asked.emplace_back(called, name);
    }
    asked.emplace_back("index", index);
    std::string question = "(get-value (";
    for (auto& [called, name] : asked) question += name + " ";
    auto values = parse_z3_values(z3_session_->ask_z3(question + "))\n"));
    for (size_t i = 0; i < values.size() && i < asked.size(); i++)
      failure.node_values.emplace_back(asked[i].first, values[i]);
  }

  std::span<const UOp> nodes_;
  UOpMap<int64_t> access_widths_;
  SmtTranslator translator_;
  std::unique_ptr<Z3Session> z3_session_;
  BoundsProof proof_;
};

}  // namespace

std::string OutOfBoundsAccess::text() const {
  std::string unit = is_byte_address(access) ? " bytes" : " elements";
  std::string out = (is_proven ? "out of bounds: " : "not proven to stay in bounds: ") + std::string("the access to ") +
                    std::string(name_of(strip_after(access.src(0)).op())) + " " +
                    strip_after(access.src(0)).arg().repr() + " of " + std::to_string(buffer_size) + unit + " at [" +
                    std::string(strip_parens(index)) + "]";
  if (num_accessed > 1) out += ", " + std::to_string(num_accessed) + unit + " wide";
  if (!gate.empty()) out += ", under the gate " + gate;
  if (node_values.empty()) return out;
  out += "\n  for";
  for (size_t i = 0; i + 1 < node_values.size(); i++)
    out += (i ? ", " : " ") + node_values[i].first + " = " + node_values[i].second;
  return out + ": index " + node_values.back().second;
}

Result<BoundsProof> prove_access_bounds(std::span<const UOp> nodes) {
  if (nodes.empty()) return BoundsProof();
  return catch_failures([&] { return BoundsProver(nodes).prove_accesses(); });
}

}  // namespace tgc
