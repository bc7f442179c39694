#include "lib/compare/record_list.h"

#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/golden.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

ListedRecord list_record(const GoldenRecord& r, const std::string& producer) {
  ListedRecord out{.id = r.id, .target = r.target.empty() ? r.device : r.target, .num_nodes = r.num_nodes};
  const size_t kernels = r.kernels.size();
  if (r.program) out.description = r.program->function_name;
  else if (kernels) out.description = count_text(kernels, "kernel"), out.kernel_ids = kernel_ids_text(r);
  else if (r.error || r.source_error) out.description = "refused";
  if (const auto& error = r.error ? r.error : r.source_error) out.error = shortened_first_line(*error);
  std::vector<GoldenMetadata> metadata = r.metadata;
  for (const GoldenKernel& k : r.kernels) metadata.insert(metadata.end(), k.metadata.begin(), k.metadata.end());
  out.is_of_runtime = is_runtime_kernel(r, producer);
  out.user_operation = out.is_of_runtime ? "tinygrad's runtime" : methods_text(metadata);
  return out;
}

}  // namespace

Result<RecordList> list_records(const Session& session, const std::string& file) {
  const InputName name = InputName::parse(file);
  auto records = NamedRecordReader::open(name);
  if (!records) return records.diag();
  const GoldenReader& reader = records->reader();
  RecordList out{.file = file, .producer = reader.header().producer, .level = reader.header().level};
  for (GoldenLine line;;) {
    auto more = records->next_line(line);
    if (!more) return more.diag();
    if (!*more) break;
    auto record = parse_golden_record(line, reader.path());
    if (!record) return record.diag();
    out.records.push_back(list_record(*record, out.producer));
  }
  if (reader.truncation_error()) session.send_warning(*reader.truncation_error());
  if (!name.id.empty() && out.records.empty())
    return Diag{.message = "no record '" + name.id + "'", .file = name.display_name()};
  return out;
}

std::string RecordList::text() const {
  const std::string what = level == "tensor" ? "schedule" : "kernel";
  std::vector<std::vector<std::string>> rows{{"id", "target", "nodes", what, "made for"}};
  for (const ListedRecord& r : records) {
    const std::string nodes = r.num_nodes ? std::to_string(r.num_nodes) : "";
    const std::string shown =
        r.description + (r.kernel_ids.empty() && r.error.empty() ? "" : ": ") + r.kernel_ids + r.error;
    rows.push_back({r.id, target_label(r.target), nodes, shown, r.user_operation});
  }
  return table_text(rows, "llr");
}

std::string RecordList::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("file", file).member("level", level).member("producer", producer);
    json.key("records").array([&] {
      for (const ListedRecord& r : records)
        json.start_line().object([&] {
          json.member("id", r.id).member("target", r.target);
          if (r.num_nodes) json.member("nodes", r.num_nodes);
          json.member("what", r.description).member("made_for", r.user_operation);
          if (!r.error.empty()) json.member("error", r.error);
          if (r.is_of_runtime) json.member("runtime", true);
        });
    });
  }) + "\n";
}

std::string records_text(std::span<const RecordList> lists) {
  if (lists.size() == 1) return lists[0].text();
  std::string out;
  for (const RecordList& list : lists) out += (out.empty() ? "" : "\n") + list.file + "\n" + list.text();
  return out;
}

std::string records_json(std::span<const RecordList> lists) {
  if (lists.size() == 1) return lists[0].json();
  return json_object([&](JsonWriter& json) {
    json.key("files").array([&] {
      for (const RecordList& list : lists) {
        std::string text = list.json();
        text.pop_back();
        json.start_line().raw_json(text);
      }
    });
  }) + "\n";
}

}  // namespace tgc
