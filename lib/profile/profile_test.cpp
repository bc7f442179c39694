#include <doctest/doctest.h>

#include <fstream>

#include "lib/profile/emulated_trace.h"
#include "lib/profile/kernel_code.h"
#include "lib/profile/memory_use.h"
#include "lib/profile/pma.h"
#include "lib/profile/report.h"

namespace tgc::profile {
namespace {

class Blob {
 public:
  Blob& add(uint64_t bits, uint32_t nibbles) {
    for (uint32_t n = 0; n < nibbles; n++) put(n < 16 ? bits >> 4 * n & 15 : 0);
    return *this;
  }
  std::vector<uint8_t> end() {
    add(0, 16 + nibbles_ % 2);
    return bytes_;
  }

 private:
  void put(uint64_t nibble) {
    if (nibbles_ % 2) bytes_.back() |= uint8_t(nibble << 4);
    else bytes_.push_back(uint8_t(nibble));
    nibbles_++;
  }
  std::vector<uint8_t> bytes_;
  size_t nibbles_ = 0;
};

uint64_t header(uint64_t layout) { return 0b0010001 | layout << 7; }
struct Decoded {
  PacketId packet;
  int64_t time;
  bool operator==(const Decoded&) const = default;
};
// Returns the packets of a trace without the NOPs at its end.
std::vector<Decoded> packets(const std::vector<uint8_t>& blob) {
  std::vector<Decoded> out;
  decode_sqtt(blob, [&](const PacketView& p) { out.push_back({p.row->packet, p.time}); });
  while (!out.empty() && out.back().packet == PacketId::NOP) out.pop_back();
  return out;
}

std::string words(std::initializer_list<uint32_t> list) {
  std::string out;
  for (uint32_t w : list) out.append(reinterpret_cast<const char*>(&w), 4);
  return out;
}
constexpr uint32_t kDelay = 0xbf870000, kBranch = 0xbfa00000, kBranchIfScc1 = 0xbfa20000, kNop = 0xbf800000,
                   kEnd = 0xbfb00000, kMove = 0x7e000280;  // v_mov_b32 v0, 0

}  // namespace

TEST_CASE("sqtt: times of layouts 3 and 4; a delta packet of 72 bits is read whole") {
  // TS_DELTA_S8_W3 with delta 5, TS_DELTA_SHORT with delta 2 (+4), VALUINST with delta 3
  auto with = [](uint64_t layout, uint32_t nibbles) {
    return Blob().add(header(layout), 16).add(0x21 | 5 << 8, nibbles).add(8 | 2 << 4, 2).add(3 | 3 << 3, 3).end();
  };
  using P = PacketId;
  std::vector<Decoded> expected{
      {P::LAYOUT_HEADER, 0}, {P::TS_DELTA_S8_W3, 5}, {P::TS_DELTA_SHORT, 11}, {P::VALUINST, 14}};
  CHECK(packets(with(3, 16)) == expected);
  CHECK(packets(with(4, 18)) == expected);
}

TEST_CASE("sqtt: a marker has no delta, other packets of its type have a wide one") {
  uint64_t wide = 1 | uint64_t(0x123456789) << 12, marker = wide | 1 << 9, both = marker | 1 << 8;
  std::vector<Decoded> seen = packets(Blob().add(header(3), 16).add(wide, 12).add(marker, 12).add(both, 12).end());
  REQUIRE(seen.size() == 4);
  CHECK(seen[1].time == 0x123456789);
  CHECK(seen[2].time == 0x123456789);
  CHECK(seen[3].time == 2 * int64_t(0x123456789));
  uint64_t wide4 = 1 | uint64_t(0x1234567890abc) << 12;
  seen = packets(Blob().add(header(4), 16).add(wide4, 16).add(wide4 | 1 << 7, 16).end());
  REQUIRE(seen.size() == 3);
  CHECK(seen[2] == Decoded{PacketId::TS_DELTA_OR_MARK_RDNA4, 0x1234567890abc});
}

TEST_CASE("sqtt: CDNA's absolute times count from the first; its own deltas count 4 cycles") {
  auto stamp = [](uint64_t t) { return 1 | t << 16; };
  auto blob = Blob().add(header(0), 16).add(stamp(1000), 16).add(3 << 4, 4).add(stamp(1103), 16).add(stamp(9) | 32, 16)
                  .add(0x6, 4).end();
  std::vector<Decoded> seen = packets(blob);
  REQUIRE(seen.size() >= 6);
  CHECK(seen[1] == Decoded{PacketId::CDNA_TIMESTAMP, 0});
  CHECK(seen[2] == Decoded{PacketId::CDNA_MISC, 12});
  CHECK(seen[3] == Decoded{PacketId::CDNA_TIMESTAMP, 96});  // 103 rounded down to a multiple of 4, less 4
  CHECK(seen[4] == Decoded{PacketId::CDNA_TIMESTAMP, 96});  // a timestamp of another kind does not change the time
  CHECK(seen[5] == Decoded{PacketId::CDNA_WAVEEND, 96});
}

TEST_CASE("sqtt: packets at the end of a trace, and traces of every length") {
  std::vector<uint8_t> blob = Blob().add(header(3), 16).add(3, 3).add(3, 3).end();
  for (size_t size = 0; size <= blob.size(); size++) {
    size_t count = 0;
    decode_sqtt(std::span(blob).first(size), [&](const PacketView&) { count++; });
    // after the header, packets begin at the nibbles 16, 19, 22, 23, ..., and need 16 nibbles from there
    size_t expected = size < 8 ? 0 : 1 + (2 * size >= 32) + (2 * size >= 35) + (2 * size >= 38 ? 2 * size - 37 : 0);
    CHECK(count == expected);
  }
}

TEST_CASE("sqtt: names of operations") {
  CHECK(inst_op_name(SqttLayout::Rdna3, 0x21) == "SGMEM_RD_1");
  CHECK(inst_op_name(SqttLayout::Rdna3, 0x5b) == "OTHER_VMEM_2");
  CHECK(inst_op_name(SqttLayout::Rdna4, 0x5b) == "0x5b");
  CHECK(inst_op_name(SqttLayout::Rdna4, 0xbc) == "OTHER_VMEM_1");
  CHECK(inst_op_name(SqttLayout::Cdna, 7) == "PC");
  CHECK(inst_op_name(SqttLayout::Cdna, 0x50) == "0x50");
}

TEST_CASE("kernel code: sizes of instructions") {
  CHECK(instruction_size(Isa::Rdna3, kEnd, 0) == 4);
  CHECK(instruction_size(Isa::Rdna3, kMove, 0) == 4);
  CHECK(instruction_size(Isa::Rdna3, 0x7e0002ff, 0) == 8);           // a literal
  CHECK(instruction_size(Isa::Rdna3, 0xf4040002, 0) == 8);           // s_load_b64
  CHECK(instruction_size(Isa::Rdna3, 0xdc520000, 0) == 8);           // global_load_b32
  CHECK(instruction_size(Isa::Rdna4, 0xee050004, 0) == 12);          // global_load_b32
  CHECK(instruction_size(Isa::Rdna3, 0xca100080, 0x00000080) == 8);  // v_dual_mov_b32
  CHECK(instruction_size(Isa::Rdna3, 0xca1000ff, 0x00000080) == 12);
  CHECK(instruction_size(Isa::Rdna3, 0xd6130000, 0x040100ff) == 12);  // a VOP3 with a literal
  CHECK(instruction_size(Isa::Rdna3, 0xee050004, 0) == 0);
  CHECK(instruction_size(Isa::None, kEnd, 0) == 0);
}

TEST_CASE("sqtt: waves are followed through jumps, skipped waits and masks of waves") {
  // 0: s_nop, 4: s_delay_alu, 8: v_mov, 12: s_cbranch_scc1 -4 (to 0), 16: s_endpgm
  std::string text = words({kNop, kDelay, kMove, kBranchIfScc1 | 0xfffc, kEnd});
  KernelCode code = KernelCode::read({text, 0x1000}, Isa::Rdna3).value_or_throw();
  REQUIRE(code.instructions().size() == 5);
  auto start = [](uint64_t wave, uint64_t wgp) { return uint64_t(0b01100) | wgp << 10 | wave << 13; };
  auto end = [](uint64_t wave) { return uint64_t(0b10101) | wave << 15; };
  auto inst = [](uint64_t wave, uint64_t op) { return uint64_t(0b010) | 1 << 4 | wave << 8 | op << 13; };
  Blob blob;
  blob.add(header(3), 16).add(start(1, 0), 8).add(start(2, 0), 8).add(start(1, 3), 8);
  blob.add(0b00100 | 6 << 8, 6);            // waves 1 and 2 at s_nop
  blob.add(3 | 2 << 3 | 1 << 7, 3);         // wave 1, 2 cycles later: v_mov after s_delay_alu
  blob.add(inst(1, 0x5a), 5);               // an instruction of another SIMD
  blob.add(inst(1, 3), 5).add(0b1101 | 1 << 7, 3);  // wave 1 jumps to s_nop
  blob.add(3 | 1 << 7, 3).add(inst(1, 4), 5);       // v_mov, and the branch is not taken
  blob.add(end(1), 5).add(0b1101 | 1 << 4 | 2 << 7, 3);  // wave 1 ends; wave 2 is still at v_mov
  SqttSummary s = summarize_sqtt(blob.end(), &code);
  CHECK(s.error == "");
  REQUIRE(s.instructions.size() == 5);
  CHECK(s.instructions[0].num_executions == 3);
  CHECK(s.instructions[1].num_executions == 0);
  CHECK(s.instructions[2].num_executions == 3);
  CHECK(s.instructions[3].num_executions == 2);
  CHECK(s.instructions[4].num_executions == 1);
  REQUIRE(s.wave_spans.size() == 3);
  CHECK(s.wave_spans[0].end != WaveSpan::kUnknownTime);
  CHECK(s.wave_spans[1].end == WaveSpan::kUnknownTime);
  CHECK(s.wave_spans[2].cu == 3);
  auto error = [&](uint64_t packet, uint32_t nibbles) {
    std::string branch = words({kBranch, kEnd});
    KernelCode c = KernelCode::read({branch, 0}, Isa::Rdna3).value_or_throw();
    SqttSummary e = summarize_sqtt(Blob().add(header(3), 16).add(start(0, 0), 8).add(packet, nibbles).end(), &c);
    CHECK(e.instructions.empty() == !e.error.empty());
    return e.error;
  };
  CHECK(error(inst(0, 3), 5) == "");
  CHECK(error(3, 3) == "a branch has a packet that is not JUMP or JUMP_NO");
  CHECK(error(3 | 5 << 7, 3) == "a packet of a wave that has not started");
  CHECK(error(start(0, 0), 8) == "a wave starts twice");
}

TEST_CASE("cdna: waves are followed by their issues, their kinds and their branches, to s_endpgm") {
  // 0: s_load_dword (8 bytes), 8: s_waitcnt, 12: v_mov, 16: s_barrier, 20: s_cbranch_scc1 to 12, 24: s_endpgm
  const std::string text = words({0xc0020000, 0, 0xbf8cc07f, kMove, 0xbf8a0000, 0xbf85fffd, 0xbf810000});
  KernelCode code = KernelCode::read({text, 0x1000}, Isa::Cdna).value_or_throw();
  REQUIRE(code.instructions().size() == 6);
  CHECK(code.instructions()[4].jump_target == 2);
  enum Kind : uint64_t { Smem = 0, Vector = 5, Jump = 12, Next = 13, Message = 15 };
  auto start = [](uint64_t simd) { return 3 | uint64_t(2) << 10 | simd << 14; };   // wave 2 of CU 0
  auto end = [](uint64_t simd) { return 6 | uint64_t(2) << 10 | simd << 14; };
  auto issue = [](uint64_t state) { return 13 | state << (8 + 2 * 2); };
  auto inst = [](uint64_t kind) { return 10 | uint64_t(2) << 5 | kind << 11; };
  auto trace = [&](std::vector<uint64_t> kinds) {  // kinds of INST packets; 99 for an instruction without a unit
    Blob blob;
    blob.add(header(0), 16).add(1 | uint64_t(1000) << 16, 16).add(start(0), 8).add(start(1), 8);
    for (uint64_t kind : kinds) {
      blob.add(3 << 4, 4).add(issue(kind == 99 ? 3 : 2), 8);
      if (kind != 99) blob.add(inst(kind), 4);
    }
    return summarize_sqtt(blob.add(end(0), 4).end(), &code);
  };
  SqttSummary s = trace({Smem, 99, Vector, Message, 99, Jump, Vector, Message, 99, Next, Message});
  CHECK(s.error == "");
  REQUIRE(s.instructions.size() == 6);
  std::vector<uint64_t> hits;
  for (const auto& t : s.instructions) hits.push_back(t.num_executions);
  CHECK(hits == std::vector<uint64_t>{1, 1, 2, 2, 2, 1});
  CHECK(s.instructions[1].cycles == 12);
  CHECK(trace({Smem, 99, Vector, Message, 99, Next}).error == "");
  CHECK(trace({Smem, Vector, 99, Message, 99, Next}).error == "");  // two packets are swapped
  CHECK(trace({Smem, 99, Smem}).error.find("does not fit the instruction at 0x100c") != std::string::npos);
  CHECK(trace({Smem, 99, Vector}).error == "a wave ends elsewhere than at s_endpgm");
}

TEST_CASE("kernel code: sizes of CDNA's instructions") {
  CHECK(instruction_size(Isa::Cdna, 0x7e0002ff, 0) == 8);   // v_mov_b32 v0, literal
  CHECK(instruction_size(Isa::Cdna, 0x2e0000ff, 0) == 8);   // v_fmamk_f32
  CHECK(instruction_size(Isa::Cdna, 0xd3ac0000, 0) == 16);  // v_mfma_scale_f32_16x16x128_f8f6f4
  CHECK(instruction_size(Isa::Cdna, 0xd3cd0000, 0) == 8);   // v_mfma_f32_16x16x16_f16
  CHECK(instruction_size(Isa::Cdna, 0xdc508000, 0) == 8);   // global_load_dword
  CHECK(instruction_size(Isa::Cdna, 0xbf810000, 0) == 4);   // s_endpgm
  CHECK(instruction_size(Isa::Cdna, 0x800000ff, 0) == 8);   // s_add_u32 with a literal
}

TEST_CASE("emulated profile: the trace of a log has the log's hits, and a log that leaves the code is an error") {
  // 0: v_mov, 4: s_nop (no operation in the emulator), 8: s_delay_alu, 12: v_mov, 16: s_cbranch_scc1 to 4, 20: s_endpgm
  std::string text = words({kMove, kNop, kDelay, kMove, kBranchIfScc1 | 0xfffc, kEnd});
  std::string elf = make_elf({text, 0x1000});
  using hip::TraceEvent;
  auto log_of = [&](std::vector<std::pair<TraceEvent, uint64_t>> events) {
    std::vector<uint64_t> memory(1 << 10);
    auto* log = new (memory.data()) hip::TraceLog{.capacity_bytes = 8 * (memory.size() - 8)};
    log->append(hip::TraceRecord::Module, 77, elf);
    log->append(hip::TraceRecord::Launch, 77, "gfx1100 E_4");
    for (uint32_t wave : {3, 1}) log->add_event(hip::encode_lanes_event(wave, 10 * wave));
    for (uint32_t wave : {3, 1})
      for (auto [type, offset] : events) log->add_event(encode_trace_event(type, wave, 0x1000 + offset));
    return profile_of_log(*log);
  };
  auto pickle = log_of({{TraceEvent::Started, 0}, {TraceEvent::Executed, 0}, {TraceEvent::Executed, 12},
                        {TraceEvent::Jumped, 16}, {TraceEvent::Executed, 12}, {TraceEvent::Executed, 16},
                        {TraceEvent::Ended, 20}});
  REQUIRE(pickle);
  auto analyzed = analyze_profile(std::move(parse_trace(*pickle).value_or_throw()), {});
  REQUIRE(analyzed);
  REQUIRE(analyzed->trace.runs.size() == 1);
  CHECK(analyzed->trace.runs[0].name == "E_4");
  CHECK(analyzed->trace.runs[0].arch == "gfx1100");
  std::vector<uint64_t> hits;
  for (const auto& t : analyzed->instruction_times_of_run(0)) hits.push_back(t.num_executions);
  CHECK(hits == std::vector<uint64_t>{2, 4, 0, 4, 4, 2});
  CHECK(analyzed->active_lanes_of_run(0) == std::vector<uint64_t>{40, 0, 0, 80, 80, 40});
  CHECK(analyzed->sqtt_summaries[0].wave_spans.size() == 2);
  CHECK_FALSE(log_of({{TraceEvent::Started, 0}, {TraceEvent::Executed, 20}}));  // behind a branch that was not logged
  CHECK_FALSE(log_of({{TraceEvent::Started, 0}, {TraceEvent::Executed, 24}}));
}

TEST_CASE("pma: samples continue in the next packet of their TPC, until packets are dropped") {
  // returns a sample of 8 bytes: pc 0x120, stall reason `key`, warp 5, active
  auto sample = [](uint64_t key) { return uint64_t(0x12) | key << 45 | uint64_t(5) << 50 | uint64_t(1) << 62; };
  std::vector<uint8_t> blob;
  auto packet = [&](uint32_t tpc, std::string bytes, bool dropped = false) {
    uint32_t header = uint32_t(bytes.size()) | (tpc & 255) << 8 | (tpc >> 8) << 25 | uint32_t(dropped) << 28;
    bytes.resize(28, 0x7f);
    std::string whole = bytes.substr(0, 4) + std::string(reinterpret_cast<const char*>(&header), 4) + bytes.substr(4);
    blob.insert(blob.end(), whole.begin(), whole.end());
  };
  auto text = [](uint64_t bits) { return std::string(reinterpret_cast<const char*>(&bits), 8); };
  std::string two = text(sample(9)) + text(sample(18));
  packet(0x123, two.substr(0, 11)), packet(7, text(sample(3))), packet(0x123, two.substr(11));
  packet(7, two.substr(0, 3)), packet(7, two.substr(0, 8), true);
  auto samples = decode_pma(blob, 0x800);
  REQUIRE(samples.size() == 4);
  CHECK(samples[0].pc == 0x120);
  CHECK(samples[0].reason == "MEMORY_DEPENDENCY");
  CHECK(samples[0].warp == 5);
  CHECK(samples[0].is_active);
  CHECK(samples[0].gpc() == 9);
  CHECK(samples[1].reason == "SYNC");
  CHECK(samples[2].reason == "NONE");
  CHECK(samples[2].tpc == 0x123);
  CHECK(samples[3].reason == "MEMORY_DEPENDENCY");  // without the three bytes before the dropped samples
  auto counts = count_samples(samples);
  CHECK(counts[0x120]["MEMORY_DEPENDENCY"] == 2);
  // Blackwell: 9 bytes; key 0x11, pc 0x340, warp 0x25
  blob.clear();
  packet(1, text(0x11 | 2 << 6 | 0x34 << 8) + "\x58");
  auto newer = decode_pma(blob, 0xa04);
  REQUIRE(newer.size() == 1);
  CHECK(newer[0].pc == 0x340);
  CHECK(newer[0].reason == "NONE");
  CHECK(newer[0].warp == 0x25);
  CHECK(newer[0].is_active);
}

TEST_CASE("roofline: operations of instructions") {
  CHECK(flops_per_lane("v_fma_f32 v4, v1, v5, 0") == 2);
  CHECK(flops_per_lane("v_add_f32_e32 v0, v0, v3") == 1);
  CHECK(flops_per_lane("v_dual_mov_b32 v1, 0 :: v_dual_fmac_f32 v4, v2, v3") == 2);
  CHECK(flops_per_lane("v_dual_mul_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v2, v3") == 3);
  CHECK(flops_per_lane("v_pk_fma_f16 v1, v2, v3, v4") == 4);
  CHECK(flops_per_lane("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]") == 256);
  CHECK(flops_per_lane("v_add_nc_u32_e32 v0, v0, v3") == 0);
  CHECK(flops_per_lane("global_load_b32 v3, v[3:4], off") == 0);
  CHECK(speed_limit_text(61.4e9, {}, 2e-3, "gfx1100") == "compute 50%");
  CHECK(speed_limit_text({}, 480e3, 1e-6, "gfx1100") == "memory 50%");
  CHECK(speed_limit_text(1.0, 1.0, 1, "gfx1100") == "latency (0.0% of peak)");
  CHECK(speed_limit_text(1.0, 1.0, 1, "gfx9999") == "");
}

TEST_CASE("profile: every class of event") {
  std::ifstream file("testdata/fuzz/profile/every_class.pkl", std::ios::binary);
  auto trace = parse_trace(std::string(std::istreambuf_iterator<char>(file), {}));
  REQUIRE(trace);
  CHECK(trace->runs.size() == 2);
  CHECK(trace->runs[1].name == "E_4 n2");
  CHECK(*trace->runs[0].seconds == doctest::Approx(2.5e-6));
  CHECK(*trace->runs[1].seconds == doctest::Approx(1e-6));
  CHECK(trace->counter_samples.size() == 2);
  CHECK(trace->counter_samples[0].sum_of_counter_values() == 12);
  CHECK(trace->pma_events[0].sm_version == 0x809);
  REQUIRE(trace->range_events.size() == 5);
  CHECK(trace->range_events[0].begin == 1020.5);
  CHECK(trace->range_events[1].bytes == 4096);
  CHECK(trace->range_events[4].is_graph);
  CHECK(trace->range_events[4].end == 1034.5);
  MemoryUse memory = memory_use(*trace);
  REQUIRE(memory.buffers.size() == 2);
  CHECK(memory.buffers[0].num_bytes == 4096);
  CHECK(memory.buffers[0].uses[0].is_written);
  CHECK_FALSE(memory.buffers[0].free_time_us);
  CHECK(memory.buffers[1].uses[0].is_read);
  CHECK(memory.buffers[1].free_time_us == 40);
  CHECK(memory.devices[0].peak_bytes == 4160);
  CHECK(memory.devices[0].bytes_at_end == 4096);
  auto analyzed = analyze_profile(std::move(*trace), {.num_threads = 1});
  REQUIRE(analyzed);
  CHECK(derived_counters(*analyzed, 0)[0].second == doctest::Approx(100.0 * (12.0 / 4) / (75 * 4)));
  auto empty = parse_trace(std::string("\x80\x04].", 4));
  CHECK_FALSE(analyze_profile(std::move(*empty), {.kernel = "E_4"}));
}

TEST_CASE("profile: a short pickle that refers to its values many times is no long profile") {
  auto word = [](size_t n) {
    std::string out;
    for (int i = 0; i < 4; i++) out += char(n >> 8 * i);
    return out;
  };
  auto text = [&](std::string_view t) { return "X" + word(t.size()) + std::string(t); };
  auto event = [&](const std::string& type, const std::string& fields) {
    return "ctinygrad.device\n" + type + "\n)\x81}(" + fields + "ub";
  };
  auto repeated = [](const std::string& value, size_t times) {
    std::string out = value + "q" + std::string(1, '\0');
    for (size_t i = 0; i < times; i++) out += "h" + std::string(1, '\0');
    return out;
  };
  const std::string device = text("device") + text("AMD"), kernel = text("kern") + "K\x05" + text("exec_tag") + "K\x01";
  const std::string blob = text("blob") + "B" + word(1 << 20) + std::string(1 << 20, 'x');
  const std::string sqtt =
      event("ProfileSQTTEvent", device + kernel + text("se") + "K\x01" + text("itrace") + "\x88" + blob);
  auto read = [](const std::string& events) { return parse_trace("\x80\x04](" + events + "e."); };
  CHECK(read(repeated(sqtt, 2)).ok());
  auto many = read(repeated(sqtt, 1000));  // a gigabyte in all
  REQUIRE_FALSE(many);
  CHECK(many.diag().message.find("unpacked bytes") != std::string::npos);
  const std::string sampled = event("ProfilePMAEvent", device + text("kern") + text(std::string(1 << 20, 'k')) +
                                                           text("blob") + "B" + word(1) + "x");
  CHECK(read(repeated(sampled, 2)).ok());
  CHECK_FALSE(read(repeated(sampled, 1000)).ok());  // a gigabyte of copies of a kernel's name
}

TEST_CASE("profile: events that share long lists, names or fields are no small input") {
  auto word = [](size_t n) {
    std::string out;
    for (int i = 0; i < 4; i++) out += char(n >> 8 * i);
    return out;
  };
  auto text = [&](std::string_view t) { return "X" + word(t.size()) + std::string(t); };
  auto times = [](const std::string& part, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; i++) out += part;
    return out;
  };
  auto memo = [](char n) { return "q" + std::string(1, n); };
  auto get = [](char n) { return "h" + std::string(1, n); };
  auto point = [&](const std::string& name, const std::string& arg) {
    return "ctinygrad.device\nProfilePointEvent\n)\x81}(" + text("device") + text("AMD") + text("name") + text(name) +
           text("ts") + "K\x01" + text("key") + "K\x01" + text("arg") + arg + "ub";
  };
  auto list = [&](const std::string& item, size_t n) { return "](" + times(item, n) + "e"; };
  auto exec = [&](const std::string& bufs, const std::string& inputs, size_t name, const std::string& more = "") {
    return "}(" + text("bufs") + bufs + text("inputs") + inputs + text("name") + text(std::string(name, 'k')) + more +
           "u";
  };
  const std::string alloc = point("alloc", "}(" + text("sz") + "K\x10u");
  auto read = [](const std::string& events) { return parse_trace("\x80\x04](" + events + "e."); };
  auto refused = [&](const std::string& events) {
    auto trace = read(events);
    REQUIRE_FALSE(trace);
    CHECK(trace.diag().message.find("unpacked bytes") != std::string::npos);
  };
  auto many = read(alloc + point("exec", exec(list("K\x01", 60000), list("J" + word(SIZE_MAX), 60000), 3)));
  REQUIRE(many);
  CHECK(memory_use(*many).buffers.at(0).uses.size() == 60000);
  CHECK_FALSE(memory_use(*many).buffers[0].uses[0].is_read);
  // each use of a buffer has a copy of the kernel's long name
  refused(alloc + point("exec", exec(list("K\x01", 100000), "]", 200000)));
  // many events that share a list of buffers, or an arg with many entries
  const std::string buffers = exec(list("K\x01", 20000), "]", 3);
  const std::string entries = exec("]", "]", 3, times(text("x") + "N", 20000));
  for (const std::string& arg : {buffers, entries})
    refused(alloc + point("exec", arg + memo(0)) + times(point("exec", get(0)), 3000));
}

