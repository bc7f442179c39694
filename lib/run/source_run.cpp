#include "lib/run/source_run.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "lib/compile/backends.h"
#include "lib/contain/process.h"
#include "lib/runtime/emulated.h"
#include "lib/runtime/npz.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/quantile.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {
namespace {

struct TypeName {
  std::string_view name;
  DType dtype;
};
const TypeName kTypes[] = {
    {"float", dtypes::float32},        {"double", dtypes::float64},       {"half", dtypes::float16},
    {"__half", dtypes::float16},       {"_Float16", dtypes::float16},     {"__bf16", dtypes::bfloat16},
    {"nv_bfloat16", dtypes::bfloat16}, {"__nv_bfloat16", dtypes::bfloat16}, {"bfloat", dtypes::bfloat16},
    {"int", dtypes::int32},            {"i32", dtypes::int32},            {"int32_t", dtypes::int32},
    {"unsigned int", dtypes::uint32},  {"unsigned", dtypes::uint32},      {"uint", dtypes::uint32},
    {"uint32_t", dtypes::uint32},      {"char", dtypes::int8},            {"signed char", dtypes::int8},
    {"i8", dtypes::int8},              {"int8_t", dtypes::int8},          {"unsigned char", dtypes::uint8},
    {"uchar", dtypes::uint8},          {"uint8_t", dtypes::uint8},        {"short", dtypes::int16},
    {"i16", dtypes::int16},            {"int16_t", dtypes::int16},        {"unsigned short", dtypes::uint16},
    {"ushort", dtypes::uint16},        {"uint16_t", dtypes::uint16},      {"long", dtypes::int64},
    {"long long", dtypes::int64},      {"i64", dtypes::int64},            {"int64_t", dtypes::int64},
    {"unsigned long", dtypes::uint64}, {"unsigned long long", dtypes::uint64}, {"ulong", dtypes::uint64},
    {"uint64_t", dtypes::uint64},      {"bool", dtypes::bool_},           {"i1", dtypes::bool_},
};

// Returns the dtype of a type's name, or nullopt if it is unknown. For a vector type such as float4, returns the dtype
// of its components.
std::optional<DType> parse_element_dtype(std::string_view type) {
  auto find = [](std::string_view name) {
    auto found = std::ranges::find(kTypes, name, &TypeName::name);
    return found == std::end(kTypes) ? std::nullopt : std::optional(found->dtype);
  };
  if (auto whole = find(type)) return whole;
  return find(type.substr(0, type.find_last_not_of("0123456789") + 1));
}

// A value of --arg, NAME=N or NAME=TYPE[N], without the name.
struct GivenSize {
  int64_t number = 0;
  std::string type;
};
std::map<std::string, GivenSize> parse_given_sizes(const std::vector<std::string>& texts) {
  std::map<std::string, GivenSize> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('='), open = text.find('[');
    const std::string number = open == text.npos ? text.substr(equals == text.npos ? text.size() : equals + 1)
                                                 : text.substr(open + 1, text.find(']') - open - 1);
    GivenSize size;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size.number);
    if (equals == text.npos || error != std::errc() || *end)
      throw Failure(Diag{.message = "'" + text + "' is no size", .expected = "--arg NAME=N or NAME=TYPE[N]"});
    if (open != text.npos) size.type = text.substr(equals + 1, open - equals - 1);
    out[text.substr(0, equals)] = size;
  }
  return out;
}

const HandWrittenKernel& choose_kernel(const std::vector<HandWrittenKernel>& kernels, const std::string& wanted) {
  std::string all;
  for (const HandWrittenKernel& k : kernels) {
    if (k.name == wanted) return k;
    all += (all.empty() ? "" : ", ") + k.name;
  }
  if (wanted.empty() && kernels.size() == 1) return kernels[0];
  const std::string what = wanted.empty() ? "several kernels" : "no kernel '" + wanted + "'";
  throw Failure(Diag{.message = "the file has " + what, .expected = "--kernel=NAME with one of " + all});
}

struct KernelArguments {
  std::vector<BufferSpec> buffers;
  std::vector<std::string> names;
  std::vector<VariableSpec> variables;
  VariableValues values;
};

