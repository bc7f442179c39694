#include "lib/driver/live_input.h"

#include <algorithm>
#include <filesystem>

#include "lib/compilation/tinygrad_question.h"
#include "lib/driver/import_input.h"
#include "lib/import/export.h"
#include "lib/import/upgrade.h"
#include "lib/support/name_table.h"

namespace tgc {
namespace {

constexpr double kModelSeconds = 1800;  // tinygrad takes a tenth of a second for each kernel, and runs the model

using Values = std::vector<std::pair<std::string, std::string>>;

// Returns the settings of a question: those that the input was recorded with, then those of --set.
Values settings_of_question(const Session& session, const TinygradFacts& tinygrad, const GoldenSettings& recorded) {
  GoldenSettings out;
  for (auto& [name, value] : recorded)
    if (tinygrad.settings.contains(name)) out[name] = value;
    else session.note("the recorded setting " + name + "=" + value + " has no effect: " + tinygrad.producer +
                      " has no such setting");
  for (const std::string& text : session.over.sets) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    if (equals == text.size()) throw Failure(Diag{.message = "--set takes KEY=VALUE, not '" + text + "'"});
    if (!tinygrad.settings.contains(name)) {
      const std::vector<std::string_view> known(tinygrad.settings.begin(), tinygrad.settings.end());
      throw Failure(Diag{.message = tinygrad.producer + " has no setting '" + name + "'",
                         .expected = nearest_names(name, known)});
    }
    out[name] = text.substr(equals + 1);
  }
  return {out.begin(), out.end()};
}

// Returns the device that the parameters of a kernel name, since 0.14.
std::optional<std::string> device_of(UOp ast) {
  for (UOp u : toposort(ast))
    if (const Arg device = import::field_of(u.arg(), "device"); u.is(Op::PARAM) && device.is_str())
      return std::string(device.text().substr(0, device.text().find(':')));
  return std::nullopt;
}

// Returns the target of `in` with its architecture: the recorded one, else the one that a device alone means.
std::string target_of_question(const Session& session, const InputGraph& in) {
  const std::string target = session.target_for(in), recorded = in.record ? in.record->target : in.info.target;
  if (in.is_tensor_graph || std::ranges::count(target, ':') > 1) return target;
  if (recorded.starts_with(target + ":")) return recorded;
  auto whole = parse_target(target, Settings());
  const bool has_arch = whole && !whole->arch.empty();
  return has_arch ? whole->name() : target;
}

}  // namespace

Result<CompileQuestion> live_question(const Session& session, const InputGraph& in) {
  return catch_failures([&] {
    const TinygradFacts& tinygrad = session.live->about().value_or_throw();
    const Overrides& over = session.over;
    if (!over.from.empty() || !in.list.empty() || !(in.info.stage.empty() || in.info.stage == "ast"))
      throw Failure(Diag{.message = "--live compiles an AST, and this graph is after '" +
                                    (over.from.empty() ? in.info.stage : over.from) + "'",
                         .file = in.file});
    if (over.native) throw Failure("--native and --live exclude each other: only one pipeline compiles");
    if (!over.opts.empty()) throw Failure("--opts is for tgc's own pipeline, and --live compiles in tinygrad");
    CompileQuestion out{.id = in.info.name, .target = target_of_question(session, in),
                        .is_tensor_graph = in.is_tensor_graph};
    out.is_live = true, out.rewrites = session.over.live_rewrites;
    out.settings = settings_of_question(session, tinygrad, in.info.settings);
    const Release from = in.graph->release(), to = release_of(tinygrad.producer);
    ImportedGraph imported{.graph = in.graph, .root = in.root};
    ExportedGraph exported{.graph = in.graph, .root = in.root};
    if (from != to) {
      if (in.is_tensor_graph)
        throw Failure(Diag{.message = "a tensor graph of tinygrad " + std::string(name_of(from)) + " is no input of " +
                                      tinygrad.producer,
                           .file = in.file});
      if (from != Release::v0_12) imported = std::move(import_graph(in.root).value_or_throw());
      exported = {imported.graph, imported.root};
      if (to != Release::v0_12) exported = std::move(export_ast(imported.root, to).value_or_throw());
    }
    out.nodes = graph_to_json(exported.root, {.producer = tinygrad.producer});
    return out;
  });
}

