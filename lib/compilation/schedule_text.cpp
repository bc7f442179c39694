#include "lib/compilation/schedule_text.h"

#include <unordered_map>

#include "lib/text/pyrender.h"

namespace tgc {

Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule) {
  std::vector<GoldenKernel> out;
  std::unordered_map<size_t, int64_t> numbers;  // by base buffer: its number, in order of first use
  for (const ScheduleItem& item : schedule.items) {
    GoldenKernel kernel;
    auto ast = pyrender(item.ast);
    if (!ast) return ast.diag();
    kernel.ast = *ast;
    for (size_t b : item.buffers) {
      const ScheduleBuffer& buffer = schedule.buffers[b];
      int64_t base = numbers.try_emplace(buffer.view_of.value_or(b), int64_t(numbers.size())).first->second;
      kernel.bufs.push_back({base, buffer.offset, buffer.size, std::string(buffer.dtype.repr())});
    }
    kernel.fixedvars.insert(item.fixed_vars.begin(), item.fixed_vars.end());
    out.push_back(std::move(kernel));
  }
  return out;
}

namespace {
std::string values_text(const std::map<std::string, int64_t>& values) {
  std::string out;
  for (auto& [name, value] : values) out += " " + name + "=" + std::to_string(value);
  return out + "\n";
}
}  // namespace

std::string kernels_text(const std::vector<GoldenKernel>& kernels, const std::map<std::string, int64_t>& var_vals) {
  std::string out;
  for (size_t i = 0; i < kernels.size(); i++) {
    const GoldenKernel& k = kernels[i];
    out += "kernel " + std::to_string(i) + "\n" + k.ast + "\n";
    for (const GoldenBuffer& b : k.bufs)
      out += "buffer " + std::to_string(b.base) + "+" + std::to_string(b.offset) + " " + std::to_string(b.size) + " " +
             b.dtype + "\n";
    if (!k.fixedvars.empty()) out += "fixed" + values_text(k.fixedvars);
  }
  return out + "variables" + values_text(var_vals);
}

}  // namespace tgc
