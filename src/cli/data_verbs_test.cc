// Verbs about assets, materializations, deliveries and causes, against a server that answers what the test says.
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/test_support.h"

namespace eider::cli {
namespace {

namespace json = boost::json;
using Words = std::vector<std::string>;

constexpr const char* kEvent = "5f0c3a9e-77d1-8e21-9b1a-000000000001";
constexpr const char* kDelivery = "2b1e9d40-0a7c-8c55-9b1a-000000000001";

/// A materialization as the API shows it; `more`: further fields, each after a comma.
std::string an_event(const std::string& more = "") {
  return R"({"id":")" + std::string(kEvent) +
         R"(","asset":"raw.x","partition":"2026-03-29","source":"run","pipeline":"load","run_id":")" + kId +
         R"(","attempt":1,"committed_at":"2026-03-29T00:58:00Z","rows":120,"bytes":2048,"unchanged":true)" + more + "}";
}

std::string a_delivery(const std::string& state, const std::string& more = "") {
  return R"({"id":")" + std::string(kDelivery) + R"(","trigger":"marts/on_x","pipeline":"marts","event_id":")" +
         kEvent + R"(","asset":"raw.x","partition":null,"state":")" + state +
         R"(","created_at":"2026-03-29T00:58:00Z")" + more + "}";
}

std::string list_of_one(const std::string& item) { return R"({"items":[)" + item + R"(],"next":null})"; }

TEST(DataVerbs, RequestsAreWhatWasAskedFor) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) { return answer_of(200, R"({"items":[],"next":null})"); });
  Program program(workspace.path());
  program.run({"assets", "list", "--limit", "5"});
  program.run({"assets", "show", "raw.x", "--cursor", "c"});
  program.run({"assets", "graph"});
  program.run({"materializations", "--asset", "raw.x", "--limit", "2"});
  program.run({"materializations", "show", "5f0c"});
  program.run({"deliveries", "list", "--trigger", "marts/on_x", "--state", "failed"});
  program.run({"deliveries", "show", "2b1e"});
  program.run({"explain", "0189"});
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 8u);
  EXPECT_EQ(asked[0].path + asked[0].query.at("limit"), "/api/v1/assets5");
  EXPECT_EQ(asked[1].path + asked[1].query.at("cursor"), "/api/v1/assets/raw.xc");
  EXPECT_EQ(asked[2].path, "/api/v1/assets/graph");
  EXPECT_EQ(asked[3].query, (std::map<std::string, std::string>{{"asset", "raw.x"}, {"limit", "2"}}));
  EXPECT_EQ(asked[4].path, "/api/v1/materializations/5f0c");
  EXPECT_EQ(asked[5].query, (std::map<std::string, std::string>{{"trigger", "marts/on_x"}, {"state", "failed"}}));
  EXPECT_EQ(asked[6].path, "/api/v1/deliveries/2b1e");
  EXPECT_EQ(asked[7].path, "/api/v1/explain/0189");
}

TEST(DataVerbs, RetryAndSkipSayWhatIsSelected) {
  const TempWorkspace workspace;
  std::string answer = R"({"ids":["a","b"],"more":false})";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, answer); });
  Program program(workspace.path());
  EXPECT_EQ(program.run({"deliveries", "retry", "--state", "failed"}).out, "2 deliveries are tried again\n");
  answer = R"({"ids":["a"],"more":true})";
  const Outcome skipped = program.run({"deliveries", "skip", "2b1e", "--note", "by hand"});
  EXPECT_EQ(skipped.out, "1 delivery is skipped\n");
  EXPECT_NE(skipped.error.find("there are more"), std::string::npos) << skipped.error;
  answer = R"({"ids":[],"more":false})";
  const Outcome none = program.run({"deliveries", "retry", "--trigger", "marts/on_x"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.error, "no deliveries match\n");
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].method + asked[0].path, "POST/api/v1/deliveries/retry");
  EXPECT_EQ(json::parse(asked[0].body), json::parse(R"({"state":"failed"})"));
  EXPECT_EQ(json::parse(asked[1].body), json::parse(R"({"id":"2b1e","note":"by hand"})"));
  EXPECT_EQ(json::parse(asked[2].body), json::parse(R"({"trigger":"marts/on_x"})"));
  const Outcome nothing = program.run({"deliveries", "retry"});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.error.find("which deliveries?"), std::string::npos);
  EXPECT_EQ(program.run({"deliveries", "skip", "2b1e", "--trigger", "a/b"}).code, 2);
  EXPECT_EQ(server.asked().size(), 3u) << "and nothing was asked";
}

