// The resources of compiled kernels as a table and as JSON.
#include <algorithm>

#include "lib/compile/occupancy.h"
#include "lib/compile_all/compile_all.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

uint32_t num_group_threads_of(const CompiledSource& s, const KernelResources& k) {
  return s.num_group_threads ? s.num_group_threads : k.max_threads;
}

std::optional<Occupancy> kernel_occupancy(const CompiledSource& s, const KernelResources& k) {
  return occupancy_of_kernel(k, s.job.arch, num_group_threads_of(s, k));
}

std::string count_cell(std::optional<uint32_t> n, std::string_view before = {}) {
  return n ? std::string(before) + std::to_string(*n) : "-";
}

// Vector registers and, for an AMD GPU, "+" and scalar registers.
std::string registers_text(const KernelResources& k) {
  std::string out = count_cell(k.num_vector_registers, k.is_estimate ? "~" : "");
  return k.num_scalar_registers ? out + "+" + std::to_string(*k.num_scalar_registers) : out;
}

std::string spills_text(const KernelResources& k) {
  return k.num_spills ? std::to_string(*k.num_spills) + "+" + std::to_string(k.num_spill_loads.value_or(0)) : "-";
}

std::string last_column_text(const CompiledSource& s, const KernelResources& k) {
  if (k.vector_bits) return *k.vector_bits ? "vectors of " + std::to_string(*k.vector_bits) + " bits" : "scalar code";
  if (auto o = kernel_occupancy(s, k)) return o->text();
  return num_group_threads_of(s, k) ? "no table for " + s.job.arch : "unknown work group: --threads=N";
}

}  // namespace

std::string resources_text(std::span<const CompiledSource> sources) {
  size_t widest = 6, widest_target = 6;
  for (const CompiledSource& s : sources)
    widest = std::max(widest, s.kernel.size()), widest_target = std::max(widest_target, s.target.size());
  auto row = [&](const std::string& kernel, const std::string& target, const std::string& registers,
                 const std::string& spills, const std::string& shared, const std::string& scratch,
                 const std::string& code, const std::string& last) {
    return formatted("%-*s %-*s %9s %9s %7s %7s %7s  %s\n", int(std::min<size_t>(widest, 60)), kernel.c_str(),
                     int(widest_target), target.c_str(), registers.c_str(), spills.c_str(), shared.c_str(),
                     scratch.c_str(), code.c_str(), last.c_str());
  };
  std::string out = row("kernel", "target", "registers", "spills", "shared", "scratch", "code", "occupancy");
  std::vector<std::string> from;
  for (const CompiledSource& s : sources)
    for (const KernelResources& k : s.resources) {
      out += row(s.resources.size() > 1 ? k.kernel : s.kernel, s.target, registers_text(k), spills_text(k),
                 count_cell(k.shared_bytes), count_cell(k.scratch_bytes), count_cell(k.code_bytes),
                 last_column_text(s, k));
      if (std::ranges::find(from, k.reporter_name) == from.end()) from.push_back(k.reporter_name);
    }
  for (size_t i = 0; i < from.size(); i++) out += (i ? ", " : "by ") + from[i] + (i + 1 == from.size() ? "\n" : "");
  return out;
}

void write_resources(JsonWriter& json, const CompiledSource& source) {
  json.key("resources").array([&] {
    for (const KernelResources& k : source.resources)
      json.object([&] {
        auto number = [&](std::string_view name, std::optional<uint32_t> n) {
          if (n) json.member(name, *n);
        };
        json.member("kernel", k.kernel).member("from", k.reporter_name).member("estimate", k.is_estimate);
        number("registers", k.num_vector_registers), number("scalar_registers", k.num_scalar_registers);
        if (k.spill_unit == "registers") {
          number("spilled_vector_registers", k.num_spills), number("spilled_scalar_registers", k.num_spill_loads);
        } else if (k.num_spills) {
          json.key("spills").object([&] {
            json.member("stored", *k.num_spills)
                .member("loaded", k.num_spill_loads.value_or(0))
                .member("unit", k.spill_unit);
          });
        }
        number("shared_bytes", k.shared_bytes), number("scratch_bytes", k.scratch_bytes);
        number("code_bytes", k.code_bytes), number("vector_bits", k.vector_bits);
        if (const uint32_t threads = num_group_threads_of(source, k)) json.member("threads", threads);
        if (auto o = kernel_occupancy(source, k))
          json.key("occupancy").object([&] {
            json.member("resident", o->num_resident_waves).member("most", o->max_waves).member("of", o->wave_name);
            json.member("limiter", o->limiting_resource);
          });
      });
  });
}

}  // namespace tgc
