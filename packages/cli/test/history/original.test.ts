import { createRequire } from "node:module";
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentData, type agentNames } from "../../../history/test/sources/agent-data.ts";
import { createWorld, first } from "./world.ts";

type Agent = (typeof agentNames)[number];

interface Shown {
  readonly messages: readonly {
    readonly uuid: string;
    readonly type: string;
    readonly lineNumber: number;
    readonly raw: { readonly from?: string; readonly type: string };
  }[];
}

interface Original {
  readonly session: string;
  readonly line: number;
  readonly path: string;
  readonly place: string;
  readonly text: string;
}

/** Returns functions that run `skein history show` on the data of an agent. */
function agentWorld(agent: Agent, data = agentData(agent), world = createWorld()) {
  const roots = data.roots.flatMap((root) => ["--root", root]);
  return {
    data,
    world,
    run: async (...args: readonly string[]) => await world.run("show", ...args, ...roots, "--source", data.name),
    /** Returns the messages of a session whose `raw.from` matches. */
    async readFrom(session: string, from: RegExp) {
      const { out } = await world.run("show", session, ...roots, "--source", data.name, "--all", "--json");
      return (JSON.parse(out) as Shown).messages.filter(({ raw }) => from.test(raw.from ?? ""));
    },
  };
}

function parsed(out: string): Original {
  return JSON.parse(out) as Original;
}

test("history show --original prints the unchanged line of a file on stdout, and its place on stderr", async () => {
  const { data, run, readFrom } = agentWorld("codex");
  const id = "0198c0de-0000-7000-8000-00000000000a";
  const path = join(
    data.folder,
    `sessions/2026/08/20/rollout-2026-08-20T09-15-30-0198c0de-0000-7000-8000-00000000000a.jsonl`,
  );
  const [message] = await readFrom(id, /^line \d+$/);
  const line = readFileSync(path, "utf8").split("\n")[Number(message?.raw.from?.slice("line ".length)) - 1];
  const { code, out, err } = await run(id, "--original", String(message?.lineNumber));
  expect([code, out, err]).toEqual([0, `${line}\n`, `${path}, ${message?.raw.from}\n`]);
  expect(parsed((await run(id, "--original", message?.uuid ?? "", "--json")).out)).toEqual({
    session: id,
    line: message?.lineNumber,
    path,
    place: message?.raw.from,
    text: line,
  });
});

test("history show --original prints the part of a document that a message was read from", async () => {
  const { data, run } = agentWorld("amp");
  const { path, place, text } = parsed((await run(data.sessions[0]?.id ?? "", "--original", "2", "--json")).out);
  const document = JSON.parse(readFileSync(path, "utf8")) as { messages: readonly unknown[] };
  expect([place, JSON.parse(text)]).toEqual(["messages/1", document.messages[1]]);
});

test("history show --original prints the rows of a message, or an error after the agent has deleted the rows", async () => {
  const { data, run, readFrom } = agentWorld("opencode");
  const [message] = await readFrom("ses_a", /^message\/msg_a1$/);
  const rowsOf = async () => {
    const { out } = await run("ses_a", "--original", String(message?.lineNumber), "--json");
    return parsed(out)
      .text.split("\n")
      .map((row) => JSON.parse(row) as { id: string; data: string });
  };
  expect((await rowsOf()).map(({ id }) => id)).toEqual(["msg_a1", "prt_a10"]);
  expect((await rowsOf())[1]?.data).toBe('{"type":"text","text":"Where are the helpers?"}');
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new DatabaseSync(join(data.folder, "opencode.db"));
  database.exec("DELETE FROM message WHERE id = 'msg_a1'; DELETE FROM part WHERE message_id = 'msg_a1'");
  database.close();
  const { code, err } = await run("ses_a", "--original", message?.uuid ?? "");
  expect([code, err]).toEqual([3, expect.stringContaining('has no line or message "')]);
});

