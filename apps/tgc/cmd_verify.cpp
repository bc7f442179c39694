#include <algorithm>
#include <utility>

#include "apps/tgc/options.h"
#include "lib/compare/verify.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

struct VerifyOptions {
  std::string input = "-", kernel, spec;
  bool json = false, structure = false;
  CompileOverrides overrides;
  CLI::App* app;
};

int verify_structure(const InputGraph& in, bool json, HeldOutput& out) {
  std::vector<UOp> nodes = in.list.empty() ? toposort(in.root) : in.list;
  StructureReport report = check_structure(nodes, !in.list.empty());
  out.hold_text(json ? report.json(in.info.name) : report.text(in.info.name));
  return report.ok() ? 0 : 1;
}

std::string verdict_json(const InputGraph& in, Spec spec, size_t nodes, const std::optional<InvalidNode>& v) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("name", in.info.name).member("spec", name_of(spec)).member("nodes", nodes).member("ok", !v);
      if (!v) return;
      Diag d = in.diag_at(v->node, "");
      json.member("node", v->position).member("rule", v->rule ? std::optional(v->rule->name) : std::nullopt);
      json.member("file", d.file).member("line", d.line).member("column", d.column).member("message", v->text);
    });
  });
}

std::string verdict_text(const InputGraph& in, Spec spec, size_t nodes, const std::optional<InvalidNode>& v) {
  std::string name(name_of(spec));
  if (!v) return in.info.name + ": " + std::to_string(nodes) + " nodes, all good by the specification '" + name + "'\n";
  return in.diag_at(v->node, "not a well-formed " + name + " graph: " + v->text).text() +
         "\n  table: " + std::string(spec_rules_of(spec).name()) + "\n";
}

int verify_input(const VerifyOptions& o) {
  std::optional<Spec> asked = parse_spec(o.spec);
  if (!asked && !o.spec.empty())
    throw Failure(unknown_word_error("specification", o.spec, spec_names(), "tensor, kernel, program or full"));
  int exit_code = 0;
  bool is_noted = false;
  const Session session = make_terminal_session(o.overrides);
  HeldOutput out;
  require_value(for_each_graph(
      session, o.input, o.kernel,
      [&](InputGraph in) -> Status {
        if (o.structure) return exit_code = std::max(exit_code, verify_structure(in, o.json, out)), Unit{};
        if (auto pipeline = make_recorded_pipeline(in); !pipeline->has_ability(Ability::Specification)) {
          require_for_options(*o.app, *pipeline, Ability::Specification, {"--spec"});
          exit_code = std::max(exit_code, verify_structure(in, o.json, out));
          if (!std::exchange(is_noted, true))
            session.report_note("only the structure of graphs of " + pipeline->producer() +
                                " was checked: the specification "
                                "is tinygrad 0.12.0's");
          return Unit{};
        }
        Spec spec = asked.value_or(find_fitting_spec(!in.list.empty(), in.is_tensor_graph, in.info.stage));
        std::vector<UOp> nodes = in.list.empty() ? toposort(in.root) : in.list;
        auto violation = first_invalid_node(nodes, spec, !in.list.empty());
        if (violation) exit_code = 1;
        out.hold_text((o.json ? verdict_json : verdict_text)(in, spec, nodes.size(), violation));
        return Unit{};
      },
      true));
  require_value(out.release());
  return exit_code;
}

}  // namespace

void add_verify(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<VerifyOptions>();
  o.app = cmd.operator->();
  cmd.set_description("Check a graph against tinygrad's specification and print the first node that no rule accepts.",
                      "tgc verify kernel.uop --spec=kernel");
  add_input_options(cmd, o.input, o.kernel);
  cmd.set_group(OptionGroup::Comparison);
  auto* spec = cmd.add_option("--spec", o.spec, "S", "tensor, kernel, program or full; default: by the input");
  cmd.add_cli_flag("--structure", o.structure,
                   "of any release: check only that sources precede users and that ops exist")
      ->excludes(spec);
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print one JSON object per graph");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return verify_input(o); });
}

}  // namespace tgc
