import { type Entry, type ConformanceList, departure, section, there } from "./line.ts";

const V7 = "Skein makes UUID v7; ids from elsewhere are kept.";
const AT = "timestamptz, in milliseconds, by the clock of the process that writes the event.";

/** Makes an entry for each field of a specified table. */
function fields(view: string, rows: readonly (readonly [name: string, said: string])[]): readonly Entry[] {
  return rows.map(([name, said]) => {
    const check = {
      check: "column" as const,
      view,
      column: name,
      type: typeOf(said),
      ...(!said.includes("?") && { notNull: true }),
    };
    const what = `${name}: ${said}`;
    if (said.startsWith("UUID v7") && name === "id")
      return departure(what, V7, { check: "version 7", view, column: name });
    if (said.startsWith("timestamp")) return departure(what, AT, check);
    return there(what, check);
  });
}

function typeOf(said: string): string {
  if (said.startsWith("UUID")) return "uuid";
  if (said.startsWith("timestamp")) return "timestamp with time zone";
  if (said.startsWith("string[]")) return "ARRAY";
  if (said.startsWith("integer")) return "integer";
  if (said.startsWith("JSON")) return "json";
  return "text";
}

const values = (view: string, column: string, ...list: readonly string[]): Entry =>
  there(`${column}: ${list.join(", ")}`, { check: "values", view, column, values: list });

const refused = (what: string, write: string, code = "23514"): Entry => there(what, { check: "refused", write, code });

const content = (role: string, key: string, type: "string" | "object" | "any"): Entry =>
  there(`role ${role}: ${key}`, {
    check: "json",
    query: `select content from platform.messages where role = '${role}'`,
    key,
    type,
  });

const event = (type: string): Entry => there(type, { check: "event", type });
const DRAFT = "Streamed, not stored: the fact that follows replaces a draft.";
const CONTRACT = "packages/core/src/testing/projection-contract.ts";

