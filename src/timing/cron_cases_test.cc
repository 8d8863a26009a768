// Every entry of testdata/cron.json: expressions on which real systems went wrong, with the right firings.
#include <boost/json.hpp>

#include "base/fd.h"
#include "timing/cron.h"

namespace eider::timing {
namespace {

namespace json = boost::json;

std::vector<std::string> firings(const Cron& cron, const Zone& zone, Instant from, std::size_t count) {
  std::vector<std::string> out;
  for (std::optional<Instant> at = from; out.size() < count;) {
    at = cron.next(*at, zone);
    if (!at) break;
    out.push_back(format_rfc3339(*at));
  }
  return out;
}

void check(const json::object& entry) {
  const std::string expr(entry.at("expr").as_string());
  SCOPED_TRACE(expr + " in " + std::string(entry.at("tz").as_string()));
  const Result<Cron> cron = Cron::parse(expr);
  if (entry.contains("error")) {
    ASSERT_FALSE(cron.ok());
    EXPECT_EQ(cron.error().code, ErrorCode::invalid);
    EXPECT_NE(cron.error().message.find("cron"), std::string::npos) << cron.error().message;
    return;
  }
  ASSERT_TRUE(cron.ok()) << cron.error().message;
  const Result<Zone> zone = Zone::load(std::string(entry.at("tz").as_string()));
  ASSERT_TRUE(zone.ok()) << zone.error().message;
  const Instant from = *parse_rfc3339(std::string(entry.at("from").as_string()));
  const auto expected = json::value_to<std::vector<std::string>>(entry.at("expect"));
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(entry.at("count").as_int64()));
  EXPECT_EQ(firings(*cron, *zone, from, expected.size()), expected);
  // The same list backward, and counted.
  const Instant last = *parse_rfc3339(expected.back());
  EXPECT_EQ(cron->count(from, last, *zone), static_cast<std::int64_t>(expected.size()));
  std::vector<std::string> back;
  for (std::optional<Instant> at = last; at && *at > from; at = cron->previous(*at - Micros(1), *zone)) {
    back.insert(back.begin(), format_rfc3339(*at));
  }
  EXPECT_EQ(back, expected);
}

TEST(CronCases, EachGivesTheFiringsOfTheRules) {
  const Result<std::string> file = read_file(EIDER_TEST_DATA "/cron.json", std::size_t{1} << 20);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const json::array entries = json::parse(*file).as_array();
  EXPECT_EQ(entries.size(), 72U);
  for (const json::value& entry : entries) check(entry.as_object());
}

}  // namespace
}  // namespace eider::timing
