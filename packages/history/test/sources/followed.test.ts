/** Tests following sessions of agents other than Claude Code while the agents write them. */
import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withSources } from "../../src/index.ts";
import { discover } from "../../src/sources/discover.ts";
import { createTail, type Tail } from "../../src/watch/tail.ts";
import type { DataFile } from "../../src/model/data-file.ts";
import { agentData, temporaryFolder, type AgentData, type agentNames } from "./agent-data.ts";
import { saidIn } from "./rules/one-source.ts";

interface Followed {
  readonly data: AgentData;
  /** Returns what `watch` reported since the last call: `rewritten`, damage, or the texts of new lines. */
  news(): Promise<readonly string[]>;
}

/** Follows a session of this agent, without its earlier lines. */
async function follow(agent: (typeof agentNames)[number], id: string): Promise<Followed> {
  const data = agentData(agent);
  const cacheFolder = join(temporaryFolder(), "cache");
  let tail: Tail | undefined;
  const find = async (): Promise<DataFile> => {
    const { config } = await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder });
    const file = discover(config).files.find(({ sessionId, kind }) => sessionId === id && kind === "session");
    if (!file) throw new Error("no such session");
    return file;
  };
  const news = async (): Promise<readonly string[]> => {
    const file = await find();
    tail ??= createTail(file, "end");
    return tail.read(file).flatMap((event) => {
      expect(event.source).toBe(data.name);
      if (event.type !== "lines") return [event.type];
      return [
        ...event.lines.map(({ value }) => (value["message"] ? saidIn(value) : String(value["type"]))),
        ...event.damage.map(({ kind }) => kind),
      ];
    });
  };
  expect(await news()).toEqual([]);
  return { data, news };
}

function fileIn({ folder }: AgentData, name: RegExp): string {
  return join(folder, readdirSync(folder, { recursive: true, encoding: "utf8" }).find((path) => name.test(path)) ?? "");
}

const item = (role: string, text: string): object => ({
  timestamp: "2026-08-20T10:00:00.000Z",
  type: "response_item",
  payload: { type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] },
});
const used = {
  timestamp: "2026-08-20T10:00:01.000Z",
  type: "event_msg",
  payload: {
    type: "token_count",
    info: { total_token_usage: { input_tokens: 90_000, output_tokens: 10 }, last_token_usage: { input_tokens: 5 } },
  },
};

test("if Codex writes the tokens of an answer, only this answer is reported again, and if a thread gets a name, only the title is reported", async () => {
  const { data, news } = await follow("codex", "0198c0de-0000-7000-8000-00000000000a");
  const rollout = fileIn(data, /0a\.jsonl$/);
  const append = (line: object): void => appendFileSync(rollout, `${JSON.stringify(line)}\n`);
  append(item("user", "go on"));
  expect(await news()).toEqual(["go on"]);
  append(item("assistant", "gone on"));
  expect(await news()).toEqual(["gone on"]);
  append(used);
  expect(await news()).toEqual(["gone on"]);
  const named = { id: "0198c0de-0000-7000-8000-00000000000a", thread_name: "Another name", updated_at: "2026-08-21" };
  appendFileSync(join(data.folder, "session_index.jsonl"), `${JSON.stringify(named)}\n`);
  expect(await news()).toEqual(["custom-title"]);
  append(item("user", "and on"));
  expect(await news()).toEqual(["and on"]);
});

test("an incomplete line of Codex is reported when it is complete, and an unreadable line immediately", async () => {
  const { data, news } = await follow("codex", "0198c0de-0000-7000-8000-00000000000a");
  const rollout = fileIn(data, /0a\.jsonl$/);
  const line = `${JSON.stringify(item("user", "in two pieces"))}\n`;
  appendFileSync(rollout, line.slice(0, 60));
  expect(await news()).toEqual([]);
  appendFileSync(rollout, line.slice(60, 90));
  expect(await news()).toEqual([]);
  appendFileSync(rollout, line.slice(90));
  expect(await news()).toEqual(["in two pieces"]);
  appendFileSync(rollout, "half a re\n");
  expect(await news()).toEqual(["not-json"]);
});

test("a new message of Grok is reported once, although the sums of all turns are written after it", async () => {
  const { data, news } = await follow("grok", "01999999-0000-7000-8000-000000000001");
  const chat = fileIn(data, /chat_history\.jsonl$/);
  appendFileSync(chat, `${JSON.stringify({ type: "user", content: [{ type: "text", text: "one more" }] })}\n`);
  expect(await news()).toEqual(["one more"]);
});

test("if Codex writes a whole file again, the file is reported as rewritten with all its lines", async () => {
  const { data, news } = await follow("codex", "0198c0de-0000-7000-8000-00000000000a");
  const meta = { timestamp: "2026-08-20T09:00:00.000Z", type: "session_meta", payload: { cwd: "/srv/demo" } };
  const lines = [meta, item("user", "anew"), item("assistant", "all of it")];
  writeFileSync(fileIn(data, /0a\.jsonl$/), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await news()).toEqual(["rewritten", "anew", "all of it"]);
});

test("the result of a tool call is reported when opencode writes it into the row of the call", async () => {
  const { data, news } = await follow("opencode", "ses_a");
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new DatabaseSync(join(data.folder, "opencode.db"));
  const time = 1_795_000_000_000;
  const message = { role: "assistant", modelID: "m", time: { created: time } };
  const call = (state: object): string => JSON.stringify({ type: "tool", callID: "c9", tool: "bash", state });
  database.prepare("INSERT INTO message VALUES ('msg_z', 'ses_a', ?, ?, ?)").run(time, time, JSON.stringify(message));
  database
    .prepare("INSERT INTO part VALUES ('prt_z', 'msg_z', 'ses_a', ?, ?, ?)")
    .run(time, time, call({ status: "running", input: {} }));
  expect(await news()).toEqual(["bash"]);
  database
    .prepare("UPDATE part SET time_updated = ?, data = ? WHERE id = 'prt_z'")
    .run(time + 1, call({ status: "completed", input: {}, output: "a.ts" }));
  expect((await news()).at(-1)).toBe("a.ts");
  database.close();
});
