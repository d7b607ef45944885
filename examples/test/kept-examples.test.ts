/** Tests the examples that are folders. Each runs without a key, as its README describes. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { writeCorpus } from "@skein/history/testing";
import { describe, expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const FLAGS = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];

const folders = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter(
    (entry) => entry.isDirectory() && !["test", "from", "skills"].includes(entry.name) && !entry.name.startsWith("."),
  )
  .map(({ name }) => name);

test.each(folders)("%s has a README with the command that runs it", (name) => {
  const readme = readFileSync(join(root, `examples/${name}/README.md`), "utf8");
  const [, command = ""] = /```sh\n(npx .+)\n```/.exec(readme) ?? [];
  const [file = "none"] = /examples\/\S+\.(?:ts|sql)/.exec(command) ?? [];
  expect(existsSync(join(root, file)), command).toBe(true);
});

/** A user with an empty home folder. */
function user(): { readonly home: string; readonly env: NodeJS.ProcessEnv } {
  const home = mkdtempSync(join(tmpdir(), "skein-kept-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { home, env: { PATH, HOME: home, TMPDIR: home, NODE_COMPILE_CACHE } };
}

function run(
  env: NodeJS.ProcessEnv,
  ...args: readonly string[]
): { status: number | null; stdout: string; stderr: string } {
  const cwd = env["HOME"] ?? root;
  return spawnSync(process.execPath, [...FLAGS, ...args], { cwd, env, encoding: "utf8", timeout: 60_000 });
}

describe("support-agent", () => {
  interface Shop {
    readonly child: ChildProcess;
    get(path: string): Promise<unknown>;
    post(path: string, body: unknown): Promise<{ sessionId: string; answer: string; error: string }>;
  }

  async function open(env: NodeJS.ProcessEnv, data: string): Promise<Shop> {
    const args = [...FLAGS, join(root, "examples/support-agent/server.ts"), "0", data];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const at = (path: string): string => new URL(path, line).href;
    return {
      child,
      get: async (path) => (await fetch(at(path))).json(),
      post: async (path, body) =>
        (await fetch(at(path), { method: "POST", body: JSON.stringify(body) })).json() as Promise<never>,
    };
  }

  test("the support agent pays an approved refund once, also if the server is killed before the approval", async () => {
    const { home, env } = user();
    const refunds = (): string => readFileSync(join(home, "shop/refunds.txt"), "utf8");
    const first = await open(env, join(home, "shop"));
    const asked = await first.post("/ask", { text: 'Use find_order with "A17".' });
    expect(asked.answer).toContain("wool, 10 balls");
    const { sessionId } = await first.post("/ask", { text: 'Use refund with "A17".', sessionId: asked.sessionId });
    expect(sessionId).toBe(asked.sessionId);
    expect(existsSync(join(home, "shop/refunds.txt"))).toBe(false);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    const second = await open(env, join(home, "shop"));
    const waiting = (await second.get("/waiting")) as readonly { name: string; tool_use_id: string }[];
    expect(waiting).toMatchObject([{ session_id: sessionId, name: "refund", input: { number: "A17" } }]);
    const decision = { sessionId, toolUseId: waiting[0]?.tool_use_id, isAllowed: true };
    expect((await second.post("/decide", decision)).answer).toContain("Paid back: order A17.");
    expect(refunds()).toMatch(/^A17 48 EUR \S+\n$/);
    expect(await second.get("/waiting")).toEqual([]);

    // A page that is loaded again shows the whole conversation.
    const conversation = (await second.post("/conversation", { sessionId })) as unknown;
    expect(conversation).toMatchObject([
      { role: "user", text: 'Use find_order with "A17".' },
      { role: "assistant" },
      { role: "assistant", text: expect.stringContaining("wool, 10 balls") },
      { role: "user", text: 'Use refund with "A17".' },
      { role: "assistant" },
      { role: "assistant", text: expect.stringContaining("Paid back: order A17.") },
    ]);

    const again = await second.post("/decide", decision);
    expect(again.error ?? again.answer).toEqual(expect.any(String));
    expect(refunds()).toMatch(/^A17 48 EUR \S+\n$/);
  });

  test("the support agent does not pay a denied refund, and rejects an invalid body", async () => {
    const { home, env } = user();
    const shop = await open(env, join(home, "shop"));
    const { sessionId, answer } = await shop.post("/ask", { text: 'Use refund with "B23".' });
    expect(answer).toContain("A colleague looks at this");
    const [wait] = (await shop.get("/waiting")) as readonly { tool_use_id: string }[];
    const denied = await shop.post("/decide", { sessionId, toolUseId: wait?.tool_use_id, isAllowed: false });
    expect(denied.answer).toContain("does not pay this back");
    expect(existsSync(join(home, "shop/refunds.txt"))).toBe(false);
    expect((await shop.post("/ask", { text: "" })).error).toContain("text");
  });
});

test("nightly-report writes one report per day, however often it runs", () => {
  const { home, env } = user();
  const report = join(root, "examples/nightly-report/report.ts");
  const args = [report, join(root, "examples/nightly-report/orders.csv"), join(home, "reports"), "2026-11-17"];
  const first = run(env, ...args);
  expect(first.stdout, first.stderr).toContain("Written: ");
  const page = readFileSync(join(home, "reports/2026-11-17.md"), "utf8");
  expect(page).toMatch(/^# 2026-11-17: simulated headline: day 2026-11-17, orders 2, euros 148\n\n.+\n\nCost: \$0\n$/);
  const second = run(env, ...args);
  expect(second).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("There is a report for 2026-11-17 already"),
  });
  expect(readFileSync(join(home, "reports/2026-11-17.md"), "utf8")).toBe(page);
});

test("nightly-report writes no page if its tool fails, and the next start writes the report", () => {
  const { home, env } = user();
  const report = join(root, "examples/nightly-report/report.ts");
  const orders = join(home, "orders.csv");
  const args = [report, orders, join(home, "reports"), "2026-11-17"];
  expect(run(env, ...args)).toMatchObject({ status: 2, stderr: expect.stringContaining("There is no file") });
  mkdirSync(orders);
  const failed = run(env, ...args);
  expect(failed.stderr).toContain("There is no report: ");
  expect(failed.status).toBe(1);
  expect(existsSync(join(home, "reports/2026-11-17.md"))).toBe(false);
  rmSync(orders, { recursive: true });
  cpSync(join(root, "examples/nightly-report/orders.csv"), orders);
  expect(run(env, ...args).stdout).toContain("Written: ");
  expect(readFileSync(join(home, "reports/2026-11-17.md"), "utf8")).toContain("orders 2, euros 148");
});

const canReview =
  existsSync(join(root, "node_modules/@anthropic-ai/claude-agent-sdk")) &&
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;

test.skipIf(!canReview)("code-reviewer reads the folder, but nothing outside of it", () => {
  const { home, env } = user();
  cpSync(join(root, "examples/support-agent"), join(home, "code"), { recursive: true });
  mkdirSync(join(home, "private"));
  writeFileSync(join(home, "private/secret.txt"), "the secret of this test");
  const review = join(root, "examples/code-reviewer/review.ts");
  const inside = run(env, review, join(home, "code"), `Use Read with "${join(home, "code/agent.ts")}".`);
  expect(inside, inside.stderr).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("looks up orders by itself"),
  });
  const outside = run(env, review, join(home, "code"), `Use Read with "${join(home, "private/secret.txt")}".`);
  expect(outside.stdout).not.toContain("the secret of this test");
  expect(outside).toMatchObject({ status: 0, stdout: expect.stringContaining("does not exist") });
});

test("my-year answers its six questions", () => {
  const { home, env } = user();
  writeCorpus({ folder: join(home, ".claude"), files: 4, bytes: 200_000 });
  const skein = join(root, "packages/cli/bin/skein.js");
  const { status, stdout, stderr } = run(env, skein, "sql", "--file", join(root, "examples/my-year/year.sql"));
  expect({ status, stderr }).toMatchObject({ status: 0 });
  for (const column of ["sessions", "source", "month", "hour", "project_path", "failed_percent"])
    expect(stdout).toContain(column);
});
