/** The first calls of `skein` by a new user: no store yet, a wrong store, a closed output, a narrow terminal. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { script } from "@skein/simulator";
import { expect, test } from "vitest";
import { createScreen } from "../src/terminal/screen.ts";
import { bin, dataFolder, environmentOf, skein, skeinProcess } from "./skein.ts";

test.each([
  [["sessions", "list"], 0, "There is no session.\n"],
  [["sessions", "list", "--json"], 0, ""],
  [
    ["sessions", "show", "0199c8f1"],
    3,
    'There is no session whose id begins with 0199c8f1. "skein sessions list" shows the sessions.\n',
  ],
  [
    ["runs", "logs", "0199c8f1"],
    3,
    'There is no run whose id begins with 0199c8f1. "skein runs list SESSION" shows the runs of a session.\n',
  ],
  [["keys", "list"], 0, "There is no key.\n"],
])("%j on a machine without a store prints that nothing is there, and creates no store", async (args, code, err) => {
  const folder = dataFolder();
  expect(await skein(folder, ...args)).toEqual({ code, out: "", err });
  expect(existsSync(join(folder, "data"))).toBe(false);
});

test.each([
  ["sessions", "list"],
  ["sessions", "show", "0199c8f1"],
  ["runs", "list", "0199c8f1"],
  ["keys", "list"],
])("%s %s of a store that does not exist is rejected, because the name may be misspelt", async (...args) => {
  const folder = dataFolder();
  const file = join(folder, "slip.db");
  const { code, err } = await skein(folder, ...args, "--store", `sqlite:${file}`);
  expect({ code, err }).toEqual({
    code: 3,
    err: `There is no store at ${file}. Check the address: this command does not make a store.\n`,
  });
  expect(existsSync(file)).toBe(false);
});

test.each([["sessions", "list"], ["run", "Hello"], ["chat"], ["keys", "make", "x"], ["serve", "--port", "0"]])(
  "skein %s reports a file that is not a database",
  async (...args) => {
    const folder = dataFolder();
    const file = join(folder, "notes.db");
    writeFileSync(file, "These are notes, and no database, whatever the name says. ".repeat(50));
    const { code, err } = await skein(folder, ...args, "--store", `sqlite:${file}`);
    expect(code).toBe(4);
    expect(err).toContain(`${file}: The file is not a sqlite database.\n`);
  },
);

test.each([
  [", and no data of another agent in its usual place", "history", "list"],
  [", and no data of another agent in its usual place", "adopt", "0"],
  ["", "history", "list", "--source", "claude-code"],
  ["", "sql", "SELECT 1", "--root", "FOLDER/.claude"],
])("without Claude Code's data directory%s, skein %s %s proposes the option --root", async (others, ...args) => {
  const folder = dataFolder();
  const { code, err } = await skeinProcess(folder, ...args.map((word) => word.replace("FOLDER", folder)));
  const place = join(folder, ".claude");
  const sentence = `There is no Claude Code data directory at ${place}${others}. Use --root FOLDER for another place.\n`;
  expect({ code, err }).toEqual({ code: 3, err: sentence });
});

test("a title is shown without characters that act on the terminal", async () => {
  const folder = dataFolder();
  await skein(folder, "run", `What is \u001B[2Ja skein? ${script([{ text: "Yarn." }])}`);
  expect((await skein(folder, "sessions", "list")).out).toMatch(/What is \\x1b\[2Ja skein\?/);
});

test("proposed commands can be pasted into a shell", async () => {
  const folder = dataFolder();
  const work = join(folder, "it's my work");
  mkdirSync(work);
  const questions = [{ question: "Which?", options: [{ label: "a" }, { label: "b" }] }];
  const prompt = script([{ tools: [{ name: "AskUserQuestion", input: { questions } }] }, { text: "Thanks." }]);
  const store = `sqlite:${join(work, "x.db")}`;
  const { err } = await skein(folder, "run", prompt, "--tools", work, "--store", store);
  const pasted = [...err.matchAll(/skein ((?:sessions answer|run --session).+)/g)].map(([, line = ""]) => line);
  const env = environmentOf(folder);
  const codes = pasted.map(
    (line) => spawnSync("sh", ["-c", `'${process.execPath}' '${bin}' ${line}`], { encoding: "utf8", env }).status,
  );
  expect([pasted.length, codes]).toEqual([2, [0, 0]]);
});

test.each(["--version", "--help", "sessions --help", "run --help"])(
  "skein %s into a closed pipe is not an error",
  (line) => {
    const { stderr } = spawnSync("sh", ["-c", `'${process.execPath}' '${bin}' ${line} | true`], { encoding: "utf8" });
    expect(stderr).toBe("");
  },
);

test("a misspelt sql subcommand is not run as a statement", async () => {
  expect(await skein(dataFolder(), "sql", "exampels")).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^"exampels" is not a statement\. Did you mean "skein sql examples"\?/),
  });
  expect(await skein(dataFolder(), "sql", ".tables")).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^\.tables is for the prompt: .*"skein sql --schema" shows every table/),
  });
});

test("doctor says in words what is wrong with a store", async () => {
  const folder = dataFolder();
  await skein(folder, "run", "Hello");
  const beside = join(folder, "data", "skein.db.wake");
  rmSync(beside, { force: true });
  mkdirSync(beside);
  const { code, out } = await skein(folder, "doctor", "--port", "0");
  expect(code).toBe(1);
  expect(out).toContain(`wrong  store     ${beside} is a folder. Expected a file.\n`);
  expect(out).not.toMatch(/E[A-Z]{4,}:/);
});

test.each([
  [["run", "Hello", "--tools", "FOLDER/slip"], "There is no folder FOLDER/slip."],
  [["run", "Hello", "--agent", "FOLDER"], "FOLDER is a folder. Name a file."],
  [["run", "Hello", "--json", "--format", "raw"], "--json and --format cannot be used together."],
  [["sessions", "import", "FOLDER"], "FOLDER is a folder. Name a file."],
  [["sql", "-f", "FOLDER"], "FOLDER is a folder. Name a file."],
])("%j is rejected, and no folder is created", async (args, sentence) => {
  const folder = dataFolder();
  const { code, out, err } = await skein(folder, ...args.map((word) => word.replace("FOLDER", folder)));
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(sentence.replaceAll("FOLDER", folder));
  expect(existsSync(join(folder, "slip"))).toBe(false);
});

test.each([
  [["run", "--session", "0199c8f1"], "NOT_FOUND"],
  [["run", "Hello", "--frobnicate"], "USAGE_ERROR"],
  [["sessions", "show", "0199c8f1"], "NOT_FOUND"],
  [["sessions", "shwo"], "USAGE_ERROR"],
  [["runs", "list"], "USAGE_ERROR"],
  [["keys", "revoke", "nobody"], "NOT_FOUND"],
  [["adopt", "0"], "NOT_FOUND"],
  [["history", "list"], "NOT_FOUND"],
  [["sql", "SELEC 1"], "FAILED"],
  [["sessions", "import", "/dev/null/x"], "IO_ERROR"],
])("%j --json reports the problem as JSON, only on stderr", async (args, expected) => {
  const { out, err } = await skein(dataFolder(), ...args, "--json");
  expect(out).toBe("");
  const [line = ""] = err.split("\n").filter((text) => text.startsWith("{"));
  expect(JSON.parse(line)).toEqual({ error: { code: expected, message: expect.any(String) } });
});

test("the lists of skein sql are JSON if requested", async () => {
  const folder = dataFolder();
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await skein(folder, "sql", ...args, "--json")).out);
  expect(await json("examples")).toContainEqual(
    expect.objectContaining({ name: "failing-tools", sql: expect.any(String) }),
  );
  expect(await json("--schema", "claude.damage")).toMatchObject([
    { name: "claude.damage", columns: expect.arrayContaining([expect.objectContaining({ name: "file" })]) },
  ]);
});

test("on a terminal of unknown size lines are not cut", () => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 0 }) as unknown as NodeJS.WriteStream;
  const screen = createScreen({ out, err: out, env: {} });
  expect(screen).toMatchObject({ columns: 100, tableColumns: undefined, helpColumns: Number.POSITIVE_INFINITY });
});
