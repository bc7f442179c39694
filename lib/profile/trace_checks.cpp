#include "lib/profile/trace_checks.h"

#include <algorithm>

#include "lib/profile/stalls.h"
#include "lib/support/counted.h"
#include "lib/support/visible.h"

namespace tgc::profile {
namespace {

// True if an instruction of this unit can have a packet with this operation, or if that is unknown.
bool op_fits_unit(std::string_view op, InstructionUnit unit) {
  using Unit = InstructionUnit;
  struct OpUnits {
    std::string_view prefix;
    std::initializer_list<Unit> units;
  };
  static const OpUnits rows[] = {
      {"SALU", {Unit::Scalar}},        {"SMEM", {Unit::ScalarMemory}}, {"JUMP", {Unit::Branch}},
      {"CALL", {Unit::Branch}},        {"LDS_", {Unit::Lds}},          {"SGMEM_", {Unit::Memory}},
      {"VMEM_", {Unit::Memory}},       {"FLAT_", {Unit::Memory}},      {"BUF_", {Unit::Memory}},
      {"VALU", {Unit::Vector}},        {"WMMA", {Unit::Vector}},       {"VINTERP", {Unit::Vector}},
      {"BARRIER", {Unit::Barrier}},    {"MESSAGE", {Unit::Other}},
      {"IMMEDIATE", {Unit::Wait, Unit::Other, Unit::Barrier}},
  };
  for (const OpUnits& row : rows)
    if (op.starts_with(row.prefix)) return std::ranges::find(row.units, unit) != row.units.end();
  return true;
}

class TraceChecker {
 public:
  TraceChecker(const KernelCode* code, const std::vector<InstructionRole>& roles)
      : code_(code), roles_(roles), instruction_map_(code) {}

  void check_packet(const PacketView& p) {
    if (p.time < last_time_) num_backward_steps_++;
    last_time_ = p.time;
    if (!code_ || instruction_map_.error()) return;
    const PacketType& type = packet_type(p.row->packet);
    const uint32_t wave = uint32_t(type.field(p.bits, "wave"));
    switch (p.row->action) {
      case PacketAction::Start: case PacketAction::End: {
        if (type.field(p.bits, "sa") | type.field(p.bits, "simd") | type.field(p.bits, "wgp")) break;
        if (p.row->action == PacketAction::Start) instruction_map_.start_wave(wave);
        else if (uint32_t n = instruction_map_.end_wave(wave);
                 n != InstructionMap::kNone && !roles_[n].is_program_end_op)
          num_ends_elsewhere_++;
        break;
      }
      case PacketAction::Instruction: {
        const bool is_inst = p.row->count_mask != 0;
        const uint32_t op = uint32_t(type.field(p.bits, "op"));
        const std::string name = is_inst ? inst_op_name(p.layout, op) : type.name == "VALUINST" ? "VALU" : "IMMEDIATE";
        if (!name.starts_with("OTHER_")) check_unit(instruction_map_.issue_instruction(wave, is_inst, op), name);
        break;
      }
      case PacketAction::Mask:
        for (uint32_t n = 0; n < 16; n++)
          if (type.field(p.bits, "mask") >> n & 1) check_unit(instruction_map_.issue_immediate(n), "IMMEDIATE");
        break;
      default: break;
    }
  }

  void append_problems(const std::string& where, const ProgramListings::Listing& listing,
                       std::vector<std::string>& out) const {
    if (num_backward_steps_) out.push_back(where + "the time goes back " + times_text(num_backward_steps_));
    if (num_ends_elsewhere_)
      out.push_back(where + count_text(num_ends_elsewhere_, "wave") + " end elsewhere than at s_endpgm");
    if (!num_misfits_) return;
    const uint64_t address = code_->address_of(first_misfit_instruction_);
    auto text = listing.find(address);
    out.push_back(where + formatted("%s of another unit than their instruction's, the first at %#x (%s for '%s')",
                                    count_text(num_misfits_, "packet").c_str(), unsigned(address),
                                    first_misfit_op_.c_str(),
                                    text == listing.end() ? "" : visible_text(text->second).c_str()));
  }

 private:
  static std::string times_text(uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }
  void check_unit(uint32_t n, const std::string& op) {
    if (n == InstructionMap::kNone || op_fits_unit(op, roles_[n].unit)) return;
    if (num_misfits_++ == 0) first_misfit_instruction_ = n, first_misfit_op_ = op;
  }

  const KernelCode* code_;
  const std::vector<InstructionRole>& roles_;
  InstructionMap instruction_map_;
  int64_t last_time_ = INT64_MIN;
  uint64_t num_backward_steps_ = 0, num_ends_elsewhere_ = 0, num_misfits_ = 0;
  uint32_t first_misfit_instruction_ = 0;
  std::string first_misfit_op_;
};

void check_waves(const SqttSummary& s, const std::string& where, std::vector<std::string>& out) {
  size_t no_end = 0, no_begin = 0;
  for (const WaveSpan& w : s.wave_spans) {
    no_end += w.end == WaveSpan::kUnknownTime;
    no_begin += w.begin == WaveSpan::kUnknownTime;
  }
  if (no_end) out.push_back(where + count_text(no_end, "wave") + " without an end");
  if (no_begin) out.push_back(where + count_text(no_begin, "wave") + " without a begin");
}

}  // namespace

std::vector<std::string> check_traces(const Profile& p, size_t run_index, const ProgramListings::Listing& listing) {
  std::vector<std::string> out;
  const KernelRun& run = p.trace.runs[run_index];
  const std::vector<InstructionRole> roles = roles_of_run(p, run_index, listing);
  for (size_t i : run.sqtt_events) {
    const SqttEvent& e = p.trace.sqtt_events[i];
    const std::string where = formatted("shader engine %d: ", int(e.se));
    check_waves(p.sqtt_summaries[i], where, out);
    TraceChecker checker(listing.empty() ? nullptr : p.kernel_code_of_event(i), roles);
    decode_sqtt(bytes_of_blob(e.blob), [&](const PacketView& packet) { checker.check_packet(packet); });
    checker.append_problems(where, listing, out);
  }
  return out;
}

}  // namespace tgc::profile