Result<InputGraph> live_graph(const Session& session, std::shared_ptr<const GoldenRecord> record,
                              const std::string& file) {
  auto settings = session.settings_for();
  if (!settings) return settings.diag();
  auto out = load_text(*settings, InputKind::Json, record->ast, file);
  if (!out) return out;
  out->info.name = record->id;
  if (session.over.imports && !out->is_tensor_graph) {
    Session unchanged = session;
    unchanged.over.target.clear(), unchanged.over.sets.clear();
    out = import_input(unchanged, std::move(*out));
    if (!out) return out;
  }
  out->info.target = target_of_record(*out, record->target);
  out->made_for = made_for_text(record->metadata);
  out->record = std::move(record);
  return out;
}

Result<std::vector<GoldenRecord>> kernels_of_live_model(const Session& session, const std::string& path,
                                                        const std::string& name,
                                                        const std::map<std::string, int64_t>& sizes) {
  return catch_failures([&] {
    if (!session.over.target.empty() && session.over.target != "CPU" && session.over.target != "CPU:CLANG")
      throw Failure("--live runs a model on the CPU, not on " + session.over.target);
    if (!session.over.weights.empty()) throw Failure("--weights is for tgc's own frontend, and --live has another");
    const TinygradFacts& tinygrad = session.live->about().value_or_throw();
    ModelQuestion question{.id = name, .path = std::filesystem::absolute(path).string(), .sizes = sizes};
    question.settings = settings_of_question(session, tinygrad, {});
    session.live->set_seconds(kModelSeconds);
    return std::move(session.live->ask(question).value_or_throw());
  });
}

Result<InputGraph> compile_live(const Session& session, InputGraph in) {
  auto question = live_question(session, in);
  if (!question) return question.diag();
  auto record = session.live->ask(*question);
  if (!record) return record.diag();
  record->line = in.record ? in.record->line : 0;
  if (record->metadata.empty() && in.record) record->metadata = in.record->metadata;
  auto out = live_graph(session, std::make_shared<const GoldenRecord>(std::move(*record)), in.file);
  if (out) out->report.repro = in.report.repro, out->info.settings = in.info.settings;
  return out;
}

Result<InputGraph> compile_live_kernel(const Session& session, const InputGraph& schedule, const std::string& kernel) {
  return catch_failures([&] {
    const GoldenRecord& record = *schedule.record;
    size_t number = record.kernels.size();
    for (size_t i = 0; i < record.kernels.size(); i++)
      if (kernel == std::to_string(i)) number = i;
    if (number == record.kernels.size())
      throw Failure(Diag{.message = "the schedule has no kernel '" + kernel + "'",
                         .file = schedule.file,
                         .expected = record.error ? *record.error : "0 to " + std::to_string(int64_t(number) - 1)});
    const Settings settings = session.settings_for().value_or_throw();
    auto in = load_text(settings, InputKind::Json, record.kernels[number].ast, schedule.file).value_or_throw();
    if (in.root.is(Op::COPY)) throw Failure("kernel " + kernel + " of the schedule is a copy, which has no source");
    in.info.name = record.id + ".kernel-" + kernel, in.info.target = device_of(in.root).value_or(record.device);
    in.info.settings = schedule.info.settings, in.is_tensor_graph = false;
    return std::move(compile_live(session, std::move(in)).value_or_throw());
  });
}

Result<InputGraph> compile_live_without(const Session& session, const InputGraph& in, const RuleMatch& match) {
  const GoldenRecord& before = *in.record;
  CompileQuestion question{.id = before.id, .target = before.target, .nodes = before.ast,
                           .is_tensor_graph = in.is_tensor_graph, .is_live = true, .leave_out = match};
  for (auto& [name, value] : before.settings)
    if (value) question.settings.emplace_back(name, *value);
  auto record = session.live->ask(question);
  if (!record) return record.diag();
  if (record->error && record->stages.empty()) return Diag{.message = *record->error, .file = in.file};
  record->line = before.line;
  return live_graph(session, std::make_shared<const GoldenRecord>(std::move(*record)), in.file);
}

}  // namespace tgc
