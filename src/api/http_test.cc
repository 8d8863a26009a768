#include "api/http.h"

#include <rapidcheck/gtest.h>
#include <boost/json.hpp>

namespace eider::api {
namespace {

TEST(Target, IsSplitAndDecoded) {
  Request request;
  ASSERT_TRUE(parse_target("/api/v1/runs?state=failed&pipeline=a%2Fb+c&flag", request));
  EXPECT_EQ(request.path, "/api/v1/runs");
  EXPECT_EQ(request.query,
            (std::map<std::string, std::string>{{"state", "failed"}, {"pipeline", "a/b c"}, {"flag", ""}}));
}

TEST(Target, RefusesWhatIsNoPlainAddress) {
  for (const char* wrong : {"", "*", "http://host/path", "runs", "/x?a=1&a=2", "/x?a=%", "/x?a=%4", "/x?a=%zz",
                            "/x?a=%00", "/x?a=%0a", "/x?a=%ff"}) {
    Request request;
    const auto parsed = parse_target(wrong, request);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid) << wrong;
  }
}

TEST(Path, HasNoDotsHoweverTheyAreWritten) {
  for (const char* wrong :
       {"/api/..", "/api/../runs", "/api/%2e%2e/runs", "/api/%2E./runs", "/./x", "/x/%00", "/x/a%0ab", "/x/%c0%ae"}) {
    EXPECT_FALSE(path_segments(wrong)) << wrong;
  }
  EXPECT_EQ(*path_segments("/a/b%2Fc//"), (std::vector<std::string>{"a", "b/c", "", ""}));
  EXPECT_EQ(*path_segments("/..a/b.."), (std::vector<std::string>{"..a", "b.."}));
}

RC_GTEST_PROP(Target, ReadsBackWhatTheClientWrites, ()) {
  const auto printable = rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  Request sent;
  const auto segment = *printable;
  sent.path = "/" + encode_segment(segment);
  sent.query = *rc::gen::container<std::map<std::string, std::string>>(rc::gen::nonEmpty(printable), printable);
  Request got;
  RC_ASSERT(parse_target(make_target(sent), got).ok());
  RC_ASSERT(got.query == sent.query);
  const auto segments = path_segments(got.path);
  if (segment != "." && segment != "..")
    RC_ASSERT(*segments == std::vector<std::string>{segment});
  else
    RC_ASSERT(!segments.ok());
}

TEST(Problem, IsProblemJson) {
  const Response response = problem_response({409, "active-run", "it runs", {{"active_run", "x"}}});
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(
      boost::json::parse(response.body),
      boost::json::parse(
          R"({"type":"urn:eider:problem:active-run","title":"Conflict","status":409,"detail":"it runs","active_run":"x"})"));
}

TEST(Problem, StatusFollowsTheErrorCode) {
  EXPECT_EQ(error_response({ErrorCode::invalid, "x"}).status, 400);
  EXPECT_EQ(error_response({ErrorCode::not_found, "x"}).status, 404);
  EXPECT_EQ(error_response({ErrorCode::conflict, "x"}).status, 409);
  EXPECT_EQ(error_response({ErrorCode::refused, "x"}).status, 429);
  EXPECT_EQ(error_response({ErrorCode::unavailable, "x"}).status, 503);
  EXPECT_EQ(error_response({ErrorCode::corrupt, "x"}).status, 500);
}

}  // namespace
}  // namespace eider::api
