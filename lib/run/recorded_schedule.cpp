#include "lib/run/recorded_schedule.h"

#include <algorithm>
#include <set>

#include "lib/import/import.h"
#include "lib/import/upgrade.h"
#include "lib/records/read_graph.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

DType parse_buffer_dtype(const std::string& text) {
  constexpr std::string_view kPrefix = "dtypes.";
  auto dtype = dtypes::parse(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
  if (!dtype) throw Failure("a buffer has the dtype '" + text + "', which tgc's IR has not");
  return *dtype;
}

// Adds to a schedule one buffer for each base of a record, and one for each view of a base.
class BufferTable {
 public:
  BufferTable(Schedule& schedule, Graph& names) : schedule_(schedule), name_graph_(names) {}

  void declare_buffer(const GoldenBuffer& b) {
    BaseBuffer& base = bases_[b.base];
    const DType dtype = parse_buffer_dtype(b.dtype);
    const bool is_sized = b.size >= 0 && b.size <= kMaxBufferBytes && b.offset >= 0 && b.offset <= kMaxBufferBytes;
    if (!is_sized || dtype.itemsize() < 1 || b.size * dtype.itemsize() > kMaxBufferBytes)
      throw Failure("a recorded buffer of " + std::to_string(b.size) + " " + std::string(dtype.repr()) + " at offset " +
                    std::to_string(b.offset) + " is out of range");
    const int64_t end = b.offset + b.size * dtype.itemsize();
    if (b.offset == 0 && end >= base.bytes) base.dtype = dtype;
    base.bytes = std::max(base.bytes, end);
  }
  // Declares a buffer of the graph, of which the kernels may use a part.
  void declare_buffer(int64_t number, DType dtype, int64_t bytes) {
    BaseBuffer& base = bases_[number];
    if (bytes >= base.bytes) base.bytes = bytes, base.dtype = dtype;
  }
  void make_base_buffers() {
    for (auto& [number, base] : bases_) {
      if (base.bytes % base.dtype.itemsize()) base.dtype = dtypes::uint8;
      base.buffer = add_buffer(base.dtype, base.bytes / base.dtype.itemsize());
    }
  }
  size_t buffer_of_base(int64_t base) const { return bases_.at(base).buffer; }
  size_t find_or_add_view(const GoldenBuffer& b) {
    const BaseBuffer& base = bases_.at(b.base);
    const DType dtype = parse_buffer_dtype(b.dtype);
    if (b.offset == 0 && dtype == base.dtype && b.size * dtype.itemsize() == base.bytes) return base.buffer;
    auto [it, is_new] = views_.try_emplace({b.base, b.offset, b.size, b.dtype});
    if (is_new) {
      it->second = add_buffer(dtype, b.size);
      schedule_.buffers[it->second].view_of = base.buffer, schedule_.buffers[it->second].offset_bytes = b.offset;
    }
    return it->second;
  }

 private:
  struct BaseBuffer {
    DType dtype = dtypes::uint8;
    int64_t bytes = 0;
    size_t buffer = 0;
  };
  size_t add_buffer(DType dtype, int64_t size) {
    const size_t number = schedule_.buffers.size();
    schedule_.buffers.push_back({.uop = name_graph_.node(Op::NOOP, dtype, {}, int64_t(number)),
                                 .device = "CPU",
                                 .num_elements = size,
                                 .dtype = dtype});
    return number;
  }

  Schedule& schedule_;
  Graph& name_graph_;
  std::map<int64_t, BaseBuffer> bases_;
  std::map<std::tuple<int64_t, int64_t, int64_t, std::string>, size_t> views_;
};

bool is_variable(UOp u) {
  if (u.in({Op::AFTER, Op::BIND})) return is_variable(u.src(0));
  return u.is(Op::DEFINE_VAR) ||
         (u.in({Op::BUFFER, Op::PARAM}) && u.arg().repr().find("AddrSpace.ALU") != std::string::npos);
}

// The argument is AFTER(variable, STORE(variable, value)) or BIND(variable, value).
std::optional<int64_t> bound_value(UOp u) {
  UOp value = u.is(Op::BIND) && u.num_src() > 1 ? u.src(1) : UOp();
  if (u.is(Op::AFTER) && u.num_src() > 1 && u.src(1).is(Op::STORE)) value = u.src(1).src(1);
  if (!value || !value.is_const() || !value.arg().is_int()) return std::nullopt;
  return value.arg().as_int().to_int64();
}

UOp with_bound_value(UOp u, int64_t value) {
  if (u.is_const()) return u.graph().node(Op::CONST, u.dtype(), u.src(), Arg(value));
  std::vector<UOp> src(u.src().begin(), u.src().end());
  if (u.in({Op::AFTER, Op::BIND, Op::STORE}) && src.size() > 1) src[1] = with_bound_value(src[1], value);
  return std::ranges::equal(src, u.src()) ? u : u.with_src(src);
}

std::string variable_name(UOp u) {
  while (u.in({Op::AFTER, Op::BIND})) u = u.src(0);
  const Arg name = u.is(Op::DEFINE_VAR) ? u.arg()[0] : import::field_of_record(u.arg(), "name");
  return name.is_str() ? std::string(name.text()) : "";
}

std::optional<std::pair<int64_t, int64_t>> variable_bounds(UOp u) {
  while (u.in({Op::AFTER, Op::BIND})) u = u.src(0);
  const Arg arg = u.arg();
  const bool is_old = u.is(Op::DEFINE_VAR) && arg.is_tuple() && arg.items().size() > 2;
  const Arg both = is_old ? Arg() : import::field_of_record(arg, "vmin_vmax");
  if (!is_old && !(both.is_tuple() && both.items().size() == 2)) return std::nullopt;
  const Arg least = is_old ? arg[1] : both[0], most = is_old ? arg[2] : both[1];
  if (!least.is_int() || !most.is_int()) return std::nullopt;
  const auto a = least.as_int().to_int64(), b = most.as_int().to_int64();
  return a && b ? std::optional(std::pair(*a, *b)) : std::nullopt;
}

// An MSTACK has one buffer for each device.
std::vector<UOp> device_parts_of(UOp argument) {
  if (argument.is(Op::MSTACK) && argument.num_src()) return {argument.src().begin(), argument.src().end()};
  return {argument};
}

UOp base_buffer_of(UOp u) {
  while (!u.in({Op::BUFFER, Op::PARAM}) && u.num_src()) u = u.src(0);
  return u;
}

constexpr int64_t kMostDevices = 1 << 12;

std::optional<size_t> selected_device(UOp u) {
  for (; !u.in({Op::BUFFER, Op::PARAM}) && u.num_src(); u = u.src(0))
    if (u.is(Op::MSELECT) && u.arg().is_int()) {
      const auto device = u.arg().as_int().to_int64();
      if (!device || *device < 0 || *device >= kMostDevices)
        throw Failure("an MSELECT selects device " + u.arg().repr() + ", which is out of range");
      return size_t(*device);
    }
  return std::nullopt;
}

// Maps the arguments of kernel calls to the base buffers of a record.
class ArgumentBases {
 public:
  // The kernels of `record` are the calls of `list` and of the lists in it.
  ArgumentBases(UOp list, const GoldenRecord& record) : record_(record) { map_list(list); }
  // Returns the base buffers, one for each device, by the slot of the PARAM or, if `op` is BUFFER, of the BUFFER.
  const std::map<int64_t, std::vector<int64_t>>& bases(Op op) const {
    return op == Op::PARAM ? param_bases_ : buffer_bases_;
  }

 private:
  void map_list(UOp list) {
    for (UOp call : list.src())
      if (call.is(Op::LINEAR)) map_list(call);
      else if (call.is(Op::CALL)) next_kernel_ += map_call(call, next_kernel_);
  }
  // A call becomes one kernel, or one for each device.
  size_t map_call(UOp call, size_t first) {
    std::vector<UOp> arguments;
    for (UOp a : call.src().subspan(std::min<size_t>(call.num_src(), 1)))
      if (!is_variable(a)) arguments.push_back(a);
    if (first >= record_.kernels.size() || record_.kernels[first].buffer_args.size() != arguments.size()) return 1;
    size_t kernels = 1;
    for (size_t i = 0; i < arguments.size(); i++) {
      const GoldenBuffer& b = record_.kernels[first].buffer_args[i];
      if (b.device_buffers.empty())
        kernels = std::max({kernels, device_parts_of(arguments[i]).size(), num_devices_of_buffer(arguments[i])});
    }
    for (size_t k = 0; k < kernels && first + k < record_.kernels.size(); k++)
      for (size_t i = 0; i < arguments.size() && i < record_.kernels[first + k].buffer_args.size(); i++) {
        const GoldenBuffer& b = record_.kernels[first + k].buffer_args[i];
        if (b.device_buffers.empty()) record_base(arguments[i], k, b.base);
        for (size_t d = 0; d < b.device_buffers.size(); d++) record_base(arguments[i], d, b.device_buffers[d].base);
      }
    return kernels;
  }
  static size_t num_devices_of_buffer(UOp argument) {
    if (selected_device(argument)) return 1;
    UOp b = base_buffer_of(argument);
    if (b.num_src() > 1 && b.src(1).is(Op::DEVICE))  // up to 0.13, a buffer has a DEVICE source
      return b.src(1).arg().is_tuple() ? b.src(1).arg().items().size() : 1;
    if (b.arg().kind() != Arg::Kind::Record) return 1;
    const RecordView fields(b.arg());
    for (size_t i = 0; i < fields.size(); i++)
      if (fields.field(i) == "device" && fields.values()[i].is_tuple()) return fields.values()[i].items().size();
    return 1;
  }
  void record_base(UOp argument, size_t device, int64_t base) {
    const auto parts = device_parts_of(argument);
    UOp part = base_buffer_of(parts[std::min(device, parts.size() - 1)]);
    if (!part.in({Op::PARAM, Op::BUFFER})) return;
    auto& bases = (part.is(Op::PARAM) ? param_bases_ : buffer_bases_)[slot_of_buffer(part)];
    const auto selected = selected_device(parts[std::min(device, parts.size() - 1)]);
    if (selected) device = *selected;
    else if (parts.size() > 1 || num_devices_of_buffer(part) == 1) device = 0;
    if (bases.size() <= device) bases.resize(device + 1, base);
    bases[device] = base;
  }

  const GoldenRecord& record_;
  size_t next_kernel_ = 0;
  std::map<int64_t, std::vector<int64_t>> param_bases_, buffer_bases_;
};

class ScheduleReader {
 public:
  ScheduleReader(const Session& session, const GoldenRecord& record, Release release,
                 const TensorParameters& parameters)
      : session_(session), record_(record), release_(release), name_graph_(std::make_shared<Graph>()),
        parameters_(parameters) {}

  RecordedSchedule read_schedule(const std::map<int64_t, BufferSize>& sizes) {
    if (record_.kernels.empty()) throw Failure("the record has no kernels");
    out_.kernels.graphs.push_back(name_graph_);
    BufferTable table(schedule(), *name_graph_);
    for (const GoldenKernel& k : record_.kernels)
      for (const GoldenBuffer& b : k.buffer_args)
        for (const GoldenBuffer& part : device_buffers_of(b)) table.declare_buffer(part);
    const std::map<int64_t, std::vector<int64_t>> bases = find_bases();
    for (auto& [slot, numbers] : bases)
      if (auto it = sizes.find(slot); it != sizes.end())
        for (int64_t base : numbers)
          table.declare_buffer(base, it->second.dtype, it->second.bytes / int64_t(numbers.size()));
    table.make_base_buffers();
    for (size_t k = 0; k < record_.kernels.size(); k++) read_kernel(k, table);
    schedule().result_sink = name_graph_->sink({});
    for (auto& [name, value] : parameters_.variables.values_by_name) schedule().var_vals.emplace_back(name, value);
    for (auto& [slot, numbers] : bases)
      for (int64_t base : numbers) {
        out_.buffer_numbers[slot].push_back(table.buffer_of_base(base));
        schedule().buffers[table.buffer_of_base(base)].is_input = true;
      }
    return std::move(out_);
  }

 private:
  Schedule& schedule() { return out_.kernels.schedule; }
  static std::vector<GoldenBuffer> device_buffers_of(const GoldenBuffer& b) {
    return b.device_buffers.empty() ? std::vector{b} : b.device_buffers;
  }

  void read_kernel(size_t number, BufferTable& table) {
    const GoldenKernel& k = record_.kernels[number];
    const std::string what = "kernel " + std::to_string(number);
    ParsedTensorGraph text = std::move(read_tensor_text(session_, record_, release_, k.ast, what).value_or_throw());
    size_t devices = 1;
    for (const GoldenBuffer& b : k.buffer_args) devices = std::max(devices, b.device_buffers.size());
    UOp ast = text.root;
    std::shared_ptr<Graph> graph = text.graph;
    if (!ast.is(Op::COPY)) {
      auto imported = import_graph(ast, {}, session_.merge_settings().value_or_throw());
      if (!imported) throw Failure(what + ": " + imported.diag().message);
      graph = imported->graph, ast = imported->root;
    }
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_GLOBAL) && u.arg().as_int() >= Int(int64_t(k.buffer_args.size())))
        throw Failure(what + " has no recorded buffer for its parameter " + u.arg().repr());
    if (ast.is(Op::COPY) && k.buffer_args.size() != 2) throw Failure(what + " is a copy without two recorded buffers");
    out_.kernels.graphs.push_back(graph);
    for (size_t d = 0; d < devices; d++) {
      ScheduleItem item{.ast = ast};
      for (const GoldenBuffer& b : k.buffer_args) {
        if (!b.device_buffers.empty() && b.device_buffers.size() != devices)
          throw Failure(what + " has buffers of different devices");
        item.buffers.push_back(table.find_or_add_view(b.device_buffers.empty() ? b : b.device_buffers[d]));
      }
      item.fixed_vars = {k.fixed_variables.begin(), k.fixed_variables.end()};
      if (devices > 1) item.fixed_vars.emplace_back("_device_num", int64_t(d));
      schedule().items.push_back(std::move(item)), out_.kernel_numbers.push_back(number);
    }
  }

  // Finds the bases of each buffer of the tensor graph by the last stage, which is a list of calls.
  std::map<int64_t, std::vector<int64_t>> find_bases() const {
    std::map<int64_t, std::vector<int64_t>> out;
    const GoldenStage* last = nullptr;
    for (const GoldenStage& s : record_.stages)
      if (text_of_stage(s)) last = &s;
    if (!last) throw Failure("the record has no stages");
    ParsedTensorGraph text =
        std::move(read_tensor_text(session_, record_, release_, *text_of_stage(*last), last->name).value_or_throw());
    const bool is_call = text.root.is(Op::CALL) && text.root.src(0).is(Op::LINEAR);
    UOp list = is_call ? text.root.src(0) : text.root;
    if (!list.is(Op::LINEAR))
      throw Failure("the stage '" + last->name + "' does not say which buffers the kernels use");
    const ArgumentBases found(inline_calls(list).value_or_throw(), record_);
    for (auto& [slot, bases] : found.bases(is_call ? Op::PARAM : Op::BUFFER)) {
      int64_t buffer = slot;
      if (is_call && parameters_.buffer_slots.contains(slot)) buffer = parameters_.buffer_slots.at(slot);
      else if (is_call || !std::ranges::any_of(parameters_.buffer_slots, [&](auto& p) { return p.second == slot; }))
        continue;
      auto& known = out[buffer];  // already set if an earlier argument is another part of this buffer
      if (known != bases) known.insert(known.end(), bases.begin(), bases.end());
    }
    return out;
  }

  const Session& session_;
  const GoldenRecord& record_;
  Release release_;
  std::shared_ptr<Graph> name_graph_;
  const TensorParameters& parameters_;
  RecordedSchedule out_;
};

}  // namespace

