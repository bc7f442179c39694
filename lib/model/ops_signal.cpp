#include <cmath>
#include <numbers>

#include "lib/model/op.h"

namespace tgc {
namespace {

// Returns the window a - b cos(2 pi n / period) + second cos(4 pi n / period).
Values window_function(OpCall& c, double a, double b, double second) {
  int64_t size = c.integer(0);
  if (size < 1) throw Failure("a window of size " + std::to_string(size));
  auto period = double(c.attribute_flag("periodic", true) ? size : size - 1);  // if `period` is 0, the window is NaN
  Tensor n = Tensor::arange(c.graph(), size);
  Tensor w =
      (a - b * (n * (2 * std::numbers::pi / period)).cos()) + second * (n * (4 * std::numbers::pi / period)).cos();
  DType dtype = c.dtype_of(c.attribute_int("output_datatype", 1));
  if (dtypes::is_bool(dtype)) throw Failure("attribute 'output_datatype' is BOOL");
  return {w.cast(dtype)};
}

// Returns the matrix of F(2 pi n k / length) for n < rows and k < columns, where F is cosine or sine.
template <double (*F)(double)>
Tensor wave_matrix(OpCall& c, int64_t rows, int64_t columns, int64_t length, DType dtype) {
  std::vector<double> values;
  for (int64_t n = 0; n < rows; n++)
    for (int64_t k = 0; k < columns; k++)
      values.push_back(F(2 * std::numbers::pi * double(n * k % length) / double(length)));
  return Tensor::from_values(c.graph(), values, dtype).reshape({rows, columns});
}
double cosine(double x) { return std::cos(x); }
double sine(double x) { return std::sin(x); }

// Returns the Fourier transform along axis -2. The last axis of x has the real part, or the real and imaginary parts.
Tensor fourier_transform(OpCall& c, const Tensor& x, int64_t length, int64_t bins, bool inverse) {
  int64_t n = x.size(-2);
  Tensor re = x.slice_axis(-1, {0, 1}).squeeze(-1),
         im = x.size(-1) == 2 ? x.slice_axis(-1, {1, 2}).squeeze(-1) : Tensor();
  Tensor cos = wave_matrix<cosine>(c, n, bins, length, x.dtype()),
         sin = wave_matrix<sine>(c, n, bins, length, x.dtype());
  if (inverse) sin = -sin;  // forward: exp(-it) = cos t - i sin t; inverse: exp(it)
  Tensor real = re.matmul(cos), imaginary = -re.matmul(sin);
  if (im) real = real + im.matmul(sin), imaginary = imaginary + im.matmul(cos);
  Tensor out = Tensor::stack({real, imaginary}, -1);
  return inverse ? out / double(length) : out;
}

// Returns a real signal. Along axis -2, x has the signal's frequencies from 0 to length / 2.
Tensor inverse_real_transform(OpCall& c, const Tensor& x, int64_t length) {
  int64_t bins = x.size(-2);
  Tensor cos = wave_matrix<cosine>(c, bins, length, length, x.dtype()),
         sin = wave_matrix<sine>(c, bins, length, length, x.dtype());
  std::vector<double> times(size_t(bins),
                            2);  // in a full spectrum, each frequency but 0 and length / 2 occurs twice
  times[0] = 1;
  if (length % 2 == 0) times[size_t(length / 2)] = 1;
  Tensor weights = Tensor::from_values(c.graph(), times, x.dtype()) / double(length);
  auto part = [&](int64_t i) { return x.slice_axis(-1, {i, i + 1}).squeeze(-1) * weights; };
  Tensor out = part(0).matmul(cos);
  return (x.size(-1) == 2 ? out - part(1).matmul(sin) : out).unsqueeze(-1);
}

Values dft(OpCall& c) {
  Tensor x = c.tensor(0);
  if (x.ndim() < 2 || (x.size(-1) != 1 && x.size(-1) != 2))
    throw Failure("its input must end in an axis of real, or real and imaginary parts");
  int64_t axis = x.resolve_dim(c.opset_version() < 20 ? c.attribute_int("axis", 1)
                               : c.has_input(2)       ? c.integer(2)
                                                      : -2);
  if (axis == x.ndim() - 1) throw Failure("the last axis holds the parts of a number");
  bool inverse = c.attribute_flag("inverse", false), onesided = c.attribute_flag("onesided", false);
  if (onesided && !inverse && x.size(-1) == 2) throw Failure("a transform of complex numbers has two sides");
  x = x.transpose(axis, -2);
  int64_t length = c.has_input(1) ? c.integer(1) : inverse && onesided ? 2 * (x.size(-2) - 1) : x.size(-2);
  if (length < 1) throw Failure("a transform of length " + std::to_string(length));
  int64_t used = inverse && onesided ? length / 2 + 1 : length;
  x = x.size(-2) > used ? x.slice_axis(-2, {0, used}) : x.pad_axis(x.ndim() - 2, 0, used - x.size(-2));
  if (inverse && onesided) return {inverse_real_transform(c, x, length).transpose(axis, -2)};
  return {fourier_transform(c, x, length, onesided ? length / 2 + 1 : length, inverse).transpose(axis, -2)};
}

Values stft(OpCall& c) {
  Tensor signal = c.tensor(0), weights = c.tensor_or_none(2);
  if (signal.ndim() == 2) signal = signal.unsqueeze(-1);
  int64_t step = c.integer(1), length = c.has_input(3) ? c.integer(3) : weights ? weights.size(0) : 0;
  if (signal.ndim() != 3 || step < 1 || length < 1 || length > signal.size(1))
    throw Failure("its frames do not fit the signal");
  if (weights && weights.size(0) != length)
    throw Failure("its window has " + std::to_string(weights.size(0)) + " elements, a frame " + std::to_string(length));
  // the axes of `frames` are batch, frame, element of the frame, and part (one real, or real and imaginary)
  Tensor frames = signal.transpose(1, 2).pool({length}, {step}, {1}).permute({0, 2, 3, 1});
  if (weights) frames = frames * weights.reshape({1, 1, -1, 1});
  bool onesided = c.attribute_flag("onesided", true) && signal.size(2) == 1;
  return {fourier_transform(c, frames, length, onesided ? length / 2 + 1 : length, false)};
}

double hertz_to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double mel_to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

Values mel_weight_matrix(OpCall& c) {
  int64_t bins = c.integer(0), length = c.integer(1);
  auto rate = double(c.integer(2));
  double low = hertz_to_mel(c.number(3)), high = hertz_to_mel(c.number(4));
  if (bins < 1 || length < 1 || rate <= 0) throw Failure("a number of bins, length or rate that is not positive");
  int64_t rows = length / 2 + 1;
  Ints edges;
  for (int64_t i = 0; i < bins + 2; i++)
    edges.push_back(int64_t(
        std::floor(double(length + 1) * mel_to_hertz(low + double(i) * (high - low) / double(bins + 2)) / rate)));
  std::vector<double> values(size_t(rows * bins));
  for (int64_t m = 0; m < bins; m++) {
    int64_t from = edges[size_t(m)], center = edges[size_t(m) + 1], to = edges[size_t(m) + 2];
    auto set = [&](int64_t row, double v) {
      if (row < 0 || row >= rows) throw Failure("its filters reach beyond the spectrogram");
      values[size_t(row * bins + m)] = v;
    };
    if (center == from) set(center, 1);
    else for (int64_t i = from; i <= center; i++) set(i, double(i - from) / double(center - from));
    if (to > center) for (int64_t i = center; i < to; i++) set(i, double(to - i) / double(to - center));
  }
  return {
      Tensor::from_values(c.graph(), values, c.dtype_of(c.attribute_int("output_datatype", 1))).reshape({rows, bins})};
}

}  // namespace

std::span<const OpDef> signal_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"HannWindow", 17, "output_datatype periodic", [](OpCall& c) { return window_function(c, 0.5, 0.5, 0); }},
    {"HammingWindow", 17, "output_datatype periodic", [](OpCall& c) { return window_function(c, 25.0 / 46, 21.0 / 46, 0); }},
    {"BlackmanWindow", 17, "output_datatype periodic", [](OpCall& c) { return window_function(c, 0.42, 0.5, 0.08); }},
    {"DFT", 17, "axis inverse onesided", dft},
    {"STFT", 17, "onesided", stft},
    {"MelWeightMatrix", 17, "output_datatype", mel_weight_matrix},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
