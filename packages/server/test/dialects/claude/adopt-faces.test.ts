/** Sessions are adopted and exported with the command line and over HTTP. */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeCorpus } from "@skein/history/testing";
import { createKeys } from "@skein/server";
import { describe, expect, test } from "vitest";
import { dataFolder, lines, skein } from "../../../../cli/test/skein.ts";
import { openStore } from "../../../../skein/src/open-store.ts";
import { caller, testServer } from "../../world.ts";

const SESSION = /^[0-9a-f-]{36}\n$/;

/** Creates a home folder with a data directory of Claude Code. */
function atHome(): { readonly home: string; readonly ids: readonly string[] } {
  const home = dataFolder();
  mkdirSync(join(home, ".claude"));
  const { sessions } = writeCorpus({
    folder: join(home, ".claude"),
    files: 4,
    bytes: 120_000,
    seed: 3,
    subagentEvery: 1,
  });
  return { home, ids: sessions };
}

function files(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

describe("skein adopt", { timeout: 120_000 }, () => {
  test("`skein adopt` accepts an index or the beginning of an id, and `skein sessions export` writes the session's files unchanged", async () => {
    const { home, ids } = atHome();
    const [first = "", second = ""] = ids;
    const byId = await skein(home, "adopt", first.slice(0, 8));
    expect(byId).toMatchObject({ code: 0, out: `${first}\n` });
    const byIndex = await skein(home, "adopt", "0", "--json");
    const [adopted] = lines(byIndex.out.length > 0 ? byIndex.out : "{}");
    if (byIndex.code === 0) expect(adopted).toMatchObject({ id: second });
    else expect(byIndex.err).toContain("was adopted before");

    const [listed] = lines((await skein(home, "sessions", "show", first, "--json")).out);
    expect(listed).toMatchObject({ id: first, status: "idle", outcome: "completed" });

    const elsewhere = join(home, "elsewhere");
    const sent = await skein(home, "sessions", "export", first, "--claude-code", elsewhere);
    expect(sent.code).toBe(0);
    expect(sent.err).toContain(`claude --resume ${first}`);
    const written = sent.out.trim().split("\n");
    expect(written.toSorted()).toEqual(files(elsewhere).toSorted());
    for (const path of written) {
      const original = path.replace(elsewhere, join(home, ".claude"));
      expect(readFileSync(path).equals(readFileSync(original)), path).toBe(true);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    // Claude Code's folder already has the session, so nothing is written and nothing is lost.
    expect((await skein(home, "sessions", "export", first, "--claude-code")).code).toBe(0);
  });

  test.each([
    ["an unknown session", ["adopt", "ffffffff"], 3, "ffffffff"],
    ["adopt without a session", ["adopt"], 2, "Expected SESSION"],
    ["an export without a session", ["sessions", "export", "--claude-code"], 2, "Expected SESSION"],
    [
      "one output file for several files",
      ["sessions", "export", "x", "--claude-code", "--output", "f"],
      2,
      "several files",
    ],
  ])("the error of `skein adopt` or `skein sessions export` says what is wrong: %s", async (_, args, code, words) => {
    const { home } = atHome();
    const ended = await skein(home, ...args);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(words);
    expect(ended.out).not.toMatch(SESSION);
  });

  test("a session of another runtime has no files to export", async () => {
    const home = dataFolder();
    const run = await skein(home, "run", "hello");
    const id = /session ([0-9a-f-]{36})/.exec(run.err)?.[1] ?? "";
    const ended = await skein(home, "sessions", "export", id, "--claude-code", join(home, "x"));
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining("another runtime") as string });
    expect(existsSync(join(home, "x"))).toBe(false);
  });
});

