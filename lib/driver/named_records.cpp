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
    if (!may_name_record(id_, line)) continue;
    auto is_named = catch_failures([&] {
      std::string id, target;
      JsonScanner in(line.text, reader_.path(), line.line);
      in.object([&](std::string_view key) {
        if (key == "id") id = in.string();
        else if (key == "target") target = in.string();
        else in.skip();
      });
      return names_record(id_, line.distinct_id(std::move(id)), target);
    });
    if (!is_named) return is_named.diag();
    if (*is_named) return true;
  }
}

}  // namespace tgc
