#include "lib/run/kernel_variables.h"

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

VariableValues drawn_variables(const Executable& kernel, VariableValues given, uint64_t seed) {
  return values_of(choose_variables(kernel, InputGraph(), given, {}, seed));
}

ChosenVariables choose_variables(const Executable& kernel, const InputGraph& in, const VariableValues& options,
                                 const Arrays& arrays, std::optional<uint64_t> seed) {
  const VariableValues recorded = in.record ? in.record->var_vals : VariableValues();
  ChosenVariables out;
  std::mt19937_64 random(seed.value_or(0));
  for (const VariableSpec& v : kernel.variables()) {
    if (auto given = options.find(v.name); given != options.end()) {
      out[v.name] = {given->second, "--var"};
    } else if (auto value = integer_in(arrays, v.name)) {
      out[v.name] = {*value, "--inputs"};
    } else if (auto bound = recorded.find(v.name); bound != recorded.end()) {
      out[v.name] = {bound->second, "recorded"};
    } else if (seed) {
      const uint64_t values = uint64_t(v.max) - uint64_t(v.min) + 1;  // number of values; 0: all 2**64
      out[v.name] = {int64_t(uint64_t(v.min) + (values ? random() % values : random())), "drawn"};
    }
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