KernelArguments make_kernel_arguments(const HandWrittenKernel& kernel, const std::vector<std::string>& texts,
                                      const Arrays& given) {
  KernelArguments out;
  auto sizes = parse_given_sizes(texts);
  for (const HandWrittenKernel::KernelParameter& p : kernel.parameters) {
    auto size = sizes.find(p.name);
    const Array* array = find_array(given, p.name);
    if (p.is_builtin) continue;
    if (!p.is_pointer) {
      const auto dtype = parse_element_dtype(p.type);
      if (!dtype || dtype->itemsize() != 4 || !dtypes::is_int(*dtype)) {
        throw Failure("the parameter '" + p.name + "' is a " + p.type + "; tgc passes pointers and 32-bit integers");
      }
      if (p.name == "core_id") continue;  // the device passes the thread's number
      if (size == sizes.end()) throw Failure(Diag{.message = "the number '" + p.name + "' has no value",
                                                  .expected = "--arg " + p.name + "=N"});
      out.variables.push_back({p.name, INT32_MIN, INT32_MAX});
      out.values[p.name] = size->second.number;
      sizes.erase(size);
      continue;
    }
    if (!out.variables.empty())
      throw Failure("the pointer '" + p.name + "' stands after a number; tgc passes pointers first");
    const std::string type = size != sizes.end() && !size->second.type.empty() ? size->second.type : p.type;
    const auto dtype = array && type.empty() ? std::optional(array->dtype()) : parse_element_dtype(type);
    if (!dtype)
      throw Failure(Diag{.message = "the type '" + type + "' of the elements of '" + p.name + "' is not known",
                         .expected = "--arg " + p.name + "=float[N]"});
    if (!array && size == sizes.end())
      throw Failure(Diag{.message = "the size of '" + p.name + "' is not known",
                         .expected = "--arg " + p.name + "=N, its number of elements, or an array in --inputs"});
    out.buffers.push_back({.argument_number = int64_t(out.buffers.size()),
                           .dtype = *dtype,
                           .num_elements = array ? array->size() : size->second.number,
                           .is_read = true,
                           .is_written = !p.is_const});
    out.names.push_back(p.name);
    if (size != sizes.end()) sizes.erase(size);
  }
  if (!sizes.empty()) throw Failure("the kernel '" + kernel.name + "' has no parameter '" + sizes.begin()->first + "'");
  return out;
}

Language language_of_target(const Target& target) {
  if (target.device == "METAL") return Language::Metal;
  return make_compile_job(target.device, name_of(target.renderer), target.arch).value_or_throw().language;
}

// On the CPU, each work group is a thread. For OpenCL, the driver checks the number of threads of a work group.
void check_launch_size(const Target& target, const std::array<uint32_t, 3>& grid,
                       const std::array<uint32_t, 3>& block) {
  constexpr int64_t kThreads = 1024;  // most threads of a work group for CUDA, HIP and Metal
  const bool is_cpu = target.device == "CPU";
  int64_t threads = 1, most = is_cpu ? 1 : target.device == "CL" ? INT64_MAX : kThreads;
  for (size_t i = 0; i < 3; i++) {
    const int64_t groups = target.global_max ? std::max<int64_t>(1, (*target.global_max)[i]) : 1;
    if (grid[i] > groups)
      throw Failure(Diag{.message = formatted("a grid of %u work groups in dimension %zu", grid[i], i),
                         .expected = "at most " + std::to_string(groups) + " for " + target.name()});
    threads *= std::min<int64_t>(block[i], 1 << 20);
    if (target.local_max && !is_cpu) most = block[i] > (*target.local_max)[i] ? 0 : most;
  }
  if (threads > most)
    throw Failure(Diag{.message = formatted("a work group of %u,%u,%u threads", block[0], block[1], block[2]),
                       .expected = is_cpu ? "one thread: --grid is the number of the CPU's threads"
                                          : "at most 1024, and in each dimension what " + target.name() + " takes"});
}