test.each<{ agent: Agent; session: string; from: RegExp; file: RegExp; content: string }>([
  {
    agent: "droid",
    session: "f0000000-0000-4000-8000-000000000001",
    from: /^settings\.json$/,
    file: /\.settings\.json$/,
    content: '"thinkingTokens": 5',
  },
  {
    agent: "grok",
    session: "01999999-0000-7000-8000-000000000001",
    from: /^summary\.json$/,
    file: /summary\.json$/,
    content: "generated_title",
  },
  {
    agent: "grok",
    session: "01999999-0000-7000-8000-000000000001",
    from: /^updates line/,
    file: /updates\.jsonl$/,
    content: "turn_completed",
  },
  {
    agent: "copilot",
    session: "c0000000-0000-4000-8000-000000000001",
    from: /^workspace\.yaml$/,
    file: /workspace\.yaml$/,
    content: "name: List the files",
  },
  {
    agent: "kimi",
    session: "session_b2000000-0000-4000-8000-000000000002",
    from: /^state\.json$/,
    file: /state\.json$/,
    content: "List files",
  },
  {
    agent: "claude-desktop",
    session: "44444444-4444-4444-8444-444444444444",
    from: /^sidecar$/,
    file: /local_3.+\.json$/,
    content: "cliSessionId",
  },
  { agent: "goose", session: "20260301_1", from: /^sessions\//, file: /sessions\.db$/, content: "working_dir" },
  {
    agent: "cursor",
    session: "d0000000-0000-4000-8000-000000000004",
    from: /^composerData:/,
    file: /state\.vscdb$/,
    content: "fullConversationHeadersOnly",
  },
])(
  "history show --original reads a record of $agent that comes from another file or row than the messages: $from",
  async ({ agent, session, from, file, content }) => {
    const { run, readFrom } = agentWorld(agent);
    const found = await readFrom(session, from);
    expect(found.length).toBeGreaterThan(0);
    for (const { lineNumber } of found) {
      const { path, text } = parsed((await run(session, "--original", String(lineNumber), "--json")).out);
      expect(path).toMatch(file);
      expect(text).toContain(content);
    }
  },
);

test("history show --original hides secrets in files of Claude Desktop and in rows of Cursor", async () => {
  const desktop = agentWorld("claude-desktop");
  const id = "44444444-4444-4444-8444-444444444444";
  const [title] = await desktop.readFrom(id, /^sidecar$/);
  const { path } = parsed((await desktop.run(id, "--original", String(title?.lineNumber), "--json")).out);
  const sidecar = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, JSON.stringify({ ...sidecar, mcpServers: { crm: { env: { TOKEN: "hidden-1" } } } }));
  const shown = await desktop.run(id, "--original", String(title?.lineNumber));
  expect([shown.out.includes('"title"'), shown.out.includes("hidden-1")]).toEqual([true, false]);

  const cursor = agentWorld("cursor");
  const composer = "d0000000-0000-4000-8000-000000000004";
  const key = `composerData:${composer}`;
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new DatabaseSync(join(cursor.data.folder, "state.vscdb"));
  database
    .prepare("UPDATE cursorDiskKV SET value = json_set(value, '$.blobEncryptionKey', 'hidden-2') WHERE key = ?")
    .run(key);
  database.close();
  const [name] = await cursor.readFrom(composer, new RegExp(`^${key}$`));
  const { out } = await cursor.run(composer, "--original", String(name?.lineNumber));
  expect([out.includes("fullConversationHeadersOnly"), out.includes("hidden-2")]).toEqual([true, false]);
});

test("the error for a record that its agent has deleted contains the record's old place and file", async () => {
  const { data, readFrom, world, run } = agentWorld("droid");
  const id = data.sessions[0]?.id ?? "";
  const messages = [...(await readFrom(id, /^settings\.json$/)), ...(await readFrom(id, /^line 2$/))];
  const roots = data.roots.flatMap((root) => ["--root", root]);
  expect((await world.run("archive", ...roots, "--source", "droid")).code).toBe(0);
  rmSync(join(data.folder, "sessions/-srv-demo", `${id}.jsonl`));
  for (const { lineNumber, raw } of messages) {
    const { code, out, err } = await run(id, "--original", String(lineNumber));
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain(
      `The agent's record of line ${lineNumber} no longer exists. It was ${raw.from} in ${data.folder}`,
    );
  }
});

test("history show --original of Claude Code shows a line, a damaged line and a subagent's line unchanged", async () => {
  const world = createWorld();
  const path = join(world.root, "projects/-work-app", `${first}.jsonl`);
  appendFileSync(path, '{"type":"user","torn');
  const agent = { type: "user", uuid: "s1", isSidechain: true, sessionId: first, agentId: "a1b2c3", message: {} };
  world.write(`projects/-work-app/${first}/subagents/agent-a1b2c3.jsonl`, `${JSON.stringify(agent)}\n`);
  const lines = readFileSync(path, "utf8").split("\n");
  const textOf = async (session: string, line: number) =>
    parsed((await world.run("show", session, "--original", String(line), "--json")).out);
  expect(await textOf(first, 2)).toEqual({ session: first, line: 2, path, place: "line 2", text: lines[1] });
  expect((await textOf(first, lines.length)).text).toBe('{"type":"user","torn');
  expect((await textOf("agent-a1b2c3", 1)).text).toBe(JSON.stringify(agent));
});

test.each([
  [["show", "0", "--original", "9999"], 3, 'has no line or message "9999". --original takes the number of a line'],
  [["show", "0", "--original", "x1"], 3, 'has no line or message "x1"'],
  [
    ["show", "0", "--original", "1", "--output", "page.html"],
    2,
    "--output writes a whole session: leave out --original",
  ],
  [["show", "ffff", "--original", "1"], 3, "ffff"],
])("skein history %j ends with exit code %i", async (args, code, message) => {
  const found = await createWorld().run(...args);
  expect([found.code, found.err]).toEqual([code, expect.stringContaining(message)]);
});
