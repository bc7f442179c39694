// How the import writes each op of another release in tgc's IR, and facts of such nodes and their args.
#pragma once
#include <span>
#include <string_view>

#include "lib/import/importer.h"

namespace tgc::import {

// Applies to a node with an op of `ops`, in a graph of a release in the range, if `applies_to` is null or
// applies_to(node) is true. The first row that applies makes the value of the node.
struct OpUpgrade {
  std::string_view name;
  OpSet ops;
  bool (*applies_to)(UOp) = nullptr;
  Value (*make)(Importer& im, UOp u) = nullptr;
  std::string_view refusal_reason = {};  // if there is no `make`: why the node cannot be imported
  // the range of releases; by default, last_release is later than all enumerators
  Release first_op_release = Release::v0_11, last_release = Release(UINT8_MAX);
};

std::span<const OpUpgrade> all_op_upgrades();
// Returns null if no row applies.
const OpUpgrade* find_upgrade(UOp u);

// Throws Refusal if `u` has fewer sources than its op needs, or is an ALU op with more.
void check_sources(UOp u);

// Returns None if `record` is no dataclass or has no such field. A field without a name is found by its position.
Arg field_of_record(Arg record, std::string_view name, size_t position = SIZE_MAX);
// Returns the slot of a PARAM or DEFINE_GLOBAL: the arg, or the field of a ParamArg; None without a slot. The arg of a
// BUFFER without a ParamArg is its size.
Arg slot_of_param(UOp u);
// Copies `arg` to the graph `to`, dataclasses as tgc's record classes. Throws Refusal for a node, and for a dataclass
// that 0.12.0 does not have or whose fields have other types than in 0.12.0.
Arg copy_arg(Graph& to, Arg arg);

Arg kernel_info(Importer& im, UOp sink);  // the arg of an imported SINK; None for the defaults
bool has_views(std::span<const UOp> nodes);
// Imports the AST of 0.11 below the SINK `root`. Sets `at` to the node that is being imported, for errors.
UOp import_views(Importer& im, UOp root, UOp& at);
// Return true for a variable, for a buffer in local memory or registers, and for a RANGE over devices, respectively.
bool is_variable(UOp u);
bool is_local_buffer(UOp u);
bool is_device_axis(UOp u);
// Returns true for a RANGE over the devices, or for the variable `_device_num` that 0.12 and 0.13 have.
bool is_device_number(UOp u);

// ---- numbers (math.cpp)
Value make_const(Importer& im, UOp u);
Value make_vector_const(Importer& im, UOp u);
Value make_cast(Importer& im, UOp u);
Value make_bitcast(Importer& im, UOp u);
Value make_alu(Importer& im, UOp u);
// ---- shapes (shapes.cpp)
Value make_stack(Importer& im, UOp u);
Value make_gep(Importer& im, UOp u);
Value make_contract(Importer& im, UOp u);
Value make_unroll(Importer& im, UOp u);
Value make_vector_wmma(Importer& im, UOp u);
Value make_movement(Importer& im, UOp u);
Value make_reduce(Importer& im, UOp u);
Value make_wmma(Importer& im, UOp u);
// ---- memory (memory.cpp)
Value make_param_buffer(Importer& im, UOp u);
Value make_pointer(Importer& im, UOp u);
Value make_local_buffer(Importer& im, UOp u);
Value make_stage(Importer& im, UOp u);
Value make_core_number(Importer& im, UOp u);
Value make_variable(Importer& im, UOp u);
Value make_named_variable(Importer& im, UOp u);
Value make_index(Importer& im, UOp u);
Value make_load(Importer& im, UOp u);
// Returns true if an access of dtype `number` spans several integers of `buffer`, because its pointer was cast.
bool spans_elements(UOp buffer, DType number);
Value make_store(Importer& im, UOp u);
// ---- order, loops and custom code (control.cpp)
Value make_range(Importer& im, UOp u);
Value make_device_range(Importer& im, UOp u);
Value make_special(Importer& im, UOp u);
Value make_end(Importer& im, UOp u);
Value make_end_range(Importer& im, UOp u);
Value make_after(Importer& im, UOp u);
Value make_sink(Importer& im, UOp u);
Value make_order(Importer& im, UOp u);
Value make_custom(Importer& im, UOp u);
Value make_first_source(Importer& im, UOp u);

}  // namespace tgc::import
