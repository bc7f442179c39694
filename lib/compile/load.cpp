#include "lib/compile/load.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace tgc {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kWord64 = R_AARCH64_ABS64;  // the only supported relocation of 8 bytes
#else
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kWord64 = R_X86_64_64;  // the only supported relocation of 8 bytes
#endif

constexpr size_t kStub = 16;  // a stub jumps to an outside function
constexpr size_t kMostName = 1 << 12;
constexpr size_t kMostAlignment = 1 << 16;
constexpr size_t kMostBytes = size_t(1) << 30;

// `n` is at most kMostBytes + kMostAlignment, `to` at most kMostAlignment.
size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// bfloat16 conversions, which not every C library and libgcc has. The result is in the low 16 bits of the register that
// returns a float.
float bfloat16_bits(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  bool nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  bits = nan ? (bits >> 16) | 0x40 : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return std::bit_cast<float>(bits);
}
float bfloat16_bits_of_double(double x) {
  float f = float(x);
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (x == x && double(f) != x) {  // round to odd, so that rounding twice equals rounding once
    if (std::fabs(double(f)) > std::fabs(x)) bits--;
    bits |= 1;
  }
  return bfloat16_bits(std::bit_cast<float>(bits));
}

struct RuntimeLibraries {
  void* gcc = ::dlopen("libgcc_s.so.1", RTLD_LAZY);
  void* math = ::dlopen("libm.so.6", RTLD_LAZY);
};
const RuntimeLibraries& open_runtime_libraries() {
  static const RuntimeLibraries opened;
  return opened;
}

constexpr std::string_view kMemoryFunctions[] = {"memcpy", "memset", "memmove", "memcmp", "bzero", "bcmp"};

// Finds `name` in `library` itself, not in libraries it depends on, because the C library's functions could start
// programs. `own` is a symbol known to be in `library`.
void* find_own_symbol(void* library, const char* own, const std::string& name) {
  void *found = library ? ::dlsym(library, name.c_str()) : nullptr, *known = found ? ::dlsym(library, own) : nullptr;
  Dl_info of_found{}, of_known{};
  bool is_own = known && ::dladdr(found, &of_found) && ::dladdr(known, &of_known) &&
                of_found.dli_fbase == of_known.dli_fbase;
  return is_own ? found : nullptr;
}

void* find_external_function(const std::string& name) {
  if (name == "__truncsfbf2") return reinterpret_cast<void*>(&bfloat16_bits);
  if (name == "__truncdfbf2") return reinterpret_cast<void*>(&bfloat16_bits_of_double);
  bool of_memory = std::ranges::find(kMemoryFunctions, name) != std::end(kMemoryFunctions);
  if (void* found = of_memory ? ::dlsym(RTLD_DEFAULT, name.c_str()) : nullptr) return found;
  if (void* found = find_own_symbol(open_runtime_libraries().gcc, "__udivti3", name)) return found;
  if (void* found = find_own_symbol(open_runtime_libraries().math, "exp2f", name)) return found;
  throw Failure("the code calls '" + name + "', which kernels may not call: available are libm, libgcc, memcpy, " +
                "memset and similar functions");
}

class ElfLoader {
 public:
  ElfLoader(std::string_view object, const FunctionTable& own) : object_(object), own_functions_(own) {}

  std::shared_ptr<const LoadedCode> load() {
    read_headers();
    place_sections();
    map_memory();
    for (const Elf64_Shdr& s : sections_)
      if (s.sh_type == SHT_RELA) relocate(s);
    protect_memory();
    auto symbols = exported_symbols();
    auto code = std::make_shared<LoadedCode>(code_memory_, total_bytes_, std::move(symbols));
    code_memory_ = nullptr;
    return code;
  }
  ~ElfLoader() {
    if (code_memory_) ::munmap(code_memory_, total_bytes_);
  }

