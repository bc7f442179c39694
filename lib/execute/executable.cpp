#include "lib/execute/executable.h"

#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/runtime/array.h"
#include "lib/support/counted.h"
#include "lib/support/pytext.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"
#include "lib/uop/uop.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

// Returns the DEFINE_GLOBAL of an access; the empty UOp for local memory and registers.
UOp buffer_of_access(UOp access) {
  while (!access.is(Op::DEFINE_GLOBAL)) {
    if (access.num_src() == 0) return {};
    access = access.src(0);
  }
  return access;
}

Int evaluate_size(Sint size, const VariableValues& values) {
  if (size.is_int()) return size.as_int();
  return sym_infer(size.uop(), [&](std::string_view name) -> std::optional<Int> {
    auto it = values.find(std::string(name));
    return it == values.end() ? std::nullopt : std::optional<Int>(it->second);
  });
}

uint32_t launch_dimension(Sint size, const VariableValues& values) {
  auto n = evaluate_size(size, values).to_int64();
  if (!n || *n < 0 || *n > INT64_C(0xFFFFFFFF)) throw Failure("the launch size " + size.str() + " does not fit");
  return uint32_t(*n);
}

std::string kernel_name(UOp sink) {
  return sink.is(Op::SINK) && sink.arg().is(RecordClass::KernelInfo) ? std::string(sink.arg()[0].text())
                                                                     : std::string();
}

// The positions of buffers (by number) and variables (by name) in the linear list.
struct ParameterPositions {
  std::map<int64_t, size_t> buffers;
  std::map<std::string, size_t> variables;

  // Throws Failure if a variable precedes a buffer: launches pass the buffers first.
  explicit ParameterPositions(std::span<const UOp> list) {
    for (size_t i = 0; i < list.size(); i++) {
      UOp u = list[i];
      if (u.is(Op::DEFINE_VAR)) variables.try_emplace(std::string(u.arg()[0].text()), i);
      if (u.is(Op::DEFINE_GLOBAL) && buffers.try_emplace(u.arg().small_int(), i).second && !variables.empty())
        throw Failure({.message = "DEFINE_GLOBAL " + u.arg().str() + " stands below a DEFINE_VAR",
                       .expected = "all buffers before all variables, as launches take them"});
    }
  }
};

}  // namespace

std::string BufferSpec::describe() const {
  return std::string(dtype_text(dtype)) +
         (num_elements < 0 ? "" : ", " + count_text(uint64_t(num_elements), "element"));
}

std::vector<BufferSpec> buffers_of_nodes(std::span<const UOp> nodes) {
  std::map<int64_t, BufferSpec> found;
  if (nodes.empty()) return {};
  UOpSet stored_to(nodes.front().graph());
  for (UOp u : nodes) {
    if (u.is(Op::STORE) || is_atomic_add(u)) stored_to.insert(u.src(0));
    if (!u.is(Op::DEFINE_GLOBAL)) continue;
    DType dtype = u.dtype();
    BufferSpec& spec = found[u.arg().small_int()];
    spec.argument_number = u.arg().small_int();
    spec.dtype = dtypes::of(dtype.scalar_kind());
    if (spec.dtype.itemsize() <= 0) throw Failure(spec.name() + " has elements without a size");
    int64_t per_item = dtype.is_image() ? 1 : dtype.base().count();
    spec.num_elements = dtype.size() < 0 ? -1 : dtype.size() * per_item;
  }
  auto spec_of = [&](UOp access) -> BufferSpec* {
    UOp buffer = buffer_of_access(access);
    return buffer ? &found[buffer.arg().small_int()] : nullptr;
  };
  for (UOp u : nodes) {
    if (u.is(Op::STORE)) {
      if (auto* spec = spec_of(u.src(0))) spec->is_written = true;
    } else if (is_atomic_add(u)) {
      if (auto* spec = spec_of(u.src(0))) spec->is_written = spec->is_read = true;
    } else if (u.is(Op::LOAD) || (u.is(Op::INDEX) && u.dtype().is_value() && !stored_to.contains(u))) {
      // before the stage "add loads", an INDEX itself is the loaded value
      if (auto* spec = spec_of(u.src(0))) spec->is_read = true;
    }
  }
  std::vector<BufferSpec> out;
  for (auto& [number, spec] : found) out.push_back(spec);
  return out;
}

std::vector<VariableSpec> variables_of_nodes(std::span<const UOp> nodes) {
  std::map<std::string, VariableSpec> found;
  for (UOp u : nodes) {
    if (!u.is(Op::DEFINE_VAR)) continue;
    std::string name(u.arg()[0].text());
    found[name] = {name, u.vmin().as_int().to_int64().value_or(INT64_MIN),
                   u.vmax().as_int().to_int64().value_or(INT64_MAX)};
  }
  std::vector<VariableSpec> out;
  for (auto& [name, spec] : found) out.push_back(spec);
  return out;
}

Status Executable::set_parameters(std::span<const UOp> nodes) {
  return catch_failures([&] {
    buffer_specs_ = buffers_of_nodes(nodes);
    variable_specs_ = variables_of_nodes(nodes);
    return Unit{};
  });
}

