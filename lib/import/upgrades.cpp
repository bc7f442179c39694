// The comment above a row shows the original node -> the node of tgc's IR.
#include <algorithm>

#include "lib/import/upgrade.h"
#include "lib/support/counted.h"

namespace tgc::import {

Arg field_of_record(Arg record, std::string_view name, size_t position) {
  if (record.kind() != Arg::Kind::Record) return {};
  RecordView fields(record);
  for (size_t i = 0; i < fields.size(); i++)
    if (fields.field(i) == name || (i == position && fields.field(i).empty())) return fields.values()[i];
  return {};
}

Arg slot_of_param(UOp u) { return u.arg().is_int() ? u.arg() : field_of_record(u.arg(), "slot", 0); }

Arg copy_arg(Graph& to, Arg arg) {
  if (arg.is_uop()) throw Refusal{"its arg has a node"};
  if (arg.is_str()) return to.str(arg.text());
  if (arg.kind() == Arg::Kind::Bytes) return to.bytes(arg.text());
  if (arg.kind() == Arg::Kind::Raw) return to.raw_arg(arg.text());
  std::vector<Arg> items;
  if (arg.is_tuple()) {
    for (Arg item : arg.items()) items.push_back(copy_arg(to, item));
    return to.tuple(items);
  }
  if (arg.kind() != Arg::Kind::Record) return arg;
  auto known = parse_record_class(RecordView(arg).name());
  if (!known) throw Refusal{"its arg " + arg.repr() + " is unknown"};
  for (std::string_view field : fields_of(*known))
    items.push_back(copy_arg(to, field_of_record(arg, field, items.size())));
  if (!is_valid_record(*known, items)) throw Refusal{"its arg " + arg.repr() + " is unknown"};
  return to.record(*known, items);
}

namespace {
bool has_param_arg(UOp u) { return u.arg().kind() == Arg::Kind::Record && RecordView(u.arg()).name() == "ParamArg"; }
// A ParamArg without an address space means GLOBAL.
bool has_addrspace(UOp u, std::string_view space) {
  Arg a = field_of_record(u.arg(), "addrspace");
  if (!has_param_arg(u) || a.is_none()) return has_param_arg(u) && space == "GLOBAL";
  if (a.kind() == Arg::Kind::AddrSpace) return name_of(a.addrspace()) == space;
  return a.kind() == Arg::Kind::Raw && a.text().ends_with(space) && a.text().starts_with("AddrSpace.");
}
bool is_vector_wmma(UOp u) { return u.arg().is_tuple() && u.arg().items().size() == 8; }  // the arg of 0.12
bool is_core_number(UOp u) { return is_variable(u) && field_of_record(u.arg(), "name").str() == "core_id"; }
}  // namespace

bool is_variable(UOp u) {
  // commits of June 2026 do not write the address space ALU
  const bool has_bounds = has_param_arg(u) && field_of_record(u.arg(), "vmin_vmax").is_tuple();
  return has_addrspace(u, "ALU") || (has_bounds && field_of_record(u.arg(), "name").is_str());
}
bool is_local_buffer(UOp u) { return has_addrspace(u, "LOCAL") || has_addrspace(u, "REG"); }
bool is_device_axis(UOp u) {
  auto is_device = [](Arg a) { return a.kind() == Arg::Kind::Raw && a.text() == "AxisType.DEVICE"; };
  return u.arg().is_tuple() && std::ranges::any_of(u.arg().items(), is_device);
}
bool is_device_number(UOp u) {
  return (u.is(Op::RANGE) && is_device_axis(u)) ||
         (u.is(Op::DEFINE_VAR) && tuple_item(u.arg(), 0).str() == "_device_num");
}

namespace {

constexpr OpSet kFloorDivision{Op::FLOORDIV, Op::FLOORMOD};
constexpr OpSet kCalls{Op::CALL, Op::FUNCTION, Op::CUSTOM_FUNCTION, Op::GETADDR};
constexpr OpSet kPrograms{Op::PROGRAM, Op::LINEAR, Op::SOURCE, Op::BINARY};
constexpr OpSet kTensorOps{Op::CONTIGUOUS, Op::CONTIGUOUS_BACKWARD, Op::DETACH, Op::COPY, Op::MSELECT, Op::MSTACK,
                           Op::BUFFER_VIEW, Op::MULTI, Op::ALLREDUCE, Op::REDUCE_AXIS, Op::ASSIGN, Op::KERNEL,
                           Op::UNSHARD, Op::PAD, Op::TUPLE, Op::GETTUPLE};

constexpr OpUpgrade kUpgrades[] = {
    // ---- memory
    // PARAM((); -1, core_id, (0, n - 1), ALU) -> SPECIAL(n, gidx0), which CPU renderers print as core_id
    {.name = "param-core",
     .ops = Op::PARAM,
     .applies_to = is_core_number,
     .make = make_core_number,
     .first_op_release = Release::v0_13},
    // PARAM((); -1, name, (min, max), ALU) -> DEFINE_VAR(name, min, max)
    {.name = "param-variable",
     .ops = {Op::PARAM, Op::BUFFER},
     .applies_to = is_variable,
     .make = make_variable,
     .first_op_release = Release::v0_13},
    // PARAM(shape; slot, dtype) -> DEFINE_GLOBAL dtype.ptr(size), slot; an image is a buffer too
    {.name = "param-buffer",
     .ops = Op::PARAM,
     .applies_to = has_param_arg,
     .make = make_param_buffer,
     .first_op_release = Release::v0_13},
    // PARAM dtype.ptr(size), slot -> DEFINE_GLOBAL dtype.ptr(size), slot
    {.name = "param-pointer", .ops = Op::PARAM, .make = make_pointer, .first_op_release = Release::v0_13},
    // BUFFER(shape; slot, dtype, LOCAL or REG) -> DEFINE_LOCAL or DEFINE_REG dtype.ptr(size), slot
    {.name = "buffer-local",
     .ops = Op::BUFFER,
     .applies_to = is_local_buffer,
     .make = make_local_buffer,
     .first_op_release = Release::v0_13},
    {.name = "buffer-global", .ops = Op::BUFFER, .refusal_reason = "it is a buffer of a tensor graph"},
    {.name = "define", .ops = ops::Defines, .make = make_pointer},
    {.name = "define-var", .ops = Op::DEFINE_VAR, .make = make_named_variable},
    {.name = "bind", .ops = Op::BIND, .make = make_first_source},
    {.name = "stage", .ops = {Op::STAGE, Op::BUFFERIZE}, .make = make_stage},
    // INDEX(x, WHERE(cond, i, Invalid)) -> an INDEX of the same form; INDEX(vector, constant) -> an element
    {.name = "index", .ops = Op::INDEX, .make = make_index},
    // LOAD(INDEX, alt, gate) -> LOAD(INDEX with the gate, alt); LOAD of n elements -> n LOADs
    {.name = "load", .ops = Op::LOAD, .make = make_load},
    // STORE(INDEX, x, gate) -> STORE(INDEX with the gate, x); STORE(INDEX, Invalid) -> NOOP
    {.name = "store", .ops = Op::STORE, .make = make_store},

    // ---- numbers
    // CONST weakint or weakfloat -> CONST of the dtype of the values it is combined with
    {.name = "const", .ops = Op::CONST, .make = make_const},
    {.name = "vector-const", .ops = Op::VCONST, .make = make_vector_const},
    // CAST(weak x) -> x computed in the dtype of the CAST
    {.name = "cast", .ops = Op::CAST, .make = make_cast},
    {.name = "bitcast", .ops = Op::BITCAST, .make = make_bitcast},
    // FLOORDIV(x, y) -> IDIV(x, y) if known to be equal, else an expression that rounds down; likewise FLOORMOD and MOD
    {.name = "floor-division", .ops = kFloorDivision, .make = make_alu, .first_op_release = Release::v0_13},
    // CDIV(x, y) -> IDIV(x, y); CMOD(x, y) -> MOD(x, y), or x - IDIV(x, y) * y if MOD could become an AND
    {.name = "truncating-division", .ops = {Op::CDIV, Op::CMOD}, .make = make_alu, .first_op_release = Release::v0_13},
    {.name = "recip", .ops = Op::RECIP, .make = make_alu, .last_release = Release::v0_11},
    {.name = "precast", .ops = Op::PRECAST, .make = make_first_source, .last_release = Release::v0_11},
    // x op y, of different dtypes -> op of operands of one dtype
    {.name = "alu", .ops = ops::ALU, .make = make_alu},

    // ---- values with a shape -> scalars
    // STACK(x, y), VECTORIZE(x, y), CAT and PTRCAT of vectors -> the scalars x, y
    {.name = "stack", .ops = {Op::STACK, Op::VECTORIZE, Op::CAT, Op::PTRCAT}, .make = make_stack},
    {.name = "gep", .ops = Op::GEP, .make = make_gep},
    {.name = "contract", .ops = Op::CONTRACT, .make = make_contract},
    {.name = "unroll", .ops = Op::UNROLL, .make = make_unroll},
    // RESHAPE and so on of a value -> its elements in the new order; of a buffer -> a BufferView
    {.name = "movement",
     .ops = {Op::RESHAPE, Op::PERMUTE, Op::EXPAND, Op::FLIP, Op::SHRINK},
     .make = make_movement,
     .first_op_release = Release::v0_13},
    // REDUCE(x, ranges; op, n) -> REDUCE(x0 op x1 op ..., ranges; op)
    {.name = "reduce", .ops = Op::REDUCE, .make = make_reduce},
    {.name = "wmma-vectors", .ops = Op::WMMA, .applies_to = is_vector_wmma, .make = make_vector_wmma},
    // WMMA(a, b, c; dims, dtype, device, threads, axes) -> WMMA of vectors, with 0.12's arg
    {.name = "wmma", .ops = Op::WMMA, .make = make_wmma, .first_op_release = Release::v0_13},

    // ---- loops, order and custom code
    // RANGE(n; -1, DEVICE) -> DEFINE_VAR("_device_num", 0, n - 1)
    {.name = "range-device",
     .ops = Op::RANGE,
     .applies_to = is_device_axis,
     .make = make_device_range,
     .first_op_release = Release::v0_13},
    // RANGE(n; ids, WEAK) -> RANGE(n; ids, LOOP); RANGE(n; id) of 0.11 -> RANGE(n; id, LOOP)
    {.name = "range", .ops = Op::RANGE, .make = make_range},
    {.name = "special", .ops = Op::SPECIAL, .make = make_special},
    {.name = "end", .ops = Op::END, .make = make_end},
    // ENDRANGE(range) -> END(NOOP, range)
    {.name = "end-range", .ops = Op::ENDRANGE, .make = make_end_range, .last_release = Release::v0_11},
    {.name = "after", .ops = Op::AFTER, .make = make_after},
    {.name = "sink", .ops = Op::SINK, .make = make_sink},
    {.name = "order", .ops = {Op::GROUP, Op::NOOP, Op::BARRIER, Op::IF, Op::ENDIF}, .make = make_order},
    {.name = "custom", .ops = {Op::CUSTOM, Op::CUSTOMI}, .make = make_custom},

    // ---- ops that have no counterpart in a kernel of 0.12
    {.name = "call", .ops = kCalls, .refusal_reason = "it calls a function"},
    {.name = "instruction", .ops = Op::INS, .refusal_reason = "machine instructions are listed, not executed"},
    {.name = "program", .ops = kPrograms, .refusal_reason = "it is a compiled program"},
    {.name = "tensor", .ops = kTensorOps, .refusal_reason = "it is an op of tensor graphs"},
    {.name = "view", .ops = {Op::VIEW, Op::VALID}, .refusal_reason = "it is a view of a ShapeTracker"},
    {.name = "block",
     .ops = {Op::BLOCK, Op::BLOCKSTART, Op::BLOCKEND, Op::BLOCKFINAL},
     .refusal_reason = "it is a block of the linearizer"},
};

constexpr OpSet kOneSource{Op::BIND,    Op::STAGE,    Op::BUFFERIZE, Op::INDEX,   Op::LOAD,    Op::CAST,
                           Op::BITCAST, Op::RECIP,    Op::GEP,       Op::UNROLL,  Op::PERMUTE, Op::CONTRACT,
                           Op::FLIP,    Op::REDUCE,   Op::SPECIAL,   Op::END,     Op::AFTER,   Op::ENDRANGE,
                           Op::IF,      Op::ENDIF,    Op::PRECAST,   Op::VALID,   Op::CONTIGUOUS,
                           Op::REDUCE_AXIS};
constexpr OpSet kTwoSources{Op::STORE, Op::RESHAPE, Op::EXPAND, Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD};

}  // namespace

void check_sources(UOp u) {
  size_t least = kTwoSources.contains(u.op()) ? 2 : kOneSource.contains(u.op()) ? 1 : 0;
  if (u.in({Op::SHRINK, Op::WMMA})) least = 3;
  if (u.in(ops::ALU)) least = u.in(ops::Unary) ? 1 : u.in(ops::Binary) ? 2 : 3;
  const bool has_more = u.num_src() > least && u.in(ops::ALU);
  if (u.num_src() < least || has_more) throw Refusal{"it has " + count_text(u.num_src(), "source")};
}

std::span<const OpUpgrade> all_op_upgrades() { return kUpgrades; }

const OpUpgrade* find_upgrade(UOp u) {
  const Release release = u.graph().release();
  auto applies = [&](const OpUpgrade& row) {
    return row.ops.contains(u.op()) && row.first_op_release <= release && release <= row.last_release &&
           (!row.applies_to || row.applies_to(u));
  };
  auto found = std::ranges::find_if(kUpgrades, applies);
  return found == std::end(kUpgrades) ? nullptr : found;
}

}  // namespace tgc::import
