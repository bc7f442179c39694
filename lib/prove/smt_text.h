// Functions that write SMT-LIB text. Private to lib/prove.
#pragma once
#include <string>
#include <string_view>

#include "lib/dtype/dtype.h"

namespace tgc::smt {

inline bool is_index(DType d) { return d.is(Scalar::Index); }
inline int bit_width_of(DType d) { return is_index(d) ? 64 : d.scalar().bitsize(); }
inline bool is_signed(DType d) { return !dtypes::is_unsigned(d); }

inline std::string smt_call(std::string_view f, const std::string& a) { return "(" + std::string(f) + " " + a + ")"; }
inline std::string smt_call(std::string_view f, const std::string& a, const std::string& b) {
  return "(" + std::string(f) + " " + a + " " + b + ")";
}
inline std::string smt_if(const std::string& c, const std::string& a, const std::string& b) {
  return "(ite " + c + " " + a + " " + b + ")";
}
inline std::string smt_and(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() || a == b ? a : smt_call("and", a, b);
}

// Returns true for the float dtypes that are encoded as Z3's IEEE floats: all except the fp8 dtypes.
inline bool has_ieee_sort(DType d) {
  return d.is(Scalar::Float16) || d.is(Scalar::BFloat16) || d.is(Scalar::Float32) || d.is(Scalar::Float64);
}
// Returns true for a float dtype narrower than float32: REF computes in float32, and rounds each result to the dtype.
inline bool is_narrow_float(DType d) { return dtypes::is_float(d) && d.bitsize() < 32; }
inline std::string ieee_widths_text(DType d) {
  if (d.is(Scalar::Float16)) return "5 11";
  if (d.is(Scalar::BFloat16)) return "8 8";
  return d.is(Scalar::Float32) ? "8 24" : "11 53";
}

inline std::string name_of_scalar(DType d) {
  std::string scalar_name(d.scalar().name());
  for (char& c : scalar_name)
    if (c == ' ') c = '_';
  return scalar_name;
}

}  // namespace tgc::smt
