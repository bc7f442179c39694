#include "lib/prove/known_verdicts.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "lib/compile/cache.h"
#include "lib/prove/prove_sides.h"

namespace tgc {
namespace {

std::string build_id() {
  std::string out;
  auto visit = [](dl_phdr_info* info, size_t, void* to) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_NOTE) continue;
      const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
      const char* end = at + part.p_memsz;
      while (size_t(end - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        auto padded = [](size_t n) { return (n + 3) / 4 * 4; };
        const char* name = at + sizeof note;
        const char* bytes = name + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
          static_cast<std::string*>(to)->assign(bytes, note.n_descsz);
        at = bytes + padded(note.n_descsz);
      }
    }
    return 1;  // stop after the first loaded object, which is the program itself
  };
  dl_iterate_phdr(visit, &out);
  return out;
}

std::optional<Sha256> verdict_cache_key() {
  std::string id = build_id();
  if (id.empty()) return {};
  return make_cache_key({"verdicts of rewrites", id});
}

// Values of RewriteProof::proof_method. An entry of the cache has the index of its method here; 0 for other methods.
constexpr std::string_view kProofMethods[] = {"",          "same",        "values", "lanes",  "memory",
                                              "loops",     "accumulator", "terms",  "stores", "constants", "groups"};

constexpr size_t kHashBytes = sizeof(Sha256);

std::string serialize_proof(const RewriteProof& p) {
  auto proof_method = std::ranges::find(kProofMethods, p.proof_method);
  const auto number = proof_method == std::end(kProofMethods) ? 0 : proof_method - std::begin(kProofMethods);
  return std::string{char(p.kind), char(p.has_floats), char(p.sense), char(number)} + p.rewrite_hash + p.reason;
}

RewriteProof parse_proof(const std::string& text) {
  RewriteProof out{.kind = RewriteProof::Kind(text[0]), .has_floats = text[1] != 0, .sense = FloatSense(text[2])};
  out.proof_method = kProofMethods[size_t(text[3]) % std::size(kProofMethods)];
  out.rewrite_hash = text.substr(4, kHashBytes), out.reason = text.substr(4 + kHashBytes);
  return out;
}

void append_size(std::string& to, size_t n) { to += char(n & 255), to += char(n >> 8 & 255); }
size_t read_size(std::string_view bytes, size_t at) { return uint8_t(bytes[at]) | size_t(uint8_t(bytes[at + 1])) << 8; }

}  // namespace

std::string hash_of_text(std::string_view text) {
  Sha256 digest = sha256(text);
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

const Sha256& NodeKeys::key_of(UOp root) {
  if (auto it = known_keys_.find(root.id()); it != known_keys_.end()) return it->second;
  for (UOp u : toposort(root, [&](UOp x) { return !known_keys_.contains(x.id()); })) {
    if (known_keys_.contains(u.id())) continue;
    key_text_.assign(1, char(u.op()));
    key_text_ += u.dtype().repr();
    key_text_ += ' ';
    u.arg().append_repr(key_text_);
    for (UOp s : u.src()) {
      const Sha256& key = known_keys_.at(s.id());
      key_text_.append(reinterpret_cast<const char*>(key.data()), key.size());
    }
    known_keys_.emplace(u.id(), sha256(key_text_));
  }
  return known_keys_.at(root.id());
}

// An entry is the key, the size of the text in two bytes, and the text.
void KnownVerdicts::read_verdicts() {
  auto file = verdict_cache_key();
  auto bytes = file ? CompileCache::shared_cache().load_entry(*file) : std::nullopt;
  if (!bytes) return;
  constexpr size_t kKey = 32, kHead = kKey + 2;
  for (size_t at = 0; at + kHead <= bytes->size();) {
    const size_t size = read_size(*bytes, at + kKey);
    if (size < 4 + kHashBytes || at + kHead + size > bytes->size()) break;
    verdict_texts_.emplace(bytes->substr(at, kKey), bytes->substr(at + kHead, size));
    at += kHead + size;
  }
  num_cached_entries_ = verdict_texts_.size();
}

std::optional<RewriteProof> KnownVerdicts::find_verdict(const std::string& key) {
  std::call_once(read_once_flag_, [this] { read_verdicts(); });
  std::lock_guard lock(mutex_);
  auto it = verdict_texts_.find(key);
  return it == verdict_texts_.end() ? std::nullopt : std::optional(parse_proof(it->second));
}

void KnownVerdicts::add_verdict(const std::string& key, const RewriteProof& proof) {
  using Kind = RewriteProof::Kind;
  if (proof.kind != Kind::Proven && proof.kind != Kind::Sampled) return;
  std::lock_guard lock(mutex_);
  verdict_texts_.emplace(key, serialize_proof(proof));
}

void KnownVerdicts::write_verdicts() {
  std::lock_guard lock(mutex_);
  auto file = verdict_cache_key();
  if (!file || verdict_texts_.size() == num_cached_entries_) return;
  std::string bytes;
  for (auto& [key, text] : verdict_texts_) bytes += key, append_size(bytes, text.size()), bytes += text;
  CompileCache::shared_cache().store_entry(*file, bytes);
}

}  // namespace tgc
