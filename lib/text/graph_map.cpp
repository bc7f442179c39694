#include "lib/text/graph_map.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/support/json_levels.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/pytext.h"

namespace tgc {

using json = nlohmann::ordered_json;

namespace {

std::string_view next_word(std::string_view& line) {
  size_t at = std::min(line.find_first_not_of(" \t\r"), line.size());
  size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
  std::string_view word = line.substr(at, end - at);
  line.remove_prefix(end);
  return word.starts_with('#') ? (line = {}, std::string_view()) : word;
}

std::string to_upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = char(c - 32);
  return text;
}

}  // namespace

Result<GraphMap> GraphMap::read(std::string_view text, std::string_view file) {
  GraphMap out;
  out.is_read_ = true;
  uint32_t number = 0;
  for (std::string_view line : lines_of(text)) {
    number++;
    auto what = next_word(line);
    if (what.empty()) continue;
    std::string theirs(next_word(line)), ours;
    if (what == "arg") {
      ours = line;
      if (!json::accept(ours)) ours.clear();
      line = {};
    } else {
      ours = next_word(line);
    }
    auto* table = what == "member"  ? &out.members_
                  : what == "op"    ? &out.ops_
                  : what == "dtype" ? &out.dtypes_
                  : what == "value" ? &out.values_
                  : what == "arg"   ? &out.arg_names_
                                    : nullptr;
    const bool ends = next_word(line).empty();
    if (what == "lower" && theirs == "op" && ours.empty()) out.has_lowercase_ops_ = true;
    else if (what == "release" && !theirs.empty() && ours.empty()) out.producer_ = "tinygrad " + theirs;
    else if (table && !ours.empty() && ends) (*table)[theirs] = ours;
    else
      return Diag{.message = "the line is not a mapping",
                  .file = std::string(file),
                  .line = number,
                  .expected = "member, op, dtype or value and two names, 'arg KIND JSON', 'lower op' or 'release N'"};
  }
  return out;
}

class MappedGraphWriter {
 public:
  MappedGraphWriter(const GraphMap& map, const json& in) : map_(map), input_json_(in) {
    for (auto& [kind, text] : map.arg_names_) arg_forms_[kind] = json::parse(text);
  }

  std::string write() {
    const json& nodes = input_json_.at(mapped_member("nodes"));
    num_nodes_ = nodes.size();
    for (const json& node : nodes)
      if (node.contains(mapped_member("id")))
        node_numbers_.emplace(node.at(mapped_member("id")).dump(), node_numbers_.size());
    out_ = "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":";
    append_json_string(out_, map_.producer_);
    out_ += ",\"nodes\":[";
    bool first = true;
    for (const json& node : nodes) {
      out_ += first ? "\n{" : ",\n{";
      first = false;
      write_node(node);
    }
    out_ += "\n]";
    if (auto root = input_json_.find(mapped_member("root")); root != input_json_.end()) {
      const json& last = root->is_array() && !root->empty() ? root->back() : *root;
      if (node_number(last) + 1 != nodes.size()) throw Failure("the root is not the last node");
    }
    return out_ + "}\n";
  }

 private:
  std::string mapped_member(const char* ours) const {
    auto known = map_.members_.find(ours);
    return known == map_.members_.end() ? ours : known->second;
  }
  static std::string mapped_name(const std::map<std::string, std::string, std::less<>>& table,
                                 const std::string& name) {
    auto known = table.find(name);
    return known == table.end() ? name : known->second;
  }

  size_t node_number(const json& reference) const {
    auto known = node_numbers_.find(reference.dump());
    if (known != node_numbers_.end()) return known->second;
    if (node_numbers_.empty() && reference.is_number_unsigned() && reference < num_nodes_)
      return reference.get<size_t>();
    throw Failure("the source " + reference.dump() + " is not a node");
  }

  void write_node(const json& node) {
    std::string op = mapped_name(map_.ops_, node.at(mapped_member("op")).get<std::string>());
    if (map_.has_lowercase_ops_) op = to_upper_case(op);
    out_ += "\"op\":", append_json_string(out_, op);
    out_ += ",\"dtype\":",
        append_json_string(
            out_, mapped_dtype(node.contains(mapped_member("dtype")) ? node.at(mapped_member("dtype")) : json()));
    if (auto src = node.find(mapped_member("src")); src != node.end() && !src->empty()) {
      out_ += ",\"src\":[";
      for (size_t i = 0; i < src->size(); i++) out_ += (i ? "," : "") + std::to_string(node_number((*src)[i]));
      out_ += ']';
    }
    if (auto a = node.find(mapped_member("arg")); a != node.end())
      if (json ours = mapped_arg(*a); !ours.is_null()) out_ += ",\"arg\":" + ours.dump();
    out_ += '}';
  }

  // Returns text such as "dtypes.float.vec(4)". `d` is a name, an object (see graph_map.h) or null.
  std::string mapped_dtype(const json& d) const {
    if (d.is_null()) return "dtypes.void";
    if (d.is_string()) {
      std::string name = mapped_name(map_.dtypes_, d.get<std::string>());
      return name.starts_with("dtypes.") ? name : "dtypes." + name;
    }
    if (!d.is_object()) throw Failure("a dtype " + d.dump());
    std::string name;
    for (const char* key : {"name", "scalar", "base", "dtype"})
      if (name.empty() && d.contains(key)) name = mapped_dtype(d.at(key));
    if (name.empty()) throw Failure("a dtype without a name: " + d.dump());
    if (d.contains("count") && d.at("count").is_number_integer() && d.at("count") != 1)
      name += ".vec(" + d.at("count").dump() + ")";
    if (d.contains("size")) name += ".ptr(" + (d.at("size").is_null() ? std::string("-1") : d.at("size").dump()) + ")";
    return name;
  }

