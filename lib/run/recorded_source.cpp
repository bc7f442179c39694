#include "lib/run/recorded_source.h"

#include <algorithm>
#include <charconv>

#include "lib/support/pytext.h"

namespace tgc {
namespace {

constexpr std::string_view kCoreNumber = "core_id";  // tgc's CPU device passes it to every kernel, as the last argument

// Parses the three sizes of a launch. The missing ones are 1.
std::array<Sint, 3> launch_sizes(const std::vector<std::string>& texts) {
  std::array<Sint, 3> out{1, 1, 1};
  for (size_t i = 0; i < std::min<size_t>(3, texts.size()); i++) {
    int64_t size = 0;
    auto [end, error] = std::from_chars(texts[i].data(), texts[i].data() + texts[i].size(), size);
    if (error != std::errc() || *end) throw Failure("the recorded launch size depends on variables: " + texts[i]);
    out[i] = size;
  }
  return out;
}

}  // namespace

bool has_recorded_source(const InputGraph& in) {
  const bool has_renderer = in.info.target.find(':') != std::string::npos;  // tgc has no target CPU:X86, only CPU
  return in.record && in.record->source && in.record->program && has_renderer;
}

Result<Executable> recorded_executable(const InputGraph& in, Placement& place, double compile_seconds) {
  return catch_failures([&] {
    const GoldenProgram& program = *in.record->program;
    const std::vector<UOp> nodes = toposort(in.root);
    std::vector<BufferSpec> buffers;
    const std::vector<BufferSpec> all = buffers_of(nodes);
    for (int64_t number : program.globals) {
      auto found = std::ranges::find(all, number, &BufferSpec::number);
      if (found == all.end()) throw Failure("the AST has no buffer " + std::to_string(number));
      buffers.push_back(*found);
    }
    std::vector<VariableSpec> variables;
    const std::vector<VariableSpec> known = variables_of(nodes);
    for (const std::string& text : program.vars) {  // ["name", min, max]
      const size_t begin = text.find('"') + 1;
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      auto found = std::ranges::find(known, name, &VariableSpec::name);
      if (name == kCoreNumber && &text == &program.vars.back()) continue;
      if (found == known.end()) throw Failure("the AST has no variable '" + name + "'");
      variables.push_back(*found);
    }
    ProgramInfo info{.name = program.name, .function_name = program.function_name};
    info.global_size = launch_sizes(program.global_size);
    info.local_size.reset();
    if (program.has_local_size) info.local_size = launch_sizes(program.local_size);
    KernelSource source{ansistrip(program.name), program.function_name, place.target->name(), *in.record->source,
                        compile_seconds};
    auto made = Executable::for_source(std::move(source), std::move(buffers), std::move(variables), std::move(info),
                                       *place.device);
    return std::move(made.value_or_throw());
  });
}

}  // namespace tgc