TEST(DataVerbs, MaterializeSendsWhatIsKnown) {
  const TempWorkspace workspace;
  workspace.write("facts.json", "{\"file\": \"a.csv\"}\n");
  std::string answer = R"({"id":")" + std::string(kEvent) + R"(","owed":2,"repeated":false})";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(201, answer); });
  Program program(workspace.path());
  EXPECT_EQ(program
                .run({"assets", "materialize", "raw.x", "--partition", "2026-03-29", "--rows", "120", "--bytes", "0",
                      "--fingerprint", "f", "--key", "k", "--metadata", "{\"a\": 1}"})
                .out,
            std::string(kEvent) + " is recorded: 2 deliveries owed\n");
  program.environment["EIDER_RUN_ID"] = kId;
  program.environment["EIDER_WORKSPACE"] = workspace.path();
  program.run({"assets", "materialize", "raw.x", "--metadata", "@facts.json"});
  const TempWorkspace other;
  program.environment["EIDER_WORKSPACE"] = other.path();
  answer = R"({"id":"5f0c","owed":0,"repeated":true})";
  EXPECT_EQ(program.run({"-w", workspace.path(), "assets", "materialize", "raw.x", "--metadata", "facts.json"}).out,
            "5f0c was recorded before: nothing new is owed\n");
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].method + asked[0].path, "POST/api/v1/assets/raw.x/materializations");
  EXPECT_EQ(asked[0].headers.at("idempotency-key"), "k");
  EXPECT_EQ(json::parse(asked[0].body), json::parse(R"({"partition":"2026-03-29","rows":120,"bytes":0,"fingerprint":"f",
                                                        "metadata":{"a":1}})"));
  EXPECT_EQ(json::parse(asked[1].body),
            json::parse(R"({"metadata":{"file":"a.csv"},"cause_run_id":")" + std::string(kId) + "\"}"));
  EXPECT_EQ(json::parse(asked[2].body), json::parse(R"({"metadata":{"file":"a.csv"}})"))
      << "a run of another workspace is no cause here";
}

TEST(DataVerbs, WrongMetadataAndNumbersAreSaidBeforeAnybodyIsAsked) {
  const TempWorkspace workspace;
  workspace.write("list.json", "[1]");
  workspace.write("torn.json", "{\"a\": ");
  workspace.write("big.json", "{\"a\": \"" + std::string(64 * 1024, 'x') + "\"}");
  Program program(workspace.path());
  const std::pair<Words, const char*> cases[] = {
      {{"--metadata", "[1]"}, "`[1]` is neither a JSON object"},
      {{"--metadata", "{a"}, "--metadata: expected a JSON object"},
      {{"--metadata", R"({"a":1,"a":2})"}, "twice"},
      {{"--metadata", "@missing.json"}, "nor a file"},
      {{"--metadata", "list.json"}, "--metadata: list.json: expected a JSON object"},
      {{"--metadata", "torn.json"}, "--metadata: torn.json: expected a JSON object"},
      {{"--metadata", "big.json"}, "--metadata: "},
      {{"--rows", "-1"}, "--rows: `-1` is wrong: expected a whole number"},
      {{"--rows", "many"}, "--rows: `many` is wrong"},
      {{"--bytes", "1.5"}, "--bytes: `1.5` is wrong"}};
  for (const auto& [words, said] : cases) {
    Words line{"assets", "materialize", "raw.x"};
    line.insert(line.end(), words.begin(), words.end());
    const Outcome outcome = program.run(line);
    EXPECT_EQ(outcome.code, 2) << words[1].substr(0, 60) << outcome.error;
    EXPECT_NE(outcome.error.find(said), std::string::npos) << outcome.error;
  }
  EXPECT_EQ(program.run({"assets", "materialize", "raw.x"}).code, 3) << "no server";
}