std::string refusal_text(const GoldenRecord& record) {
  const std::string& error = *record.error;
  return "tinygrad refused the graph" +
         (record.stages.empty() ? std::string() : " after the stage '" + record.stages.back().name + "'") + ": " +
         error.substr(0, error.find('\n'));
}

int64_t slot_of_buffer(UOp buffer) {
  if (!buffer.in({Op::BUFFER, Op::PARAM})) return -1;
  const bool has_unique = buffer.is(Op::BUFFER) && buffer.arg().kind() != Arg::Kind::Record;
  const Arg slot = !has_unique ? import::slot_of_param(buffer) : buffer.num_src() ? buffer.src(0).arg() : Arg();
  return slot.is_int() ? slot.as_int().to_int64().value_or(-1) : -1;
}

Result<TensorParameters> read_parameters(const Session& session, const GoldenRecord& record, Release release,
                                         const VariableValues& given) {
  return catch_failures([&] {
    TensorParameters out;
    out.variables.values_by_name.insert(record.var_vals.begin(), record.var_vals.end());
    std::vector<const std::string*> texts{record.ast_full ? &*record.ast_full : &record.ast};
    for (size_t i = record.stages.size(); i-- > 0;)
      if (const std::string* text = text_of_stage(record.stages[i])) texts.push_back(text);
    for (const std::string* text : texts) {
      ParsedTensorGraph call =
          std::move(read_tensor_text(session, record, release, *text, "parameters").value_or_throw());
      if (!call.root.is(Op::CALL)) continue;
      out.graph = call.graph;
      std::map<std::string, std::set<int64_t>> values;
      for (size_t i = 1; i < call.root.num_src(); i++) {
        UOp argument = call.root.src(i);
        const int64_t slot = int64_t(i) - 1;
        const std::string name = is_variable(argument) ? variable_name(argument) : "";
        if (auto it = given.find(name); it != given.end()) argument = with_bound_value(argument, it->second);
        out.arguments.push_back(argument);
        if (!is_variable(argument)) {
          out.buffer_slots[slot] = slot_of_buffer(base_buffer_of(argument));
        } else if (auto value = bound_value(argument)) {
          out.variables.values_by_slot[slot] = *value;
          values[name].insert(*value);
          if (auto bounds = variable_bounds(argument)) out.variable_bounds[name] = *bounds;
        }
      }
      for (auto& [name, numbers] : values)
        if (numbers.size() == 1) out.variables.values_by_name.emplace(name, *numbers.begin());
      for (auto& [name, value] : given)
        if (values.contains(name)) out.variables.values_by_name[name] = value;
      for (auto& [name, value] : out.variables.values_by_name)
        out.value_sources[name] = std::to_string(value) + (given.contains(name) ? ", given" : ", recorded");
      break;
    }
    return out;
  });
}

const std::string* text_of_stage(const GoldenStage& stage) {
  return stage.full_text ? &*stage.full_text : stage.ir ? &*stage.ir : nullptr;
}

Result<ParsedTensorGraph> read_tensor_text(const Session& session, const GoldenRecord& record, Release release,
                                           std::string_view text, const std::string& what) {
  auto settings = session.merge_settings();
  if (!settings) return settings.diag();
  ParsedTensorGraph out{.graph = std::make_shared<Graph>(*settings)};
  const std::string producer = "tinygrad " + std::string(name_of(release));
  GraphReadReport report{.producer = producer};
  auto read = read_graph(*out.graph, detect_input_kind(text), text, record.id + " (" + what + ")", &report);
  if (!read) return read.diag();
  out.root = read->root;
  return out;
}

Result<RecordedSchedule> read_recorded_schedule(const Session& session, const GoldenRecord& record, Release release,
                                                const TensorParameters& parameters,
                                                const std::map<int64_t, BufferSize>& buffers) {
  return catch_failures([&] { return ScheduleReader(session, record, release, parameters).read_schedule(buffers); });
}

}  // namespace tgc
