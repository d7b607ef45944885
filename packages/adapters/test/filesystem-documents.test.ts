import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createScript } from "@skein/core/testing";
import type { Fact } from "@skein/protocol";
import { expect, test } from "vitest";
import { checkedObject, withChecksum } from "../src/stores/filesystem/checksum-lines.ts";
import type { IndexEntry } from "../src/stores/filesystem/head-index.ts";
import { documentsOf, edited, emptyFolder, ids, opened, scriptOn, shortRuns } from "./filesystem-folder.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

/** The keys of the agent tables' documents, in the order of the specification's examples. */
const CONFIG_KEYS = words(`agent_uuid system_prompt model max_steps thinking_tokens max_tokens container_id messages
  tool_schemas tool_names server_tools beta_headers api_kwargs formatter stream_meta_history_and_tool_results
  compactor_type memory_store_type file_registry max_retries base_delay last_known_input_tokens
  last_known_output_tokens pending_frontend_tools pending_backend_results awaiting_frontend_tools current_step
  conversation_history title extras created_at updated_at last_run_at total_runs`);
const CONVERSATION_KEYS = words(`conversation_id agent_uuid run_id started_at completed_at user_message final_response
  messages stop_reason total_steps usage generated_files cost extras sequence_number created_at`);
const COST_KEYS =
  words(`input_cost output_cost cache_write_cost cache_read_cost server_tool_cost total_cost total_input_tokens
  total_output_tokens total_cache_creation_tokens total_cache_read_tokens model_id long_context_applied currency`);
const ACTION_START = words("log_id agent_uuid run_id timestamp step_number action_type action_data");
/**
 * The keys of the specification's example lines. `rest` are the keys after `action_data`, and `data` are the keys
 * inside it.
 */
const ACTION_EXAMPLES: Record<string, { rest: string; data: string }> = {
  run_started: { rest: "", data: "user_message queue_present formatter" },
  memory_retrieval: {
    rest: "messages_count estimated_tokens duration_ms",
    data: "memories_found memories_injected memory_store_type",
  },
  compaction: {
    rest: "messages_count estimated_tokens duration_ms",
    data: "compaction_applied reason current_tokens threshold",
  },
  // `messages_sent` and `messages_snapshot` are left out, because a growing history is not written again with every
  // step.
  api_call_started: {
    rest: "messages_count estimated_tokens",
    data: "model max_tokens thinking_tokens tools_count",
  },
  api_response_received: { rest: "duration_ms", data: "stop_reason usage content" },
  tool_execution: { rest: "duration_ms", data: "tool_name tool_use_id input result execution_time_ms" },
  context_transformation: {
    rest: "messages_count estimated_tokens",
    data: "transformation_type messages_before_count messages_after_count tokens_before tokens_after",
  },
  run_completed: {
    rest: "duration_ms",
    data: "stop_reason total_steps final_response total_input_tokens total_output_tokens files_generated",
  },
};

const json = (path: string): Record<string, unknown> => JSON.parse(readFileSync(path, "utf8"));
const names = (folder: string, sessionId: string): string[] =>
  readdirSync(join(folder, "conversation_history", sessionId)).sort();

/** Returns facts of a run that the scripted turn does not have. */
function contextFacts(runId: string): readonly Fact[] {
  const step = { run_id: runId, step: 1 };
  const context = { messages_count: 3, estimated_tokens: 450, duration_ms: 5 };
  return [
    {
      event_type: "memory.retrieved",
      data: {
        ...step,
        ...context,
        memories_found: 3,
        memories_injected: 2,
        memory_store_type: "placeholder",
        injected: ["m"],
      },
    },
    {
      event_type: "compaction.checked",
      data: {
        ...step,
        ...context,
        applied: false,
        reason: "below_threshold",
        compactor_type: "none",
        current_tokens: 450,
        threshold: 100_000,
        tokens_after: 450,
        messages: null,
      },
    },
    {
      event_type: "await.opened",
      data: {
        ...step,
        awaits: [
          {
            tool_use_id: "t9",
            kind: "frontend_tool",
            name: "user_confirm",
            input: { message: "ok?" },
            expires_at: null,
            session_id: null,
          },
        ],
      },
    },
  ];
}

