#include "lib/prove/node_values.h"

#include <cstdlib>
#include <functional>
#include <optional>
#include <unordered_map>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {
namespace {

constexpr size_t kMostNodes = 60;

// Returns the number that a counterexample's text means; nullopt for arrays and bits of floats.
std::optional<Const> number_of(const std::string& text, DType d) {
  if (text == "True" || text == "False") return Const(text == "True");
  if (dtypes::is_float(d)) {
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    return text.empty() || *end ? std::nullopt : std::optional(Const(v));
  }
  const auto v = Int::parse(text);
  if (!v) return std::nullopt;
  return dtypes::is_bool(d) ? Const(*v != 0) : truncate(Const(*v), d);
}

// Returns the memory that a load reads one element of; null for other nodes.
UOp memory_of(UOp u) {
  const UOp index = u.is(Op::LOAD) && u.num_src() == 1 ? u.src(0) : u;
  const bool is_element = index.is(Op::INDEX) && index.src(0).is(Op::DEFINE_GLOBAL) && index.src(0).arg().is_int();
  return is_element ? index.src(0) : UOp();
}

// Computes values as REF does: bools are 0 and 1 in its reports.
class Values {
 public:
  explicit Values(const std::map<std::string, std::string>& point) : point_(point) {}

  std::optional<Const> of(UOp u) {
    if (auto it = known_.find(u); it != known_.end()) return it->second;
    auto made = catch_failures([&] { return make(u); });
    return known_[u] = made ? *made : std::nullopt;
  }
  // Returns whether the node stands for a value that the counterexample gives, so that nothing below it counts.
  bool is_given(UOp u) const { return point_.contains(name_of(u)); }
  static std::string name_of(UOp u) {
    if (const UOp memory = memory_of(u)) return "data" + std::to_string(memory.arg().small_int());
    return name_of_leaf(u);
  }

 private:
  std::optional<Const> make(UOp u) {
    const DType d = u.dtype();
    if (d.count() != 1 || d == dtypes::void_) return std::nullopt;
    if (auto it = point_.find(name_of(u)); it != point_.end()) return number_of(it->second, d.base());
    if (u.is_const()) return u.is_invalid() ? std::nullopt : std::optional(truncate(u.arg().to_const(), d));
    if (u.is(Op::WHERE)) {
      const auto c = of(u.src(0));
      return c ? of(u.src(c->truthy() ? 1 : 2)) : std::nullopt;
    }
    if (u.is(Op::LOAD) && u.num_src() > 1) return gated(u);
    if (!u.in(ops::ALU) && !u.is(Op::CAST)) return std::nullopt;
    std::vector<Arg> operands;
    for (UOp s : u.src()) {
      const auto v = of(s);
      if (!v) return std::nullopt;
      operands.push_back(Arg(*v));
    }
    if (u.is(Op::CAST)) {
      const Const v = operands[0].to_const();
      return truncate(v.is_float() && dtypes::is_int(d) ? Const(Int::trunc(v.as_float())) : v, d);
    }
    return exec_alu(u.graph(), u.op(), d, operands).to_const();
  }

  // Returns the value of a load that has an alternative value.
  std::optional<Const> gated(UOp load) {
    const UOp index = load.src(0);
    const auto gate = index.is(Op::INDEX) && index.num_src() == 3 ? of(index.src(2)) : std::optional(Const(true));
    return gate ? of(gate->truthy() ? index : load.src(1)) : std::nullopt;
  }

  const std::map<std::string, std::string>& point_;
  std::unordered_map<UOp, std::optional<Const>> known_;
};

std::string text_of(const Const& v) { return v.is_float() ? Arg(v).repr() : v.to_int().str(); }

}  // namespace

std::string point_text(const std::map<std::string, std::string>& point) {
  std::string out;
  auto add = [&](const std::string& name, const std::string& value) {
    out += (out.empty() ? "" : ", ") + name + " = " + value;
  };
  for (auto& [name, value] : point)
    if (name != "before" && name != "after" && name != "stored") add(name, value);
  for (const char* name : {"before", "after", "stored"})
    if (auto it = point.find(name); it != point.end()) add(name, it->second);
  return out;
}

std::vector<std::string> node_values(UOp side, const std::map<std::string, std::string>& point,
                                     const std::string& result) {
  Values values(point);
  const auto whole = values.of(side);
  const auto expected = whole ? number_of(result, side.dtype().base()) : std::nullopt;
  if (!expected || text_of(*whole) != text_of(*expected)) return {};
  std::vector<std::string> out;
  std::unordered_map<UOp, std::string> names;
  std::function<bool(UOp)> add = [&](UOp u) {  // returns false if there are too many nodes
    if (names.contains(u)) return true;
    std::string operands;
    if (values.is_given(u)) operands = " " + values.name_of(u);
    else
      for (UOp s : u.src()) {
        if (!add(s)) return false;
        operands += (operands.empty() ? " " : ", ") + names[s];
      }
    const auto v = values.of(u);  // a value that is not chosen may have none
    const std::string name = names[u] = "%" + std::to_string(out.size());
    out.push_back(name + " = " + std::string(tgc::name_of(u.op())) + " " + std::string(u.dtype().repr()) + operands +
                  (v ? " = " + text_of(*v) : ""));
    return out.size() <= kMostNodes;
  };
  return add(side) ? out : std::vector<std::string>();
}

}  // namespace tgc
