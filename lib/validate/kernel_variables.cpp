#include "lib/validate/kernel_variables.h"

#include <random>

namespace tgc {
namespace {

// Returns the integer that the array `name` holds; nullopt if there is no such array. Throws Failure.
std::optional<int64_t> integer_in(const Arrays& arrays, const std::string& name) {
  const Array* a = find_array(arrays, name);
  if (!a) return std::nullopt;
  if (a->size() != 1 || !dtypes::is_int(a->dtype()))
    throw Failure(Diag{.message = "the variable '" + name + "' is " + a->describe() + " in the file of --inputs",
                       .expected = "one integer"});
  return int64_t(element_as_double(*a, 0));
}

}  // namespace

std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> out;
  for (const VariableSpec& v : kernel.variables())
    if (given.contains(v.name)) out.insert(v.name);
  return out;
}

Status check_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> bound = bound_variables(kernel, given);
  std::string known;
  for (const VariableSpec& v : kernel.variables()) known += (known.empty() ? "--var " : ", --var ") + v.name + "=N";
  for (auto& [name, value] : given)
    if (!bound.contains(name))
      return Diag{.message = "the kernel has no variable '" + name + "'",
                  .expected = known.empty() ? "no --var: the kernel has none" : known};
  return Unit{};
}

ChosenVariables choose_variables(const Executable& kernel, const VariableSources& from) {
  ChosenVariables out;
  std::mt19937_64 random(from.seed.value_or(0));
  for (const VariableSpec& v : kernel.variables()) {
    if (auto given = from.options.find(v.name); given != from.options.end()) {
      out[v.name] = {given->second, "--var"};
    } else if (auto value = from.arrays ? integer_in(*from.arrays, v.name) : std::nullopt) {
      out[v.name] = {*value, "--inputs"};
    } else if (auto bound = from.recorded.find(v.name); bound != from.recorded.end()) {
      out[v.name] = {bound->second, "recorded"};
    } else if (from.seed) {
      const uint64_t values = uint64_t(v.max) - uint64_t(v.min) + 1;  // number of values; 0: all 2**64
      out[v.name] = {int64_t(uint64_t(v.min) + (values ? random() % values : random())), "drawn"};
    }
  }
  return out;
}

std::vector<ChosenVariables> variables_at_bounds(const Executable& kernel, const ChosenVariables& chosen) {
  std::vector<ChosenVariables> out;
  for (const bool largest : {false, true}) {
    ChosenVariables bound = chosen;
    for (const VariableSpec& v : kernel.variables()) {
      ChosenVariable& c = bound[v.name];
      const int64_t value = largest ? v.max : v.min;
      const bool is_given = c.from == "--var" || c.from == "--inputs";
      if (!is_given && c.value != value) c = {value, largest ? "the largest" : "the smallest"};
    }
    auto is_same = [](const ChosenVariables& a, const ChosenVariables& b) { return values_of(a) == values_of(b); };
    if (!is_same(bound, chosen) && (out.empty() || !is_same(bound, out[0]))) out.push_back(std::move(bound));
  }
  return out;
}

VariableValues values_of(const ChosenVariables& chosen) {
  VariableValues out;
  for (auto& [name, v] : chosen) out[name] = v.value;
  return out;
}

std::string text_of(const ChosenVariables& chosen) {
  std::string out;
  for (auto& [name, v] : chosen)
    out += (out.empty() ? "" : "; ") + name + "=" + std::to_string(v.value) + ", " + std::string(v.from);
  return out;
}

}  // namespace tgc
