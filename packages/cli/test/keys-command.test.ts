import { randomBytes } from "node:crypto";
import { appendFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { storeOf } from "../../server/test/any-store.ts";
import { caller, folder, testServer } from "../../server/test/world.ts";
import { type Ended, call, environmentOf, lines, skeinProcess } from "./skein.ts";

/** Runs the command in the data folder, as an operator would. */
function skein(data: string, ...args: readonly string[]): Promise<Ended> {
  return call([...args, "--data", data], { env: environmentOf(data), cwd: data });
}

test("a running server accepts a new key in its tenant and scope until the key is revoked", async () => {
  const data = folder();
  const server = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  await server.call("POST", "/v1/agents", { name: "Mine" });
  const made = await skeinProcess(data, "keys", "make", "guest", "--scope", "run", "--tenant", "other", "--data", data);
  expect(made.code).toBe(0);
  const guest = caller(server.url, made.out.trim());
  expect((await guest("GET", "/v1/agents")).body.data).toEqual([]);
  expect((await guest("POST", "/v1/agents", { name: "A" })).status).toBe(403);
  const { out } = await skein(data, "keys", "list");
  expect(out).toMatch(/ guest +other +run .* valid/);
  expect(out).not.toContain(made.out.trim());
  expect(await skein(data, "keys", "make", "guest")).toMatchObject({ code: 2, err: expect.stringMatching(/already/) });
  expect((await skein(data, "keys", "revoke", "guest")).out).toMatch(/revoked/);
  await expect.poll(async () => (await guest("GET", "/v1/agents")).status).toBe(401);
  expect(await skein(data, "keys", "revoke", "guest")).toMatchObject({ code: 3, err: expect.stringMatching(/no key/) });
});

test("`skein keys` and `skein doctor` with --json print one JSON line for each item, with every field", async () => {
  const data = folder();
  const values = async (...args: readonly string[]) => lines((await skein(data, ...args, "--json")).out);
  const [made] = await values("keys", "make", "guest", "--scope", "read,run");
  const key = expect.any(String);
  const scopes = ["read", "run"];
  expect(made).toEqual({ name: "guest", owner: null, tenant: "default", scopes, expires_at: null, key });
  const [listed] = await values("keys", "list");
  expect(listed).toMatchObject({ name: "guest", tenant: "default", scopes: ["read", "run"], revoked_at: null });
  expect(JSON.stringify(listed)).not.toContain(made?.["key"]);
  expect(await values("keys", "hook-secret")).toEqual([{ tenant: "default", hook_secret: expect.any(String) }]);
  expect(await values("keys", "revoke", "guest")).toEqual([{ ...listed, revoked_at: expect.any(String) }]);
  expect(await values("doctor", "--port", "0")).toContainEqual({ what: "node", state: "ok", says: process.version });
});

test("after `skein keys rotate`, a running server accepts both keys, and the list says until when", async () => {
  const data = folder();
  const { url } = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  const old = (await skein(data, "keys", "make", "ci", "--owner", "team-a", "--expires", "90")).out.trim();
  const rotated = await skein(data, "keys", "rotate", "ci", "--overlap", "5");
  expect(rotated.err).toContain('The old key "ci" stays valid for 5 minutes.');
  for (const key of [old, rotated.out.trim()]) {
    const { body } = await caller(url, key)("GET", "/v1/me");
    expect(body["key"]).toMatchObject({ name: "ci", owner: "team-a", expires_at: expect.any(String) });
  }
  expect((await skein(data, "keys", "list")).out.match(/ ci +team-a .* valid until /g)).toHaveLength(2);
  expect(await skein(data, "keys", "rotate", "nobody")).toMatchObject({ code: 3 });
});

test("a key may have several scopes", async () => {
  const data = folder();
  const { url } = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  const made = await skein(data, "keys", "make", "analyst", "--scope", "run,sql");
  expect((await skein(data, "keys", "list")).out).toMatch(/ analyst +default +run,sql /);
  const analyst = caller(url, made.out.trim());
  expect((await analyst("POST", "/v1/sessions", {})).status).toBe(422);
  expect((await analyst("POST", "/v1/sql", {})).status).toBe(422);
  expect((await analyst("POST", "/v1/agents", {})).status).toBe(403);
});

test.each([
  [["keys", "mak"], 2, /Did you mean "make"/],
  [["keys", "make"], 2, /Expected/],
  [["keys", "make", "a", "--scope", "god"], 2, /"god" is not a scope/],
  [["keys", "make", "a", "--scope", "run,god"], 2, /"god" is not a scope/],
  [["keys", "make", "a", "--tenant", "$keys"], 2, /--tenant takes a tenant/],
])("skein %j is rejected with an error message and exit code %i", async (args, code, sentence) => {
  expect(await skein(folder(), ...args)).toMatchObject({ code, err: expect.stringMatching(sentence) });
});

test("the signing secret of a tenant's hooks is created once and shown to the operator", async () => {
  const data = folder();
  const first = await skein(data, "keys", "hook-secret");
  expect(first.out).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
  expect((await skein(data, "keys", "hook-secret")).out).toBe(first.out);
  expect((await skein(data, "keys", "hook-secret", "--tenant", "other")).out).not.toBe(first.out);
  expect((await skein(data, "keys", "hook-secret", "--tenant", "$keys")).code).toBe(2);
});

test("doctor reports what works, what is not set up yet and what is wrong", async () => {
  const data = folder();
  const fresh = await skeinProcess(data, "doctor", "--port", "0", "--data", data);
  expect(fresh.code).toBe(0);
  expect(fresh.out).toMatch(/note {3}model .*simulator/);
  expect(fresh.out).toMatch(/note {3}store .*does not exist yet/);
  expect(fresh.out).toMatch(hasBubblewrap ? /ok {5}sql .*sandbox of bubblewrap/ : /note {3}sql .*is off/);
  expect(fresh.out).toMatch(hasBubblewrap ? /ok {5}sandbox .*bubblewrap/ : /note {3}sandbox .*Missing/);
  expect(fresh.out).toMatch(/(?:ok {4}|note {2}) claude {4}Claude Code runs in (?:the sandbox|a process)/);
  writeFileSync(join(data, "skein.db"), "this is no database, whatever its name says".repeat(50));
  writeFileSync(join(data, "skein.config.ts"), "export default 7;");
  const wrong = await skein(data, "doctor", "--port", "0");
  expect(wrong.code).toBe(1);
  expect(wrong.out).toMatch(/wrong {2}store/);
  expect(wrong.out).toMatch(/wrong {2}code .*no object as default/);
  const other = join(data, "other.config.ts");
  writeFileSync(other, 'export default { claude: { folders: { docs: "/no/such/folder" } } };');
  const { out } = await skein(data, "doctor", "--port", "0", "--config", other);
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    "claude.folders.docs: /no/such/folder does not exist. Make it, or correct the path.",
  );
});