TEST_CASE("profile: a section is found by its whole name, also if names have no end") {
  ElfSection text{"\x01\x02\x03\x04", 0x100};
  std::string elf = make_elf(text);
  REQUIRE(find_section(elf, ".text"));
  CHECK(find_section(elf, ".text")->bytes == text.bytes);
  CHECK_FALSE(find_section(elf, ".tex"));
  CHECK_FALSE(find_section(elf, ".text2"));
}

TEST_CASE("profile: of a file that ends early or is damaged, the whole events are read, and it is said what is lost") {
  std::ifstream file("testdata/fuzz/profile/every_class.pkl", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  const size_t all = parse_trace(whole).value_or_throw().range_events.size();
  size_t least = all, most = 0, refused = 0;
  for (size_t size = whole.size() - 1; size > 0; size -= std::min<size_t>(size, 7)) {
    const std::string part = whole.substr(0, size);
    auto error = parse_trace(part);
    REQUIRE_FALSE(error);
    auto trace = parse_damaged_trace(part, error.diag());
    if (!trace) {
      refused++;
      continue;
    }
    REQUIRE_FALSE(trace->damage_notes.empty());
    CHECK(trace->damage_notes[0].find("the rest is lost") != std::string::npos);
    least = std::min(least, trace->range_events.size()), most = std::max(most, trace->range_events.size());
  }
  CHECK(most == all);
  CHECK(least == 0);
  CHECK(refused < whole.size() / 7 / 2);  // only files without a whole event are refused
  // an event of an unknown class is lost; the others are read
  std::string unknown = whole;
  const size_t at = unknown.find("ProfilePMCEvent");
  REQUIRE(at != std::string::npos);
  unknown[at + 7] = 'X';
  auto trace = parse_trace(unknown);
  if (!trace) trace = parse_damaged_trace(unknown, trace.diag());
  REQUIRE(trace);
  CHECK_FALSE(trace->damage_notes.empty());
}

TEST_CASE("profile: after an event that cannot be read, others of its run are read") {
  auto text = [](std::string_view t) { return std::string("\x8c") + char(t.size()) + std::string(t); };
  auto event = [&](const std::string& fields) {
    return "ctinygrad.runtime.ops_amd\nProfileSQTTEvent\n)\x81}(" + text("kern") + text("E_4") +
           text("exec_tag") + "K\x01" + text("se") + "K\x01" +
           text("itrace") + "\x88" + text("blob") + "C\x01x" + fields + "ub";
  };
  const std::string device = text("device") + text("AMD");
  auto trace = parse_trace("\x80\x04](" + event("") + event(device) + "e.");
  REQUIRE(trace);
  CHECK(trace->damage_notes.size() == 1);
  REQUIRE(trace->runs.size() == 1);
  REQUIRE(trace->sqtt_events.size() == 1);
  CHECK(trace->sqtt_events[0].run_index == 0);
  CHECK(trace->runs[0].sqtt_events == std::vector<size_t>{0});
  CHECK(trace->runs[0].name == "E_4");
}

TEST_CASE("profile: damaged pickles and foreign ones are errors") {
  CHECK_FALSE(parse_trace(""));
  CHECK_FALSE(parse_trace(std::string("\x80\x04K\x01.", 5)));
  auto foreign = parse_trace(std::string("\x80\x04\x8c\x02os\x8c\x06system\x93.", 16));
  REQUIRE_FALSE(foreign);
  CHECK(foreign.diag().message.find("os.system") != std::string::npos);
  CHECK(parse_trace(std::string("\x80\x04].", 4))->runs.empty());
}

}  // namespace tgc::profile
