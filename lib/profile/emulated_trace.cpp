#include "lib/profile/emulated_trace.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "lib/profile/sqtt_summary.h"
#include "lib/support/counted.h"
#include "lib/support/version.h"
#include "lib/support/write_file.h"

namespace tgc::profile {
namespace {

constexpr uint64_t kLogBytes = uint64_t(1) << 30;  // only the part that is written takes memory

class PacketWriter {
 public:
  explicit PacketWriter(Isa isa) : is_rdna4_(isa == Isa::Rdna4) {
    append_packet(packet_type(PacketId::LAYOUT_HEADER), is_rdna4_ ? 4 : 3, "layout", 0);
  }
  void start_wave(uint32_t wave) {
    append_packet(packet_type_for(PacketId::WAVESTART, PacketId::WAVESTART_RDNA4), wave);
  }
  void end_wave(uint32_t wave) { append_packet(packet_type_for(PacketId::WAVEEND, PacketId::WAVEEND_RDNA4), wave); }
  void write_vector(uint32_t wave) { append_packet(packet_type(PacketId::VALUINST), wave); }
  void write_immediate(uint32_t wave) { append_packet(packet_type(PacketId::IMMEDIATE), wave); }
  void write_instruction(uint32_t wave, uint32_t op) {
    const PacketType& type = packet_type_for(PacketId::INST, PacketId::INST_RDNA4);
    append_bits(packet_bits(type, wave, "wave", 1) | field_bits(type, op, "op"), type.num_nibbles);
  }
  // Appends 16 or 17 nibbles, because a decoder ignores packets that begin in the last 15 nibbles.
  std::string finish() {
    append_bits(0, 16 + num_nibbles_ % 2);
    return std::move(bytes_);
  }

 private:
  const PacketType& packet_type_for(PacketId rdna3, PacketId rdna4) const {
    return packet_type(is_rdna4_ ? rdna4 : rdna3);
  }
  static uint64_t field_bits(const PacketType& type, uint64_t value, std::string_view field) {
    for (const PacketField& f : type.fields)
      if (f.name && f.name == field) return value << f.low;
    return 0;
  }
  static uint64_t packet_bits(const PacketType& type, uint64_t value, std::string_view field, uint64_t delta) {
    return type.encoding | field_bits(type, value, field) | (type.delta_bits ? delta << type.delta_low_bit : 0);
  }
  void append_packet(const PacketType& type, uint64_t value, std::string_view field = "wave", uint64_t delta = 1) {
    append_bits(packet_bits(type, value, field, delta), type.num_nibbles);
  }
  void append_bits(uint64_t bits, uint32_t num_nibbles) {
    for (uint32_t n = 0; n < num_nibbles; n++) {
      auto nibble = uint8_t(n < 16 ? bits >> 4 * n & 15 : 0);
      if (num_nibbles_++ % 2) bytes_.back() = char(uint8_t(bytes_.back()) | nibble << 4);
      else bytes_ += char(nibble);
    }
  }

  bool is_rdna4_;
  std::string bytes_;
  uint64_t num_nibbles_ = 0;
};

enum class PacketKind : uint8_t {
  Vector,
  Immediate,
  Scalar,
  ScalarMemory,
  Message,
  Load,
  Store,
  LocalLoad,
  LocalStore
};
PacketKind packet_kind(uint32_t word) {
  if (word >> 31 == 0) return PacketKind::Vector;
  if (word >> 23 == 0b101111111) {  // SOPP
    uint32_t op = word >> 16 & 127;
    return op == 54 || op == 55 ? PacketKind::Message : PacketKind::Immediate;  // s_sendmsg, s_sendmsghalt
  }
  if (word >> 30 == 0b10) return PacketKind::Scalar;
  switch (word >> 26) {
    case 0b111101: return PacketKind::ScalarMemory;
    case 0b110110:
      return (word >> 18 & 255) < 0x36 ? PacketKind::LocalStore : PacketKind::LocalLoad;  // 0x36: ds_load_b32
    case 0b110111: return (word >> 18 & 127) >= 0x18 ? PacketKind::Store : PacketKind::Load;  // 0x18: global_store_b8
    case 0b111011: return (word >> 14 & 255) >= 0x18 ? PacketKind::Store : PacketKind::Load;
    default: return PacketKind::Vector;
  }
}
// RDNA3 and RDNA4 have the same numbers for these operations.
uint32_t packet_op(PacketKind kind) {
  switch (kind) {
    case PacketKind::ScalarMemory: return 0x1;
    case PacketKind::Message: return 0x9;
    case PacketKind::Load: return 0x21;
    case PacketKind::Store: return 0x24;
    case PacketKind::LocalLoad: return 0x29;
    case PacketKind::LocalStore: return 0x2b;
    default: return 0;
  }
}

class SqttTraceMaker {
 public:
  SqttTraceMaker(const ElfSection& text, Isa isa, const KernelCode& code) : text_(text), code_(code), packets_(isa) {
    for (uint32_t n = 0; n < code.instructions().size(); n++) instruction_by_address_[code.address_of(n)] = n;
    num_executions_.resize(code.instructions().size()), active_lane_sums_.resize(num_executions_.size());
    next_instructions_.fill(kNoInstruction);
  }

