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
using DumpTexts = std::vector<DumpText>;

class GraphDumper {
 public:
  GraphDumper(Compilation& compilation, const DumpPlan& plan) : compilation_(compilation), plan_(plan) {}

  Result<DumpTexts> collect_texts() {
    if (plan_.stage_observer) compilation_.set_stage_observer(plan_.stage_observer);
    auto status = add_all_texts();
    if (!status) return status.diag();
    return std::move(texts_);
  }

 private:
  Status add_all_texts() {
    if (!compilation_.input_graph().list.empty()) {
      if (auto status = add_input_list(); !status) return status;
    } else if (auto status = add_graphs(); !status) {
      return status;
    }
    if (plan_.dumps_only_input) return finish_dump();
    for (const StageRow& row : stage_rows())
      if (plan_.is_wanted(row) && is_output_of_graph(row) &&
          !(row.is(OutputKind::List) && !compilation_.input_graph().list.empty()))
        if (auto status = add_output(row); !status) return status;
    if (compilation_.is_tensor_graph() && wants_kernels())
      if (auto status = add_kernels(); !status) return status;
    return finish_dump();
  }
  Status finish_dump() {
    if (texts_.empty() && !compilation_.input_graph().list.empty())
      return Diag{.message = "a linear list has no stages before it", .file = compilation_.input_graph().file,
                  .expected = "linear, source, program or an output of a compiler"};
    return plan_.on_compiled ? plan_.on_compiled(compilation_) : Unit{};
  }

  bool is_output_of_graph(const StageRow& row) const {
    return compilation_.is_tensor_graph() ? row.kind == Kind::Schedule : row.kind == Kind::Output;
  }

  bool wants_kernels() const {
    auto of_kernels = [](const StageRow* row) { return row->kind == Kind::Kernel || row->kind == Kind::Output; };
    return plan_.dumps_changed_graphs || std::ranges::any_of(plan_.wanted_rows, of_kernels);
  }

  Status add_graphs() {
    const StageRow* given = compilation_.last_row() ? compilation_.last_row() : &get_stage_row(StageRow::Kind::Ast);
    bool asked_for = plan_.is_wanted(*given) ||
                     (compilation_.is_tensor_graph() && plan_.is_wanted(get_stage_row(StageRow::Kind::Ast)));
    if (plan_.dumps_only_input || asked_for)
      if (auto status = add_graph(*given, compilation_.input_graph().root); !status) return status;
    if (plan_.dumps_only_input) return Unit{};
    for (const StageRow* row = compilation_.next_row(); row && row->is_graph_stage() && is_later_row_wanted(*row);
         row = compilation_.next_row()) {
      auto step = compilation_.run_step();
      if (!step) return step.diag();
      if (!plan_.is_wanted(*step->row) && !(plan_.dumps_changed_graphs && step->has_changed())) continue;
      if (auto status = add_graph(*step->row, step->after); !status) return status;
    }
    return Unit{};
  }

  bool is_later_row_wanted(const StageRow& row) const {
    if (plan_.dumps_changed_graphs || (compilation_.is_tensor_graph() && wants_kernels())) return true;
    return std::ranges::any_of(plan_.wanted_rows, [&](const StageRow* w) {
      return w >= &row && (w->kind == row.kind || is_output_of_graph(*w));
    });
  }

  Status add_graph(const StageRow& row, UOp graph) {
    GraphFormat format = plan_.format.value_or(GraphFormat::Pyrender);
    return add_text(row, file_extension_of(format), write_graph(format, graph, graph_info_of_row(row)));
  }
  GraphInfo graph_info_of_row(const StageRow& row) const {
    GraphInfo info = compilation_.input_graph().info;
    if (row.kind != Kind::Ast || plan_.is_self_describing || !plan_.dumps_only_input) info.stage = row.name;
    else info.stage.clear();
    if (!compilation_.is_tensor_graph() && !plan_.dumps_only_input) info.target = compilation_.target().name();
    return info;
  }

  Status add_text(const StageRow& row, std::string_view extension, Result<std::string> text) {
    if (!text) return text.diag();
    texts_.push_back({compilation_.name(), &row, std::string(extension), std::move(*text)});
    return Unit{};
  }

