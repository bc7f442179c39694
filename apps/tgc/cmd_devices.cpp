#include "apps/tgc/command.h"
#include "lib/compile/compile.h"
#include "lib/runtime/devices.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

// `kind` is "renderer", "compiler" or "runtime"; the rows of a kind are adjacent.
struct DeviceRow {
  std::string kind, name, served_targets;
  bool is_working = false;
  std::string note;  // versions, architectures, or what is missing
};

void add_renderers(std::vector<DeviceRow>& rows) {
  for (std::string_view name : known_targets()) {
    auto target = parse_target(name, Settings());
    if (!target) continue;
    std::string renderer = target->device + ":" + std::string(name_of(target->renderer));
    if (rows.empty() || rows.back().name != renderer) {
      auto job = make_compile_job(target->device, name_of(target->renderer), target->arch);
      rows.push_back({"renderer", renderer, job ? std::string(name_of(job->language)) : "source only", true,
                      job ? "" : job.diag().message});
    }
    if (!target->arch.empty()) rows.back().note += (rows.back().note.empty() ? "" : " ") + target->arch;
  }
}

std::string devices_json(const std::vector<DeviceRow>& rows) {
  return json_text([&](JsonWriter& json) {
    json.array([&] {
      for (const DeviceRow& r : rows)
        json.start_line().object([&] {
          json.member("kind", r.kind).member("name", r.name).member("serves", r.served_targets).member("note", r.note);
          json.member("works", r.is_working);
        });
      json.start_line();
    });
  });
}

std::string devices_table(const std::vector<DeviceRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  std::string kind;
  for (const DeviceRow& r : rows) {
    if (r.kind != kind) cells.push_back({(kind.empty() ? "" : "\n") + r.kind + "s"}), kind = r.kind;
    cells.push_back({r.is_working ? "  yes" : "  no", r.name, r.served_targets, r.note});
  }
  return table_text(cells);
}

}  // namespace

void add_devices(CliCommand& cmd) {
  auto& json = cmd.make_owned_value<bool>();
  cmd.set_description("List the renderers, compilers and devices that work on this machine, and what the others lack.",
                      "tgc devices");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(json);
  cmd.set_action([&json] {
    std::vector<DeviceRow> rows;
    add_renderers(rows);
    for (const CompilerInfo& c : list_compilers())
      rows.push_back({"compiler", c.name, c.compiled_targets, c.is_available, c.version});
    for (const RuntimeInfo& r : probe_runtimes())
      rows.push_back({"runtime", r.name, r.execution_method, r.is_available, r.detail_text});
    (json ? print_output(devices_json(rows)) : print_report(devices_table(rows)));
    return 0;
  });
}

}  // namespace tgc
