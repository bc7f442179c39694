#include "lib/run/call_simulator.h"

#include <algorithm>

#include "lib/import/import.h"
#include "lib/import/upgrade.h"
#include "lib/run/recorded_schedule.h"
#include "lib/validate/hazard.h"

namespace tgc::calls {
namespace {

constexpr size_t kMostRanges = 1 << 12;  // an argument with more ranges of accessed bytes counts as accessed as a whole

bool is_scalar(UOp u) {
  while (u.in({Op::AFTER, Op::BIND}) && u.num_src()) u = u.src(0);
  return u.is(Op::DEFINE_VAR) || import::is_variable(u);
}

int64_t as_int(UOp u, const char* what) {
  if (u.is_const() && u.arg().is_int())
    if (auto value = u.arg().as_int().to_int64()) return *value;
  throw Failure(std::string(what) + " is no number");
}

int64_t num_elements_of(UOp u) {
  if (u.is(Op::BUFFER) && u.arg().is_int()) return u.arg().as_int().to_int64().value_or(0);
  UOp shape = u.num_src() ? u.src(0) : UOp();
  if (!shape) throw Failure("a buffer has no size");
  if (shape.is_const()) return as_int(shape, "the size of a buffer");
  int64_t out = 1;
  for (UOp s : shape.src()) out *= as_int(s, "the size of a buffer");
  if (!shape.num_src() && shape.arg().is_tuple())
    for (const Arg& a : shape.arg().items()) out *= a.is_int() ? a.as_int().to_int64().value_or(0) : 0;
  return out;
}

size_t num_devices_of_argument(UOp u) {
  while (!u.in({Op::BUFFER, Op::PARAM}) && u.num_src()) {
    if (u.is(Op::MSTACK)) return u.num_src();
    if (u.is(Op::MSELECT)) return 1;
    u = u.src(0);
  }
  for (UOp s : u.src())
    if (s.is(Op::DEVICE) && s.arg().is_tuple()) return s.arg().items().size();
  const Arg device = import::field_of_record(u.arg(), "device");
  return device.is_tuple() ? device.items().size() : 1;
}

CallArgument resolve_argument(UOp u, size_t device) {
  const int64_t itemsize = u.dtype().itemsize();
  int64_t begin = 0, elements = -1;
  for (; !u.in({Op::BUFFER, Op::PARAM}); u = u.src(0)) {
    if (!u.num_src()) throw Failure("an argument of a call is no buffer");
    if (u.in({Op::BITCAST, Op::RESHAPE, Op::AFTER})) continue;
    if (u.is(Op::MSELECT)) {
      device = size_t(u.arg().is_int() ? u.arg().as_int().to_int64().value_or(0) : 0);
    } else if (u.is(Op::MSTACK)) {
      if (device >= u.num_src()) throw Failure("an argument of a call has too few devices");
      u = u.src(device), device = 0;
      if (u.in({Op::BUFFER, Op::PARAM})) break;
    } else if (u.is(Op::BUFFER_VIEW) && u.arg().is_tuple() && u.arg().items().size() == 2) {
      if (elements < 0) elements = u.arg()[0].as_int().to_int64().value_or(0);
      begin += u.arg()[1].as_int().to_int64().value_or(0) * u.dtype().itemsize();
    } else if (u.is(Op::SHRINK) && u.num_src() == 3) {
      const int64_t size = as_int(u.src(2), "the size of a part");
      if (elements < 0) elements = size * u.dtype().itemsize() / itemsize;
      begin += as_int(u.src(1), "the begin of a part") * u.dtype().itemsize();
    } else {
      throw Failure("an argument of a call is " + std::string(name_of(u.op())) + " of a buffer");
    }
  }
  if (elements < 0) elements = num_elements_of(u) * u.dtype().itemsize() / std::max<int64_t>(itemsize, 1);
  return {{u.is(Op::PARAM), slot_of_buffer(u), device}, begin, elements * itemsize};
}

}  // namespace

void MemoryContents::write_piece(const MemoryPiece& p) {
  split_piece_at(p.begin), split_piece_at(p.end);
  auto first = memory_pieces_.lower_bound(p.begin);
  while (first != memory_pieces_.end() && first->first < p.end) first = memory_pieces_.erase(first);
  memory_pieces_[p.begin] = p;
}

MemoryPieces MemoryContents::read_pieces(int64_t begin, int64_t end, int64_t initial) const {
  MemoryPieces out;
  auto add = [&](MemoryPiece p) {
    if (p.begin >= p.end) return;
    const bool continues =
        !out.empty() && out.back().content == p.content && out.back().end == p.begin - begin &&
        (p.content == kUndefinedContent || out.back().offset + p.begin - begin - out.back().begin == p.offset);
    if (continues) out.back().end = p.end - begin;
    else out.push_back({p.begin - begin, p.end - begin, p.content, p.content == kUndefinedContent ? 0 : p.offset});
  };
  int64_t at = begin;
  auto it = memory_pieces_.upper_bound(begin);
  if (it != memory_pieces_.begin()) --it;
  for (; it != memory_pieces_.end() && it->first < end; ++it) {
    MemoryPiece p = it->second;
    if (p.end <= at) continue;
    add({at, std::min(p.begin, end), initial, at});
    const int64_t from = std::max(p.begin, at), to = std::min(p.end, end);
    add({from, to, p.content, p.offset + from - p.begin});
    at = std::max(at, to);
  }
  add({at, end, initial, at});
  return out;
}

void MemoryContents::split_piece_at(int64_t at) {
  auto it = memory_pieces_.upper_bound(at);
  if (it == memory_pieces_.begin()) return;
  MemoryPiece& p = (--it)->second;
  if (p.begin >= at || p.end <= at) return;
  memory_pieces_[at] = {at, p.end, p.content, p.offset + at - p.begin};
  p.end = at;
}

template <class Work>
void CallSimulator::for_each_kernel(UOp list, Work work) {
  for (size_t k = 0; k < list.num_src(); k++) {
    UOp call = list.src(k);
    if (!call.is(Op::CALL) || !call.num_src()) throw Failure("the list has a node that is no call");
    std::vector<UOp> arguments;
    size_t devices = 1;
    for (UOp a : call.src().subspan(1))
      if (!is_scalar(a)) arguments.push_back(a), devices = std::max(devices, num_devices_of_argument(a));
    const KernelBody& body = kernel_body_of(call.src(0), arguments.size());
    for (size_t d = 0; d < devices; d++) {
      KernelEvent e{.call_index = k, .device = d, .body_number = call.src(0).id(), .is_copy = call.src(0).is(Op::COPY)};
      for (size_t i = 0; i < arguments.size(); i++) {
        e.arguments.push_back(resolve_argument(arguments[i], num_devices_of_argument(arguments[i]) == 1 ? 0 : d));
        e.is_argument_written.push_back(body.accesses[i].is_written);
      }
      work(e, body);
    }
  }
}

const CallSimulator::KernelBody& CallSimulator::kernel_body_of(UOp root, size_t arguments) {
  auto [it, is_new] = kernel_bodies_.try_emplace(root.id());
  KernelBody& out = it->second;
  if (!is_new) return out;
  ScheduleItem item{.ast = root};
  item.buffers.resize(arguments);
  if (root.is(Op::COPY)) {
    if (arguments != 2) throw Failure("a copy has not two arguments");
  } else if (import::is_body_of_kernel(root)) {
    auto imported = import_graph(root, {}, session_.merge_settings().value_or_throw());
    if (!imported) throw Failure(imported.diag());
    out.graph = imported->graph, out.ast = item.ast = imported->root;
  } else {
    throw Failure("a call is of " + std::string(name_of(root.op())) + ", no kernel");
  }
  out.accesses = accesses_of(item);
  return out;
}

const ByteRanges& CallSimulator::byte_ranges_of(const KernelBody& body, uint32_t number, size_t argument, bool stores,
                                                int64_t bytes) {
  auto [it, is_new] = accessed_bytes_.try_emplace({number, argument, stores});
  ByteRanges& out = it->second;
  if (!is_new) return out;
  out = {{0, bytes}};
  if (!body.ast || !tracked_arguments_.contains({number, argument})) return out;
  auto elements = accessed_elements(body.ast, int64_t(argument), stores, variable_values_);
  int64_t itemsize = 0;
  for (UOp u : toposort(body.ast))
    if (u.is(Op::DEFINE_GLOBAL) && u.arg().is_int() && u.arg().as_int() == Int(int64_t(argument)))
      itemsize = u.dtype().base().itemsize();
  if (!elements || !itemsize) return out;
  ByteRanges known;
  for (int64_t e : *elements) {
    if (!known.empty() && known.back().second == e * itemsize) known.back().second += itemsize;
    else known.emplace_back(e * itemsize, (e + 1) * itemsize);
  }
  if (known.size() <= kMostRanges) out = std::move(known);
  return out;
}

void CallSimulator::track_shared_arguments(UOp list) {
  std::map<MemoryPlace, size_t> stores;
  for_each_kernel(list, [&](KernelEvent& e, const KernelBody&) {
    for (size_t i = 0; i < e.arguments.size(); i++) stores[e.arguments[i].place] += e.is_argument_written[i];
  });
  for_each_kernel(list, [&](KernelEvent& e, const KernelBody&) {
    for (size_t i = 0; i < e.arguments.size(); i++)
      if (size_t n = stores[e.arguments[i].place]; n > 1 || (n && e.arguments[i].place.is_parameter))
        tracked_arguments_.insert({e.body_number, i});
  });
}

void CallSimulator::track_elements(uint32_t body, size_t argument) {
  if (!tracked_arguments_.insert({body, argument}).second) return;
  for (bool stores : {false, true}) accessed_bytes_.erase({body, argument, stores});
}

SimulatedRun CallSimulator::run_list(UOp list) {
  SimulatedRun out;
  for_each_kernel(list, [&](KernelEvent& e, const KernelBody& body) {
    std::vector<int64_t> key{-3, int64_t(e.body_number), int64_t(e.device)};
    e.read_contents.resize(e.arguments.size());
    for (size_t i = 0; i < e.arguments.size(); i++) {
      if (!body.accesses[i].is_read) continue;
      const CallArgument& a = e.arguments[i];
      const int64_t initial = a.place.is_parameter ? initial_content_of(a.place) : kUndefinedContent;
      for (auto [from, to] : byte_ranges_of(body, e.body_number, i, false, a.bytes))
        for (MemoryPiece p : out.memory[a.place].read_pieces(a.begin + from, a.begin + to, initial)) {
          p.begin += from, p.end += from;
          e.read_contents[i].push_back(p);
        }
      key.insert(key.end(), {-4, int64_t(i)});
      for (const MemoryPiece& p : e.read_contents[i]) key.insert(key.end(), {p.begin, p.end, p.content, p.offset});
    }
    e.content = content(std::move(key));
    for (size_t i = 0; i < e.arguments.size(); i++) {
      if (!body.accesses[i].is_written) continue;
      const CallArgument& a = e.arguments[i];
      MemoryContents& memory = out.memory[a.place];
      if (e.is_copy) {  // a copy makes no new content
        for (const MemoryPiece& p : e.read_contents[1])
          memory.write_piece({a.begin + p.begin, a.begin + p.end, p.content, p.offset});
        continue;
      }
      const int64_t stored = content({-2, e.content, int64_t(i)});
      kernels_by_stored_content_[stored] = e.content;
      for (auto [from, to] : byte_ranges_of(body, e.body_number, i, true, a.bytes))
        memory.write_piece({a.begin + from, a.begin + to, stored, from});
    }
    out.kernel_events.push_back(e);
  });
  return out;
}

const KernelEvent* CallSimulator::kernel_event_of(const SimulatedRun& in, int64_t stored) const {
  auto it = kernels_by_stored_content_.find(stored);
  return it == kernels_by_stored_content_.end() ? nullptr : in.find_event(it->second);
}

MemoryPieces CallSimulator::contents_of_place(const SimulatedRun& run, const MemoryPlace& place) {
  auto it = run.memory.find(place);
  return (it == run.memory.end() ? MemoryContents() : it->second).read_pieces(0, INT64_MAX, initial_content_of(place));
}

}  // namespace tgc::calls