test.each(["sqlite", "file"])(
  "doctor changes no file of a %s store, and reads it while a server uses it",
  async (kind) => {
    const [data, place] = [folder(), folder()];
    const store = await storeOf(kind, place);
    const doctor = async (): Promise<string> =>
      (await skein(data, "doctor", "--port", "0", "--store", store)).out.replaceAll(/\s+/g, " ");
    expect(await doctor()).toContain(`note store ${kind}: does not exist yet.`);
    expect(filesIn(place)).toEqual({});
    await skein(data, "keys", "make", "guest", "--store", store);
    const file = join(place, "skein.db");
    const schema = kind === "sqlite" ? asked(file, "pragma user_version")?.["user_version"] : undefined;
    if (kind === "file") appendFileSync(join(place, "store", "records", "records.jsonl"), '{"put":[');
    else asked(file, `pragma user_version = ${Number(schema) - 1}`);
    const before = filesIn(place);
    const older = kind === "sqlite" ? "note" : "ok";
    expect(await doctor()).toContain(`${older} store ${kind}: can be opened, 1 valid key.`);
    expect(filesIn(place)).toEqual(before);
    if (kind === "sqlite") asked(file, `pragma user_version = ${String(schema)}`);
    await testServer({ data, store });
    expect(await doctor()).toContain(`ok store ${kind}: can be opened, 2 valid keys`);
  },
);

