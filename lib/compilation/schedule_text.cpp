#include "lib/compilation/schedule_text.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

namespace tgc {

Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule) {
  std::vector<GoldenKernel> out;
  std::unordered_map<size_t, int64_t> numbers;  // the number of each base buffer, in order of first use
  for (const ScheduleItem& item : schedule.items) {
    GoldenKernel kernel;
    auto ast = pyrender(item.ast);
    if (!ast) return ast.diag();
    kernel.ast = *ast;
    for (size_t b : item.buffers) {
      const ScheduleBuffer& buffer = schedule.buffers[b];
      int64_t base = numbers.try_emplace(buffer.view_of.value_or(b), int64_t(numbers.size())).first->second;
      kernel.buffer_args.push_back({base, buffer.offset_bytes, buffer.num_elements, std::string(buffer.dtype.repr())});
    }
    kernel.fixed_variables.insert(item.fixed_vars.begin(), item.fixed_vars.end());
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
    for (const GoldenBuffer& b : k.buffer_args)
      out += "buffer " + std::to_string(b.base) + "+" + std::to_string(b.offset) + " " + std::to_string(b.size) + " " +
             b.dtype + "\n";
    if (!k.fixed_variables.empty()) out += "fixed" + values_text(k.fixed_variables);
  }
  return out + "variables" + values_text(var_vals);
}

