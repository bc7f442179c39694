// Field numbers are those of onnx.proto3.
#include <algorithm>

#include "lib/model/onnx.h"
#include "lib/model/wire.h"

namespace tgc::onnx {
namespace {

constexpr int kMaxDepth = 64;

class OnnxReader {
 public:
  explicit OnnxReader(std::shared_ptr<const SharedBytes> file) : file_(std::move(file)), start_(file_->view().data()) {}

  WireReader whole_message(const char* what) const { return WireReader(file_->view(), what, start_); }

  ModelProto model(WireReader r) {
    ModelProto out;
    bool has_graph = false;
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: out.ir_version = r.integer(); break;
        case 2: out.producer = r.string(); break;
        case 7: out.graph = graph(r.message("the graph")); has_graph = true; break;
        case 8: opset(r.message("an opset"), out.opsets); break;
        case 25: out.functions.push_back(function(r.message("a function"))); break;
      }
    }
    if (!has_graph) r.fail("the model has no graph");
    if (out.opsets.empty()) r.fail("the model has no opset version");
    return out;
  }

  TensorProto tensor(WireReader r) {
    TensorProto out;
    out.file = file_;
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: r.append_integers(out.dims); break;
        case 2: out.type = ElementType(int32_t(r.integer())); break;
        case 4: out.floats.push_back(r.read_fixed_bytes(4)); break;
        case 5: case 7: case 11: r.append_integers(out.ints); break;
        case 6: out.strings.push_back(r.bytes()); break;
        case 8: out.name = r.string(); break;
        case 9: out.raw_data = r.bytes(); break;
        case 10: out.doubles.push_back(r.read_fixed_bytes(8)); break;
        case 13: external(r.message("external data"), out); break;
        case 14: out.is_external = r.integer() == 1; break;
      }
    }
    return out;
  }

  ValueProto sequence(WireReader r) {
    ValueProto out{ValueProto::Kind::Sequence, {}, {}};
    NestingLevel depth(*this);
    while (r.next_field()) {
      switch (r.field_number()) {
        case 3: out.items.push_back({ValueProto::Kind::Tensor, tensor(r.message("a tensor")), {}}); break;
        case 5: out.items.push_back(sequence(r.message("a sequence"))); break;
        case 7: out.items.push_back(optional(r.message("an optional"))); break;
      }
    }
    return out;
  }

  ValueProto optional(WireReader r) {
    ValueProto out;
    NestingLevel depth(*this);
    while (r.next_field()) {
      switch (r.field_number()) {
        case 3: out = {ValueProto::Kind::Tensor, tensor(r.message("a tensor")), {}}; break;
        case 5: out = sequence(r.message("a sequence")); break;
        case 7: out = optional(r.message("an optional")); break;
      }
    }
    return out;
  }

 private:
  struct NestingLevel {
    explicit NestingLevel(OnnxReader& reader) : reader(reader) {
      if (++reader.nesting_depth_ > kMaxDepth)
        throw Failure("graphs, sequences or types are nested more than " + std::to_string(kMaxDepth) + " deep");
    }
    ~NestingLevel() { reader.nesting_depth_--; }
    OnnxReader& reader;
  };

  GraphProto graph(WireReader r) {
    GraphProto out;
    NestingLevel depth(*this);
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: out.nodes.push_back(node(r.message("a node"))); break;
        case 2: out.name = r.string(); break;
        case 5: out.initializers.push_back(tensor(r.message("an initializer"))); break;
        case 11: out.inputs.push_back(value_info(r.message("an input"))); break;
        case 12: out.outputs.push_back(value_info(r.message("an output"))); break;
        case 15: r.fail("sparse initializers are not supported");
      }
    }
    return out;
  }

  NodeProto node(WireReader r) {
    NodeProto out;
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: out.inputs.push_back(r.string()); break;
        case 2: out.outputs.push_back(r.string()); break;
        case 3: out.name = r.string(); break;
        case 4: out.op = r.string(); break;
        case 5: out.attributes.push_back(attribute(r.message("an attribute"))); break;
        case 7: out.domain = r.string(); break;
      }
    }
    if (out.domain == "ai.onnx") out.domain = "";
    if (out.op.empty()) r.fail("a node without an op");
    return out;
  }

  Attribute attribute(WireReader r) {
    Attribute out;
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: out.name = r.string(); break;
        case 2: out.f = double(r.float32()); break;
        case 3: out.i = r.integer(); break;
        case 4: out.s = r.string(); break;
        case 5: out.t = std::make_shared<TensorProto>(tensor(r.message("a tensor"))); break;
        case 6: out.g = std::make_shared<GraphProto>(graph(r.message("a graph"))); break;
        case 7: floats(r.read_fixed_bytes(4), out.floats); break;
        case 8: r.append_integers(out.ints); break;
        case 9: out.strings.push_back(r.string()); break;
        case 14: out.type = std::make_shared<onnx::TypeProto>(type(r.message("a type"))); break;
        case 20: out.kind = Attribute::Kind(int32_t(r.integer())); break;
        case 21: out.ref_attr_name = r.string(); break;
      }
    }
    using Kind = Attribute::Kind;
    if ((out.kind == Kind::Tensor && !out.t) || (out.kind == Kind::Graph && !out.g) ||
        (out.kind == Kind::TypeProto && !out.type)) {
      if (out.ref_attr_name.empty()) r.fail("attribute '" + out.name + "' has no value");
    }
    return out;
  }

  static void floats(std::string_view bytes, std::vector<double>& out) {
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float f;
      std::memcpy(&f, bytes.data() + i, 4);
      out.push_back(double(f));
    }
  }

  ValueInfo value_info(WireReader r) {
    ValueInfo out;
    while (r.next_field()) {
      if (r.field_number() == 1) out.name = r.string();
      if (r.field_number() == 2) out.type = type(r.message("a type"));
    }
    return out;
  }

  onnx::TypeProto type(WireReader r) {
    onnx::TypeProto out;
    NestingLevel depth(*this);
    while (r.next_field()) {
      using Kind = onnx::TypeProto::Kind;
      switch (r.field_number()) {
        case 1: tensor_type(r.message("a tensor type"), out); break;
        case 4: out.kind = Kind::Sequence; out.item_type = elem_type(r.message("a sequence type")); break;
        case 9: out.kind = Kind::Optional; out.item_type = elem_type(r.message("an optional type")); break;
        case 5: case 8: out.kind = Kind::Other; break;
      }
    }
    return out;
  }

  std::shared_ptr<onnx::TypeProto> elem_type(WireReader r) {
    auto out = std::make_shared<onnx::TypeProto>();
    while (r.next_field())
      if (r.field_number() == 1) *out = type(r.message("a type"));
    return out;
  }

  void tensor_type(WireReader r, onnx::TypeProto& out) {
    out.kind = onnx::TypeProto::Kind::Tensor;
    while (r.next_field()) {
      if (r.field_number() == 1) out.element_type = ElementType(int32_t(r.integer()));
      if (r.field_number() != 2) continue;
      out.shape.emplace();
      for (WireReader dims = r.message("a shape"); dims.next_field();) {
        if (dims.field_number() != 1) continue;
        onnx::TypeProto::Dim dim;
        for (WireReader d = dims.message("a dimension"); d.next_field();) {
          if (d.field_number() == 1) dim.value = d.integer();
          if (d.field_number() == 2) dim.name = d.string();
        }
        out.shape->push_back(dim);
      }
    }
  }

  FunctionProto function(WireReader r) {
    FunctionProto out;
    while (r.next_field()) {
      switch (r.field_number()) {
        case 1: out.name = r.string(); break;
        case 4: out.inputs.push_back(r.string()); break;
        case 5: out.outputs.push_back(r.string()); break;
        case 7: out.nodes.push_back(node(r.message("a node"))); break;
        case 9: opset(r.message("an opset"), out.opsets); break;
        case 10: out.domain = r.string(); break;
      }
    }
    return out;
  }

  static void opset(WireReader r, std::map<std::string, int64_t>& out) {
    std::string domain;
    int64_t version = 1;
    while (r.next_field()) {
      if (r.field_number() == 1) domain = r.string();
      if (r.field_number() == 2) version = r.integer();
    }
    out[domain == "ai.onnx" ? "" : domain] = version;
  }

  static int64_t number(WireReader& r, const std::string& key, const std::string& text) {
    if (text.empty() || text.size() > 18 ||
        !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      r.fail("the " + key + " of external data is '" + text + "', not a number");
    }
    return std::stoll(text);
  }

  static void external(WireReader r, TensorProto& out) {
    std::string key, value;
    while (r.next_field()) {
      if (r.field_number() == 1) key = r.string();
      if (r.field_number() == 2) value = r.string();
    }
    if (key == "location") out.location = value;
    if (key == "offset") out.offset = number(r, key, value);
    if (key == "length") out.length = number(r, key, value);
  }

  std::shared_ptr<const SharedBytes> file_;
  const char* start_;
  int nesting_depth_ = 0;
};