/** Creates a session with a finished run and an open run. */
async function play(script: ReturnType<typeof scriptOn>): Promise<{ waiting: string }> {
  await script.create({ title: "Sales" });
  await script.toolTurn("Create a chart \ud800\0");
  const { messageId, runId } = await script.prompt("And another");
  const lease = await script.claim();
  const started = { run_id: runId, message_id: messageId, user_message: "And another", formatter: "xml" };
  await script.append([{ event_type: "session.started", data: started }], { lease });
  for (const fact of contextFacts(runId)) await script.append([fact], { lease });
  return { waiting: runId };
}

test("the JSON documents of a session have exactly the keys that the agent tables specify", async () => {
  const folder = emptyFolder();
  const store = await opened(folder);
  const script = scriptOn(store);
  const { waiting } = await play(script);
  await store.settled();
  const { sessionId } = script;

  const config = json(join(folder, "agent_config", `${sessionId}.json`));
  expect(Object.keys(config)).toEqual(CONFIG_KEYS);
  expect(config).toMatchObject({
    agent_uuid: sessionId,
    title: "Sales",
    total_runs: 2,
    awaiting_frontend_tools: true,
    pending_frontend_tools: [{ tool_use_id: "t9", name: "user_confirm", input: { message: "ok?" } }],
  });
  expect((config["messages"] as unknown[]).map((message) => Object.keys(message as object))).toEqual(
    Array.from({ length: 4 }, () => ["role", "content"]),
  );

  expect(names(folder, sessionId)).toEqual(["001.json", "index.json"]);
  const conversations = join(folder, "conversation_history", sessionId);
  expect(json(join(conversations, "index.json"))).toEqual({ last_sequence: 1, total_conversations: 1 });
  const conversation = json(join(conversations, "001.json"));
  expect(Object.keys(conversation)).toEqual(CONVERSATION_KEYS);
  expect(Object.keys(conversation["cost"] as object)).toEqual(COST_KEYS);
  expect(Object.keys(conversation["usage"] as object)).toEqual(
    words("input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens"),
  );
  expect((conversation["messages"] as { role: string }[]).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(conversation).toMatchObject({ sequence_number: 1, final_response: "The answer is 4", total_steps: 2 });

  const runId = String(conversation["run_id"]);
  expect(readdirSync(join(folder, "agent_runs", sessionId)).sort()).toEqual(
    [runId, waiting].map((id) => `${id}.jsonl`).sort(),
  );
  const seen = new Set<string>();
  for (const id of [runId, waiting]) {
    const text = readFileSync(join(folder, "agent_runs", sessionId, `${id}.jsonl`), "utf8");
    const lines = text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ log_id }) => log_id)).toEqual(lines.map((_, i) => i + 1));
    for (const line of lines) {
      const example = ACTION_EXAMPLES[String(line["action_type"])];
      if (!example) continue;
      seen.add(String(line["action_type"]));
      expect(Object.keys(line)).toEqual([...ACTION_START, ...words(example.rest).filter(Boolean)]);
      expect(Object.keys(line["action_data"] as object)).toEqual(expect.arrayContaining(words(example.data)));
    }
  }
  expect([...seen].sort()).toEqual(Object.keys(ACTION_EXAMPLES).sort());
});

