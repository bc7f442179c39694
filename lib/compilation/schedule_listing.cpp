#include "lib/compilation/schedule_listing.h"

#include <algorithm>
#include <functional>

#include "lib/text/json_scan.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

std::string counted(size_t n, const std::string& noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

std::string bytes_text(int64_t bytes) {
  char text[32];
  if (bytes < 100000) return std::to_string(bytes) + " B";
  std::snprintf(text, sizeof text, "%.2f MB", double(bytes) / 1e6);
  return text;
}

// Rows of cells, each column as wide as its widest; numbers stand to the right.
class Table {
 public:
  Table(std::vector<std::string> head, std::vector<bool> right) : rows_{std::move(head)}, right_(std::move(right)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<size_t> widths(right_.size());
    for (auto& row : rows_)
      for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
    std::string out;
    for (auto& row : rows_) {
      for (size_t i = 0; i < row.size(); i++) {
        std::string blanks(widths[i] - row[i].size(), ' ');
        out += right_[i] ? blanks + row[i] : row[i] + blanks;
        out += "  ";
      }
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

std::string_view name_of_item(const ScheduleItem& item) {
  return item.ast.is(Op::SINK) ? "kernel" : item.ast.is(Op::COPY) ? "copy" : name_of(item.ast.op());
}

// The buffers that the item reads, or writes.
std::vector<size_t> touched(const ScheduleItem& item, bool BufferAccess::*how) {
  auto accesses = accesses_of(item);
  std::vector<size_t> out;
  for (size_t i = 0; i < accesses.size(); i++)
    if (accesses[i].*how) out.push_back(item.buffers[i]);
  return out;
}

std::string joined(const std::vector<size_t>& numbers, const char* between = " ") {
  std::string out;
  for (size_t n : numbers) out += (out.empty() ? "" : between) + std::to_string(n);
  return out;
}

std::string values_text(const std::vector<std::pair<std::string, int64_t>>& values) {
  std::string out;
  for (auto& [name, value] : values) out += (out.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return out;
}

std::string use_of(const ScheduleBuffer& b) {
  return b.is_input && b.is_output ? "input, output" : b.is_input ? "input" : b.is_output ? "output" : "";
}

std::string place_text(const ScheduleBuffer& buffer, const BufferPlace& place) {
  std::string out;
  if (buffer.view_of) out = "bytes " + std::to_string(buffer.offset) + ".. of " + std::to_string(*buffer.view_of);
  else if (place.shared) out = "shared " + std::to_string(*place.shared) + " + " + std::to_string(place.offset);
  else if (place.same_as) out = "the memory of " + std::to_string(*place.same_as);
  return out;
}

Table buffer_table(const Schedule& s, const MemoryPlan& plan) {
  Table table({"buffer", "device", "dtype", "size", "bytes", "use", "place"},
              {true, false, false, true, true, false, false});
  for (size_t i = 0; i < s.buffers.size(); i++) {
    const ScheduleBuffer& b = s.buffers[i];
    table.add({std::to_string(i), b.device, std::string(b.dtype.repr()), std::to_string(b.size),
               std::to_string(b.nbytes()), use_of(b), place_text(b, plan.places[i])});
  }
  return table;
}

Table kernel_table(const Schedule& s) {
  Table table({"kernel", "what", "nodes", "writes", "reads", "with"}, {true, false, true, false, false, false});
  for (size_t i = 0; i < s.items.size(); i++) {
    const ScheduleItem& item = s.items[i];
    table.add({std::to_string(i), std::string(name_of_item(item)), std::to_string(toposort(item.ast).size()),
               joined(touched(item, &BufferAccess::writes)), joined(touched(item, &BufferAccess::reads)),
               values_text(item.fixed_vars)});
  }
  return table;
}

// ---- JSON

class Json {
 public:
  Json& key(std::string_view name) {
    comma();
    append_json_string(out_, name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  Json& value(std::string_view text) { return comma(), append_json_string(out_, text), *this; }
  Json& value(int64_t number) { return raw(std::to_string(number)); }
  Json& value(size_t number) { return raw(std::to_string(number)); }
  Json& value(bool yes) { return raw(yes ? "true" : "false"); }
  Json& value(const std::optional<size_t>& number) { return raw(number ? std::to_string(*number) : "null"); }
  Json& value(const std::vector<size_t>& numbers) { return raw("[" + joined(numbers, ",") + "]"); }
  Json& value(const std::vector<std::pair<std::string, int64_t>>& values) {
    return object([&] {
      for (auto& [name, number] : values) key(name).value(number);
    });
  }
  Json& object(const std::function<void()>& members) { return enclosed('{', members, '}'); }
  Json& array(const std::function<void()>& items) { return enclosed('[', items, ']'); }
  std::string text() && { return std::move(out_) + "\n"; }

 private:
  Json& raw(const std::string& text) {
    comma();
    out_ += text;
    return *this;
  }
  Json& enclosed(char open, const std::function<void()>& inside, char close) {
    comma();
    out_ += open;
    fresh_ = true;
    inside();
    out_ += close;
    fresh_ = false;
    return *this;
  }
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }

  std::string out_;
  bool fresh_ = true;
};

void write_kernel(Json& json, const ScheduleItem& item) {
  json.object([&] {
    json.key("op")
        .value(name_of(item.ast.op()))
        .key("ast_nodes")
        .value(toposort(item.ast).size())
        .key("buffers")
        .value(item.buffers);
    json.key("writes")
        .value(touched(item, &BufferAccess::writes))
        .key("reads")
        .value(touched(item, &BufferAccess::reads));
    json.key("fixedvars").value(item.fixed_vars);
  });
}

void write_place(Json& json, const BufferPlace& place) {
  json.key("place").object([&] {
    if (place.shared) json.key("shared").value(*place.shared).key("offset").value(place.offset);
    if (place.same_as) json.key("same_as").value(*place.same_as);
  });
}

void write_buffer(Json& json, const ScheduleBuffer& b, const BufferPlace& place) {
  json.object([&] {
    json.key("device")
        .value(b.device)
        .key("dtype")
        .value(b.dtype.repr())
        .key("size")
        .value(b.size)
        .key("bytes")
        .value(b.nbytes());
    json.key("input")
        .value(b.is_input)
        .key("output")
        .value(b.is_output)
        .key("view_of")
        .value(b.view_of)
        .key("offset")
        .value(b.offset);
    write_place(json, place);
  });
}

}  // namespace

std::string schedule_listing(const Schedule& s, const MemoryPlan& plan, const Sha256& key) {
  auto count = [&](bool ScheduleBuffer::* what) {
    return size_t(std::ranges::count_if(s.buffers, [&](auto& b) { return b.*what; }));
  };
  std::string out = "key " + to_hex(key) + "\n" + counted(s.items.size(), "kernel") + ", " +
                    counted(s.buffers.size(), "buffer") + " (" + counted(count(&ScheduleBuffer::is_input), "input") +
                    ", " + counted(count(&ScheduleBuffer::is_output), "output") + ")\n";
  out += "memory " + bytes_text(plan.total_before) + ", planned " + bytes_text(plan.total_after) +
         "; of it what the planner moves " + bytes_text(plan.planned_before) + ", planned " +
         bytes_text(plan.planned_after) + "\n";
  for (size_t i = 0; i < plan.shared.size(); i++)
    out +=
        "shared " + std::to_string(i) + " on " + plan.shared[i].device + ": " + bytes_text(plan.shared[i].size) + "\n";
  if (!s.var_vals.empty()) out += "variables " + values_text(s.var_vals) + "\n";
  return out + "\n" + kernel_table(s).text() + "\n" + buffer_table(s, plan).text();
}

std::string schedule_json(const Schedule& s, const MemoryPlan& plan, const Sha256& key) {
  Json json;
  json.object([&] {
    json.key("key").value(to_hex(key));
    json.key("kernels").array([&] {
      for (auto& item : s.items) write_kernel(json, item);
    });
    json.key("buffers").array([&] {
      for (size_t i = 0; i < s.buffers.size(); i++) write_buffer(json, s.buffers[i], plan.places[i]);
    });
    json.key("shared").array([&] {
      for (auto& shared : plan.shared)
        json.object([&] { json.key("device").value(shared.device).key("bytes").value(shared.size); });
    });
    json.key("outputs").array([&] {
      for (auto& output : s.outputs) json.value(output);
    });
    json.key("var_vals").value(s.var_vals);
    json.key("bytes").object([&] {
      json.key("before").value(plan.total_before).key("after").value(plan.total_after);
      json.key("planned_before").value(plan.planned_before).key("planned_after").value(plan.planned_after);
    });
  });
  return std::move(json).text();
}

}  // namespace tgc
