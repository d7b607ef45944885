/** `skein chat` on a terminal: pastes, Markdown, and edits that are shown before they are allowed. */
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { script } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { difference, editPreview } from "../src/commands/chat/edit-preview.ts";
import { createPasteReader } from "../src/commands/chat/typed-input.ts";
import { createMarkdownWriter } from "../src/terminal/markdown.ts";
import { createTextPaint } from "../src/terminal/styled.ts";
import { dataFolder, lines, skein } from "./skein.ts";

const agentFile = fileURLToPath(new URL("agent.ts", import.meta.url));
const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));
const paste = (text: string): string => `\u001B[200~${text}\u001B[201~`;

test.each([
  ["typed text is not changed", ["hello\r"], "hello\r", "hello\r"],
  ["a paste of two lines is edited as one line", [`${paste("one\rtwo\r")}\r`], "one␤two\r", "one\ntwo\r"],
  ["a paste that arrives in pieces", ["a\u001B[20", "0~one\r", "two\u001B[201", "~b"], "aone␤twob", "aone\ntwob"],
  ["Alt-Enter and Ctrl-J begin new lines", ["a\u001B\rb\nc"], "a␤b␤c", "a\nb\nc"],
  ["the sequence of an arrow key is not changed", ["\u001B[A"], "\u001B[A", "\u001B[A"],
  ["a long paste is shown as [Pasted text …]", [paste("1\n2\n3\n4\n5")], "[Pasted text 1: 5 lines]", "1\n2\n3\n4\n5"],
  ["a control character in a paste is not a key press", [paste("a\u0003b")], "[Pasted text 1: 1 lines]", "a\u0003b"],
])("typed input: %s", (_, chunks, shown, meant) => {
  const reader = createPasteReader();
  const line = chunks.map((chunk) => reader.push(chunk)).join("");
  expect(line).toBe(shown);
  expect(reader.expand(line)).toBe(meant);
});

const paint = createTextPaint(true);
const bold = (text: string): string => paint.bold(text);

test.each([
  ["a heading is bold", "# A title\nText", `${bold("A")} ${bold("title")}\nText`],
  [
    "emphasis and code",
    "some **bold words**, `code`.",
    `some ${bold("bold")} ${bold("words")}, ${paint.cyan("code")}.`,
  ],
  ["a star without a partner is not changed", "2 * 3 *x", "2 * 3 *x"],
  [
    "list items have bullets, and their further lines are indented",
    "- one two three four five six\n* b",
    "• one two three four\n  five six\n• b",
  ],
  ["the numbers of a list are not changed", "1. one\n2) two", "1. one\n2) two"],
  [
    "a code fence is shown unchanged, without its marks",
    "```ts\nconst **a** =  1; // a line that is too wide\n```\nafter",
    "const **a** =  1; // a line that is too wide\nafter",
  ],
  [
    "words are not broken",
    "seven words that do not fit beside eachother",
    "seven words that do not\nfit beside eachother",
  ],
  [
    "a word that is too long stays whole",
    "see https://example.org/a/very/long/path now",
    "see\nhttps://example.org/a/very/long/path\nnow",
  ],
  ["blank lines are kept", "a\n\nb\n", "a\n\nb\n"],
  ["a dash and a hash in the middle of a line are not changed", "a - b # c", "a - b # c"],
])("Markdown on a terminal of 24 columns: %s", (_, text, expected) => {
  const whole = createMarkdownWriter({ columns: 24, paint });
  expect(whole.push(text) + whole.end()).toBe(expected);
  const pieces = createMarkdownWriter({ columns: 24, paint });
  expect(
    text
      .split("")
      .map((char) => pieces.push(char))
      .join("") + pieces.end(),
  ).toBe(expected);
});

test("the diff of an edit shows removed and added lines with some context", () => {
  expect(difference(["a", "b", "c", "d", "e"], ["a", "b", "X", "Y", "d", "e"])).toEqual([
    [" ", "a"],
    [" ", "b"],
    ["-", "c"],
    ["+", "X"],
    ["+", "Y"],
    [" ", "d"],
    [" ", "e"],
  ]);
  const folder = dataFolder();
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
  const options = { folder, paint: createTextPaint(false), columns: 80 };
  const edit = { name: "Edit", input: { file_path: "a.txt", old_string: "two", new_string: "2\u001B[2J" } };
  expect(editPreview(edit, options)).toBe("a.txt\n- two\n+ 2\\x1b[2J\n");
  const write = { name: "Write", input: { file_path: "a.txt", content: "one\n2\n" } };
  expect(editPreview(write, options)).toBe("a.txt\n  one\n- two\n+ 2\n  \n");
  expect(editPreview({ name: "Bash", input: { command: "ls" } }, options)).toBe("");
});

const hasScript = existsSync("/usr/bin/script");

