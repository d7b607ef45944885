/**
 * The operator's policy on a real server: what each key may run, and the message of each rejection. A stub replaces
 * Claude Code.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKeys } from "@skein/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createStub } from "../../adapters/test/claude-code/stub.ts";
import { openStore } from "../../skein/src/open-store.ts";
import { codeOf } from "../../skein/src/serve/config-file.ts";
import { type ClaudeServer, claudeServer } from "./dialects/claude/server.ts";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { type Caller, caller, testServer } from "./world.ts";

let home: string;
let server: ClaudeServer;
let executable: string;
const callers: Record<string, Caller> = {};
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "skein-policy-")));
  const storeUrl = `sqlite:${home}/skein.db`;
  ({ executable } = await createStub(home, "exit 3"));
  const docs = join(home, "docs");
  mkdirSync(docs);
  server = await claudeServer({
    storeUrl,
    claude: {
      executable,
      keys: ["narrow", "wide", "looper"],
      folders: { docs: { path: docs, access: "read" }, store: home },
    },
    policy: {
      sandbox: "off",
      keys: {
        narrow: {
          tools: ["Read", "mcp__*"],
          models: ["claude-haiku-*"],
          permissionModes: ["default", "plan"],
          folders: [],
        },
        looper: { runtimes: ["loop"], models: ["claude-sonnet-*"] },
        mixed: { tools: ["Read"] },
        walled: { sandbox: "required" },
        "other/ci": { tools: ["Read"] },
      },
    },
  });
  const store = await openStore(storeUrl);
  const { make } = createKeys({ records: store.records });
  for (const name of ["narrow", "wide", "looper", "walled"])
    callers[name] = caller(server.url, await make({ name, scopes: ["run"], tenant: "default" }));
  const other = { name: "boss", scopes: ["admin" as const], tenant: "other" };
  callers["boss"] = caller(server.url, await make(other));
  await store.close();
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const as = (name: string): Caller => callers[name] ?? server.call;
const prompt = "Hi.";
const model = "claude-haiku-4-5";

test.each([
  ["a tool", { allowed_tools: ["Bash(git *)"] }, 'use the tool "Bash". It may use: Read, mcp__*.'],
  ["a model", { model: "opus" }, 'use the model "opus". It may use: claude-haiku-*.'],
  ["a permission mode", { permission_mode: "acceptEdits" }, 'the permission mode "acceptEdits"'],
  ["a folder", { cwd: "docs" }, "cwd: Expected an absolute path."],
  [
    "a folder by its path",
    { cwd: "/srv/none" },
    'cwd: The operator of this server does not allow the folder "/srv/none". The operator can add it to folders in this key\'s rules of the policy.',
  ],
  [
    "a tool of a subagent",
    { agents: { helper: { description: "d", prompt: "p", tools: ["Write"] } } },
    'use the tool "Write"',
  ],
  [
    "settings of a folder, which can name commands,",
    { setting_sources: ["project"] },
    'setting_sources: The settings in a folder can start commands. The policy of this server does not let this key use the tool "Bash".',
  ],
])(
  "a query that asks for %s beyond the rules of its key is rejected with an error message",
  async (_, asked, sentence) => {
    const { status, body } = await as("narrow")("POST", "/api/v1/query/single", { prompt, model, ...asked });
    expect(status === 403 || status === 422).toBe(true);
    expect(body.error.message).toContain(sentence);
    // A key without this rule may send the same query.
    const other = await as("wide")("POST", "/api/v1/query/single", { prompt, model, ...asked });
    if (!("cwd" in asked)) expect(other.status).toBe(200);
  },
);

test.each([
  ["cwd", { cwd: "store" }],
  ["add_dirs", { add_dirs: ["store"] }],
])(
  "a folder with data of the server cannot be the folder of a session, even if the operator allowed it: %s",
  async (field, asked) => {
    const { status, body } = await as("wide")("POST", "/api/v1/query/single", { prompt, ...asked });
    expect([status, body.error.message]).toEqual([
      403,
      `${field}: This folder contains data of the server, which no session may see. Name another folder, or keep the data elsewhere (--data, --store, --files).`,
    ]);
  },
);

test("no route lets a key continue a session that has more rights than the key's rules give", async () => {
  const { body } = await as("wide")("POST", "/api/v1/query/single", { prompt });
  const id = String(body["session_id"]);
  const asked: readonly [path: string, body: object][] = [
    [`/api/v1/sessions/${id}/resume`, { prompt }],
    [`/api/v1/sessions/${id}/fork`, { prompt }],
    [`/api/v1/sessions/${id}/control`, { type: "permission_mode_change", permission_mode: "plan" }],
    [`/v1/sessions/${id}/messages`, { role: "user", content: { text: prompt } }],
    [`/v1/sessions/${id}/awaits/toolu_x`, { content: "yes" }],
  ];
  for (const [path, given] of asked) {
    const { status, body: answer } = await as("narrow")("POST", path, given);
    expect([path, status]).toEqual([path, 403]);
    expect(answer.error.message).toContain(
      'The key "wide" began this session and may use tools that this key may not use',
    );
  }
});

test.skipIf(!hasBubblewrap)("a key whose rules require a sandbox cannot continue a session without one", async () => {
  const { body } = await as("wide")("POST", "/api/v1/query/single", { prompt });
  const path = `/v1/sessions/${String(body["session_id"])}/messages`;
  const { status, body: answer } = await as("walled")("POST", path, { role: "user", content: { text: prompt } });
  expect([status, answer.error.message]).toEqual([
    403,
    expect.stringContaining('The key "wide" began this session and may use a weaker sandbox that this key may not use'),
  ]);
});

test("an admin of another tenant cannot take the rights of a key by giving a new key its name", async () => {
  const make = async (who: Caller, name: string) => who("POST", "/v1/keys", { name, scopes: ["run"] });
  for (const name of ["narrow", "wide", "walled", "other/ci"]) {
    const { status, body } = await make(as("boss"), name);
    expect([name, status, body.error?.message]).toEqual([
      name,
      403,
      `The operator of this server has rules for keys named "${name}". Choose another name, or ask the operator to make this key.`,
    ]);
  }
  expect((await make(as("boss"), "ci")).status).toBe(201);
  expect((await make(server.call, "mixed")).status).toBe(201);
  expect((await make(server.call, "other/ci")).status).toBe(403);
});

test("a key whose rules allow only the loop can run agents with its models, but not Claude Code", async () => {
  const refused = await as("looper")("POST", "/api/v1/query/single", { prompt });
  expect([refused.status, refused.body.error.message]).toEqual([
    403,
    'The policy of this server does not let this key use the runtime "claude-code". It may use: loop.',
  ]);
  const made = async (config: object) => (await server.call("POST", "/v1/agents", { name: "A", ...config })).body.id;
  const good = await made({ model: "claude-sonnet-5-5" });
  expect((await as("looper")("POST", "/v1/sessions", { agent_id: good })).status).toBe(201);
  const bad = await as("looper")("POST", "/v1/sessions", { agent_id: await made({ model: "claude-opus-5-5" }) });
  expect([bad.status, bad.body.error.message]).toEqual([403, expect.stringContaining('the model "claude-opus-5-5"')]);
  const coder = await as("looper")("POST", "/v1/sessions", { agent_id: await made({ runtime: "claude-code" }) });
  expect(coder.status).toBe(403);
});

test("without a sandbox, a session in a read-only folder is rejected, and the audit log has the rejection", async () => {
  const { body } = await as("wide")("POST", "/api/v1/query/single", { prompt, cwd: "docs" });
  const sentence = "allows only reading in this folder. Skein can enforce that only in a sandbox";
  expect(JSON.stringify(body)).toContain(sentence);
  const { body: audit } = await server.call("GET", "/v1/audit?action=sandbox.refuse");
  expect(audit.data).toContainEqual(
    expect.objectContaining({
      target: body["session_id"],
      outcome: "refused",
      detail: expect.stringContaining(sentence),
    }),
  );
});

test.each([
  [{ tools: ["Bush"] }, 'policy.tools: There is no tool "Bush" on this server. Did you mean "Bash"?'],
  [{ sandbox: "off" as const, hosts: ["a.test"] }, 'policy.hosts: "a.test" is not in claude.hosts.'],
  [{ keys: { ci: { folders: ["docs"] } } }, 'policy.keys.ci.folders: "docs" is neither a name in claude.folders'],
])("a server does not start with the policy %j", async (policy, sentence) => {
  await expect(testServer({ config: { policy } })).rejects.toThrow(sentence);
});

test("the error for an unknown rule or a rule of the wrong type names its place in the policy", () => {
  expect(() => codeOf({ policy: { tool: [] } as object })).toThrow(/policy: .*tool/);
  expect(() => codeOf({ policy: { keys: { ci: { concurrentRuns: 0 } } } })).toThrow(
    /policy\.keys\.ci\.concurrentRuns: /,
  );
  for (const absurd of [-1, 0, 1e12, Number.NaN])
    expect(() => codeOf({ policy: { tenants: { acme: { spendPerDayUsd: absurd } } } })).toThrow(
      /policy\.tenants\.acme\.spendPerDayUsd: /,
    );
  expect(() => codeOf({ policy: { agents: { Helper: { concurrentRuns: 2.5 } } } })).toThrow(
    /policy\.agents\.Helper\.concurrentRuns: /,
  );
});

describe("the state of the sandbox", () => {
  const detail = async ({ call }: { call: Caller }): Promise<string> => {
    const { body } = await call("GET", "/health");
    const parts = body["dependencies"] as { name: string; detail: string }[];
    return parts.find(({ name }) => name === "sandbox")?.detail ?? "";
  };

  test("/health shows the state of the sandbox to callers with a key", async () => {
    expect(await detail(server)).toContain("Off (off, because the operator chose it): programs that a model starts");
  });

  test.skipIf(!hasBubblewrap)(
    "the sandbox is preferred for one admin on loopback, and required as soon as there is another key",
    async () => {
      const storeUrl = `sqlite:${home}/alone.db`;
      const alone = await testServer({ store: storeUrl });
      expect(await detail(alone)).toContain(
        "not required here, because the server listens on this machine only, and every key",
      );
      const store = await openStore(storeUrl);
      await createKeys({ records: store.records }).make({ name: "second", scopes: ["run"], tenant: "default" });
      await store.close();
      await expect.poll(() => detail(alone)).toContain('required, because the key "second"');
    },
  );
});

test("the server says at its start which keys of the policy do not exist", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-policy-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = `sqlite:${folder}/skein.db`;
  const opened = await openStore(store);
  await createKeys({ records: opened.records }).make({ name: "guest", scopes: ["run"], tenant: "default" });
  await opened.close();
  const policy = { keys: { guest: { spendPerDayUsd: 20 }, gest: { spendPerDayUsd: 20 } } };
  const { notes } = await testServer({ store, config: { policy } });
  expect(notes).toEqual(['policy.keys names the key "gest", which does not exist. "skein keys list" shows the keys.']);
});