test("doctor changes nothing in a PostgreSQL database, whether it is empty or has an older schema", async () => {
  const data = folder();
  const { url } = await createDatabase(inject("postgres").url);
  const doctor = async (): Promise<string> =>
    (await skein(data, "doctor", "--port", "0", "--store", url)).out.replaceAll(/\s+/g, " ");
  const client = new pg.Client(url);
  onTestFinished(() => client.end());
  await client.connect();
  expect(await doctor()).toContain("note store postgres: does not exist yet.");
  expect((await client.query("select from pg_namespace where nspname = 'skein'")).rowCount).toBe(0);
  await skein(data, "keys", "make", "guest", "--store", url);
  expect(await doctor()).toContain("ok store postgres: can be opened, 1 valid key.");
  await client.query("delete from skein.views");
  expect(await doctor()).toMatch(/note store postgres: can be opened, 1 valid key\. Its schema is older/);
  expect((await client.query("select from skein.views")).rowCount).toBe(0);
});

/** Returns the contents of all files in a folder. */
function filesIn(place: string): Record<string, string> {
  const paths = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, "latin1")]));
}

function asked(file: string, sql: string): Record<string, unknown> | undefined {
  const database = new DatabaseSync(file);
  try {
    return database.prepare(sql).get();
  } finally {
    database.close();
  }
}

test("doctor says whether the secrets of the store are sealed, and which sealing key is missing", async () => {
  const data = folder();
  const look = async (env: Record<string, string> = {}): Promise<string> => {
    const { out } = await call(["doctor", "--port", "0", "--data", data], {
      env: { ...environmentOf(data), ...env },
      cwd: data,
    });
    return /^\S+ +secrets .*(?:\n {8,}.*)*/m.exec(out)?.[0].replaceAll(/\s+/g, " ") ?? out;
  };
  await skein(data, "keys", "hook-secret");
  expect(await look()).toContain("note secrets Secrets of webhooks, hooks and sessions are stored unencrypted.");
  expect(await look()).toContain("Unencrypted now: 1 secret.");
  const key = randomBytes(32).toString("base64");
  expect(await look({ SKEIN_SECRETS_KEY: key })).toMatch(
    /note secrets 1 unencrypted secret in the store\. `skein keys seal` encrypts/,
  );
  await call(["keys", "seal", "--data", data], { env: { ...environmentOf(data), SKEIN_SECRETS_KEY: key }, cwd: data });
  expect(await look({ SKEIN_SECRETS_KEY: key })).toMatch(/^ok secrets Encrypted with the key [0-9a-f]{8}\.$/);
  expect(await look()).toMatch(
    /^wrong secrets A secret of this store was sealed with the key [0-9a-f]{8}, which .* SKEIN_SECRETS_KEY_LOST=/,
  );
});

test("doctor tests the model's key and never prints it", async () => {
  const key = "sk-ant-never-said-0123456789";
  const answers = createServer((request, response) => {
    const isTaken = request.headers["x-api-key"] === key && request.url === "/v1/models?limit=1";
    response
      .setHeader("connection", "close")
      .writeHead(request.url?.startsWith("/odd") ? 404 : isTaken ? 200 : 401)
      .end("{}");
  });
  await new Promise<void>((resolve) => answers.listen(0, "127.0.0.1", resolve));
  const { port } = answers.address() as AddressInfo;
  const doctor = async (model: Record<string, string>): Promise<string> => {
    const data = folder();
    const { out, err } = await call(["doctor", "--port", "0", "--data", data], {
      env: { ...environmentOf(data), ...model },
      cwd: data,
    });
    const text = out + err;
    expect(text).not.toContain("never-said");
    return text;
  };
  const url = `http://127.0.0.1:${port}`;
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key })).toMatch(/ok {5}model .*accepts the key/);
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: `${key}x` })).toMatch(
    /wrong {2}model .*rejects the key .*401/,
  );
  expect(await doctor({ ANTHROPIC_BASE_URL: `${url}/odd`, ANTHROPIC_API_KEY: key })).toMatch(/note {3}model .*404/);
  await new Promise((resolve) => answers.close(resolve));
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key })).toMatch(
    /wrong {2}model .*cannot be reached \(ECONNREFUSED\)/,
  );
});