  void add_event(uint32_t event) {
    auto type = hip::TraceEvent(event >> (hip::kTraceAddressBits + hip::kTraceWaveBits));
    uint32_t wave = event >> hip::kTraceAddressBits & ((1u << hip::kTraceWaveBits) - 1);
    uint64_t address = uint64_t(event & ((1u << hip::kTraceAddressBits) - 1)) * 4;
    if (type == hip::TraceEvent::Started) {
      packets_.start_wave(wave);
      next_instructions_[wave] = 0;
      return;
    }
    if (type == hip::TraceEvent::ActiveLanes) return void(active_lanes_[wave] = uint32_t(address / 4));
    auto found = instruction_by_address_.find(address);
    if (found == instruction_by_address_.end()) throw Failure("an executed instruction is not in the kernel's code");
    // the emulator does not log instructions without an operation, such as waits
    uint32_t& at = next_instructions_[wave];
    while (at != found->second) {
      if (at == kNoInstruction || code_.instructions()[at].is_branch)
        throw Failure(formatted("a wave reaches %#x, where its code does not lead", unsigned(address)));
      write_packet(wave, at);
      at = code_.instructions()[at].next_instruction;
    }
    const CodeInstruction& i = code_.instructions()[at];
    num_executions_[at]++, active_lane_sums_[at] += active_lanes_[wave];
    if (type == hip::TraceEvent::Ended) {
      packets_.end_wave(wave);
      at = kNoInstruction;
      return;
    }
    bool jumped = type == hip::TraceEvent::Jumped;
    if (i.is_branch) packets_.write_instruction(wave, jumped ? InstructionMap::kJumpOp : InstructionMap::kJumpNotOp);
    else write_packet(wave, at);
    at = jumped ? i.jump_target : i.next_instruction;
  }

  // Throws Failure if the trace does not fit the code, or if it has other numbers of executions than the log.
  std::string finish() {
    std::string blob = packets_.finish();
    SqttSummary s = summarize_sqtt({reinterpret_cast<const uint8_t*>(blob.data()), blob.size()}, &code_);
    if (!s.error.empty()) throw Failure("the trace of the emulated GPU does not fit the code: " + s.error);
    for (size_t n = 0; n < num_executions_.size(); n++)
      if (num_executions_[n] && s.instructions[n].num_executions != num_executions_[n])
        throw Failure(formatted("the trace has %llu hits at %#x, but the emulated GPU executed it %llu times",
                                static_cast<unsigned long long>(s.instructions[n].num_executions),
                                unsigned(code_.address_of(uint32_t(n))),
                                static_cast<unsigned long long>(num_executions_[n])));
    return blob;
  }

  // Returns for each instruction the active lanes, summed over its executions, as 8 bytes in little-endian order.
  std::string active_lanes() const {
    std::string out;
    for (uint64_t sum : active_lane_sums_)
      for (int n = 0; n < 8; n++) out += char(sum >> 8 * n & 255);
    return out;
  }

 private:
  static constexpr uint32_t kNoInstruction = KernelCode::kNoInstruction;
  void write_packet(uint32_t wave, uint32_t n) {
    const CodeInstruction& i = code_.instructions()[n];
    if (i.has_no_packet) return;
    uint32_t word = 0;
    std::memcpy(&word, text_.bytes.data() + i.offset, sizeof word);
    PacketKind kind = packet_kind(word);
    if (kind == PacketKind::Vector) packets_.write_vector(wave);
    else if (kind == PacketKind::Immediate) packets_.write_immediate(wave);
    else packets_.write_instruction(wave, packet_op(kind));
  }

  ElfSection text_;
  const KernelCode& code_;
  PacketWriter packets_;
  std::map<uint64_t, uint32_t> instruction_by_address_;
  std::vector<uint64_t> num_executions_, active_lane_sums_;
  std::array<uint32_t, 32> active_lanes_{};
  std::array<uint32_t, 32> next_instructions_;
};

class ProfileEventWriter {
 public:
  ProfileEventWriter() : pickle_("\x80\x04](") {}
  // For each field, call text() with its name and then write the value; then call end_event().
  ProfileEventWriter& begin_event(std::string_view module, std::string_view name) {
    text(module), text(name);
    pickle_ += "\x93)\x81}(";
    return *this;
  }
  ProfileEventWriter& text(std::string_view s) {
    return pickle_ += 'X', append_integer(s.size(), 4), pickle_.append(s), *this;
  }
  ProfileEventWriter& bytes(std::string_view s) {
    return pickle_ += '\x8e', append_integer(s.size(), 8), pickle_.append(s), *this;
  }
  ProfileEventWriter& number(uint64_t n) { return pickle_ += "\x8a\x08", append_integer(n, 8), *this; }
  ProfileEventWriter& true_value() { return pickle_ += '\x88', *this; }
  ProfileEventWriter& dict(std::string_view key, uint64_t value, std::string_view other, std::string_view word) {
    pickle_ += "}(";
    return text(key), number(value), text(other), text(word), pickle_ += 'u', *this;
  }
  void end_event() { pickle_ += "ub"; }
  std::string finish() { return std::move(pickle_ += "e."); }