TEST(DataVerbs, AProblemWithAnOptionNamesTheOption) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(400, R"({"type":"urn:eider:problem:invalid-parameter","parameter":"partition",
                              "detail":"the parameter `partition`: `../x` is wrong"})");
  });
  EXPECT_EQ(Program(workspace.path()).run({"assets", "materialize", "raw.x", "--partition", "../x"}).error,
            "eider: --partition: `../x` is wrong\n");
}

TEST(DataVerbs, TablesForPeople) {
  const TempWorkspace workspace;
  std::string body;
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  body = list_of_one(an_event());
  EXPECT_EQ(program.run({"materializations"}).out,
            "MATERIALIZATION                       ASSET  PARTITION   BY    RUN                                   "
            "COMMITTED  ROWS  SIZE\n"
            "5f0c3a9e-77d1-8e21-9b1a-000000000001  raw.x  2026-03-29  load  01890a5d-ac96-774b-bcce-b302099a8057  "
            "2 min ago  120   2.0 KiB  unchanged\n");
  body = list_of_one(a_delivery("pending", R"(,"waiting_for":"a run of it is open")"));
  EXPECT_EQ(program.run({"deliveries", "list"}).out,
            "DELIVERY                              TRIGGER     ASSET  STATE    OWED       WHY\n"
            "2b1e9d40-0a7c-8c55-9b1a-000000000001  marts/on_x  raw.x  pending  2 min ago  a run of it is "
            "open\n");
  body = list_of_one(R"({"name":"raw.x","declared":true,"external":true,"watch":"incoming","producers":["load"],
                         "consumers":["marts/on_x","b/t"],"pending_deliveries":3,"last_materialization":)" +
                     an_event() + "}," + R"({"name":"gone","declared":false,"producers":[],"consumers":[]})");
  EXPECT_EQ(program.run({"assets", "list"}).out,
            "ASSET  MADE BY                   STARTS           NEWEST     ROWS  PENDING\n"
            "raw.x  load, outside (incoming)  marts/on_x, b/t  2 min ago  120   3\n"
            "gone   nobody any more\n");
}

TEST(DataVerbs, OneThingInFull) {
  const TempWorkspace workspace;
  std::string body;
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  body = an_event(R"(,"fingerprint":"f1","columns":[{"name":"carrier","type":"VARCHAR"}],"metadata":{"k":1})");
  const std::string event = program.run({"materializations", "show", kEvent}).out;
  for (const char* line :
       {"made by          load", "committed        2026-03-29T00:58:00Z (2 min ago)", "size             2.0 KiB",
        "fingerprint      f1, as the one before", "columns          carrier VARCHAR", "metadata         {\"k\":1}"}) {
    EXPECT_NE(event.find(line), std::string::npos) << line << "\n" << event;
  }
  body = a_delivery("failed", R"(,"attempts":3,"owner":"host/1","error":"step a: exit code 1","run_id":"0189")");
  const std::string delivery = program.run({"deliveries", "show", kDelivery}).out;
  for (const char* line :
       {"state       failed", "attempts    3", "claimed by  host/1", "error       step a: exit code 1"}) {
    EXPECT_NE(delivery.find(line), std::string::npos) << line << "\n" << delivery;
  }
  body = R"({"name":"raw.x","declared":true,"external":false,"producers":["load"],"consumers":["marts/on_x"],
             "path":"out/x.parquet","pending_deliveries":1,"last_materialization":)" +
         an_event() + R"(,"history":{"items":[)" + an_event() + R"(],"next":"c"}})";
  const Outcome asset = program.run({"assets", "show", "raw.x"});
  for (const char* line :
       {"made by  load", "path     out/x.parquet", "starts   marts/on_x", "pending  1 delivery of what it starts",
        "newest   raw.x 2026-03-29 (120 rows, 2.0 KiB, unchanged), 2026-03-29T00:58:00Z (2 min ago)",
        "\nMATERIALIZATION                       PARTITION "}) {
    EXPECT_NE(asset.out.find(line), std::string::npos) << line << "\n" << asset.out;
  }
  EXPECT_NE(asset.error.find("--cursor c"), std::string::npos);
}