struct HandWrittenSource {
  Target target;
  Language language;
  std::string text;
};
HandWrittenSource read_source(const Session& session, const std::string& file, const std::string& language,
                              const std::string& wanted) {
  const std::string target = wanted.empty() ? default_language_target(language).value_or_throw() : wanted;
  HandWrittenSource out{.target = parse_target(target, session.merge_settings().value_or_throw()).value_or_throw(),
                        .language = Language::C, .text = {}};
  const Target own = parse_target(default_language_target(language).value_or_throw(), Settings()).value_or_throw();
  out.language = language_of_target(out.target);
  if (out.language != language_of_target(own))
    throw Failure(Diag{.message = "the compiler of " + out.target.name() + " takes no " + language,
                       .expected = "--target=" + own.name() + " or an architecture of it"});
  out.text = make_self_contained_source(out.language, read_whole_file(file).value_or_throw()).value_or_throw();
  return out;
}

std::string element_values_text(const Array& array) {
  std::string out;
  const int64_t shown = std::min<int64_t>(array.size(), 8);
  for (int64_t i = 0; i < shown; i++) out += (i ? " " : "") + element_text(array, i);
  return out + (array.size() > shown ? " ..." : "");
}

}  // namespace

Result<std::array<uint32_t, 3>> parse_launch_size(const std::string& text) {
  std::array<uint32_t, 3> out{1, 1, 1};
  size_t axis = 0;
  for (size_t at = 0; at <= text.size() && axis < 3; axis++) {
    const size_t end = std::min(text.find(',', at), text.size());
    auto [last, error] = std::from_chars(text.data() + at, text.data() + end, out[axis]);
    if (error != std::errc() || last != text.data() + end || out[axis] == 0) break;
    if (end == text.size()) return out;
    at = end + 1;
  }
  return Diag{.message = "'" + text + "' is no launch size", .expected = "X, X,Y or X,Y,Z, such as 64,2"};
}

Diag point_to_source_line(Diag diag, const std::string& file) {
  auto text = read_whole_file(file);
  if (!text) return diag;
  const std::vector<std::string_view> lines = lines_of(*text);
  if (diag.line > 0 && diag.line <= lines.size()) {
    const std::string line(lines[diag.line - 1]);
    if (line != diag.context) diag.column = 0;
    diag.file = file, diag.context = line;
    return diag;
  }
  std::vector<size_t> named;
  for (std::string_view line : lines_of(diag.context))
    if (constexpr std::string_view kLine = "  line "; line.starts_with(kLine))
      named.push_back(size_t(std::atol(line.data() + kLine.size())));
  if (!named.empty()) diag.context = source_lines_text(*text, named);
  return diag;
}

Result<SourceJob> make_source_job(const Session& session, const std::string& file, const std::string& language,
                                  const std::string& target) {
  return catch_failures([&] {
    HandWrittenSource source = read_source(session, file, language, target);
    CompileJob job =
        make_compile_job(source.target.device, name_of(source.target.renderer), source.target.arch).value_or_throw();
    job.name = kernels_in_source(source.language, source.text).value_or_throw().front().name;
    job.source = std::move(source.text);
    return SourceJob{source.target.name(), std::move(job)};
  });
}

