#include "lib/support/sha256.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("sha256: hashes the vectors of FIPS 180-4 and messages of every length modulo the block size") {
  CHECK(sha256_hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // the hash of the concatenated hashes of 'a' * n for n < 130, by Python's hashlib
  std::string all;
  for (int n = 0; n < 130; n++) all += sha256_hex(sha256(std::string(size_t(n), 'a')));
  CHECK(sha256_hex(sha256(all)) == "c665ed20ef30f158e90c7e921d8182bc0943c4b087a82f64a18d417bcdfadce7");
}