TEST(DataVerbs, ADataRunShowsItsEvents) {
  const TempWorkspace workspace;
  const std::string run = a_run("succeeded", R"(,"events":[)" + an_event() + R"(,{"asset":"raw.y","source":"reported",
      "said_by":"cli"}],"more_events":true)");
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, run); });
  const std::string out = Program(workspace.path()).run({"runs", "show", kId}).out;
  EXPECT_NE(out.find("events    raw.x 2026-03-29 (120 rows, 2.0 KiB, unchanged) by load 01890a5d-ac96-774b\n"
                     "          raw.y by outside (cli)\n          … more: `eider deliveries list --run "),
            std::string::npos)
      << out;
}

TEST(DataVerbs, ExplainPrintsTheChainAndWhatFollowed) {
  const TempWorkspace workspace;
  const auto link = [](const char* part, int level, const char* kind, const char* id, const std::string& text,
                       const char* more) {
    return R"({"part":")" + std::string(part) + R"(","level":)" + std::to_string(level) + R"(,"kind":")" + kind +
           R"(","id":")" + id + R"(","at":"2026-03-29T00:58:00.5Z","state":"x","text":")" + text + R"(","more":)" +
           more + "}";
  };
  std::string truncated = "false";
  ScriptedServer server(workspace, [&](const api::Request&) {
    return answer_of(200, R"({"truncated":)" + truncated + R"(,"links":[)" +
                              link("cause", 0, "occurrence", "o", "schedule a/s was due", "false") + "," +
                              link("asked", 0, "run", kId, "run " + std::string(kId) + " of a succeeded", "false") +
                              "," + link("effect", 1, "materialization", kEvent, "published raw.x", "true") + "," +
                              link("effect", 2, "delivery", kDelivery, "delivery is pending", "false") + "]}");
  });
  Program program(workspace.path());
  EXPECT_EQ(program.run({"explain", "0189"}).out,
            "2026-03-29T00:58:00Z  schedule a/s was due\n"
            "2026-03-29T00:58:00Z  → run 01890a5d-ac96-774b-bcce-b302099a8057 of a succeeded\n"
            "\nwhat followed:\n"
            "2026-03-29T00:58:00Z    → published raw.x\n"
            "                          … more: `eider deliveries list --event 5f0c3a9e-77d1-8e21-9b1a-000000000001`\n"
            "2026-03-29T00:58:00Z      → delivery is pending\n");
  truncated = "true";
  program.terminal = true;
  const std::string out = program.run({"explain", "0189", "--color", "never"}).out;
  EXPECT_EQ(out.find("… what was before is not shown\n"), 0u) << out;
  EXPECT_NE(out.find("→ run 01890a5d-ac96-774b of a succeeded"), std::string::npos) << out;
}