Result<Executable> Executable::make_for_ref(UOp sink, const RefOptions& options) {
  auto program = RefProgram::make_from_graph(sink, options);
  if (!program) return program.diag();
  std::vector<UOp> nodes = toposort(sink);
  Executable out;
  out.name_ = kernel_name(sink);
  if (auto status = out.set_parameters(nodes); !status) return status.diag();
  out.ref_program_ = std::make_shared<RefProgram>(std::move(*program));
  return out;
}

Result<Executable> Executable::make_for_ref(std::span<const UOp> list, const RefOptions& options) {
  auto program = RefProgram::make_from_list(list, options);
  if (!program) return program.diag();
  Executable out;
  if (auto status = out.set_parameters(list); !status) return status.diag();
  out.ref_program_ = std::make_shared<RefProgram>(std::move(*program));
  if (auto info = make_program_info(list)) {
    out.name_ = info->name;
    out.program_info_ = std::move(*info);
  }
  return out;
}

Result<Executable> Executable::make_for_device(std::span<const UOp> list, const Target& target, Device& device,
                                          double compile_seconds) {
  auto info = make_program_info(list);
  if (!info) return info.diag();
  bool on_images = std::ranges::any_of(list, [](UOp u) { return u.is(Op::DEFINE_GLOBAL) && u.dtype().is_image(); });
  if (on_images) return Diag{.message = "the kernel works on images, which no device here takes", .expected = "REF"};
  auto text = render_source(target, list);
  if (!text) return text.diag();
  if (auto status = check_custom_nodes(list); !status) return status.diag();
  auto parameters = catch_failures([&] { return ParameterPositions(list); });
  if (!parameters) return parameters.diag();
  Executable out;
  out.name_ = info->name;
  if (auto status = out.set_parameters(list); !status) return status.diag();
  std::ranges::sort(out.buffer_specs_, {},
                    [&](const BufferSpec& b) { return parameters->buffers.at(b.argument_number); });
  std::ranges::sort(out.variable_specs_, {}, [&](const VariableSpec& v) { return parameters->variables.at(v.name); });
  out.kernel_source_ = {ansistrip(info->name), info->function_name, target.name(), std::move(*text), compile_seconds};
  auto code = device.compile(out.kernel_source_);
  if (!code) return code.diag();
  out.binary_code_ = std::move(*code);
  out.program_info_ = std::move(*info);
  return out;
}

Result<Executable> Executable::make_for_source(KernelSource source, std::vector<BufferSpec> buffers,
                                          std::vector<VariableSpec> variables, ProgramInfo info, Device& device) {
  auto code = device.compile(source);
  if (!code) return code.diag();
  Executable out;
  out.name_ = info.name;
  out.buffer_specs_ = std::move(buffers);
  out.variable_specs_ = std::move(variables);
  out.program_info_ = std::move(info);
  out.kernel_source_ = std::move(source);
  out.binary_code_ = std::move(*code);
  return out;
}

Result<std::unique_ptr<Kernel>> Executable::load(Device& device) {
  if (!ref_program_) return device.load(kernel_source_, binary_code_);
  std::vector<int64_t> numbers;
  std::vector<std::string> names;
  for (const BufferSpec& b : buffer_specs_) numbers.push_back(b.argument_number);
  for (const VariableSpec& v : variable_specs_) names.push_back(v.name);
  return std::unique_ptr<Kernel>(std::make_unique<RefKernel>(device, ref_program_, numbers, names));
}

Result<std::vector<int64_t>> Executable::variable_arguments(const VariableValues& values) const {
  std::vector<int64_t> out;
  for (const VariableSpec& v : variable_specs_) {
    auto it = values.find(v.name);
    std::string range = std::to_string(v.min) + " to " + std::to_string(v.max);
    if (it == values.end())
      return Diag{.message = "the variable '" + v.name + "' has no value",
                  .expected = "--var " + v.name + "=N with N from " + range};
    if (it->second < v.min || it->second > v.max)
      return Diag{.message = "the variable '" + v.name + "' cannot be " + std::to_string(it->second),
                  .expected = range};
    out.push_back(it->second);
  }
  return out;
}

Result<LaunchSize> Executable::launch_size(const VariableValues& values) const {
  return catch_failures([&] {
    LaunchSize out;
    if (!program_info_) return out;
    for (size_t i = 0; i < 3; i++) out.global_size[i] = launch_dimension(program_info_->global_size[i], values);
    if (!program_info_->local_size) out.local_size.reset();
    else
      for (size_t i = 0; i < 3; i++) (*out.local_size)[i] = launch_dimension((*program_info_->local_size)[i], values);
    return out;
  });
}

std::optional<Executable::Cost> Executable::cost(const VariableValues& values) const {
  if (!program_info_) return std::nullopt;
  auto number = [&](Sint s) {
    auto result = catch_failures([&] { return evaluate_size(s, values).to_double(); });
    return result ? *result : 0.0;
  };
  const Estimates& e = program_info_->estimates;
  return Cost{number(e.ops), number(e.lds), number(e.mem)};
}

}  // namespace tgc
