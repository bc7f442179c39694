// Targets of the parsers of graphs, records and HTTP requests. If a parsed graph is printed, its text must stay the
// same when it is parsed and printed again.
#include <algorithm>

#include "apps/fuzz/target.h"
#include "lib/records/golden.h"
#include "lib/records/read_graph.h"
#include "lib/records/repro.h"
#include "lib/text/formats.h"
#include "lib/view/server.h"

namespace tgc::fuzz {

namespace {

template <class T>
bool is_accepted(const Result<T>& read) {
  check_message(read);
  require_condition(read.ok() || read.diag().line > 0, "a refusal without a position");
  return read.ok();
}

void check_text_round_trip(std::string_view text, InputKind kind, GraphFormat format) {
  Graph first;
  GraphReadReport report;
  auto read = read_graph(first, kind, text, "fuzz", &report);
  if (!is_accepted(read)) return;
  auto write = [&](const GraphFile& f) {
    return f.list.empty() ? write_graph(format, f.root, f.info) : write_list(format, f.list, f.info);
  };
  auto written = write(*read);
  if (!check_message(written)) return;  // a valid graph may have no text, for example because a shape is inconsistent
  Graph second;
  auto again = read_graph(second, kind, *written, "written", nullptr);
  require_condition(again.ok(),
                    "what was written cannot be read: " + (again.ok() ? "" : again.diag().text()) + "\n" + *written);
  auto same = write(*again);
  require_condition(same.ok() && *same == *written, "what was written does not come back:\n" + *written);
}

}  // namespace

void read_pyrender(Bytes bytes) {
  check_text_round_trip(bytes_as_text(bytes), InputKind::Pyrender, GraphFormat::Pyrender);
}
void read_repr(Bytes bytes) { check_text_round_trip(bytes_as_text(bytes), InputKind::Repr, GraphFormat::Repr); }
void read_uops(Bytes bytes) { check_text_round_trip(bytes_as_text(bytes), InputKind::Uops, GraphFormat::Uops); }
void read_json(Bytes bytes) { check_text_round_trip(bytes_as_text(bytes), InputKind::Json, GraphFormat::Json); }

void read_repro(Bytes bytes) {
  Graph first, second;
  GraphReadReport report, again_report;
  auto read = read_graph(first, InputKind::Repro, bytes_as_text(bytes), "fuzz", &report);
  if (!is_accepted(read)) return;
  auto write = [](const GraphFile& f, const Repro& repro) {
    return repro_to_json(repro, f.list.empty() ? graph_to_json(f.root, f.info) : list_to_json(f.list, f.info));
  };
  std::string written = write(*read, *report.repro);
  auto again = read_graph(second, InputKind::Repro, written, "written", &again_report);
  require_condition(again.ok(),
                    "what was written cannot be read: " + (again.ok() ? "" : again.diag().text()) + "\n" + written);
  require_condition(write(*again, *again_report.repro) == written, "what was written does not come back:\n" + written);
}

void read_records(Bytes bytes) {
  std::string_view text = bytes_as_text(bytes);
  size_t end = std::min(text.find('\n'), text.size());
  check_message(parse_golden_header({std::string(text.substr(0, end)), 1}, "fuzz"));
  (void)is_accepted(parse_golden_record({std::string(text.substr(std::min(end + 1, text.size()))), 2}, "fuzz"));
}

// HTTP requests to the server of `tgc view`.
void read_request(Bytes bytes) {
  std::string_view text = bytes_as_text(bytes);
  auto request = parse_request(text);
  if (!check_message(request)) return;
  require_condition(text.starts_with("GET " + request->path), "another path than was asked for: " + request->path);
  require_condition(is_whole_request(text), "half a request was taken");
}

}  // namespace tgc::fuzz
