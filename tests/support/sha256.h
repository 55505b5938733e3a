// SHA-256 (FIPS 180-4) for comparing large results with golden checksums.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sam3::test {

class Sha256 {
 public:
  Sha256() {
    // The constants are the leading 32 bits of the fractional parts of the cube roots (rounds) and
    // square roots (start values) of the first primes.
    std::size_t found = 0;
    for (unsigned candidate = 2; found < rounds_.size(); ++candidate) {
      bool prime = true;
      for (unsigned d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
      if (!prime) continue;
      if (found < state_.size())
        state_[found] = fraction(std::sqrt(static_cast<long double>(candidate)));
      rounds_[found++] = fraction(std::cbrt(static_cast<long double>(candidate)));
    }
  }

  std::string hex(std::span<const std::uint8_t> bytes) {
    std::size_t position = 0;
    for (; bytes.size() - position >= 64; position += 64) block(bytes.data() + position);
    std::array<std::uint8_t, 128> tail{};
    const std::size_t rest = bytes.size() - position;
    for (std::size_t i = 0; i < rest; ++i) tail[i] = bytes[position + i];
    tail[rest] = 0x80;
    const std::size_t length = rest < 56 ? 64 : 128;
    const std::uint64_t bits = std::uint64_t{8} * bytes.size();
    for (std::size_t i = 0; i < 8; ++i)
      tail[length - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    for (std::size_t i = 0; i < length; i += 64) block(tail.data() + i);
    std::string text;
    for (const std::uint32_t word : state_)
      for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
    return text;
  }

 private:
  static std::uint32_t fraction(long double root) {
    return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
  }

  void block(const std::uint8_t* bytes) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | bytes[4 * i + j];
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      const std::uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t big_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const std::uint32_t t = h + big_e + ((e & f) ^ (~e & g)) + rounds_[i] + w[i];
      const std::uint32_t big_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const std::uint32_t u = big_a + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += add[i];
  }

  std::array<std::uint32_t, 8> state_{};
  std::array<std::uint32_t, 64> rounds_{};
};

inline std::string sha256_hex(std::span<const std::uint8_t> bytes) { return Sha256().hex(bytes); }

}  // namespace sam3::test
