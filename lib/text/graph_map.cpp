#include "lib/text/graph_map.h"

#include <nlohmann/json.hpp>

#include "lib/support/json_writer.h"

namespace tgc {

using nlohmann::json;

Result<GraphMap> GraphMap::read(std::string_view text, std::string_view file) {
  GraphMap out;
  out.given_ = true;
  uint32_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    number++;
    std::string words[3];
    size_t n = 0;
    for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos && line[at] != '#';) {
      size_t stop = std::min(line.find_first_of(" \t\r", at), line.size());
      if (n < 3) words[n] = line.substr(at, stop - at);
      n++, at = stop;
    }
    if (n == 0) continue;
    auto* table = words[0] == "member"  ? &out.members_
                  : words[0] == "op"    ? &out.ops_
                  : words[0] == "dtype" ? &out.dtypes_
                  : words[0] == "value" ? &out.values_
                                        : nullptr;
    if (words[0] == "lower" && n == 2 && words[1] == "op") out.upper_ops_ = true;
    else if (words[0] == "release" && n == 2) out.producer_ = "tinygrad " + words[1];
    else if (table && n == 3) (*table)[words[1]] = words[2];
    else
      return Diag{.message = "a line that is no mapping",
                  .file = std::string(file),
                  .line = number,
                  .expected = "member, op, dtype or value and two names, 'lower op' or 'release N'"};
  }
  return out;
}

// One graph while it is read.
class MappedGraph {
 public:
  MappedGraph(const GraphMap& map, const json& in) : map_(map), in_(in) {}

  std::string write() {
    const json& nodes = in_.at(member("nodes"));
    count_ = nodes.size();
    for (const json& node : nodes)
      if (node.contains(member("id"))) number_[node.at(member("id")).dump()] = number_.size();
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
    if (auto root = in_.find(member("root")); root != in_.end()) {
      const json& last = root->is_array() && !root->empty() ? root->back() : *root;
      if (number(last) + 1 != nodes.size()) throw Failure("the root is not the last node, which tgc takes for it");
    }
    return out_ + "}\n";
  }

 private:
  std::string member(const char* ours) const {
    auto known = map_.members_.find(ours);
    return known == map_.members_.end() ? ours : known->second;
  }
  static std::string named(const std::map<std::string, std::string, std::less<>>& table, const std::string& name) {
    auto known = table.find(name);
    return known == table.end() ? name : known->second;
  }

  size_t number(const json& reference) const {
    auto known = number_.find(reference.dump());
    if (known != number_.end()) return known->second;
    if (number_.empty() && reference.is_number_unsigned() && reference < count_) return reference.get<size_t>();
    throw Failure("a source " + reference.dump() + " that is no node");
  }

  void write_node(const json& node) {
    std::string op = named(map_.ops_, node.at(member("op")).get<std::string>());
    if (map_.upper_ops_)
      for (char& c : op)
        if (c >= 'a' && c <= 'z') c = char(c - 32);
    out_ += "\"op\":", append_json_string(out_, op);
    out_ += ",\"dtype\":",
        append_json_string(out_, dtype(node.contains(member("dtype")) ? node.at(member("dtype")) : json()));
    if (auto src = node.find(member("src")); src != node.end() && !src->empty()) {
      out_ += ",\"src\":[";
      for (size_t i = 0; i < src->size(); i++) out_ += (i ? "," : "") + std::to_string(number((*src)[i]));
      out_ += ']';
    }
    if (auto a = node.find(member("arg")); a != node.end() && !a->is_null()) out_ += ",\"arg\":", arg(*a);
    out_ += '}';
  }

  // "dtypes.float": of a name, or of an object that names one, of several elements.
  std::string dtype(const json& d) const {
    if (d.is_null()) return "dtypes.void";
    if (d.is_string()) {
      std::string name = named(map_.dtypes_, d.get<std::string>());
      return name.starts_with("dtypes.") ? name : "dtypes." + name;
    }
    if (!d.is_object()) throw Failure("a dtype " + d.dump());
    std::string name;
    for (const char* key : {"name", "scalar", "base", "dtype"})
      if (name.empty() && d.contains(key)) name = dtype(d.at(key));
    if (name.empty()) throw Failure("a dtype without a name: " + d.dump());
    if (d.contains("count") && d.at("count").is_number_integer() && d.at("count") != 1)
      name += ".vec(" + d.at("count").dump() + ")";
    if (d.contains("size")) name += ".ptr(" + (d.at("size").is_null() ? std::string("-1") : d.at("size").dump()) + ")";
    return name;
  }

  void arg(const json& a) {
    if (a.is_string()) {
      auto known = map_.values_.find(a.get<std::string>());
      if (known == map_.values_.end()) return append_json_string(out_, a.get<std::string>());
      out_ += "{\"value\":", append_json_string(out_, known->second), out_ += '}';
    } else if (a.is_array()) {
      out_ += '[';
      for (size_t i = 0; i < a.size(); i++) out_ += i ? "," : "", arg(a[i]);
      out_ += ']';
    } else if (a.is_object()) {
      out_ += "{\"object\":{";
      bool first = true;
      for (auto& [key, value] : a.items()) {
        out_ += first ? "" : ",", append_json_string(out_, key), out_ += ':', arg(value);
        first = false;
      }
      out_ += "}}";
    } else {
      out_ += a.dump();
    }
  }

  const GraphMap& map_;
  const json& in_;
  size_t count_ = 0;                      // of nodes
  std::map<std::string, size_t> number_;  // of nodes with an id
  std::string out_;
};

Result<std::string> GraphMap::to_tgc(std::string_view text) const {
  return catch_failures([&] {
    try {
      json in = json::parse(text);
      return MappedGraph(*this, in).write();
    } catch (const json::exception& e) {
      throw Failure("the graph cannot be read by the map: " + std::string(e.what()));
    }
  });
}

}  // namespace tgc