export const platformApi: ConformanceList = {
  part: "Platform API",
  specification: "004",
  title: "Data models of a durable agent platform",
  lines: [
    ...section("Agent", [
      ...fields("platform.agents", [
        ["id", "UUID v7"],
        ["name", "string"],
        ["description", "string?"],
        ["system_prompt", "string"],
        ["default_model_id", "UUID?, reference to llm_models"],
        ["tags", "string[]"],
        ["status", "enum"],
        ["created_at", "timestamp"],
        ["updated_at", "timestamp"],
      ]),
      values("platform.agents", "status", "active", "archived"),
      there("an agent can have many concurrent sessions", {
        check: "query",
        query: "select agent_id from platform.sessions group by agent_id having count(*) > 1",
      }),
      departure(
        "llm_models, which default_model_id refers to and the specification does not define",
        "A table with id, name, provider, is_default, created_at.",
        { check: "query", query: "select id, name, provider, is_default, created_at from platform.llm_models" },
      ),
    ]),
    ...section("Session", [
      ...fields("platform.sessions", [
        ["id", "UUID v7"],
        ["agent_id", "UUID v7"],
        ["title", "string?"],
        ["tags", "string[]"],
        ["model_id", "UUID?, null = the agent's default"],
        ["status", "enum"],
        ["created_at", "timestamp"],
        ["started_at", "timestamp?"],
        ["finished_at", "timestamp?"],
      ]),
      values("platform.sessions", "status", "pending", "running", "completed", "failed"),
      departure(
        "pending → running → completed | failed",
        "completed and failed are outcomes of a run. A new prompt opens the next run, and the session is running again. A cancelled run is failed.",
        { check: "test", file: "packages/core/test/log/projection.test.ts", name: "is %s in the platform API" },
      ),
      refused("status has no other value", "update skein.sessions set status = 'done'"),
      departure("title: auto-generated", "The model writes a title if the agent has generate_title.", {
        check: "event",
        type: "title.generated",
      }),
    ]),
    ...section("Message", [
      ...fields("platform.messages", [
        ["id", "UUID v7"],
        ["session_id", "UUID v7"],
        ["sequence", "integer"],
        ["role", "enum"],
        ["content", "JSON, schema depends on role"],
        ["tool_call_id", "string?"],
        ["created_at", "timestamp"],
      ]),
      values("platform.messages", "role", "user", "assistant", "tool_call", "tool_result", "system"),
      refused("role has no other value", "update skein.messages set role = 'robot'"),
      departure(
        "sequence: auto-increment per session",
        "From a counter of the session, never MAX()+1. A message is numbered when it enters the transcript, not when it is accepted.",
        {
          check: "test",
          file: CONTRACT,
          name: "a store numbers a message when it enters the transcript, not when it is accepted",
        },
      ),
      refused("sequence is unique in its session", "update skein.messages set number = 1", "23505"),
      content("user", "text", "string"),
      content("assistant", "text", "string"),
      content("system", "text", "string"),
      content("tool_call", "id", "string"),
      content("tool_call", "name", "string"),
      content("tool_call", "arguments", "object"),
      content("tool_result", "result", "any"),
      content("tool_result", "error", "any"),
      there("tool_result: exactly one of result and error is set", {
        check: "query",
        query: `select 1 where not exists (select from platform.messages where role = 'tool_result'
          and (content->>'result' is null) = (content->>'error' is null))`,
      }),
      there("tool_call_id of a tool_result refers to the tool_call", {
        check: "query",
        query: `select r.id from platform.messages r join platform.messages c
          on c.session_id = r.session_id and c.tool_call_id = r.tool_call_id and c.role = 'tool_call' and c.content->>'id' = r.tool_call_id
          where r.role = 'tool_result'`,
      }),
      departure(
        "the primary conversation data",
        "The log is primary. Messages are rows derived from its facts, in the same transaction.",
        {
          check: "test",
          file: CONTRACT,
          name: "a store derives the session, messages and run of a turn with a tool call",
        },
      ),
    ]),
    ...section("Event", [
      ...fields("platform.events", [
        ["id", "UUID v7"],
        ["session_id", "UUID v7"],
        ["sequence", "integer"],
        ["event_type", "string"],
        ["data", "JSON"],
        ["created_at", "timestamp"],
      ]),
      refused("sequence is unique in its session", "update skein.events set sequence = 1", "23505"),
      departure(
        "not the primary data store",
        "Events are the primary data, and everything else is derived from them. They are also streamed, one event per frame.",
      ),
    ]),
    ...section("Event types", [
      event("step.started"),
      departure("step.generating", DRAFT, { check: "draft", type: "step.generating" }),
      event("step.generated"),
      event("step.error"),
      event("message.created"),
      departure("message.delta", `${DRAFT} It carries the text of step.generating, and what the model thinks.`, {
        check: "test",
        file: "packages/server/test/dialects/platform/flow.test.ts",
        name: "the events of the platform API come in the specified order",
      }),
      event("tool.started"),
      event("tool.completed"),
      event("session.started"),
      event("session.completed"),
      event("session.failed"),
      departure(
        "no other types",
        "The log also has the facts behind every action of the agent tables. PROTOCOL.md lists all.",
      ),
    ]),
    ...section("Flow example", [
      there("POST /v1/agents/{id}/sessions/{id}/messages", {
        check: "test",
        file: "packages/server/test/dialects/platform/flow.test.ts",
        name: "the events of the platform API come in the specified order",
      }),
      there("a user's message is kept with { text }", {
        check: "json",
        query: "select content from platform.messages where role = 'user'",
        key: "text",
        type: "string",
      }),
      there("the session is running while its run goes on", {
        check: "query",
        query:
          "select id from platform.sessions where status = 'running' and started_at is not null and finished_at is null",
      }),
      there("step.generating carries { delta }", { check: "draft", type: "step.generating" }),
      there("message.created carries { message_id }", {
        check: "json",
        query: "select data from platform.events where event_type = 'message.created'",
        key: "message_id",
        type: "string",
      }),
      there(
        "session.started before step.started before step.generated before message.created before session.completed",
        {
          check: "query",
          query: `select session_id from platform.events group by session_id, data->>'run_id' having
          min(sequence) filter (where event_type = 'session.started') < min(sequence) filter (where event_type = 'step.started')
          and max(sequence) filter (where event_type = 'step.started') < max(sequence) filter (where event_type = 'step.generated')
          and max(sequence) filter (where event_type = 'step.generated') < max(sequence) filter (where event_type = 'message.created')
          and max(sequence) filter (where event_type = 'message.created') < max(sequence) filter (where event_type = 'session.completed')`,
        },
      ),
      there("a session that completed has finished_at", {
        check: "query",
        query: "select id from platform.sessions where status = 'completed' and finished_at is not null",
      }),
      there("the stream of events over SSE", {
        check: "test",
        file: "packages/server/test/dialects/platform/flow.test.ts",
        name: "the events of the platform API come in the specified order",
      }),
    ]),
    ...section("Design decisions", [
      departure("the Messages table stores the conversation", "The log stores it; see Message."),
      departure("events are for notifications", "Events are the primary data; see Event."),
      there("tool calls are messages with role=tool_call", {
        check: "query",
        query: "select id from platform.messages where role = 'tool_call'",
      }),
      there("tool results are messages with role=tool_result", {
        check: "query",
        query: "select id from platform.messages where role = 'tool_result'",
      }),
      there("an explicit status field", {
        check: "column",
        view: "platform.sessions",
        column: "status",
        type: "text",
        notNull: true,
      }),
    ]),
  ],
};
