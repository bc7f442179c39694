#include "lib/run/recorded_source.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "lib/runtime/compile_source.h"
#include "lib/support/counted.h"
#include "lib/support/pytext.h"
#include "lib/text/pyrender.h"

namespace tgc {

namespace {

constexpr std::string_view kCoreNumber = "core_id";  // variable of threaded CPU kernels, whose value the device passes

// Parses a number, or an expression of the variables that the lines `names` define.
std::optional<Sint> parse_launch_expression(Graph& graph, const std::string& text, const std::string& names) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && !*end) return number;
  auto expression = read_pyrender(graph, names + "ast = " + text + "\n");
  return expression ? std::optional(Sint(*expression)) : std::nullopt;
}

std::string variable_definitions(const std::vector<VariableSpec>& variables) {
  std::string names;
  for (const VariableSpec& v : variables)
    names += v.name + " = UOp.variable('" + v.name + "', " + std::to_string(v.min) + ", " + std::to_string(v.max) +
             ")\n";
  return names;
}

std::array<Sint, 3> parse_launch_sizes(Graph& graph, const std::vector<std::string>& texts, const std::string& names) {
  std::array<Sint, 3> out{1, 1, 1};
  for (size_t i = 0; i < std::min<size_t>(3, texts.size()); i++) {
    auto size = parse_launch_expression(graph, texts[i], names);
    if (!size) throw Failure("the recorded launch size '" + texts[i] + "' is no expression of the variables");
    out[i] = *size;
  }
  return out;
}

// Returns the texts of the parameters of a function in a C or LLVM IR source. Throws Failure if there is no such
// function.
std::vector<std::string> function_parameters_of(const std::string& source, const std::string& function) {
  auto is_word = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
  const std::string call = function + "(";
  size_t begin = source.find(call);
  while (begin != source.npos && begin > 0 && is_word(source[begin - 1])) begin = source.find(call, begin + 1);
  if (begin == source.npos) throw Failure("the recorded source has no function '" + function + "'");
  begin += function.size() + 1;
  std::vector<std::string> out;
  size_t depth = 1;
  for (size_t i = begin; i < source.size() && depth; i++) {
    depth += source[i] == '(', depth -= source[i] == ')';
    if (depth && out.empty() && !std::isspace(uint8_t(source[i]))) out.emplace_back();
    if (depth == 1 && source[i] == ',') out.emplace_back();
    else if (depth && !out.empty()) out.back() += source[i];
  }
  return out;
}

// A program passes the buffers and then the variables. With other parameters, the CPU would read arguments that were
// not passed, or use a number as an address.
void check_parameters(const std::string& source, const std::string& function, size_t buffers, size_t variables) {
  const std::vector<std::string> parameters = function_parameters_of(source, function);
  if (parameters.size() > buffers + variables)
    throw Failure("the recorded source has " + count_text(parameters.size(), "parameter") +
                  ", but the recorded program only " + count_text(buffers + variables, "argument"));
  auto is_pointer = [](const std::string& p) { return p.find('*') != p.npos || p.find("ptr") != p.npos; };
  for (size_t i = 0; i < std::min(buffers, parameters.size()); i++)
    if (!is_pointer(parameters[i]))
      throw Failure("the recorded source takes a variable before a buffer, but the recorded program passes the buffers "
                    "first");
}

}  // namespace

bool has_recorded_source(const InputGraph& in) {
  // the target of a record for tinygrad's CPU:X86, for whose sources tgc has no compiler, is CPU
  const bool has_renderer = in.info.target.find(':') != std::string::npos;
  return in.record && in.record->source && in.record->program && has_renderer;
}

