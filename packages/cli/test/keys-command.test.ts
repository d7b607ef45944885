import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { caller, folder, testServer } from "../../server/test/world.ts";

// Every command is a process of its own, and a machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));
const env = { ...process.env, ANTHROPIC_API_KEY: "", SKEIN_API_KEY: "", SKEIN_STORE_URL: "" };

function skein(data: string, ...args: readonly string[]) {
  return spawnSync(process.execPath, [bin, ...args, "--data", data], { encoding: "utf8", env, cwd: data });
}

test("a key made beside a running server works in its tenant and scope until it is revoked", async () => {
  const data = folder();
  const { url, call } = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  await call("POST", "/v1/agents", { name: "Mine" });
  const made = skein(data, "keys", "make", "guest", "--scope", "run", "--tenant", "other");
  expect(made.status).toBe(0);
  const guest = caller(url, made.stdout.trim());
  expect((await guest("GET", "/v1/agents")).body.data).toEqual([]);
  expect((await guest("POST", "/v1/agents", { name: "A" })).status).toBe(403);
  const { stdout } = skein(data, "keys", "list");
  expect(stdout).toMatch(/ guest +other +run .* valid/);
  expect(stdout).not.toContain(made.stdout.trim());
  expect(skein(data, "keys", "make", "guest")).toMatchObject({ status: 2, stderr: expect.stringMatching(/already/) });
  expect(skein(data, "keys", "revoke", "guest").stdout).toMatch(/revoked/);
  await expect.poll(async () => (await guest("GET", "/v1/agents")).status, { timeout: 20_000 }).toBe(401);
  expect(skein(data, "keys", "revoke", "guest")).toMatchObject({ status: 3, stderr: expect.stringMatching(/no key/) });
});

test("keys and doctor say the same as JSON, a line for each thing", () => {
  const data = folder();
  const lines = (...args: readonly string[]) =>
    skein(data, ...args, "--json")
      .stdout.trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const [made] = lines("keys", "make", "guest", "--scope", "read,run");
  expect(made).toEqual({ name: "guest", tenant: "default", scopes: ["read", "run"], key: expect.any(String) });
  const [listed] = lines("keys", "list");
  expect(listed).toMatchObject({ name: "guest", tenant: "default", scopes: ["read", "run"], revoked_at: null });
  expect(JSON.stringify(listed)).not.toContain(made?.["key"]);
  expect(lines("keys", "hook-secret")).toEqual([{ tenant: "default", hook_secret: expect.any(String) }]);
  expect(lines("keys", "revoke", "guest")).toEqual([{ ...listed, revoked_at: expect.any(String) }]);
  expect(lines("doctor", "--port", "0")).toContainEqual({ what: "node", state: "ok", says: process.version });
});

test("a key may have several scopes", async () => {
  const data = folder();
  const { url } = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  const made = skein(data, "keys", "make", "analyst", "--scope", "run,sql");
  expect(skein(data, "keys", "list").stdout).toMatch(/ analyst +default +run,sql /);
  const analyst = caller(url, made.stdout.trim());
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
])("skein %j is a sentence and exit code %i", (args, status, sentence) => {
  expect(skein(folder(), ...args)).toMatchObject({ status, stderr: expect.stringMatching(sentence) });
});

test("what hooks of a tenant are signed with is made once and shown to the operator", () => {
  const data = folder();
  const first = skein(data, "keys", "hook-secret");
  expect(first.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
  expect(skein(data, "keys", "hook-secret").stdout).toBe(first.stdout);
  expect(skein(data, "keys", "hook-secret", "--tenant", "other").stdout).not.toBe(first.stdout);
  expect(skein(data, "keys", "hook-secret", "--tenant", "$keys").status).toBe(2);
});

test("doctor says what is there, what is not yet and what is wrong", () => {
  const data = folder();
  const fresh = skein(data, "doctor", "--port", "0");
  expect(fresh.status).toBe(0);
  expect(fresh.stdout).toMatch(/note {3}model .*simulator/);
  expect(fresh.stdout).toMatch(/note {3}store .*not there yet/);
  expect(fresh.stdout).toMatch(hasBubblewrap ? /ok {5}sql .*sandbox of bubblewrap/ : /note {3}sql .*is off/);
  expect(fresh.stdout).toMatch(/(?:ok {4}|note {2}) claude {4}Claude Code runs in a process (?:namespace|group)/);
  writeFileSync(join(data, "skein.db"), "this is no database, whatever its name says".repeat(50));
  writeFileSync(join(data, "skein.config.ts"), "export default 7;");
  const wrong = skein(data, "doctor", "--port", "0");
  expect(wrong.status).toBe(1);
  expect(wrong.stdout).toMatch(/wrong {2}store/);
  expect(wrong.stdout).toMatch(/wrong {2}code .*default export/);
});

test("doctor tries the model's key and never says it", async () => {
  const key = "sk-ant-never-said-0123456789";
  const answers = createServer((request, response) => {
    const isTaken = request.headers["x-api-key"] === key && request.url === "/v1/models?limit=1";
    response.writeHead(request.url?.startsWith("/odd") ? 404 : isTaken ? 200 : 401).end("{}");
  });
  await new Promise<void>((resolve) => answers.listen(0, "127.0.0.1", resolve));
  const { port } = answers.address() as AddressInfo;
  const doctor = async (model: Record<string, string>): Promise<string> => {
    const data = folder();
    const child = spawn(process.execPath, [bin, "doctor", "--port", "0", "--data", data], {
      env: { ...env, ...model },
      cwd: data,
    });
    const said: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    await once(child, "close");
    const text = Buffer.concat(said).toString();
    expect(text).not.toContain("never-said");
    return text;
  };
  const url = `http://127.0.0.1:${port}`;
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key })).toMatch(/ok {5}model .*takes the key/);
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: `${key}x` })).toMatch(
    /wrong {2}model .*refuses the key .*401/,
  );
  expect(await doctor({ ANTHROPIC_BASE_URL: `${url}/odd`, ANTHROPIC_API_KEY: key })).toMatch(/note {3}model .*404/);
  await new Promise((resolve) => answers.close(resolve));
  expect(await doctor({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key })).toMatch(
    /wrong {2}model .*cannot be reached \(ECONNREFUSED\)/,
  );
});
