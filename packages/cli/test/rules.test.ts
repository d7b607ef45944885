import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { writeCorpus } from "@skein/history/testing";
import { fileURLToPath } from "node:url";
import { script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { greeting, stopping } from "../src/commands/serve.ts";
import { skein as everything } from "../src/main.ts";
import type { Command, Group } from "../src/terminal/command.ts";
import { isConfirmed } from "../src/terminal/confirm.ts";
import { helpOf } from "../src/terminal/help.ts";
import { lines, skein } from "./skein.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const call = (...args: readonly string[]) => skein(folder, ...args);

async function commandNamed(name: string): Promise<Command> {
  let found: Command | Group = everything;
  for (const word of name.split(" ")) {
    const entry: Group["commands"][number] | undefined = (found as Group).commands.find(
      (one) => one.name.split(" ").at(-1) === word,
    );
    if (!entry) throw new Error(`There is no command ${name}.`);
    found = "load" in entry ? await entry.load() : entry;
  }
  return found as Command;
}

describe("options", () => {
  test.each([
    ["history undo", ["root", "limit", "offset", "json"]],
    ["history restore", ["root", "json"]],
    ["history watch", ["root", "source", "json"]],
    ["history show", ["root", "source", "project", "since", "until", "json", "archive", "cache", "pager"]],
  ])("skein %s has every common option that it uses, and no other", async (name, expected) => {
    const { options = {} } = await commandNamed(name);
    const common = Object.keys((await commandNamed("history list")).options ?? {});
    expect(Object.keys(options).filter((option) => common.includes(option))).toEqual(
      common.filter((option) => expected.includes(option)),
    );
  });

  test("an option that a history command does not use is rejected, not ignored", async () => {
    expect(await call("history", "undo", "--since", "7d")).toMatchObject({ code: 2 });
    expect(await call("history", "show", "0", "--limit", "3")).toMatchObject({ code: 2 });
  });

  test("the help lists every exit code", async () => {
    const help = helpOf(await commandNamed("run"), 100).replaceAll("\n", " ");
    for (const code of [0, 1, 2, 3, 4, 5, 130, 143]) expect(help).toMatch(new RegExp(`(codes: |, )${code} `));
  });

  test("--agent and --tools together are rejected: the file has its own tools", async () => {
    for (const command of [["run", "Hello"], ["chat"]])
      expect(await call(...command, "--agent", "x.ts", "--tools", ".")).toMatchObject({
        code: 2,
        err: expect.stringContaining("--tools cannot be used with --agent"),
      });
  });

  test("the error of `skein mcp --root` for a missing data directory contains its path", async () => {
    expect(await call("mcp", "--root", "/nope")).toMatchObject({ code: 3, err: expect.stringContaining("/nope") });
  });
});

test.each([
  ["y\n", true],
  ["YES\n", true],
  ["\n", false],
  ["no\n", false],
  ["\u0003", false],
  ["\u0004", false],
])("on a terminal, %j in answer to a question for confirmation means %s", async (typed, isYes) => {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
  const input = terminal();
  const asked = isConfirmed("Delete it?", "unused", { input, output: terminal() });
  input.write(typed);
  expect(await asked).toBe(isYes);
});

describe("with a session in the store", () => {
  let id = "";
  beforeAll(async () => {
    const { err } = await call("run", `What is a skein? ${script([{ text: "Yarn." }])}`);
    id = /session ([0-9a-f-]{36})/.exec(err)?.[1] ?? "";
    await call("run", `And a hank? ${script([{ text: "More yarn, wound." }])}`, "--session", id);
  });
  const found = async (...args: readonly string[]): Promise<readonly unknown[]> => {
    const { code, out } = await call("sessions", "list", ...args, "--json");
    expect(code).toBe(0);
    return lines(out).map((session) => session["id"]);
  };

  test("a session without a title is listed with its first prompt", async () => {
    expect((await call("sessions", "list")).out).toContain("What is a skein?");
  });

  test.each([
    ["--status completed", ["completed"], [true]],
    ["--status failed", ["failed"], [false]],
    ["--status cancelled", ["cancelled"], [false]],
    ["--status awaiting", ["awaiting"], [false]],
  ])("sessions list %s filters by the words of its column STATUS", async (_, [word = ""], [isFound]) => {
    expect(await found("--status", word)).toEqual(isFound ? [id] : []);
  });

  test.each([
    ["the first prompt, as the title", ["--title", "what is A SKEIN"], true],
    ["another title", ["--title", "hank"], false],
    ["text of a later answer", ["--text", "wound"], true],
    ["text that is in no message", ["--text", "knitting"], false],
    ["the name of its agent", ["--agent-name", "skein"], true],
    ["another agent", ["--agent-name", "other"], false],
  ])("sessions list finds a session by %s: %j, %s", async (_, args, isFound) => {
    expect(await found(...args)).toEqual(isFound ? [id] : []);
  });

  test("sessions delete without a terminal deletes nothing and names the option --yes", async () => {
    expect(await call("sessions", "delete", id)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/not deleted.*--yes/),
    });
    expect(await found()).toEqual([id]);
  });
});

test("`run` and `chat` reject a session adopted from Claude Code, and print the command that continues it", async () => {
  writeCorpus({ folder: join(folder, ".claude"), files: 1, bytes: 20_000 });
  const adopted = (await call("adopt", "0")).out.trim();
  for (const args of [["run", "Hello"], ["run"], ["chat"]])
    expect(await call(...args, "--session", adopted)).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(`skein run --server http://127.0.0.1:7433 --session ${adopted}`),
    });
});