TEST(DataVerbs, ForeignAnswersAreNotTrusted) {
  const TempWorkspace workspace;
  std::string body;
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  const std::string hostile =
      R"({"items":[{"id":"\u001b[2J","name":"\u001b[2J","asset":"\u001b[2J","trigger":"\u001b[2J"}],
      "links":[{"part":"asked","level":-3,"id":"x","text":"\u001b[2J","more":true}],
      "nodes":[{"id":"a","name":"\u001b[2J"}],"edges":[{"from":"a","to":"a","trigger":"\u001b[2J"}],
      "id":"\u001b[2J","ids":7})";
  for (const std::string& each :
       {std::string("[]"), std::string("7"), std::string(R"({"items":7,"links":{},"nodes":3})"),
        std::string(R"({"items":[null,1],"links":[null],"nodes":[null],"edges":[1]})"), hostile}) {
    body = each;
    for (const Words& words : std::vector<Words>{{"assets", "list"},
                                                 {"assets", "show", "a"},
                                                 {"assets", "graph"},
                                                 {"assets", "graph", "--dot"},
                                                 {"assets", "materialize", "a"},
                                                 {"materializations"},
                                                 {"materializations", "show", "5f0c"},
                                                 {"deliveries", "list"},
                                                 {"deliveries", "show", "2b1e"},
                                                 {"deliveries", "skip", "2b1e"},
                                                 {"explain", "0189"}}) {
      const Outcome outcome = program.run(words);
      EXPECT_EQ(outcome.code, 0) << words[0] << each;
      EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << words[0];
    }
  }
}

TEST(DataVerbs, JsonIsTheBodyAsItIs) {
  const TempWorkspace workspace;
  const std::string body = "{ \"items\" :[],\n \"next\":null , \"more\":1e2}\n";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  for (Words words : std::vector<Words>{{"assets", "list"},
                                        {"assets", "show", "a"},
                                        {"assets", "graph"},
                                        {"assets", "materialize", "a"},
                                        {"materializations"},
                                        {"materializations", "show", "5f0c"},
                                        {"deliveries", "list"},
                                        {"deliveries", "show", "2b1e"},
                                        {"deliveries", "retry", "2b1e"},
                                        {"deliveries", "skip", "2b1e"},
                                        {"explain", "0189"}}) {
    words.push_back("--json");
    EXPECT_EQ(program.run(words).out, body) << words.front();
  }
}

TEST(DataVerbs, WithoutAServerTheyReadFilesAndStore) {
  const TempWorkspace workspace;
  workspace.write("eider.yaml", "assets: { raw.uploads: {} }\n");
  workspace.write("pipelines/load.yaml",
                  "pipeline: load\ntriggers: [{ id: on_in, assets: [raw.uploads] }]\npublishes: [{ asset: raw.x }]\n"
                  "steps:\n  - id: say\n    run: [echo, hello]\n");
  Program program(workspace.path());
  EXPECT_EQ(program.run({"assets", "graph"}).out, "raw.uploads (external)\n└─ [load] on_in\n   └─ raw.x\n");
  EXPECT_NE(program.run({"assets", "list"}).out.find("raw.uploads  outside  load/on_in"), std::string::npos);
  EXPECT_EQ(program.run({"materializations", "--json"}).out, "{\"items\":[],\"next\":null}\n");
  EXPECT_EQ(program.run({"deliveries", "list", "--json"}).out, "{\"items\":[],\"next\":null}\n");
  EXPECT_NE(program.run({"pipelines", "list"}).out.find("load      by data"), std::string::npos);
  const Outcome unknown = program.run({"assets", "show", "raw.upload"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.error.find("did you mean `raw.uploads`?"), std::string::npos);
  EXPECT_EQ(program.run({"explain", "0189aaaa"}).code, 2);
  EXPECT_EQ(program.run({"deliveries", "retry", "--state", "failed"}).code, 3);
  EXPECT_EQ(program.run({"__complete", "fish", "assets", "show", "raw.u"}).out, "raw.uploads\n");
  EXPECT_EQ(program.run({"__complete", "fish", "deliveries", "list", "--trigger", "lo"}).out, "load/on_in\n");
  EXPECT_EQ(program.run({"__complete", "fish", "deliveries", "list", "--state", "pe"}).out, "pending\n");
  EXPECT_EQ(program.run({"__complete", "fish", "runs", "list", "--state", "qu"}).out, "queued\n");
}

}  // namespace
}  // namespace eider::cli
