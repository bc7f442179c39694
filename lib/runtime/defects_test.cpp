// Runs kernels with seeded defects (testdata/defects/table.txt) on the emulator of their target. Each defect must be
// found: the result differs, or a check reports the line.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "lib/runtime/backends.h"
#include "lib/runtime/compare.h"
#include "lib/runtime/devices.h"
#include "lib/runtime/random.h"
#include "lib/support/lines.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

struct SeededKernel {
  KernelSource source;
  LaunchSize size;
  std::vector<Array> arrays;  // the first array is the result
};

std::string file_text(const std::string& name) {
  std::ifstream in(test_path("defects/" + name));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Parses "kernel FILE TARGET FUNCTION GROUPS THREADS DTYPE:SIZE...".
SeededKernel kernel_of(const std::string& line) {
  std::istringstream in(line);
  std::string word, file, array;
  SeededKernel out;
  uint32_t groups = 0, threads = 0;
  in >> word >> file >> out.source.target >> out.source.function_name >> groups >> threads;
  out.source.name = file;
  out.source.text = file_text(file);
  out.size = {.global_size = {groups, 1, 1}, .local_size = {{threads, 1, 1}}};
  while (in >> array) {
    size_t colon = array.find(':');
    DType dtype = array.substr(0, colon) == "float16" ? dtypes::float16 : dtypes::float32;
    out.arrays.emplace_back(dtype, std::vector<int64_t>{std::stoll(array.substr(colon + 1))});
    if (out.arrays.size() > 1) fill_random(out.arrays.back(), 0, "data" + std::to_string(out.arrays.size() - 1));
  }
  return out;
}

struct Outcome {
  std::string report;
  Array result;
};

Outcome run(const SeededKernel& kernel, const std::string& text) {
  std::string_view kind = device_part(kernel.source.target);
  auto device = kind == "METAL" ? make_emulated_metal_device() : std::move(make_device(kind).value_or_throw());
  KernelSource source = kernel.source;
  source.text = text;
  auto ran = catch_failures([&] {
    device->open().value_or_throw();
    std::string code = std::move(device->compile(source).value_or_throw());
    std::vector<DeviceBuffer> buffers;
    for (const Array& a : kernel.arrays) {
      buffers.push_back(device->allocate(a.nbytes()).value_or_throw());
      device->copy_in(buffers.back(), a.data()).value_or_throw();
    }
    Array result(kernel.arrays[0].dtype(), {kernel.arrays[0].size()});
    auto loaded = std::move(device->load(source, code).value_or_throw());
    loaded->launch({buffers, {}, kernel.size}).value_or_throw();
    device->synchronize().value_or_throw();
    device->copy_out(result.data(), buffers[0]).value_or_throw();
    for (const DeviceBuffer& b : buffers) device->free(b);
    return result;
  });
  if (!ran) return {ran.diag().text(), Array()};
  return {"", std::move(*ran)};
}

TEST_CASE("defects seeded into PTX, CUDA, HIP and Metal are found by comparison or by a check that names the line") {
  ScopedEnvironment cuda("TGC_CUDA_LIBRARY", TGC_CUDA_EMULATOR), hip("TGC_HIP_LIBRARY", TGC_HIP_EMULATOR),
      races_cuda("TGC_CUDA_EMULATOR_RACE", "1"), races_hip("TGC_HIP_EMULATOR_RACE", "1"),
      races_metal("TGC_METAL_EMULATOR_RACE", "1");
  std::string table = file_text("table.txt"), what, from, to;
  std::optional<SeededKernel> kernel;
  Array expected;
  std::map<std::string, int> found;
  for (std::string_view view : lines_of(table)) {
    std::string line(view);
    if (line.starts_with("kernel ")) {
      kernel = kernel_of(line);
      Outcome right = run(*kernel, kernel->source.text);
      CHECK_MESSAGE(right.report == "", kernel->source.name);
      expected = std::move(right.result);
    } else if (line.starts_with("-")) from = line.substr(1);
    else if (line.starts_with("+")) to = line.substr(1);
    else if (!line.starts_with("= ") && !line.starts_with("#") && !line.empty()) what = line;
    if (!line.starts_with("= ")) continue;

    std::string text = kernel->source.text, how = line.substr(2);  // `how`: "differs", or text in the report
    size_t at = text.find(from);
    INFO(kernel->source.name, ": ", what);
    REQUIRE(at != text.npos);
    Outcome wrong = run(*kernel, text.replace(at, from.size(), to));
    INFO(wrong.report);
    if (how == "differs") {
      REQUIRE(wrong.report == "");
      auto compared = std::move(compare_arrays("result", wrong.result, expected, {}).value_or_throw());
      CHECK_FALSE(compared.has_passed());
    } else {
      CHECK(wrong.report.find(how + (how.find(' ', 5) == how.npos ? "," : "")) != std::string::npos);
    }
    found[kernel->source.target]++;
  }
  for (const char* target : {"CUDA:PTX:sm_80", "CUDA:CUDA:sm_80", "AMD:HIP:gfx1100", "METAL:METAL"})
    CHECK(found[target] >= 8);
}

}  // namespace
}  // namespace tgc
