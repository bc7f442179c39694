// tgc devices: what works here, and what is missing for the rest.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/compile/compile.h"
#include "lib/runtime/devices.h"
#include "lib/support/json_writer.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

// One line of the answer. `kind` is "renderer", "compiler", ...; rows of a kind stand together.
struct DeviceRow {
  std::string kind, name, serves;
  bool works = false;
  std::string note;  // a version, or what is missing
};

// One row a renderer, its architectures together.
void add_renderers(std::vector<DeviceRow>& rows) {
  for (std::string_view name : known_targets()) {
    auto target = parse_target(name, Settings());
    if (!target) continue;
    std::string renderer = target->device + ":" + std::string(name_of(target->renderer));
    if (rows.empty() || rows.back().name != renderer) {
      auto job = compile_job(target->device, name_of(target->renderer), target->arch);
      rows.push_back({"renderer", renderer, job ? std::string(name_of(job->language)) : "source only", true,
                      job ? "" : job.diag().message});
    }
    if (!target->arch.empty()) rows.back().note += (rows.back().note.empty() ? "" : " ") + target->arch;
  }
}

void add_compilers(std::vector<DeviceRow>& rows) {
  for (const CompilerInfo& c : compilers()) rows.push_back({"compiler", c.name, c.serves, c.works, c.version});
}

void add_runtimes(std::vector<DeviceRow>& rows) {
  for (const RuntimeInfo& r : runtimes()) rows.push_back({"runtime", r.name, r.drives, r.works, r.detail});
}

// Every part of tgc that reports what works here adds its rows.
constexpr void (*kSources[])(std::vector<DeviceRow>&) = {add_renderers, add_compilers, add_runtimes};

std::string as_json(const std::vector<DeviceRow>& rows) {
  std::string out;
  JsonWriter json(out);
  json.array([&] {
    for (const DeviceRow& r : rows)
      json.line().object([&] {
        json.member("kind", r.kind).member("name", r.name).member("serves", r.serves).member("note", r.note);
        json.member("works", r.works);
      });
    json.line();
  });
  return out + "\n";
}

std::string as_table(const std::vector<DeviceRow>& rows) {
  size_t name = 0, serves = 0;
  for (const DeviceRow& r : rows) name = std::max(name, r.name.size()), serves = std::max(serves, r.serves.size());
  std::string out, kind;
  for (const DeviceRow& r : rows) {
    if (r.kind != kind) out += (kind.empty() ? "" : "\n") + r.kind + "s\n", kind = r.kind;
    std::string line =
        std::string("  ") + (r.works ? "yes  " : "no   ") + r.name + std::string(name - r.name.size() + 2, ' ');
    if (!r.serves.empty()) line += r.serves + std::string(serves - r.serves.size() + 2, ' ');
    line += r.note;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

void add_devices(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand(
      "devices", "what works here: renderers, compilers, runtimes; and what is missing for the others");
  cmd->add_flag("--json", *json, "as JSON");
  cmd->callback([json, &exit_code] {
    std::vector<DeviceRow> rows;
    for (auto* add : kSources) add(rows);
    print(*json ? as_json(rows) : as_table(rows));
    exit_code = 0;
  });
}

}  // namespace tgc