describe("over HTTP", { timeout: 60_000 }, () => {
  /** The files of a session, as a client uploads them. */
  function uploadOf(home: string, id: string): { path: string; content: string }[] {
    const root = join(home, ".claude");
    return files(root)
      .filter((path) => path.includes(id))
      .map((path) => ({ path: path.slice(root.length + 1), content: readFileSync(path, "utf8") }));
  }

  test("a session made of uploaded files has no folder if its original folder is not allowed, and its files are exported unchanged", async () => {
    const { home, ids } = atHome();
    const [id = ""] = ids;
    const { call } = await testServer();
    const upload = uploadOf(home, id);
    expect(upload.length).toBeGreaterThan(2);
    const made = await call("POST", "/api/v1/sessions/adopt", { files: upload });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ id, status: "completed", working_directory: null });
    expect((await call("GET", `/v1/sessions/${id}`)).body).toMatchObject({ id, status: "completed" });
    const back = await call("GET", `/api/v1/sessions/${id}/export`);
    const byPath = (given: readonly { path: string; content: string }[]) =>
      new Map(given.map(({ path, content }) => [path, content]));
    expect(byPath(back.body["files"] as typeof upload)).toEqual(byPath(upload));
    const again = await call("POST", "/api/v1/sessions/adopt", { files: upload });
    expect([again.status, again.body.error.code]).toEqual([409, "ALREADY_EXISTS"]);
  });

  test("an upload is rejected if it has file names outside the session, files of two sessions, or only subagents", async () => {
    const { home, ids } = atHome();
    const [id = "", other = ""] = ids;
    const { call } = await testServer();
    const [main] = uploadOf(home, id).filter(({ path }) => path.endsWith(`${id}.jsonl`));
    const refused: readonly (readonly { path: string; content: string }[])[] = [
      [{ path: "../../etc/passwd", content: "x" }],
      [{ path: `projects/-a/${id}/subagents/../../../x.jsonl`, content: "x" }],
      [{ path: `projects/a b/${id}.jsonl`, content: "" }],
      [{ path: `projects/-a/${id}/subagents/agent-a.jsonl`, content: "" }],
      [...(main ? [main] : []), ...uploadOf(home, other)],
      [],
    ];
    for (const given of refused) {
      const answer = await call("POST", "/api/v1/sessions/adopt", { files: given });
      expect([answer.status, answer.body.error.code]).toEqual([422, "VALIDATION_ERROR"]);
    }
    expect((await call("GET", `/v1/sessions/${id}`)).status).toBe(404);
  });

  test("adopting needs the same scope as importing", async () => {
    const { home, ids } = atHome();
    const { call, url } = await testServer();
    const { body } = await call("POST", "/v1/keys", { name: "runner", scopes: ["run"] });
    const files = uploadOf(home, ids[0] ?? "");
    const refused = await caller(url, String(body["key"]))("POST", "/api/v1/sessions/adopt", { files });
    expect([refused.status, refused.body.error.message]).toEqual([403, 'This key does not have the scope "admin".']);
  });

  test("another tenant's session is neither shown nor overwritten, and the answer does not reveal that it exists", async () => {
    const { home, ids } = atHome();
    const [id = ""] = ids;
    const files = uploadOf(home, id);
    const address = `sqlite:${join(home, "server.db")}`;
    const { call, url } = await testServer({ store: address });
    const store = await openStore(address);
    const made = (tenant: string) =>
      createKeys({ records: store.records }).make({ name: "k", tenant, scopes: ["admin"] });
    const [other, third] = [caller(url, await made("other")), caller(url, await made("third"))];
    await store.close();
    // The answer is the same whether or not another tenant has adopted the session. Only its times differ.
    const before = await other("POST", "/api/v1/sessions/adopt", { files });
    expect((await call("POST", "/api/v1/sessions/adopt", { files })).body.id).toBe(id);
    const after = await third("POST", "/api/v1/sessions/adopt", { files });
    expect([before.status, after.status]).toEqual([201, 201]);
    expect(new Set([id, before.body.id, after.body.id]).size).toBe(3);
    for (const [mine, own] of [
      [other, before.body.id],
      [third, after.body.id],
    ] as const) {
      expect((await mine("GET", `/api/v1/sessions/${id}/export`)).status).toBe(404);
      const { body } = await mine("GET", `/api/v1/sessions/${own}/export`);
      expect(JSON.stringify(body)).not.toContain(`"sessionId":"${id}"`);
      expect(JSON.stringify(body["files"])).toContain(own);
    }
  });
});
