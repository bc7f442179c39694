#include "lib/compilation/dump.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "lib/compilation/fusion.h"
#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

using Kind = StageRow::Kind;
using Texts = std::vector<DumpText>;

class Dump {
 public:
  Dump(Compilation& compilation, const DumpPlan& plan) : c_(compilation), plan_(plan) {}

  Result<Texts> run() {
    if (plan_.stage_observer) c_.set_stage_observer(plan_.stage_observer);
    auto status = make();
    if (!status) return status.diag();
    return std::move(texts_);
  }

 private:
  Status make() {
    if (!c_.input_graph().list.empty()) {
      if (auto status = add_listing(); !status) return status;
    } else if (auto status = add_graphs(); !status) {
      return status;
    }
    if (plan_.dumps_only_input) return done();
    for (const StageRow& row : stage_rows())
      if (plan_.is_wanted(row) && is_ours(row) && !(row.is(OutputKind::List) && !c_.input_graph().list.empty()))
        if (auto status = add_output(row); !status) return status;
    if (c_.is_tensor_graph() && wants_kernels())
      if (auto status = add_kernels(); !status) return status;
    return done();
  }
  Status done() {
    if (texts_.empty() && !c_.input_graph().list.empty())
      return Diag{.message = "a linear list has no stages before it", .file = c_.input_graph().file,
                  .expected = "linear, source, program or an output of a compiler"};
    return plan_.on_compiled ? plan_.on_compiled(c_) : Unit{};
  }

  bool is_ours(const StageRow& row) const {
    return c_.is_tensor_graph() ? row.kind == Kind::Schedule : row.kind == Kind::Output;
  }

  bool wants_kernels() const {
    auto of_kernels = [](const StageRow* row) { return row->kind == Kind::Kernel || row->kind == Kind::Output; };
    return plan_.dumps_changed_graphs || std::ranges::any_of(plan_.wanted_rows, of_kernels);
  }

  Status add_graphs() {
    const StageRow* given = c_.last_row() ? c_.last_row() : &get_stage_row(StageRow::Kind::Ast);
    bool asked_for =
        plan_.is_wanted(*given) || (c_.is_tensor_graph() && plan_.is_wanted(get_stage_row(StageRow::Kind::Ast)));
    if (plan_.dumps_only_input || asked_for)
      if (auto status = add_graph(*given, c_.input_graph().root); !status) return status;
    if (plan_.dumps_only_input) return Unit{};
    for (const StageRow* row = c_.next_row(); row && row->is_graph_stage() && more_wanted(*row); row = c_.next_row()) {
      auto step = c_.run_step();
      if (!step) return step.diag();
      if (!plan_.is_wanted(*step->row) && !(plan_.dumps_changed_graphs && step->has_changed())) continue;
      if (auto status = add_graph(*step->row, step->after); !status) return status;
    }
    return Unit{};
  }

  bool more_wanted(const StageRow& row) const {
    if (plan_.dumps_changed_graphs || (c_.is_tensor_graph() && wants_kernels())) return true;
    return std::ranges::any_of(plan_.wanted_rows,
                               [&](const StageRow* w) { return w >= &row && (w->kind == row.kind || is_ours(*w)); });
  }

  Status add_graph(const StageRow& row, UOp graph) {
    Format format = plan_.format.value_or(Format::Pyrender);
    return add(row, file_extension_of(format), write_graph(format, graph, info_at(row)));
  }
  GraphInfo info_at(const StageRow& row) const {
    GraphInfo info = c_.input_graph().info;
    if (row.kind != Kind::Ast || plan_.is_self_describing || !plan_.dumps_only_input) info.stage = row.name;
    else info.stage.clear();
    if (!c_.is_tensor_graph() && !plan_.dumps_only_input) info.target = c_.target().name();
    return info;
  }

  Status add(const StageRow& row, std::string_view extension, Result<std::string> text) {
    if (!text) return text.diag();
    texts_.push_back({c_.name(), &row, std::string(extension), std::move(*text)});
    return Unit{};
  }

  Status add_listing() {
    const StageRow& linear = get_stage_row(OutputKind::List);
    if (!plan_.is_wanted(linear) && !plan_.dumps_only_input) return Unit{};
    return add_list(linear, c_.input_graph().list);
  }