test("the folders of the agent tables can be deleted and are created again, byte for byte", async () => {
  const folder = emptyFolder();
  let store = await createFilesystemStore({ folder });
  const scripts = [scriptOn(store), scriptOn(store), scriptOn(store)];
  for (const script of scripts) {
    await play(script);
    // Documents are written after each step. They are compared with documents that are written all at once.
    await store.settled();
  }
  const long = scriptOn(store);
  await long.create();
  for (let i = 0; i < 12; i++) {
    await shortRuns(long, [`run ${i}`]);
    if (i % 5 === 0) await store.settled();
  }
  await store.close();
  const written = documentsOf(folder);
  expect(Object.keys(written)).toHaveLength(3 * 5 + 1 + 13 + 12);

  const reopened = async () => {
    store = await createFilesystemStore({ folder });
    await store.close();
    return documentsOf(folder);
  };
  for (const name of ["agent_config", "conversation_history", "agent_runs"])
    rmSync(join(folder, name), { recursive: true });
  expect(await reopened()).toEqual(written);
  rmSync(join(folder, "heads.jsonl"));
  expect(await reopened()).toEqual(written);
  for (const path of [
    `agent_config/${scripts[0]?.sessionId}.json`,
    `conversation_history/${long.sessionId}/005.json`,
    `conversation_history/${scripts[1]?.sessionId}/index.json`,
    `agent_runs/${scripts[2]?.sessionId}`,
  ])
    rmSync(join(folder, path), { recursive: true });
  expect(await reopened()).toEqual(written);
});

test("documents of an earlier version are compared at open, and written again if they differ", async () => {
  const folder = emptyFolder();
  const store = await createFilesystemStore({ folder });
  const adopted = createScript({ store, ids, happenedAt: "2026-05-04T10:00:00.000Z" });
  await adopted.create();
  await adopted.toolTurn("months ago");
  await store.close();
  const written = documentsOf(folder);
  const [path = "", text = ""] = Object.entries(written).find(([name]) => name.startsWith("agent_runs/")) ?? [];
  expect(text).toContain('"timestamp":"2026-05-04T10:00:00.000Z"');
  writeFileSync(join(folder, path), text.replaceAll("2026-05-04", "2026-11-19"));
  const heads = readFileSync(join(folder, "heads.jsonl"), "utf8");
  const entries = heads
    .trimEnd()
    .split("\n")
    .map((line) => checkedObject(Buffer.from(line)) as IndexEntry);
  const older = entries.map(({ documents, ...entry }) =>
    withChecksum(JSON.stringify({ ...entry, documents: { ...documents, version: undefined } })),
  );
  writeFileSync(join(folder, "heads.jsonl"), Buffer.concat(older));
  await (await createFilesystemStore({ folder })).close();
  expect(documentsOf(folder)).toEqual(written);
});

test("documents that are out of date after a kill are updated at open, and documents of other sessions are not changed", async () => {
  const folder = emptyFolder();
  const store = await createFilesystemStore({ folder });
  const [still, busy] = [scriptOn(store), scriptOn(store)];
  for (const script of [still, busy]) await play(script);
  await store.close();
  const stillPath = join(folder, "agent_config", `${still.sessionId}.json`);
  const untouched = statSync(stillPath).mtimeMs;
  // As after a kill, the documents and heads.jsonl are older than the appends.
  const before = documentsOf(folder);
  const heads = readFileSync(join(folder, "heads.jsonl"));
  const second = await createFilesystemStore({ folder });
  const script = scriptOn(second, busy.sessionId);
  await script.append([edited("renamed")]);
  await shortRuns(script, ["one more"]);
  await second.close();
  const after = documentsOf(folder);
  expect(after).not.toEqual(before);
  for (const path of Object.keys(after)) {
    const text = before[path];
    if (text === undefined) rmSync(join(folder, path));
    else if (text !== after[path]) writeFileSync(join(folder, path), text);
  }
  writeFileSync(join(folder, "heads.jsonl"), heads);
  await (await createFilesystemStore({ folder })).close();
  expect(documentsOf(folder)).toEqual(after);
  expect(statSync(stillPath).mtimeMs).toBe(untouched);
});