namespace {

std::string bytes_text(int64_t bytes) {
  char text[32];
  if (bytes < 100000) return std::to_string(bytes) + " B";
  std::snprintf(text, sizeof text, "%.2f MB", double(bytes) / 1e6);
  return text;
}

std::string_view name_of_item(const ScheduleItem& item) {
  return item.ast.is(Op::SINK) ? "kernel" : item.ast.is(Op::COPY) ? "copy" : name_of(item.ast.op());
}

std::vector<size_t> accessed_buffers(const ScheduleItem& item, bool BufferAccess::*how) {
  auto accesses = accesses_of(item);
  std::vector<size_t> out;
  for (size_t i = 0; i < accesses.size(); i++)
    if (accesses[i].*how) out.push_back(item.buffers[i]);
  return out;
}

std::string join_numbers(const std::vector<size_t>& numbers) {
  std::string out;
  for (size_t n : numbers) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

std::string values_text(const std::vector<std::pair<std::string, int64_t>>& values) {
  std::string out;
  for (auto& [name, value] : values) out += (out.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return out;
}

std::string buffer_use_text(const ScheduleBuffer& b) {
  return b.is_input && b.is_output ? "input, output" : b.is_input ? "input" : b.is_output ? "output" : "";
}

std::string buffer_place_text(const ScheduleBuffer& buffer, const BufferPlace& place) {
  std::string out;
  if (buffer.view_of) out = "bytes " + std::to_string(buffer.offset_bytes) + ".. of " + std::to_string(*buffer.view_of);
  else if (place.shared_index)
    out = "shared " + std::to_string(*place.shared_index) + " + " + std::to_string(place.offset_bytes);
  else if (place.reused_buffer) out = "the memory of " + std::to_string(*place.reused_buffer);
  return out;
}

std::string buffer_table(const Schedule& s, const MemoryPlan& plan) {
  std::vector<std::vector<std::string>> rows{{"buffer", "device", "dtype", "size", "bytes", "use", "place"}};
  for (size_t i = 0; i < s.buffers.size(); i++) {
    const ScheduleBuffer& b = s.buffers[i];
    rows.push_back({std::to_string(i), b.device, std::string(b.dtype.repr()), std::to_string(b.num_elements),
                    std::to_string(b.nbytes()), buffer_use_text(b), buffer_place_text(b, plan.buffer_places[i])});
  }
  return table_text(rows, "rllrrll");
}

std::string kernel_table(const Schedule& s, std::span<const std::string> user_operation) {
  bool known = std::ranges::any_of(user_operation, [](const std::string& m) { return !m.empty(); });
  std::vector<std::vector<std::string>> rows{
      {"kernel", "what", "nodes", "writes", "reads", "with", known ? "made for" : ""}};
  for (size_t i = 0; i < s.items.size(); i++) {
    const ScheduleItem& item = s.items[i];
    rows.push_back({std::to_string(i), std::string(name_of_item(item)), std::to_string(toposort(item.ast).size()),
                    join_numbers(accessed_buffers(item, &BufferAccess::is_written)),
                    join_numbers(accessed_buffers(item, &BufferAccess::is_read)), values_text(item.fixed_vars),
                    known ? user_operation[i] : ""});
  }
  return table_text(rows, "rlrllll");
}

void write_values(JsonWriter& json, std::string_view key, const std::vector<std::pair<std::string, int64_t>>& values) {
  json.key(key).object([&] {
    for (auto& [name, number] : values) json.member(name, number);
  });
}

void write_kernel(JsonWriter& json, const ScheduleItem& item, const std::string& user_operation) {
  json.object([&] {
    json.member("op", name_of(item.ast.op()))
        .member("ast_nodes", toposort(item.ast).size())
        .member("buffers", item.buffers);
    json.member("writes", accessed_buffers(item, &BufferAccess::is_written))
        .member("reads", accessed_buffers(item, &BufferAccess::is_read));
    write_values(json, "fixedvars", item.fixed_vars);
    if (!user_operation.empty()) json.member("made_for", user_operation);
  });
}

void write_buffer_place(JsonWriter& json, const BufferPlace& place) {
  json.key("place").object([&] {
    if (place.shared_index) json.member("shared", *place.shared_index).member("offset", place.offset_bytes);
    if (place.reused_buffer) json.member("same_as", *place.reused_buffer);
  });
}

void write_buffer(JsonWriter& json, const ScheduleBuffer& b, const BufferPlace& place, const std::string* name) {
  json.object([&] {
    json.member("device", b.device)
        .member("dtype", b.dtype.repr())
        .member("size", b.num_elements)
        .member("bytes", b.nbytes());
    json.member("input", b.is_input).member("output", b.is_output).member("view_of", b.view_of)
        .member("offset", b.offset_bytes);
    write_buffer_place(json, place);
    if (name) json.member("name", *name);
  });
}

}  // namespace

std::string schedule_listing(const Schedule& s, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> user_operation) {
  auto count = [&](bool ScheduleBuffer::* what) {
    return size_t(std::ranges::count_if(s.buffers, [&](auto& b) { return b.*what; }));
  };
  std::string out = "key " + sha256_hex(key) + "\n" + count_text(s.items.size(), "kernel") + ", " +
                    count_text(s.buffers.size(), "buffer") + " (" +
                    count_text(count(&ScheduleBuffer::is_input), "input") + ", " +
                    count_text(count(&ScheduleBuffer::is_output), "output") + ")\n";
  out += "memory " + bytes_text(plan.total_bytes_before) + ", planned " + bytes_text(plan.total_bytes_after) +
         "; of this, buffers that the planner moves " + bytes_text(plan.planned_bytes_before) + ", planned " +
         bytes_text(plan.planned_bytes_after) + "\n";
  for (size_t i = 0; i < plan.shared_buffers.size(); i++)
    out += "shared " + std::to_string(i) + " on " + plan.shared_buffers[i].device + ": " +
           bytes_text(plan.shared_buffers[i].size_bytes) + "\n";
  if (!s.var_vals.empty()) out += "variables " + values_text(s.var_vals) + "\n";
  return out + "\n" + kernel_table(s, user_operation) + "\n" + buffer_table(s, plan);
}

std::string schedule_json(const Schedule& s, const MemoryPlan& plan, const Sha256& key,
                          std::span<const std::string> user_operation,
                          const std::unordered_map<UOp, std::string>& buffer_names) {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("key", sha256_hex(key));
    json.key("kernels").array([&] {
      for (size_t i = 0; i < s.items.size(); i++)
        write_kernel(json, s.items[i], user_operation.empty() ? "" : user_operation[i]);
    });
    json.key("buffers").array([&] {
      for (size_t i = 0; i < s.buffers.size(); i++) {
        auto name = buffer_names.find(s.buffers[i].uop);
        write_buffer(json, s.buffers[i], plan.buffer_places[i], name == buffer_names.end() ? nullptr : &name->second);
      }
    });
    json.key("shared").array([&] {
      for (auto& shared : plan.shared_buffers)
        json.object([&] { json.member("device", shared.device).member("bytes", shared.size_bytes); });
    });
    json.member("outputs", s.output_buffers);
    write_values(json, "var_vals", s.var_vals);
    json.key("bytes").object([&] {
      json.member("before", plan.total_bytes_before).member("after", plan.total_bytes_after);
      json.member("planned_before", plan.planned_bytes_before).member("planned_after", plan.planned_bytes_after);
    });
  });
  return out + "\n";
}

}  // namespace tgc
