#include <algorithm>

#include "lib/import/tensor_lowering.h"

namespace tgc::import {

namespace {

bool is_all_invalid(UOp value) {
  while (value.in(ops::Movement)) value = value.src(0);
  return value.is_const() && value.is_invalid();
}

}  // namespace

// Calls `apply`, which sets `version` to the array with the content after `effect`, unless the array `version` already
// has this content.
template <class Apply>
void TensorLowering::apply_effect_once(UOp effect, size_t& version, Apply apply) {
  if (applied_effects_[version].contains(effect.id())) return;
  std::set<uint32_t> effects = applied_effects_[version];
  effects.insert(effect.id());
  const size_t before = version;
  apply();
  if (version != before) applied_effects_[version] = std::move(effects);
}

// Applies `effect` to the content of `buffer`, unless it was applied already. `version` is the array with the content,
// and becomes the array with the new content.
void TensorLowering::apply_effect(UOp effect, UOp buffer, size_t& version, std::vector<UOp> loops) {
  current_node = effect;
  if (effect.is(Op::CALL)) return apply_effect_once(effect, version, [&] { apply_call(effect, buffer, version); });
  if (effect.is(Op::STORE)) {
    if (!(view_base(effect.src(0)) == buffer)) return;
    if (UOp before = state_below_target(effect.src(0))) apply_version(before, buffer, version);
    return apply_effect_once(effect, version, [&] { apply_store(effect, version, loops); });
  }
  switch (effect.op()) {
    case Op::END:
      for (UOp r : sources_from(effect, 1)) loops.push_back(r);
      return apply_effect(effect.src(0), buffer, version, loops);
    case Op::AFTER: case Op::ASSIGN:
      if (view_base(effect) == buffer) return apply_version(effect, buffer, version);
      if (auto other = other_stores_.find(effect); other != other_stores_.end() && other->second.contains(buffer)) {
        if (UOp before = state_below_target(effect.src(0))) apply_effect(before, buffer, version, {});
        for (UOp s : sources_from(effect, 1)) apply_effect(s, buffer, version, {});
      }
      return;
    case Op::GROUP: case Op::SINK: case Op::BARRIER: case Op::TUPLE:
      for (UOp s : effect.src()) apply_effect(s, buffer, version, loops);
      return;
    default:
      if (effect.in(kViewOps) && effect.num_src()) apply_effect(effect.src(0), buffer, version, loops);
  }
}

UOp TensorLowering::state_below_target(UOp target) const {
  auto is_same_memory = [&](UOp x) { return x.in(kViewOps) || (!is_memory(x) && is_memory(view_base(x))); };
  while (!target.in({Op::AFTER, Op::ASSIGN}) && is_same_memory(target) && target.num_src()) target = target.src(0);
  return target.in({Op::AFTER, Op::ASSIGN}) ? target : UOp();
}

void TensorLowering::note_other_stores(UOp after) {
  Buffers out;
  auto add = [&](UOp state) {
    auto it = other_stores_.find(state);
    if (it != other_stores_.end()) out.insert(it->second.begin(), it->second.end());
  };
  std::vector<UOp> effects(after.src().begin() + 1, after.src().end());
  while (!effects.empty()) {
    UOp effect = effects.back();
    effects.pop_back();
    if (effect.is(Op::STORE)) out.insert(view_base(effect.src(0)));
    else if (effect.in({Op::GROUP, Op::SINK, Op::TUPLE})) std::ranges::copy(effect.src(), std::back_inserter(effects));
    else if (effect.in({Op::AFTER, Op::ASSIGN})) add(effect), out.insert(view_base(effect));
    else if ((effect.in(kViewOps) || effect.is(Op::END)) && effect.num_src()) effects.push_back(effect.src(0));
  }
  if (UOp before = state_below_target(after.src(0))) add(before);
  out.erase(view_base(after));
  std::erase_if(out, [](UOp buffer) { return !is_memory(buffer); });
  if (!out.empty()) other_stores_[after] = std::move(out);
}

bool TensorLowering::repeats_elements(UOp view) const {
  for (; view.in(kViewOps) && view.num_src(); view = view.src(0))
    if (view.is(Op::EXPAND) && product(facts_.shape(view)) != product(facts_.shape(view.src(0)))) return true;
  return false;
}

// If a store fills a buffer with Invalid, reads of it may give any number (schedule/rangeify.py:after_all_invalid).
void TensorLowering::note_invalid_state(UOp after) {
  UOp store = after.src(1), buffer = view_base(after);
  if (after.num_src() != 2 || !store.is(Op::STORE) || !is_memory(buffer) || !(view_base(store.src(0)) == buffer))
    return;
  const bool is_whole = product(facts_.shape(store.src(0))) == product(facts_.shape(buffer));
  if (is_all_invalid(store.src(1)) && is_whole && !repeats_elements(store.src(0))) invalid_states_.insert(after);
}

// Applies the stores of an AFTER or ASSIGN, after the stores that come before it.
void TensorLowering::apply_version(UOp u, UOp buffer, size_t& version) {
  auto it = buffer_memories_.find(u);
  if (it != buffer_memories_.end() && std::ranges::includes(applied_effects_[version], applied_effects_[it->second]))
    return;
  if (UOp before = state_below_target(u.src(0))) apply_version(before, buffer, version);
  if (u.is(Op::ASSIGN)) return apply_effect_once(u, version, [&] { apply_store(u, version, {}); });
  for (UOp s : sources_from(u, 1)) apply_effect(s, buffer, version, {});
}

// A store of Invalid changes nothing. The new content has an array of its own, which becomes `version`: values that
// were read before the store stay the same.
void TensorLowering::apply_store(UOp store, size_t& version, const std::vector<UOp>& loops) {
  UOp target = store.src(0), stored = store.src(1);
  if (is_all_invalid(stored)) return;
  const Sizes& shape = facts_.shape(target);
  if (product(shape) == 0) return;
  const TensorMemory old = program_.memories[version];
  const int64_t devices = facts_.num_devices(target);
  const size_t next = new_memory(old.dtype, old.num_elements, 1);
  program_.memories[next].num_devices = old.num_devices;
  const int64_t bytes = checked_mul(checked_mul(product(shape), devices), target.dtype().base().itemsize());
  const bool is_whole = bytes == checked_mul(old.num_elements, old.dtype.itemsize()) && !repeats_elements(target);
  if (!loops.empty() || !is_whole) copy_memory(version, next);
  std::vector<UOp> around;
  for (UOp r : loops)
    if (r.is(Op::RANGE) && !is_device_axis(r)) around.push_back(value(r, {}));
  ElementPoint p;
  if (devices > 1) p.device = make_loop(devices, around);
  for (int64_t size : shape) p.place.push_back(make_loop(size, around));
  UOp valid;
  const AffineExpr index = index_in_buffer(target, p, valid);
  ElementPoint q = p;
  const Sizes& from = facts_.shape(stored);
  if (from.size() > shape.size()) throw Refusal{"its value has more axes than its target"};
  q.place.keep_last_items(from.size());
  for (size_t axis = 0; axis < from.size(); axis++)
    if (from[axis] == 1) q.place[axis] = {};
  UOp to = address(array_as_dtype(next, target.dtype().base()), index, valid);  // before value(), so that its slot is 0
  finish_kernel(graph_.node(Op::STORE, dtypes::void_, {to, value(stored, q)}), around);
  version = next;
}

void TensorLowering::add_stores_of_after(UOp after, UOp buffer) {
  auto last = std::ranges::find(program_.outputs, buffer, &TensorOutput::buffer);
  size_t version = last != program_.outputs.end() ? last->memory_index : memory_of_buffer(buffer);
  apply_effect(after, buffer, version, {});
  if (last == program_.outputs.end())
    program_.outputs.push_back({version, {program_.memories[version].num_elements}, buffer});
  for (TensorOutput& o : program_.outputs)
    if (o.buffer == buffer) o.memory_index = version;
}

}  // namespace tgc::import
