#include "base/ids.h"

#include <set>

#include <rapidcheck/gtest.h>

namespace eider {
namespace {

TEST(IdMaker, MakesUuidV7WithItsTime) {
  SeededRandom random(1);
  IdMaker maker(random);
  const std::string id = maker.make(from_us(0x0123456789ab * std::int64_t{1000} + 999));
  EXPECT_TRUE(is_uuid(id)) << id;
  EXPECT_EQ(id.substr(0, 13), "01234567-89ab");
  EXPECT_EQ(id[14], '7');
  EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
}

RC_GTEST_PROP(IdMaker, GrowsStrictlyWhateverTheClockDoes,
              (std::uint64_t seed, const std::vector<std::int32_t>& times)) {
  SeededRandom random(seed);
  IdMaker maker(random);
  std::string last;
  for (const std::int32_t ms : times) {
    // Times stand still, jump ahead and go back, before 1970 too.
    std::string id = maker.make(from_us(std::int64_t{ms} % 4 * 1000));
    RC_ASSERT(last < id);
    RC_ASSERT(is_uuid(id));
    last = std::move(id);
  }
}

TEST(IdMaker, TheShortFormNamesOneIdHoweverManyAMillisecondMakes) {
  SeededRandom random(7);
  IdMaker maker(random);
  std::set<std::string> seen;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = maker.make(from_us(1'774'746'000'000'000));
    ASSERT_TRUE(seen.insert(id.substr(0, short_id_length)).second) << id;
  }
}

TEST(IdMaker, GrowsWhenAMillisecondRunsOutOfNumbers) {
  // The counter starts at the top of what a new millisecond may draw.
  class High final : public Random {
   public:
    std::uint64_t next() override { return ~std::uint64_t{0}; }
  } random;
  IdMaker maker(random);
  std::string last;
  for (int i = 0; i < 100'000; ++i) {
    std::string id = maker.make(from_us(1'000'000));
    ASSERT_LT(last, id);
    last = std::move(id);
  }
}

TEST(DerivedId, FollowsFromItsPartsAndTheirBorders) {
  const std::string id = derived_id({"flights_daily/nightly", "1774746000000000"});
  EXPECT_TRUE(is_uuid(id)) << id;
  EXPECT_EQ(id[14], '8');
  EXPECT_EQ(id, derived_id({"flights_daily/nightly", "1774746000000000"}));
  EXPECT_NE(derived_id({"ab", "c"}), derived_id({"a", "bc"}));
  EXPECT_NE(derived_id({"ab"}), derived_id({"ab", ""}));
  // Stored identities depend on this value: it must never change.
  EXPECT_EQ(derived_id({"a", "b"}), "c04e1795-7d4c-8312-bb3a-fdaab02e4023");
}

TEST(ContentHash, Is32HexDigitsOfTheText) {
  EXPECT_EQ(content_hash("").size(), 32U);
  EXPECT_EQ(content_hash("x"), content_hash("x"));
  EXPECT_NE(content_hash("x"), content_hash("y"));
  // BLAKE2b-128 of the empty text.
  EXPECT_EQ(content_hash(""), "cae66941d9efbd404e4d88758ea67670");
}

TEST(IsUuid, AcceptsTheCanonicalFormOnly) {
  EXPECT_TRUE(is_uuid("01234567-89ab-7def-8123-456789abcdef"));
  for (const char* text : {"", "01234567-89AB-7def-8123-456789abcdef", "01234567-89ab-7def-8123-456789abcde",
                           "01234567-89ab-7def-8123-456789abcdef0", "0123456789ab7def8123456789abcdef0000",
                           "../../../../../../etc/passwd/../../..", "01234567-89ab-7def-8123-456789abcde/"}) {
    EXPECT_FALSE(is_uuid(text)) << text;
  }
}

TEST(Random, SeededRepeatsAndUnitStaysBelowOne) {
  SeededRandom a(7), b(7), c(8);
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  class Extreme final : public Random {
   public:
    std::uint64_t next() override { return ~std::uint64_t{0}; }
  } extreme;
  EXPECT_LT(extreme.unit(), 1.0);
  SystemRandom system;
  EXPECT_NE(system.next(), system.next());
}

RC_GTEST_PROP(ContentHash, IsThatOfTheWholeHoweverItIsCut, (const std::vector<std::string>& pieces)) {
  ContentHash hash;
  std::string whole;
  for (const std::string& piece : pieces) {
    hash.add(piece);
    whole += piece;
  }
  RC_ASSERT(hash.finish() == content_hash(whole));
}

}  // namespace
}  // namespace eider