template <class Read>
auto read_bytes(std::shared_ptr<const SharedBytes> bytes, const std::string& path, Read read) {
  auto out = catch_failures([&] {
    OnnxReader reader(bytes);
    return read(reader);
  });
  if (!out) out.diag().file = path;
  return out;
}

}  // namespace

Result<ModelProto> read_model_bytes(std::shared_ptr<const SharedBytes> bytes, const std::string& path) {
  return read_bytes(bytes, path, [&](OnnxReader& r) {
    ModelProto model = r.model(r.whole_message("the model"));
    model.path = path;
    return model;
  });
}

Result<ModelProto> read_model_file(const std::string& path) {
  auto bytes = SharedBytes::map_file(path);
  if (!bytes) return bytes.diag();
  return read_model_bytes(*bytes, path);
}

Result<ValueProto> read_value(const std::string& path, const TypeProto& type) {
  auto bytes = SharedBytes::map_file(path);
  if (!bytes) return bytes.diag();
  return read_bytes(*bytes, path, [&](OnnxReader& r) {
    if (type.kind == TypeProto::Kind::Sequence) return r.sequence(r.whole_message("the sequence"));
    if (type.kind == TypeProto::Kind::Optional) return r.optional(r.whole_message("the optional"));
    return ValueProto{ValueProto::Kind::Tensor, r.tensor(r.whole_message("the tensor")), {}};
  });
}

bool looks_like_model(std::string_view bytes) {
  // Models usually begin with the field ir_version, a small number.
  return bytes.size() > 4 && bytes[0] == 8 && uint8_t(bytes[1]) < 64 &&
         (bytes[2] == 0x12 || bytes[2] == 0x3A || bytes[2] == 0x42 || bytes[2] == 0x1A || bytes[2] == 0x22);
}

const Attribute* NodeProto::attribute(std::string_view wanted) const {
  for (auto& a : attributes)
    if (a.name == wanted) return &a;
  return nullptr;
}

std::string NodeProto::label() const {
  std::string shown = name;
  if (shown.empty())
    for (auto& o : outputs)
      if (shown.empty()) shown = o;
  return (domain.empty() ? "" : domain + ".") + op + " '" + shown + "'";
}

}  // namespace tgc::onnx