 private:
  template <class T>
  T read(size_t at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (at > object_.size() || object_.size() - at < sizeof(T)) throw Failure("the object is truncated");
    T out;
    std::memcpy(&out, object_.data() + at, sizeof(T));
    return out;
  }
  template <class T>
  std::vector<T> read_table(const Elf64_Shdr& s) const {
    std::vector<T> out;
    const std::string_view bytes = section_content(s);
    out.reserve(bytes.size() / sizeof(T));
    for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) out.push_back(read<T>(s.sh_offset + at));
    return out;
  }
  std::string_view section_content(const Elf64_Shdr& s) const {
    if (s.sh_type == SHT_NOBITS || s.sh_offset > object_.size() || object_.size() - s.sh_offset < s.sh_size)
      throw Failure("a section of the object lies outside it");
    return object_.substr(s.sh_offset, s.sh_size);
  }
  std::string read_string(const Elf64_Shdr& strings, size_t at) const {
    const std::string_view names = section_content(strings);
    if (at >= names.size()) throw Failure("a name of the object lies outside its table");
    const std::string_view name = names.substr(at, kMostName);
    return std::string(name.substr(0, name.find('\0')));
  }

  void read_headers() {
    auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_type != ET_REL)
      throw Failure("not a relocatable ELF object");
    if (header.e_machine != kMachine) throw Failure("the object is for another machine than this computer");
    if (header.e_shoff > object_.size() || header.e_shnum > (object_.size() - header.e_shoff) / sizeof(Elf64_Shdr))
      throw Failure("the object is truncated");
    for (size_t i = 0; i < header.e_shnum; i++)
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    if (header.e_shstrndx >= sections_.size()) throw Failure("the object has no section names");
    for (const Elf64_Shdr& s : sections_) {
      section_names_.push_back(read_string(sections_[header.e_shstrndx], s.sh_name));
      if (s.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) throw Failure("the object has two tables of symbols");
      symbols_ = read_table<Elf64_Sym>(s);
      string_table_index_ = s.sh_link;
      if (string_table_index_ >= sections_.size()) throw Failure("the object has no symbol names");
    }
  }

  // Regions of the memory, which share no page: code and stubs; read-only data; writable data and address slots.
  enum Region { Code, Constant, Writable, kRegions };
  bool is_loaded(size_t i) const { return (sections_[i].sh_flags & SHF_ALLOC) && section_names_[i] != ".eh_frame"; }
  static Region region_of(const Elf64_Shdr& s) {
    return s.sh_flags & SHF_EXECINSTR ? Code : s.sh_flags & SHF_WRITE ? Writable : Constant;
  }

  static size_t checked_end(size_t begin, size_t size) {
    if (begin > kMostBytes || size > kMostBytes - begin) throw Failure("the object needs more than 1 GiB of memory");
    return begin + size;
  }

  void place_sections() {
    section_offsets_.resize(sections_.size());
    size_t page = size_t(::sysconf(_SC_PAGESIZE)), at = 0;
    for (int r = 0; r < kRegions; r++) {
      region_begins_[r] = at;
      for (size_t i = 0; i < sections_.size(); i++) {
        const Elf64_Shdr& s = sections_[i];
        if (!is_loaded(i) || region_of(s) != r) continue;
        if (s.sh_type != SHT_NOBITS) section_content(s);
        if (s.sh_addralign > kMostAlignment || (s.sh_addralign & (s.sh_addralign - 1)))
          throw Failure("a section of the object has an alignment of " + std::to_string(s.sh_addralign));
        at = round_up(at, std::max<size_t>(s.sh_addralign, 16));
        section_offsets_[i] = at;
        at = checked_end(at, s.sh_size);
      }
      at = round_up(at, kStub);
      if (r == Code) stubs_offset_ = at, at = checked_end(at, symbols_.size() * kStub);
      if (r == Writable) slots_offset_ = at, at = checked_end(at, symbols_.size() * sizeof(void*));
      at = round_up(at, page);
    }
    region_begins_[kRegions] = total_bytes_ = at;
  }

  void map_memory() {
    void* memory = ::mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Failure("not enough memory for the code of a kernel");
    code_memory_ = static_cast<char*>(memory);
    for (size_t i = 0; i < sections_.size(); i++)
      if (is_loaded(i) && sections_[i].sh_type != SHT_NOBITS && sections_[i].sh_size)
        std::memcpy(code_memory_ + section_offsets_[i], object_.data() + sections_[i].sh_offset, sections_[i].sh_size);
  }

  const Elf64_Sym& symbol_at(size_t i) const {
    if (i >= symbols_.size()) throw Failure("a relocation names a symbol that does not exist");
    return symbols_[i];
  }
  std::string symbol_name(const Elf64_Sym& s) const { return read_string(sections_[string_table_index_], s.st_name); }

  uint64_t address_of(size_t i) {
    const Elf64_Sym& s = symbol_at(i);
    if (s.st_shndx == SHN_UNDEF) {
      auto own = own_functions_.find(symbol_name(s));
      return i ? reinterpret_cast<uint64_t>(own != own_functions_.end() ? own->second
                                                                        : find_external_function(symbol_name(s)))
               : 0;
    }
    if (s.st_shndx == SHN_ABS) return s.st_value;
    if (s.st_shndx >= sections_.size() || !is_loaded(s.st_shndx))
      throw Failure("a symbol of the object is in no loaded section");
    if (s.st_value > sections_[s.st_shndx].sh_size) throw Failure("a symbol of the object lies outside its section");
    return reinterpret_cast<uint64_t>(code_memory_) + section_offsets_[s.st_shndx] + s.st_value;
  }
  // Fills the slot for indirect accesses to symbol `i`, and returns its address.
  uint64_t fill_address_slot(size_t i) {
    uint64_t address = address_of(i);
    char* slot = code_memory_ + slots_offset_ + i * sizeof(void*);
    std::memcpy(slot, &address, sizeof address);
    return reinterpret_cast<uint64_t>(slot);
  }
  // Returns the address that calls to symbol `i` use: the symbol's own if it is in the object, else a stub's, because
  // the symbol may be out of a call instruction's range.
  uint64_t call_address(size_t i) {
    if (symbol_at(i).st_shndx != SHN_UNDEF) return address_of(i);
    uint64_t address = address_of(i);
    char* stub = code_memory_ + stubs_offset_ + i * kStub;
    // x86-64: jmp *[rip]; AArch64: ldr x16, #8; br x16. The address follows the instructions.
    static const unsigned char x86[] = {0xFF, 0x25, 0, 0, 0, 0}, arm[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1F, 0xD6};
    size_t length = kMachine == EM_X86_64 ? sizeof x86 : sizeof arm;
    std::memcpy(stub, kMachine == EM_X86_64 ? x86 : arm, length);
    std::memcpy(stub + length, &address, sizeof address);
    return reinterpret_cast<uint64_t>(stub);
  }

  void relocate(const Elf64_Shdr& relocations) {
    size_t target = relocations.sh_info;
    if (target >= sections_.size() || !is_loaded(target)) return;  // skip debug information and unwind tables
    for (const auto& r : read_table<Elf64_Rela>(relocations)) {
      if (++num_relocations_ > object_.size()) throw Failure("the object has more relocations than bytes");
      const size_t width = ELF64_R_TYPE(r.r_info) == kWord64 ? 8 : 4, size = sections_[target].sh_size;
      if (size < width || r.r_offset > size - width || sections_[target].sh_type == SHT_NOBITS)
        throw Failure("a relocation lies outside its section");
      char* where = code_memory_ + section_offsets_[target] + r.r_offset;
      bool known = kMachine == EM_X86_64 ? relocate_x86(r, where) : relocate_arm(r, where);
      if (!known) throw Failure("unsupported relocation type " + std::to_string(ELF64_R_TYPE(r.r_info)));
    }
  }

  static void write_int32(char* where, uint64_t value) {
    int64_t v = int64_t(value);
    if (v != int32_t(v)) throw Failure("the target of a relocation is out of range");
    int32_t narrow = int32_t(v);
    std::memcpy(where, &narrow, sizeof narrow);
  }

  bool relocate_x86(const Elf64_Rela& r, char* where) {
    size_t symbol = ELF64_R_SYM(r.r_info);
    uint64_t here = reinterpret_cast<uint64_t>(where), addend = uint64_t(r.r_addend);
    switch (ELF64_R_TYPE(r.r_info)) {
      case R_X86_64_64: {
        uint64_t value = address_of(symbol) + addend;
        std::memcpy(where, &value, sizeof value);
        return true;
      }
      case R_X86_64_PC32: return write_int32(where, address_of(symbol) + addend - here), true;
      case R_X86_64_PLT32: return write_int32(where, call_address(symbol) + addend - here), true;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: return write_int32(where, fill_address_slot(symbol) + addend - here), true;
      default: return false;
    }
  }

  static void insert_bits(char* where, uint64_t bits, int at) {
    uint32_t instruction;
    std::memcpy(&instruction, where, sizeof instruction);
    instruction |= uint32_t(bits << at);
    std::memcpy(where, &instruction, sizeof instruction);
  }
  static void insert_page_offset(char* where, uint64_t target, uint64_t here) {
    uint64_t pages = ((target & ~uint64_t(0xFFF)) - (here & ~uint64_t(0xFFF))) >> 12;
    insert_bits(where, pages & 3, 29);
    insert_bits(where, (pages >> 2) & 0x7FFFF, 5);
  }

  bool relocate_arm(const Elf64_Rela& r, char* where) {
    size_t symbol = ELF64_R_SYM(r.r_info);
    uint64_t here = reinterpret_cast<uint64_t>(where), addend = uint64_t(r.r_addend);
    auto low = [&](uint64_t target, int scale) { insert_bits(where, (target & 0xFFF) >> scale, 10); };
    switch (ELF64_R_TYPE(r.r_info)) {
      case R_AARCH64_ABS64: {
        uint64_t value = address_of(symbol) + addend;
        std::memcpy(where, &value, sizeof value);
        return true;
      }
      case R_AARCH64_PREL32: return write_int32(where, address_of(symbol) + addend - here), true;
      case R_AARCH64_ADR_PREL_PG_HI21: return insert_page_offset(where, address_of(symbol) + addend, here), true;
      case R_AARCH64_ADR_GOT_PAGE: return insert_page_offset(where, fill_address_slot(symbol), here), true;
      case R_AARCH64_LD64_GOT_LO12_NC: return low(fill_address_slot(symbol), 3), true;
      case R_AARCH64_ADD_ABS_LO12_NC:
      case R_AARCH64_LDST8_ABS_LO12_NC: return low(address_of(symbol) + addend, 0), true;
      case R_AARCH64_LDST16_ABS_LO12_NC: return low(address_of(symbol) + addend, 1), true;
      case R_AARCH64_LDST32_ABS_LO12_NC: return low(address_of(symbol) + addend, 2), true;
      case R_AARCH64_LDST64_ABS_LO12_NC: return low(address_of(symbol) + addend, 3), true;
      case R_AARCH64_LDST128_ABS_LO12_NC: return low(address_of(symbol) + addend, 4), true;
      case R_AARCH64_CALL26:
      case R_AARCH64_JUMP26:
        return insert_bits(where, ((call_address(symbol) + addend - here) >> 2) & 0x3FFFFFF, 0), true;
      default: return false;
    }
  }

  void protect_memory() {
    const int access[kRegions] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int r = 0; r < kRegions; r++)
      if (size_t size = region_begins_[r + 1] - region_begins_[r];
          size && ::mprotect(code_memory_ + region_begins_[r], size, access[r]) != 0)
        throw Failure("cannot make the code of a kernel executable");
    __builtin___clear_cache(code_memory_, code_memory_ + total_bytes_);
  }

  FunctionTable exported_symbols() {
    FunctionTable out;
    for (size_t i = 1; i < symbols_.size(); i++)
      if (ELF64_ST_TYPE(symbols_[i].st_info) == STT_FUNC && symbols_[i].st_shndx != SHN_UNDEF)
        out[symbol_name(symbols_[i])] = reinterpret_cast<void*>(address_of(i));
    for (size_t i = 0; i < sections_.size(); i++)
      if (is_loaded(i)) out.emplace(section_names_[i], code_memory_ + section_offsets_[i]);
    return out;
  }

  std::string_view object_;
  const FunctionTable& own_functions_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::string> section_names_;
  std::vector<Elf64_Sym> symbols_;
  size_t string_table_index_ = 0, num_relocations_ = 0;
  std::vector<size_t> section_offsets_;            // by section: offset from code_memory_
  size_t region_begins_[kRegions + 1] = {}, total_bytes_ = 0, stubs_offset_ = 0, slots_offset_ = 0;
  char* code_memory_ = nullptr;
};

}  // namespace

LoadedCode::~LoadedCode() { ::munmap(code_memory_, size_bytes_); }

void load_runtime_libraries() { open_runtime_libraries(); }

Result<std::shared_ptr<const LoadedCode>> load_object(std::string_view object, const FunctionTable& own) {
  return catch_failures([&] { return ElfLoader(object, own).load(); });
}

}  // namespace tgc
