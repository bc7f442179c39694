// A libFuzzer target for the reader that TGC_FUZZ_KIND names. What it reads must be written, read again and come out
// the same; whatever it refuses must be refused with a message. README.md says how to run it.
#include <cstdio>
#include <cstdlib>

#include "lib/text/formats.h"
#include "lib/text/golden.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"

using namespace tgc;

namespace {

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

void read_and_write(std::string_view text, InputKind kind, Format format) {
  Graph first;
  ReadReport report;
  auto read = read_graph(first, kind, text, "fuzz", &report);
  if (!read)
    return must(!read.diag().message.empty() && read.diag().line > 0, "a refusal without a message or a position");
  auto write = [&](const GraphFile& f) {
    return f.list.empty() ? write_graph(format, f.root, f.info) : write_list(format, f.list, f.info);
  };
  auto written = write(*read);
  if (!written) return;  // well formed, but no graph of tinygrad: a shape that fits nowhere, say
  Graph second;
  auto again = read_graph(second, kind, *written, "written", nullptr);
  must(again.ok(),
       ("what was written cannot be read: " + (again.ok() ? "" : again.diag().text()) + "\n" + *written).c_str());
  auto same = write(*again);
  must(same.ok() && *same == *written, ("what was written does not come back:\n" + *written).c_str());
}

void read_records(std::string_view text) {
  size_t end = std::min(text.find('\n'), text.size());
  auto header = parse_golden_header({std::string(text.substr(0, end)), 1}, "fuzz");
  must(header.ok() || !header.diag().message.empty(), "a refusal without a message");
  auto record = parse_golden_record({std::string(text.substr(std::min(end + 1, text.size()))), 2}, "fuzz");
  must(record.ok() || (!record.diag().message.empty() && record.diag().line > 0),
       "a refusal without a message or a position");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size), kind = TGC_FUZZ_KIND;
  if (kind == "pyrender") read_and_write(text, InputKind::Pyrender, Format::Pyrender);
  else if (kind == "repr") read_and_write(text, InputKind::Repr, Format::Repr);
  else if (kind == "uops") read_and_write(text, InputKind::Uops, Format::Uops);
  else if (kind == "json") read_and_write(text, InputKind::Json, Format::Json);
  else read_records(text);
  return 0;
}