test("file names of up to 999 conversations have three digits, and file names of 1,200 conversations have four, so that they are sorted", async () => {
  const folder = emptyFolder();
  const store = await opened(folder);
  const script = scriptOn(store);
  await script.create();
  const prompts = Array.from({ length: 1200 }, (_, i) => `prompt ${i + 1}`);
  await shortRuns(script, prompts.slice(0, 999));
  await store.settled();
  const conversations = join(folder, "conversation_history", script.sessionId);
  expect(names(folder, script.sessionId).slice(0, 2)).toEqual(["001.json", "002.json"]);
  const first = statSync(join(conversations, "001.json")).mtimeMs;
  for (const prompt of prompts.slice(999, 1002)) {
    await shortRuns(script, [prompt]);
    await store.settled();
  }
  await shortRuns(script, prompts.slice(1002));
  await store.settled();
  const listed = names(folder, script.sessionId);
  expect(listed.pop()).toBe("index.json");
  expect(listed.map((name) => json(join(conversations, name))["sequence_number"])).toEqual(
    Array.from({ length: 1200 }, (_, i) => i + 1),
  );
  expect(json(join(conversations, "index.json"))).toEqual({ last_sequence: 1200, total_conversations: 1200 });
  expect(json(join(conversations, "0600.json"))["user_message"]).toBe("prompt 600");
  // The document was renamed, not written again.
  expect(statSync(join(conversations, "0001.json")).mtimeMs).toBe(first);
});

test("documents of a deleted session and documents without a log are removed, and all other documents stay", async () => {
  const folder = emptyFolder();
  const store = await createFilesystemStore({ folder });
  const [gone, kept] = [scriptOn(store), scriptOn(store)];
  for (const script of [gone, kept]) await play(script);
  await store.settled();
  await store.delete(gone.sessionId);
  const left = Object.keys(documentsOf(folder));
  expect(left.filter((path) => path.includes(gone.sessionId))).toEqual([]);
  expect(left.filter((path) => path.includes(kept.sessionId))).toHaveLength(5);
  await store.close();
  writeFileSync(join(folder, "agent_config", `${ids()}.json`), "{}");
  await (await createFilesystemStore({ folder })).close();
  expect(Object.keys(documentsOf(folder))).toEqual(left);
});

test("if the type of a fact is unknown, the configuration and the conversations of its session are removed, and other documents stay", async () => {
  const folder = emptyFolder();
  const store = await createFilesystemStore({ folder });
  const [other, script] = [scriptOn(store), scriptOn(store)];
  for (const each of [other, script]) {
    await each.create();
    await each.toolTurn("What is 2 + 2?");
  }
  await store.settled();
  const before = documentsOf(folder);
  const lease = await script.claim();
  const unknown = { event_type: "from.tomorrow", data: { run_id: ids() } } as unknown as Fact;
  await script.append([unknown], { lease });
  await script.append([edited("still here")]);
  await store.settled();
  const after = documentsOf(folder);
  expect(
    Object.keys(before)
      .filter((path) => !(path in after))
      .sort(),
  ).toEqual([
    `agent_config/${script.sessionId}.json`,
    `conversation_history/${script.sessionId}/001.json`,
    `conversation_history/${script.sessionId}/index.json`,
  ]);
  expect(before).toMatchObject(after);
  await store.close();
  for (const name of ["agent_config", "conversation_history", "agent_runs"])
    rmSync(join(folder, name), { recursive: true });
  await (await createFilesystemStore({ folder })).close();
  expect(documentsOf(folder)).toEqual(after);
});

test("a session with a fact of an unknown type can still be read and changed", async () => {
  const folder = emptyFolder();
  const store = await opened(folder);
  const script = scriptOn(store);
  await script.create();
  const lease = await script.claim();
  const unknown = { event_type: "from.tomorrow", data: { run_id: ids() } } as unknown as Fact;
  await script.append([unknown], { lease });
  await script.append([edited("still here")]);
  await store.settled();
  expect(await store.get(script.sessionId)).toMatchObject({ title: "still here" });
  expect(await store.read(script.sessionId)).toHaveLength(3);
});