Result<SourceRunReport> run_source(const Session& session, const std::string& file, const SourceRunOptions& source,
                                   const RunOptions& options) {
  auto report = catch_failures([&] {
    HandWrittenSource read = read_source(session, file, source.language, source.target);
    const auto kernels = kernels_in_source(read.language, read.text).value_or_throw();
    const HandWrittenKernel& kernel = choose_kernel(kernels, source.kernel);
    Placement place =
        std::move(choose_placement("", read.target.name(), session.merge_settings().value_or_throw()).value_or_throw());
    check_emulation(place).value_or_throw();
    check_launch_size(*place.target, source.grid, source.block);
    Arrays given;
    if (!options.input.arrays_file.empty()) given = std::move(read_arrays(options.input.arrays_file).value_or_throw());
    KernelArguments arguments = make_kernel_arguments(kernel, source.size_texts, given);
    if (!given.empty()) {
      std::set<std::string> known(arguments.names.begin(), arguments.names.end());
      for (const BufferSpec& b : arguments.buffers) known.insert(b.name());
      check_array_names(given, known, options.input.arrays_file, "the kernel has no array").value_or_throw();
    }
    for (NamedArray& a : given)
      if (auto at = std::ranges::find(arguments.names, a.name); at != arguments.names.end())
        a.name = "data" + std::to_string(at - arguments.names.begin());
    ProgramInfo info{.name = kernel.name, .function_name = kernel.name};
    std::array<Sint, 3> block;
    for (size_t i = 0; i < 3; i++) info.global_size[i] = int64_t(source.grid[i]), block[i] = int64_t(source.block[i]);
    info.local_size = block;
    KernelSource text{kernel.name, kernel.name, place.target->name(), std::move(read.text)};
    Executable executable = std::move(Executable::make_for_source(std::move(text), arguments.buffers,
                                                                  arguments.variables, std::move(info), *place.device)
                                          .value_or_throw());
    const InputDistribution draw{.seed = options.input.seed.value_or(0)};
    Arrays inputs = std::move(
        make_input_arrays(executable.buffers(), given, options.input.arrays_file, draw).value_or_throw());
    ExecuteOptions execution = options.device.make_execute_options(place);
    execution.num_repeats = options.device.timed_runs;
    ExecutionResult done =
        std::move(execute_kernel(executable, *place.device, inputs, arguments.values, execution).value_or_throw());
    SourceRunReport report{.kernel = kernel.name, .device = place.label, .run_seconds = std::move(done.run_seconds)};
    for (NamedArray& a : done.outputs) {
      a.name = arguments.names.at(size_t(std::stoul(a.name.substr(4))));
      report.result_arrays.push_back(std::move(a));
    }
    if (!options.compare.expected_file.empty()) {
      const Arrays expected = std::move(read_arrays(options.compare.expected_file).value_or_throw());
      for (const NamedArray& e : expected) {
        const Array* actual = find_array(report.result_arrays, e.name);
        if (!actual)
          throw Failure("the kernel stores no array '" + e.name + "' of " + options.compare.expected_file);
        report.comparisons.push_back(
            compare_arrays(e.name, *actual, e.array, options.compare.tolerance).value_or_throw());
      }
    }
    if (!options.output.save_path.empty()) write_npz(options.output.save_path, report.result_arrays).value_or_throw();
    return report;
  });
  return report ? std::move(report) : Result<SourceRunReport>(point_to_source_line(report.diag(), file));
}

bool SourceRunReport::has_passed() const {
  return std::ranges::all_of(comparisons, &Comparison::has_passed);
}

std::string SourceRunReport::text() const {
  const char* result = comparisons.empty() ? "run, not compared," : has_passed() ? "passed" : "FAILED";
  std::string out = kernel + ": " + result + " on " + device + "\n";
  for (const NamedArray& a : result_arrays)
    out += "  " + a.name + ", " + a.array.describe() + ": " + element_values_text(a.array) + "\n";
  for (const Comparison& c : comparisons) out += "  " + c.text() + "\n";
  if (!run_seconds.empty())
    out += formatted("  %s: least %.2f us, median %.2f us\n", count_text(run_seconds.size(), "run").c_str(),
                     quantile(run_seconds, 0) * 1e6, quantile(run_seconds, 0.5) * 1e6);
  return out;
}

std::string SourceRunReport::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", kernel).member("device", device);
    json.member("result", comparisons.empty() ? "ran" : has_passed() ? "passed" : "failed");
    json.key("results").array([&] {
      for (const NamedArray& a : result_arrays)
        json.object([&] { json.member("name", a.name).member("array", a.array.describe()); });
    });
    json.key("differing").array([&] {
      for (const Comparison& c : comparisons)
        if (!c.has_passed()) json.object([&] { json.member("name", c.name).member("different", c.num_different); });
    });
    if (!run_seconds.empty())
      json.member("seconds", quantile(run_seconds, 0)).member("median", quantile(run_seconds, 0.5));
  }) + "\n";
}

}  // namespace tgc