/** Runs `skein chat` on a terminal of 60 columns. */
function chatOnTerminal(folder: string, ...args: readonly string[]) {
  const words = [process.execPath, bin, "chat", ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols 60; exec ${words}`, "/dev/null"], {
    env: { PATH: process.env["PATH"], HOME: folder, SKEIN_DATA_DIR: join(folder, "data"), TERM: "xterm" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  return {
    type: (line: string) => void child.stdin.write(`${line}\r`),
    press: (keys: string) => void child.stdin.write(keys),
    /** Waits for the text, and returns all output since the last `forget`. */
    async says(what: string | RegExp): Promise<string> {
      await expect.poll(() => text, { interval: 20 }).toMatch(what);
      return text;
    },
    forget: () => void (text = ""),
    ended: new Promise<number | null>((resolve) => child.once("close", resolve)),
  };
}

test.skipIf(!hasScript)(
  "on a terminal a paste is one prompt, an edit is shown before approval, [a]lways is remembered, and Markdown is formatted",
  { timeout: 60_000 },
  async () => {
    const folder = dataFolder();
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    const before = await skein(folder, "run", `Earlier ${script([{ text: "What was said before." }])}`);
    const id = /session ([0-9a-f-]{36})/.exec(before.err)?.[1] ?? "";
    const chat = chatOnTerminal(folder, "--tools", folder, "--session", id);
    await chat.says("What was said before.");
    await chat.says(/\[\?2004h[^]*> /);
    const edit = (from: string, to: string) => ({
      name: "Edit",
      input: { file_path: "a.txt", old_string: from, new_string: to },
    });
    const steps = script([
      { tools: [edit("two", "three")] },
      { tools: [edit("one", "four")] },
      { text: "**Done** with `it`." },
    ]);
    chat.type(paste(`first line\rsecond line ${steps}`));
    await chat.says(/- two[^]*\+ three[^]*\[a\]lways Edit/);
    chat.forget();
    chat.type("a");
    const text = await chat.says(/Completed/);
    expect(text).toContain(`${bold("Done")} with ${paint.cyan("it")}.`);
    expect(text).not.toContain("May this run?");
    chat.type("/exit");
    await chat.ended;
    const { out } = await skein(folder, "runs", "list", id, "--json");
    const [run] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(run?.["user_message"]).toMatch(/^first line\nsecond line/);
    expect(run?.["number"]).toBe(2);
  },
);

test.skipIf(!hasScript)(
  "text typed during a step is accepted as a steering prompt, and /cancel ends the run",
  { timeout: 60_000 },
  async () => {
    const folder = dataFolder();
    const chat = chatOnTerminal(folder);
    await chat.says("> ");
    chat.type(script([{ text: "First line.\nMore.", chunk: 12, hang: { afterChunks: 1 } }]));
    await chat.says("First line.");
    chat.type("In French, please.");
    await chat.says("The model reads this before the next step.");
    chat.type("/cancel");
    await chat.says("Cancelled");
    chat.forget();
    chat.type("/session");
    const [id = ""] = /[0-9a-f-]{36}/.exec(await chat.says(/[0-9a-f-]{36}/)) ?? [];
    chat.type("/exit");
    await chat.ended;
    const { out } = await skein(folder, "sessions", "show", id, "--events", "--json");
    expect(lines(out)).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ mode: "steer", content: "In French, please." }) }),
    );
  },
);

test.skipIf(!hasScript)(
  "text typed while the model works does not hide a later question",
  { timeout: 60_000 },
  async () => {
    const chat = chatOnTerminal(dataFolder(), "--agent", agentFile);
    const deploy = { name: "deploy", input: { to: "prod" } };
    await chat.says("> ");
    chat.type(script([{ text: "Going to.", delayMs: 1500, tools: [deploy] }, { text: "It said: $LAST" }]));
    chat.type("Carefully, please.");
    await chat.says("The model reads this before the next step.");
    await chat.says("May this run? deploy");
    chat.type("y");
    await chat.says(/It said: deployed to prod[\s\S]*Completed/);
    chat.type("/exit");
    expect(await chat.ended).toBe(0);
  },
);

test.skipIf(!hasScript)(
  "after Ctrl-D during a run, the chat says that it waits for the run, and Ctrl-C cancels the run",
  { timeout: 60_000 },
  async () => {
    const folder = dataFolder();
    const chat = chatOnTerminal(folder);
    await chat.says("> ");
    chat.type(script([{ text: "First line.\nMore.", chunk: 12, hang: { afterChunks: 1 } }]));
    await chat.says("First line.");
    chat.press("\u0004");
    await chat.says("The chat ends when this run is over. Ctrl-C cancels the run.");
    chat.press("\u0003");
    await chat.says("Cancelled: The user cancelled the run.");
    expect(await chat.ended).toBe(0);
    const { out } = await skein(folder, "sessions", "list", "--json");
    expect(lines(out)).toEqual([expect.objectContaining({ status: "idle" })]);
  },
);