  json mapped_arg(const json& a) const {
    if (a.is_string()) return mapped_value(a.get<std::string>());
    if (a.is_array()) {
      json out = json::array();
      for (const json& item : a) out.push_back(mapped_arg(item));
      return out;
    }
    if (a.is_object()) {
      if (auto form = arg_forms_.find(arg_kind(a)); form != arg_forms_.end()) return fill_form(form->second, a);
      json members = json::object();
      for (auto& [key, item] : a.items()) members[key] = mapped_arg(item);
      return {{"object", members}};
    }
    if (a.is_number_float() && !std::isfinite(a.get<double>())) return {{"float", py_repr(a.get<double>())}};
    return a;
  }

  // Without a line "value TEXT VALUE" in the table, returns `text`.
  json mapped_value(const std::string& text) const {
    auto known = map_.values_.find(text);
    if (known == map_.values_.end()) return text;
    return known->second == "null" ? json() : json{{"value", known->second}};
  }

  static std::string arg_kind(const json& a) {
    if (auto kind = a.find("kind"); kind != a.end() && kind->is_string()) return kind->get<std::string>();
    std::set<std::string> names;
    for (auto& [key, item] : a.items()) names.insert(key);
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
    return out;
  }

  // Replaces each reference in `form`, the JSON of an `arg` line, by the member of `of` that it names.
  json fill_form(const json& form, const json& of) const {
    if (form.is_string()) return fill_form_text(form.get<std::string>(), of);
    if (form.is_array()) {
      json out = json::array();
      for (const json& item : form) {
        if (std::string text = item.is_string() ? item.get<std::string>() : ""; text.ends_with("...")) {
          for (const json& each : fill_form_text(text.substr(0, text.size() - 3), of)) out.push_back(each);
        } else {
          out.push_back(fill_form(item, of));
        }
      }
      return out;
    }
    if (!form.is_object()) return form;
    json out = json::object();
    for (auto& [key, item] : form.items()) {
      json ours = fill_form(item, of);
      if (key == "value" && ours.is_null()) return {};
      size_t optional = std::min(key.find('?'), key.size());
      if (optional < key.size() &&
          (ours.is_null() || ours == false || ours == json{{"value", key.substr(optional + 1)}}))
        continue;
      out[key.substr(0, optional)] = ours;
    }
    return out;
  }

  json fill_form_text(const std::string& text, const json& of) const {
    if (text.starts_with('$')) return resolve_reference(text.substr(1), of);
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t open = text.find('{', at), close = text.find('}', open);
      if (close == text.npos) return out + text.substr(at);
      const json& part = of.at(text.substr(open + 1, close - open - 1));
      if (part.is_null()) return {};
      out += text.substr(at, open - at) + (part.is_string() ? part.get<std::string>() : part.dump());
      at = close + 1;
    }
    return out;
  }

  // `text` is a reference without its '$', such as "NAME:dtype" (graph_map.h).
  json resolve_reference(const std::string& text, const json& of) const {
    size_t name_end = std::min(text.find_first_of(":=?"), text.size());
    const json& item = of.at(text.substr(0, name_end));
    std::string how = text.substr(name_end);
    if (item.is_null() && how.starts_with("='") && how.size() > 2) return how.substr(2, how.size() - 3);
    if (item.is_null() && how.starts_with('=')) return {{"value", how.substr(1)}};
    if (how == "?" && item.empty()) return {};
    if (how.empty() || how == "?" || how.starts_with('=')) return mapped_arg(item);
    if (how == ":dtype") return {{"value", mapped_dtype(item)}};
    if (how == ":node" && item.is_array()) {
      json out = json::array();
      for (const json& each : item) out.push_back({{"uop", node_number(each)}});
      return out;
    }
    if (how == ":node") return {{"uop", node_number(item)}};
    if (how != ":f64") throw Failure("'$" + text + "' in the map");
    uint64_t bits = std::stoull(item.get<std::string>(), nullptr, 16);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return mapped_arg(json(value));
  }

  const GraphMap& map_;
  const json& input_json_;
  size_t num_nodes_ = 0;
  std::map<std::string, size_t> node_numbers_;
  std::map<std::string, json, std::less<>> arg_forms_;
  std::string out_;
};

Result<std::string> GraphMap::to_tgc_json(std::string_view text) const {
  return catch_failures([&] {
    try {
      constexpr int kMaxLevels = 1000;  // because MappedGraphWriter recurses
      const bool fits = is_json_within_levels(text, kMaxLevels);
      json in = json::parse(text);
      if (!fits) throw Failure("the graph has more than 1000 levels of lists and objects");
      return MappedGraphWriter(*this, in).write();
    } catch (const json::exception& e) {
      throw Failure("the graph cannot be read by the map: " + std::string(e.what()));
    } catch (const std::logic_error& e) { throw Failure("the graph cannot be read by the map: invalid number"); }
  });
}

}  // namespace tgc
