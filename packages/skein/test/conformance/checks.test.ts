import { afterAll, beforeAll, expect, test } from "vitest";
import { type SampleStores, openSampleStores } from "./sample-stores.ts";
import { claudeSaid, runCheck } from "./describe-list.ts";
import type { Check } from "./line.ts";

let stores: SampleStores;
beforeAll(async () => {
  stores = await openSampleStores();
  await claudeSaid();
}, 120_000);
afterAll(() => stores.close());

const column = { check: "column", view: "agent.agent_config", column: "max_steps", type: "integer" } as const;

/** A false line for each kind of check. Every check must fail for its false line. */
const wrong: readonly (readonly [string, Check])[] = [
  ["a column that is not there", { ...column, column: "max_stairs" }],
  ["a column of another type", { ...column, type: "bigint" }],
  ["a column of another length", { ...column, column: "model", type: "character varying", size: "99" }],
  ["another default", { ...column, default: "51" }],
  [
    "a column that is null somewhere",
    { check: "column", view: "platform.sessions", column: "title", type: "text", notNull: true },
  ],
  [
    "a value that never occurs",
    { check: "values", view: "api.sessions", column: "status", values: ["active", "completed", "error", "lost"] },
  ],
  [
    "a value that was left out",
    { check: "values", view: "api.sessions", column: "status", values: ["active", "completed"] },
  ],
  ["ids that are not v7", { check: "version 7", view: "(select gen_random_uuid() as id) x", column: "id" }],
  [
    "a query that finds nothing",
    { check: "query", query: "select 1 from platform.events where event_type = 'session.exploded'" },
  ],
  ["a query that does not run", { check: "query", query: "select nothing from nowhere" }],
  ["a lookup without an index", { check: "index", query: "select id from skein.runs where user_message = 'Go on'" }],
  ["a write that is allowed", { check: "refused", write: "update skein.sessions set title = 'x'", code: "23514" }],
  [
    "a key that is not there",
    { check: "json", query: "select usage from agent.conversation_history", key: "tokens", type: "number" },
  ],
  [
    "a key of another type",
    { check: "json", query: "select usage from agent.conversation_history", key: "input_tokens", type: "string" },
  ],
  ["an event that is in no log", { check: "event", type: "session.exploded" }],
  ["an action without its key", { check: "action", action: "run_started", keys: ["mood"] }],
  ["an action that is never logged", { check: "action", action: "streaming_chunk", keys: [] }],
  ["a key that no line has", { check: "action line", key: "mood", type: "any" }],
  ["a document without its key", { check: "document", document: "agent_config", key: "mood", type: "any" }],
  [
    "a document's key of another type",
    { check: "document", document: "conversation_history", key: "usage", type: "array" },
  ],
  ["a file that is not there", { check: "file", path: "^conversation_history/{agent}/999\\.json$" }],
  ["a field that no schema has", { check: "schema", schema: "AgentConfig", field: "mood" }],
  ["another default in a schema", { check: "schema", schema: "AgentConfig", field: "max_steps", default: 51 }],
  ["a request without the field", { check: "takes", schema: "QueryRequest", field: "mood", values: [] }],
  ["a value that a request rejects", { check: "takes", schema: "QueryRequest", field: "max_turns", values: [0] }],
  [
    "a value that a request accepts",
    { check: "takes", schema: "QueryRequest", field: "max_turns", values: [], refuses: [1] },
  ],
  [
    "another default in a request",
    { check: "takes", schema: "QueryRequest", field: "fork_session", values: [], default: true },
  ],
  ["a key that no answer of the API has", { check: "said", shape: "InitEventData", key: "mood", type: "any" }],
  ["a key of another type", { check: "said", shape: "InitEventData", key: "tools", type: "string" }],
  [
    "a value that no answer of the API has",
    { check: "said", shape: "DoneEventData", key: "reason", type: "string", seen: ["x"] },
  ],
  ["a shape that the API does not have", { check: "said", shape: "Dream", key: "id", type: "any" }],
  ["a fact that is not a draft", { check: "draft", type: "step.generated" }],
  ["a key that no result of the library has", { check: "library", shape: "Session", key: "mood", type: "any" }],
  ["a key of another type in the library", { check: "library", shape: "Session", key: "timestamp", type: "string" }],
  ["a shape that the library does not have", { check: "library", shape: "Dream", key: "id", type: "any" }],
  ["a field that the format does not know", { check: "format", schema: "UserLine", field: "mood", values: [] }],
  ["a value that the format rejects", { check: "format", schema: "UserLine", field: "cwd", values: [5] }],
  ["a name that is not exported", { check: "export", module: "@skein/history", name: "readMinds" }],
  ["a test that does not exist", { check: "test", file: "packages/core/test/log/fold.test.ts", name: "folds laundry" }],
];

test.each(wrong)("a check fails for %s", async (_, check) => {
  await expect(runCheck(check, stores)).rejects.toThrow();
});