test("the commands of docs/start.md work in their order (commands for chat, history and servers are left out)", async () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const page = readFileSync(join(root, "docs/start.md"), "utf8");
  const commands = [...page.matchAll(/```bash\n([^]+?)```/g)].flatMap(([, block = ""]) => block.split("\n"));
  const home = join(folder, "first-hour");
  mkdirSync(home);
  const said: string[] = [];
  for (const line of commands.filter((text) => /^npx skein (?!chat|history|.* --server )/.test(text))) {
    const words = [...line.replace(/ #.*/, "").matchAll(/"([^"]*)"|\S+/g)].map(([word, text]) => text ?? word);
    const args = words.slice(2).map((word) => (word.startsWith("examples/") ? join(root, word) : word));
    const { code, out, err } = await skein(home, ...args);
    expect([line, code, err]).toEqual([line, 0, err]);
    said.push(out);
  }
  expect(said[0]).toContain("The answer is 4");
  expect(said[1]).toContain("How much is 2+2?");
  expect(said[2]).toMatch(/You rolled \d+ of 20/);
  expect(said[3]).toContain("How much is 2+2?");
});

/** The path of an old version of Node, if this machine has one. */
const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((path) =>
  /^v(1\d|20|21)\./.test(existsSync(path) ? spawnSync(path, ["--version"], { encoding: "utf8" }).stdout : ""),
);

test.skipIf(oldNode === undefined)(
  "an old Node version gets an error that says what to do, in a clone and in an installation",
  () => {
    const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));
    const installed = join(folder, "installed", "bin");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(folder, "installed", "package.json"), '{"type":"module"}');
    copyFileSync(bin, join(installed, "skein.js"));
    const said = (file: string): string => spawnSync(oldNode ?? "", [file], { encoding: "utf8" }).stderr;
    expect(said(bin)).toContain('In a clone, first type "npm install"');
    expect(said(join(installed, "skein.js"))).toContain("npm install node@24");
  },
);

test("a server's greeting contains the key only on a terminal, so no log contains the key", () => {
  const server = {
    url: "http://127.0.0.1:7433",
    key: { key: "the-secret-key", file: "/home/me/.skein/admin-key" },
    model: { description: "the simulator", simulated: true },
    hasConsole: true,
    walls: "on (bubblewrap)",
  };
  expect(greeting(server, { storeUrl: "memory:" }, false)).toContain("Sandbox  on (bubblewrap)\n");
  expect(greeting(server, { storeUrl: "memory:" }, true)).toContain(
    "Console  http://127.0.0.1:7433/#key=the-secret-key",
  );
  expect(greeting(server, { storeUrl: "memory:" }, true).match(/http:\S+\/(#\S+)?$/gm)).toHaveLength(1);
  // One short line for each thing, with the link first.
  expect(greeting(server, { storeUrl: "memory:" }, true).split("\n").slice(2, 6)).toEqual([
    "  Console  http://127.0.0.1:7433/#key=the-secret-key",
    "  Model    a simulation with made-up answers. For Claude, set ANTHROPIC_API_KEY",
    "  Store    memory:",
    "  Sandbox  on (bubblewrap)",
  ]);
  expect(greeting(server, { storeUrl: "memory:" }, false)).toContain(
    "Console  http://127.0.0.1:7433/  (log in with the key in /home/me/.skein/admin-key)\n",
  );
  expect(greeting(server, { storeUrl: "memory:", simulates: true }, false)).toContain(
    "Model    the simulator: answers are made up\n",
  );
  const served = { file: "/srv/skein.config.ts", agents: ["Clerk", "Cook"], tools: ["refund"] };
  expect(greeting({ ...server, served }, { storeUrl: "memory:" }, false)).toContain(
    "Config   /srv/skein.config.ts (agents: Clerk, Cook; tools: refund)",
  );
  expect(greeting({ ...server, notes: ["A typo."] }, { storeUrl: "memory:" }, false)).toContain(
    "\n  Note     A typo.\n",
  );
  expect(greeting(server, { storeUrl: "memory:" }, false)).not.toContain("the-secret-key");
  // A worker serves no route that needs a key.
  const worker = greeting(server, { storeUrl: "memory:", engine: { role: "worker" } }, true);
  expect(worker).toContain("only /health, /ready and /metrics");
  expect(worker).not.toMatch(/key|curl|Console/);
});

test("a stopping server says how many runs it waits for", () => {
  expect(stopping(0)).toBe("\nStopping. Unfinished runs continue at the next start.");
  expect(stopping(2)).toMatch(
    /next start\. Waiting for 2 runs, at most 10 s\. Press Ctrl-C again to end immediately\.$/,
  );
});

test("keys are listed as a table, with local times", async () => {
  await call("keys", "make", "guest", "--scope", "run,sql", "--tenant", "acme");
  const { out } = await call("keys", "list");
  expect(out).toMatch(/^ID +NAME +OWNER +TENANT +SCOPES +MADE +STATE\n/);
  expect(out).toMatch(/ guest +acme +run,sql +\d{4}-\d\d-\d\d \d\d:\d\d +valid\n/);
});

test("with --json, the answers to several SQL statements are one JSON document with an element for each statement", async () => {
  const { out } = await call("sql", "SET threads = 1; SELECT 1 AS a; SELECT 2 AS b UNION ALL SELECT 3", "--json");
  expect(JSON.parse(out)).toEqual([[], [{ a: 1 }], [{ b: 2 }, { b: 3 }]]);
  expect(JSON.parse((await call("sql", "SELECT 1 AS a", "--json")).out)).toEqual([{ a: 1 }]);
});