  Status add_input_list() {
    const StageRow& linear = get_stage_row(OutputKind::List);
    if (!plan_.is_wanted(linear) && !plan_.dumps_only_input) return Unit{};
    return add_list(linear, compilation_.input_graph().list);
  }

  Status add_output(const StageRow& row) {
    if (row.is(OutputKind::List) && (plan_.is_self_describing || plan_.format)) {
      auto& list = compilation_.list();
      return list ? add_list(row, *list) : Status(list.diag());
    }
    if (row.kind == Kind::Schedule && plan_.format == GraphFormat::Json)
      return add_text(row, "json", compilation_.schedule_as_json());
    auto text = compilation_.row_output(row);
    bool is_binary = row.output && row.output->is_binary;
    if (text && !is_binary && !text->empty() && text->back() != '\n') *text += '\n';
    if (text && plan_.explains_fusion && row.kind == Kind::Schedule) {
      auto why = fusion_text(compilation_);
      if (!why) return why.diag();
      *text += *why;
    }
    return add_text(row, row.extension, std::move(text));
  }
  // print_uops, the default format, has a header only with `is_self_describing`.
  Status add_list(const StageRow& row, std::span<const UOp> list) {
    GraphFormat format = plan_.format.value_or(GraphFormat::Uops);
    GraphInfo info = format == GraphFormat::Uops && !plan_.is_self_describing ? GraphInfo() : graph_info_of_row(row);
    // These formats lose the order of the list, so the header must not name the stage `linear`.
    if (format == GraphFormat::Pyrender || format == GraphFormat::Repr) info.stage.clear();
    return add_text(row, file_extension_of(format), write_list(format, list, info));
  }

  bool is_sequential() const { return plan_.on_compiled || plan_.stage_observer; }

  Status add_kernels() {
    if (auto& schedule = compilation_.schedule(); !schedule) return schedule.diag();
    const std::vector<size_t> numbers = compilation_.kernel_numbers(), like = find_equal_kernels(numbers);
    std::vector<Result<DumpTexts>> made(numbers.size(), DumpTexts());
    auto make_texts = [&](size_t i) {
      if (like[i] != i) return;
      auto kernel = compilation_.kernel(numbers[i]);
      made[i] = kernel ? GraphDumper(*kernel, plan_).collect_texts() : Result<DumpTexts>(kernel.diag());
    };
    auto tell = [&](size_t i) {
      if (plan_.report_progress) plan_.report_progress(i + 1, numbers.size());
    };
    if (auto status = parallel_for(numbers.size(), is_sequential() ? 1 : plan_.num_threads, make_texts, tell); !status)
      return status;
    for (size_t i = 0; i < made.size(); i++) {
      const Result<DumpTexts>& texts = made[like[i]];
      if (!texts) return texts.diag();
      for (DumpText text : *texts) {
        text.graph_name = compilation_.kernel_name(numbers[i]);
        if (like[i] != i) text.text = text_with_name(std::move(text.text), text.graph_name);
        texts_.push_back(std::move(text));
      }
    }
    return Unit{};
  }

  // Returns for each kernel the index of the first equal kernel, whose texts are copied; or the kernel's own index if
  // is_sequential(), or in formats where text_with_name() cannot replace names.
  std::vector<size_t> find_equal_kernels(const std::vector<size_t>& numbers) {
    bool names_are_in_texts = is_sequential() || plan_.format == GraphFormat::Json || plan_.format == GraphFormat::Dot;
    std::map<std::pair<uint32_t, std::string>, size_t> first;
    std::vector<size_t> out;
    for (size_t i = 0; i < numbers.size(); i++) {
      UOp ast = compilation_.schedule()->items[numbers[i]].ast;
      out.push_back(names_are_in_texts
                        ? i
                        : first.emplace(std::pair(ast.id(), compilation_.kernel_target(numbers[i])), i).first->second);
    }
    return out;
  }

  Compilation& compilation_;
  const DumpPlan& plan_;
  DumpTexts texts_;
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

Result<DumpTexts> make_dump_texts(Compilation& compilation, const DumpPlan& plan) {
  return GraphDumper(compilation, plan).collect_texts();
}

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
