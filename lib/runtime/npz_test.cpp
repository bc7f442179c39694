#include "lib/runtime/npz.h"

#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "lib/support/limits.h"

namespace tgc {
namespace {

struct Scratch {
  std::filesystem::path dir = std::filesystem::temp_directory_path() / ("tgc_npz_test." + std::to_string(getpid()));
  Scratch() { std::filesystem::create_directories(dir); }
  ~Scratch() { std::filesystem::remove_all(dir); }
  std::string operator()(const char* name) const { return (dir / name).string(); }
  void write(const char* name, std::string_view bytes) const {
    std::filesystem::remove(dir / name);  // overwriting a file would wait for the disk
    std::ofstream(dir / name, std::ios::binary) << bytes;
  }
  std::string read(const char* name) const {
    std::ifstream in(dir / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

template <class T>
Array iota(DType dtype, std::vector<int64_t> shape) {
  Array a(dtype, std::move(shape));
  std::iota(a.as<T>().begin(), a.as<T>().end(), T(0));
  return a;
}

std::span<const uint8_t> bytes_of(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

std::string npy(const std::string& dict, const std::string& data) {
  std::string header = dict + "\n";
  return std::string("\x93NUMPY\1\0", 8) + char(header.size()) + '\0' + header + data;
}

std::string message_of(const std::string& bytes) {
  auto r = read_npy(bytes_of(bytes), "x");
  return r ? "" : r.diag().message;
}

TEST_CASE("npz: written arrays are read back in order, with their dtypes and shapes") {
  Scratch scratch;
  Arrays arrays;
  arrays.push_back({"data1", iota<float>(dtypes::float32, {2, 3})});
  arrays.push_back({"data0", iota<int64_t>(dtypes::int64, {5})});
  arrays.push_back({"scalar", iota<uint16_t>(dtypes::float16, {})});
  arrays.push_back({"empty", Array(dtypes::bool_, {0, 4})});
  REQUIRE(write_npz(scratch("a.npz"), arrays).ok());
  auto back = read_arrays(scratch("a.npz"));
  REQUIRE(back.ok());
  REQUIRE(back->size() == 4);
  for (size_t i = 0; i < 4; i++) {
    CHECK((*back)[i].name == arrays[i].name);
    CHECK((*back)[i].array.describe() == arrays[i].array.describe());
    CHECK(std::equal((*back)[i].array.data(), (*back)[i].array.data() + arrays[i].array.nbytes(),
                     arrays[i].array.data()));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.dir), {}) == 1);  // no temporary file is left
}

TEST_CASE("npz: an npy file is read as one array named after the file") {
  Scratch scratch;
  scratch.write("weights.npy", npy_file_bytes(iota<int32_t>(dtypes::int32, {3})));
  auto back = read_arrays(scratch("weights.npy"));
  REQUIRE(back.ok());
  CHECK(back->at(0).name == "weights");
  CHECK(back->at(0).array.as<int32_t>()[2] == 2);
}

TEST_CASE("npz: reading a damaged file is an error") {
  Scratch scratch;
  Arrays arrays;
  arrays.push_back({"a", iota<float>(dtypes::float32, {40})});
  arrays.push_back({"b", iota<uint8_t>(dtypes::uint8, {40})});
  REQUIRE(write_npz(scratch("a.npz"), arrays).ok());
  std::string good = scratch.read("a.npz");
  for (size_t cut = 0; cut < good.size(); cut++) {
    scratch.write("cut.npz", good.substr(0, cut));
    REQUIRE_FALSE(read_arrays(scratch("cut.npz")).ok());
  }
  size_t errors = 0;
  for (size_t at = 0; at < good.size(); at++) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 0x55);
    scratch.write("bad.npz", bad);
    errors += !read_arrays(scratch("bad.npz")).ok();
  }
  CHECK(errors > good.size() / 2);  // the other bytes are in fields that are not read, such as the time
  CHECK(read_arrays(scratch("none.npz")).diag().text().find("none.npz") != std::string::npos);
  CHECK_FALSE(read_arrays(scratch.dir.string()).ok());
  scratch.write("text.npz", "hello");
  CHECK(read_arrays(scratch("text.npz")).diag().message == "neither an npz nor an npy file");
  CHECK_FALSE(write_npz(scratch("no/such/folder.npz"), arrays).ok());
}

TEST_CASE("npz: the sum of all sizes is limited, also if entries share their bytes in the file") {
  Scratch scratch;
  Arrays arrays;
  arrays.push_back({"a", iota<float>(dtypes::float32, {1024})});
  for (const char* name : {"b", "c"}) arrays.push_back({name, iota<float>(dtypes::float32, {1})});
  REQUIRE(write_npz(scratch("a.npz"), arrays).ok());
  std::string good = scratch.read("a.npz"), bad = good;
  for (size_t first = good.find("PK\1\2"), i = 1; i < 3; i++) {
    size_t entry = first + i * 79;                           // an entry of the directory has 79 bytes
    bad.replace(entry + 16, 4, good, first + 16, 4);         // b and c get the checksum of a
    bad.replace(entry + 55, 24, good, first + 55, 24);       // b and c get both sizes and the offset of a
  }
  scratch.write("bad.npz", bad);
  CHECK(read_arrays(scratch("bad.npz")).ok());
  REQUIRE(set_limits("input-bytes=1K").ok());
  CHECK(read_arrays(scratch("a.npz")).ok());                 // arrays may have as many bytes as the file
  auto refused = read_arrays(scratch("bad.npz")), endless = read_arrays("/dev/zero");
  REQUIRE(set_limits("input-bytes=512M").ok());
  REQUIRE_FALSE(refused.ok());
  CHECK_FALSE(endless.ok());
  CHECK(refused.diag().message.starts_with("more than 1024 unpacked bytes"));
}

TEST_CASE("npy: headers are parsed, and malformed headers are errors") {
  auto big = read_npy(
      bytes_of(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\1\2\3\4", 4))), "x");
  REQUIRE(big.ok());
  CHECK(big->as<int16_t>()[0] == 0x0102);
  auto fortran = read_npy(
      bytes_of(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", std::string("\0\3\1\4\2\5", 6))), "x");
  REQUIRE(fortran.ok());
  for (uint8_t i = 0; i < 6; i++) CHECK(fortran->as<uint8_t>()[i] == i);

  CHECK(message_of("nonsense") == "x: not an npy file");
  CHECK(message_of(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "12345678")) ==
        "x: the dtype '|O' is not supported");
  CHECK(message_of(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "")) ==
        "x: a structured dtype is not supported");
  CHECK(message_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"))
        .find("needs 8 bytes of data, but there are 4") != std::string::npos);
  CHECK(message_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 16)}", ""))
        .find("too large") != std::string::npos);
  CHECK(message_of(npy("{'descr': '<f4', 'fortran_order': False}", "")).find("lacks") != std::string::npos);
  CHECK(
      message_of(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", "1234")).find("neither True nor False") !=
      std::string::npos);
  CHECK(message_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "")) ==
        "x: 'shape' is not a tuple of sizes");
}

TEST_CASE("npy: bfloat16 and fp8 are read from their bits; other dtypes must match") {
  auto bits = iota<uint16_t>(dtypes::uint16, {4});
  auto adopted = reinterpret_raw_bits(bits.copy(), dtypes::bfloat16, "data0");
  REQUIRE(adopted.ok());
  CHECK(adopted->dtype() == dtypes::bfloat16);
  auto back = read_npy(bytes_of(npy_file_bytes(*adopted)), "x");
  REQUIRE(back.ok());
  CHECK(back->dtype() == dtypes::uint16);
  CHECK(reinterpret_raw_bits(bits.copy(), dtypes::float16, "data0").diag().text() ==
        "data0 has dtype uint16, expected float16");
  CHECK_FALSE(reinterpret_raw_bits(bits.copy(), dtypes::fp8e4m3, "data0").ok());
}

TEST_CASE("array: negative, too large and unsupported shapes and dtypes are refused") {
  CHECK_THROWS_AS(Array(dtypes::float32, {-1}), Failure);
  CHECK_THROWS_AS(Array(dtypes::float32, {int64_t(1) << 40, int64_t(1) << 40}), Failure);
  CHECK_THROWS_AS(Array(dtypes::float32, {int64_t(1) << 50}), Failure);
  CHECK_THROWS_AS(Array(dtypes::index, {1}), Failure);
  CHECK_THROWS_AS(Array(dtypes::float32.vec(4), {1}), Failure);
}

}  // namespace
}  // namespace tgc
