#include "lib/driver/named_records.h"

#include "lib/text/json_scan.h"

namespace tgc {

Result<NamedRecords> NamedRecords::open(const InputName& name) {
  auto reader = GoldenReader::open(name.file);
  if (!reader) return reader.diag();
  return NamedRecords(std::move(*reader), name.id);
}

Result<bool> NamedRecords::next_line(GoldenLine& line) {
  for (;;) {
    auto more = reader_.next_line(line);
    if (!more || !*more || id_.empty()) return more;
    if (!may_have_id(line.text, id_)) continue;
    auto id = catch_failures([&] {
      std::string text;
      JsonScanner in(line.text, reader_.path(), line.line);
      in.object([&](std::string_view key) { key == "id" ? void(text = in.string()) : void(in.skip()); });
      return text;
    });
    if (!id) return id.diag();
    if (*id == id_) return true;
  }
}

}  // namespace tgc