Result<Executable> make_recorded_executable(const InputGraph& in, Placement& place, double compile_seconds,
                                            bool* is_invalid) {
  return catch_failures([&] {
    const GoldenProgram& program = *in.record->program;
    const std::vector<UOp> nodes = toposort(in.root);
    std::vector<BufferSpec> buffers;
    const std::vector<BufferSpec> all = buffers_of_nodes(nodes);
    for (int64_t number : program.globals) {
      auto found = std::ranges::find(all, number, &BufferSpec::argument_number);
      if (found == all.end()) throw Failure("the AST has no buffer " + std::to_string(number));
      buffers.push_back(*found);
    }
    std::vector<VariableSpec> variables;
    std::optional<size_t> num_variables_before_core;
    const std::vector<VariableSpec> known = variables_of_nodes(nodes);
    for (const std::string& text : program.vars) {  // JSON such as ["name", min, max]
      const size_t begin = text.find('"') + 1;
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      auto found = std::ranges::find(known, name, &VariableSpec::name);
      if (name == kCoreNumber && place.target->device == "CPU") {
        num_variables_before_core = variables.size();
        continue;
      }
      if (found == known.end()) throw Failure("the AST has no variable '" + name + "'");
      variables.push_back(*found);
    }
    bool unused = false;
    bool& is_fault = is_invalid ? *is_invalid : unused;
    is_fault = true;
    if (place.target->device == "CPU")
      check_parameters(*in.record->source, program.function_name, buffers.size(), variables.size() + 1);
    is_fault = false;
    ProgramInfo info{.name = program.name, .function_name = program.function_name};
    const std::string names = variable_definitions(known);
    info.global_size = parse_launch_sizes(*in.graph, program.global_size, names);
    info.local_size.reset();
    if (program.has_local_size) info.local_size = parse_launch_sizes(*in.graph, program.local_size, names);
    auto estimate = [&](const std::string& text) {
      return parse_launch_expression(*in.graph, text, names).value_or(0);
    };
    info.estimates = {estimate(program.ops), estimate(program.lds), estimate(program.mem)};
    KernelSource source{ansistrip(program.name), program.function_name, place.target->name(),
                        source_with_image_sizes(*in.record->source, buffers).value_or_throw(), compile_seconds,
                        num_variables_before_core, runs_threads_in_turn(in)};
    auto made = Executable::make_for_source(std::move(source), std::move(buffers), std::move(variables),
                                            std::move(info), *place.device);
    is_fault = !made && is_invalid_source(made.diag());
    return std::move(made.value_or_throw());
  });
}

Result<std::string> source_with_image_sizes(std::string source, const std::vector<BufferSpec>& buffers) {
  constexpr std::string_view kType = "image2d_t ";
  std::string sizes;
  for (size_t at = source.find(kType); at != source.npos; at = source.find(kType, at + 1)) {
    const size_t begin = at + kType.size();
    // such as data1_4_256_4: the number of the argument, the height, the width, and 4 channels
    const std::string name = source.substr(begin, source.find_first_of(",)", begin) - begin);
    long long number = 0, height = 0, width = 0;
    int end = 0;
    if (std::sscanf(name.c_str(), "data%9lld_%9lld_%9lld_4%n", &number, &height, &width, &end) != 3 ||
        size_t(end) != name.size())
      return Diag{"the name of the image '" + name + "' does not tell its size"};
    auto buffer = std::ranges::find(buffers, number, &BufferSpec::argument_number);
    if (buffer == buffers.end()) return Diag{"the kernel has no buffer for the image '" + name + "'"};
    if (buffer->dtype != dtypes::float32 && buffer->dtype != dtypes::float16)
      return Diag{"the image '" + name + "' is of " + std::string(buffer->dtype.repr())};
    if (buffer->num_elements < height * width * 4)
      return Diag{"the image '" + name + "' is larger than its buffer, " + buffer->describe()};
    sizes += "enum { " + name + "_w = " + std::to_string(width) + ", " + name + "_h = " + std::to_string(height) +
             ", " + name + "_half = " + (buffer->dtype == dtypes::float16 ? "1" : "0") + " };\n";
  }
  return sizes + source;
}

}  // namespace tgc
