#include "lib/profile/salvage.h"

#include <cstring>
#include <vector>

#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

// Opcodes of pickle's protocols 2 to 5, by the kind of their arguments (Lib/pickletools.py).
constexpr std::string_view kPlain("(.012NRQabd}el]ostu)\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98");
constexpr std::string_view kLine("FILSVgpP"), kTwoLines("ci"), kOneByte("Khq\x80\x82"), kTwoBytes("M\x83"),
    kFourBytes("Jjr\x84"), kEightBytes("G"), kCount1("UC\x8a\x8c"), kCount4("TXB\x8b"), kCount8("\x8d\x8e\x96");
constexpr std::string_view kClosers("tldeuio1\x90\x91");  // opcodes that take all values since the last MARK
constexpr char kFrame = '\x95', kMark = '(', kBuild = 'b', kStop = '.';

bool contains_char(std::string_view list, char c) { return list.find(c) != list.npos; }

// A pickle without FRAME opcodes, whose sizes are wrong in a truncated file, and where the items of its list end.
struct PickledItems {
  std::string bytes;
  std::vector<size_t> item_ends, ends_in_file;  // by item: its end in `bytes`, and in the file
};

PickledItems find_pickled_items(std::string_view in) {
  PickledItems out;
  size_t marks = 0;
  for (size_t at = 0; at < in.size();) {
    const char op = in[at];
    size_t size = 1;
    auto line = [&] {
      const size_t end = in.find('\n', at + size);
      size = end == in.npos ? SIZE_MAX : end + 1 - at;
    };
    auto counted_size = [&](size_t width) {
      if (in.size() - at < 1 + width) return void(size = SIZE_MAX);
      uint64_t count = 0;
      std::memcpy(&count, in.data() + at + 1, width);
      size = count > in.size() ? SIZE_MAX : 1 + width + size_t(count);
    };
    if (op == kFrame) {
      at += 9;
      continue;
    }
    if (contains_char(kLine, op)) line();
    else if (contains_char(kTwoLines, op)) line(), size == SIZE_MAX ? void() : line();
    else if (contains_char(kOneByte, op)) size = 2;
    else if (contains_char(kTwoBytes, op)) size = 3;
    else if (contains_char(kFourBytes, op)) size = 5;
    else if (contains_char(kEightBytes, op)) size = 9;
    else if (contains_char(kCount1, op)) counted_size(1);
    else if (contains_char(kCount4, op)) counted_size(4);
    else if (contains_char(kCount8, op)) counted_size(8);
    else if (!contains_char(kPlain, op)) break;
    if (size > in.size() - at || op == kStop) break;
    out.bytes.append(in.substr(at, size));
    at += size;
    if (op == kMark) marks++;
    else if (contains_char(kClosers, op) && marks-- == 0) break;
    if (op == kBuild && marks == 1) out.item_ends.push_back(out.bytes.size()), out.ends_in_file.push_back(at);
  }
  return out;
}

}  // namespace

std::optional<UndamagedList> read_undamaged_items(std::string_view bytes, Pickle::AllowedNameTest is_allowed,
                                                  const std::string& why) {
  const PickledItems items = find_pickled_items(bytes);
  auto read = [&](size_t count) {
    return Pickle::read(items.bytes.substr(0, items.item_ends[count - 1]) + "e.", is_allowed, "");
  };
  size_t good = 0, bad = items.item_ends.size() + 1;  // the first `good` items can be read, the first `bad` cannot
  std::optional<Pickle> best;
  while (good + 1 < bad) {
    const size_t middle = best || bad != items.item_ends.size() + 1 ? (good + bad) / 2 : bad - 1;
    if (auto pickle = read(middle)) good = middle, best = std::move(*pickle);
    else bad = middle;
  }
  if (!best) return {};
  return UndamagedList{
      std::move(*best),
      formatted("the file is damaged behind byte %zu of %zu (%s): %s before are read, the rest is lost",
                items.ends_in_file[good - 1], bytes.size(), why.c_str(), count_text(good, "event").c_str())};
}

}  // namespace tgc::profile