  Status add_output(const StageRow& row) {
    if (row.is(OutputKind::List) && (plan_.is_self_describing || plan_.format)) {
      auto& list = c_.list();
      return list ? add_list(row, *list) : Status(list.diag());
    }
    if (row.kind == Kind::Schedule && plan_.format == Format::Json) return add(row, "json", c_.schedule_as_json());
    auto text = c_.row_output(row);
    bool is_binary = row.output && row.output->is_binary;
    if (text && !is_binary && !text->empty() && text->back() != '\n') *text += '\n';
    if (text && plan_.explains_fusion && row.kind == Kind::Schedule) {
      auto why = fusion_text(c_);
      if (!why) return why.diag();
      *text += *why;
    }
    return add(row, row.extension, std::move(text));
  }
  // print_uops, the default format, has a header only with `is_self_describing`.
  Status add_list(const StageRow& row, std::span<const UOp> list) {
    Format format = plan_.format.value_or(Format::Uops);
    GraphInfo info = format == Format::Uops && !plan_.is_self_describing ? GraphInfo() : info_at(row);
    // These formats lose the order of the list, so the header must not name the stage `linear`.
    if (format == Format::Pyrender || format == Format::Repr) info.stage.clear();
    return add(row, file_extension_of(format), write_list(format, list, info));
  }

  bool one_by_one() const { return plan_.on_compiled || plan_.stage_observer; }

  Status add_kernels() {
    if (auto& schedule = c_.schedule(); !schedule) return schedule.diag();
    const std::vector<size_t> numbers = c_.kernel_numbers(), like = equal_kernels(numbers);
    std::vector<Result<Texts>> made(numbers.size(), Texts());
    auto make_texts = [&](size_t i) {
      if (like[i] != i) return;
      auto kernel = c_.kernel(numbers[i]);
      made[i] = kernel ? Dump(*kernel, plan_).run() : Result<Texts>(kernel.diag());
    };
    auto tell = [&](size_t i) {
      if (plan_.progress) plan_.progress(i + 1, numbers.size());
    };
    if (auto status = parallel_for(numbers.size(), one_by_one() ? 1 : plan_.num_threads, make_texts, tell); !status)
      return status;
    for (size_t i = 0; i < made.size(); i++) {
      const Result<Texts>& texts = made[like[i]];
      if (!texts) return texts.diag();
      for (DumpText text : *texts) {
        text.graph_name = c_.kernel_name(numbers[i]);
        if (like[i] != i) text.text = text_with_name(std::move(text.text), text.graph_name);
        texts_.push_back(std::move(text));
      }
    }
    return Unit{};
  }

  // Returns for each kernel the index of the first equal kernel, whose texts are copied; or the kernel's own index if
  // kernels are compiled one at a time, or in formats where text_with_name() cannot replace names.
  std::vector<size_t> equal_kernels(const std::vector<size_t>& numbers) {
    bool names_are_in_texts = one_by_one() || plan_.format == Format::Json || plan_.format == Format::Dot;
    std::map<std::pair<uint32_t, std::string>, size_t> first;
    std::vector<size_t> out;
    for (size_t i = 0; i < numbers.size(); i++) {
      UOp ast = c_.schedule()->items[numbers[i]].ast;
      out.push_back(
          names_are_in_texts ? i : first.emplace(std::pair(ast.id(), c_.kernel_target(numbers[i])), i).first->second);
    }
    return out;
  }

  Compilation& c_;
  const DumpPlan& plan_;
  Texts texts_;
};

constexpr std::string_view kAll = "all", kChanged = "changed";

}  // namespace

Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format) {
  DumpPlan plan;
  std::vector<NameChoice> choices = choices_of_rows([](const StageRow&) { return true; });
  choices.push_back({kAll, "", "", false});
  choices.push_back({kChanged, "", "", false});
  plan.dumps_only_input = stages.empty();
  auto selected = select_stages(stages.empty() ? "ast" : stages, choices);
  if (!selected) return selected.diag();
  for (std::string_view name : *selected) {
    if (name == kChanged) plan.dumps_changed_graphs = true;
    else if (name != kAll) plan.wanted_rows.insert(find_stage_row(name));
    else for (const StageRow& row : stage_rows())
      if (!row.is(OutputKind::Compiled)) plan.wanted_rows.insert(&row);
  }
  if (format.empty()) return plan;
  plan.format = parse_format(format);
  if (plan.format) return plan;
  std::string near = nearest_names_text(format, format_names());
  return Diag{.message = "unknown format '" + std::string(format) + "'",
              .expected = near.empty() ? "pyrender, uops, nodes, repr, json or dot" : near};
}

std::string DumpText::file_name(const std::string& stem) const {
  char number[16];
  std::snprintf(number, sizeof number, "%02zu", row->position_in_level);
  return stem + "." + number + "." + row->slug + "." + extension;
}

Result<Texts> make_dump_texts(Compilation& compilation, const DumpPlan& plan) { return Dump(compilation, plan).run(); }

std::string make_json_document(const std::vector<DumpText>& texts) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.key("texts").array([&] {
        for (const DumpText& t : texts)
          json.start_line().object([&] {
            json.member("kernel", t.graph_name).member("stage", t.row->name);
            if (t.extension != "json") json.member("text", t.text);
            else json.key(t.row->kind == StageRow::Kind::Schedule ? "schedule" : "graph").raw_json(t.text);
          });
      });
    });
  });
}

}  // namespace tgc
