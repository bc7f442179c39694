// tgc verify [INPUT]: check IR against tinygrad's specification.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/input.h"
#include "apps/tgc/terminal.h"
#include "lib/spec/spec.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

struct VerifyOptions {
  std::string input = "-", kernel, spec;
  bool json = false;
  PipelineOptions pipeline;
};

Spec fitting_spec(const InputGraph& in) { return !in.list.empty() ? Spec::Program : in.is_tensor_graph ? Spec::Tensor : Spec::Kernel; }

std::string as_json(const InputGraph& in, Spec spec, size_t nodes, const SpecViolation* v) {
  std::string out = "{\"name\":";
  append_json_string(out, in.info.name);
  out += ",\"spec\":\"" + std::string(name_of(spec)) + "\",\"nodes\":" + std::to_string(nodes) + ",\"ok\":" + (v ? "false" : "true");
  if (v) {
    Diag d = in.diag_at(v->node, "");
    out += ",\"node\":" + std::to_string(v->position) + ",\"rule\":";
    if (v->rule) append_json_string(out, v->rule->name);
    else out += "null";
    out += ",\"file\":";
    append_json_string(out, d.file);
    out += ",\"line\":" + std::to_string(d.line) + ",\"column\":" + std::to_string(d.column) + ",\"message\":";
    append_json_string(out, v->text());
  }
  return out + "}\n";
}

int verify_input(const VerifyOptions& o) {
  std::optional<Spec> asked;
  if (!o.spec.empty()) {
    asked = parse_spec(o.spec);
    if (!asked) {
      std::string near = nearest_names(o.spec, spec_names());
      return trouble({.message = "unknown specification '" + o.spec + "'", .expected = near.empty() ? "tensor, kernel, program or full" : near});
    }
  }
  auto input = Input::open(o.input, o.kernel, o.pipeline);
  if (!input) return trouble(input.diag());
  int exit_code = 0;
  HeldOutput out;
  for (;;) {
    auto next = input->next();
    if (!next) return trouble(next.diag());
    if (!*next) return out.release(), exit_code;
    const InputGraph& in = **next;
    Spec spec = asked.value_or(fitting_spec(in));
    std::vector<UOp> nodes = in.list.empty() ? toposort(in.root) : in.list;
    auto violation = verify(nodes, spec);
    if (violation) exit_code = 1;
    if (o.json) {
      out.add(as_json(in, spec, nodes.size(), violation ? &*violation : nullptr));
    } else if (violation) {
      out.add(in.diag_at(violation->node, "not a well-formed " + std::string(name_of(spec)) + " graph: " + violation->text()).text() + "\n  table: " +
            std::string(rules_of(spec).name()) + "\n");
    } else {
      out.add(in.info.name + ": " + std::to_string(nodes.size()) + " nodes, all good by the specification '" + std::string(name_of(spec)) + "'\n");
    }
  }
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* cmd = app.add_subcommand("verify", "check IR against tinygrad's specification: the first node that no rule accepts, and where it stands");
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one record; default: standard input");
  cmd->add_option("--spec", o->spec, "tensor, kernel, program or full; default: what fits the input")->type_name("S");
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  cmd->add_flag("--json", o->json, "one JSON object a graph");
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = verify_input(*o); });
}

}  // namespace tgc