 private:
  void append_integer(uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++) pickle_ += char(n >> 8 * i & 255);
  }
  std::string pickle_;
};

// Returns 110000 for "gfx1100", as in tinygrad's device properties.
uint64_t target_version(std::string_view arch) {
  if (arch.size() < 6 || !arch.starts_with("gfx")) return 0;
  auto digit = [](char c) { return uint64_t(c <= '9' ? c - '0' : c - 'a' + 10); };
  uint64_t major = 0;
  for (char c : arch.substr(3, arch.size() - 5)) major = major * 10 + digit(c);
  return major * 10000 + digit(arch[arch.size() - 2]) * 100 + digit(arch.back());
}

}  // namespace

Result<std::string> profile_of_log(const hip::TraceLog& log) {
  return catch_failures([&] {
    if (log.is_full)
      throw Failure(formatted("the kernel executes too many instructions for a profile: its log has %llu bytes",
                              static_cast<unsigned long long>(log.capacity_bytes)));
    std::map<uint64_t, std::string_view> modules;
    std::map<std::string, uint64_t> tags;
    ProfileEventWriter events;
    bool has_device = false;
    uint64_t launches = 0;
    for (uint64_t at = 0; at + sizeof(hip::TraceRecord) <= log.used_bytes;) {
      hip::TraceRecord record;
      std::memcpy(&record, log.records() + at, sizeof record);
      const char* bytes = reinterpret_cast<const char*>(log.records() + at + sizeof record);
      const char* first_event = bytes + (uint64_t(record.bytes) + 7) / 8 * 8;
      at += sizeof record + (uint64_t(record.bytes) + 7) / 8 * 8 + (record.num_events * 4 + 7) / 8 * 8;
      std::string_view text(bytes, record.bytes);
      if (record.kind == hip::TraceRecord::Module) {
        modules[record.number] = text;
        continue;
      }
      std::string_view arch = text.substr(0, text.find(' '));
      std::string name(text.substr(std::min(arch.size() + 1, text.size())));
      Isa isa = isa_of_arch(arch);
      if (!is_rdna(isa)) throw Failure("profiles of an emulated " + std::string(arch) + " are not supported");
      ElfSection section = find_text(modules[record.number]).value_or_throw();
      KernelCode code = KernelCode::read(section, isa).value_or_throw();
      SqttTraceMaker trace(section, isa, code);
      for (uint64_t n = 0; n < record.num_events; n++) {
        uint32_t event;
        std::memcpy(&event, first_event + 4 * n, sizeof event);
        trace.add_event(event);
      }
      std::string blob = trace.finish();
      if (!std::exchange(has_device, true)) {
        events.begin_event("tinygrad.device", "ProfileDeviceEvent").text("device").text("AMD").text("tdiff").number(0);
        events.text("props").dict("gfx_target_version", target_version(arch), "emulator",
                                  "tgc " + std::string(tgc_version())).end_event();
      }
      auto [tag, is_new] = tags.try_emplace(name, tags.size());
      if (is_new) {
        events.begin_event("tinygrad.device", "ProfileProgramEvent").text("device").text("AMD").text("name").text(name);
        events.text("lib")
            .bytes(modules[record.number])
            .text("base")
            .number(0)
            .text("tag")
            .number(tag->second)
            .end_event();
      }
      events.begin_event("tinygrad.runtime.ops_amd", "ProfileSQTTEvent").text("device").text("AMD").text("kern");
      events.number(tag->second).text("se").number(0).text("blob").bytes(blob).text("itrace").true_value();
      events.text("active_lanes").bytes(trace.active_lanes());
      events.text("exec_tag").number(++launches).end_event();
    }
    if (!launches)
      throw Failure(Diag{.message = "no kernel ran on the emulated AMD GPU", .expected = "--emulate and --device=AMD"});
    return events.finish();
  });
}

Result<int> run_and_profile(const std::string& path, const std::function<int()>& body) {
  if (path.empty()) return body();
  void* memory = mmap(nullptr, sizeof(hip::TraceLog) + kLogBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Diag{"no memory for the log of executed instructions"};
  auto* log = new (memory) hip::TraceLog{.capacity_bytes = kLogBytes};
  setenv(hip::kTraceLogVariable, formatted("%llx", reinterpret_cast<unsigned long long>(memory)).c_str(), 1);
  int code = body();
  unsetenv(hip::kTraceLogVariable);
  auto pickle = profile_of_log(*log);
  munmap(memory, sizeof(hip::TraceLog) + kLogBytes);
  if (!pickle) return code == 2 ? Result<int>(code) : pickle.diag();
  if (auto written = write_file(path, *pickle); !written) return written.diag();
  return code;
}

}  // namespace tgc::profile
