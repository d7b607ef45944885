import { script } from "@skein/simulator";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Started, dataFolder, lines, skein, start } from "./skein.ts";

const agentFile = fileURLToPath(new URL("agent.ts", import.meta.url));

function talk(folder: string, ...args: readonly string[]): Started & { type(line: string): void } {
  const started = start(folder, ["chat", ...args]);
  return { ...started, type: (line) => void started.child.stdin?.write(`${line}\n`) };
}

test("every typed line of a chat continues the same session", async () => {
  const folder = dataFolder();
  const chat = talk(folder);
  chat.type(`Hello ${script([{ text: "Good day." }])}`);
  await chat.says(/Good day\.[\s\S]*Completed/);
  chat.type(`And? ${script([{ text: "Good evening." }])}`);
  await chat.says(/Good evening\.[\s\S]*Completed[\s\S]*Completed/);
  chat.type("/cost");
  await chat.says(/tokens in.*2 runs/);
  chat.type("/exit");
  expect(await chat.ended).toMatchObject({ code: 0, out: "Good day.\nGood evening.\n" });
  expect(lines((await skein(folder, "sessions", "list", "--json")).out)).toMatchObject([{ total_runs: 2 }]);
});

test("questions are asked one by one, and the person answers with a number or a text", async () => {
  const questions = [
    {
      question: "Which \u001B[2Jdatabase?",
      header: "Store",
      options: [{ label: "sqlite" }, { label: "postgres", description: "for many" }],
    },
    { question: "Which days?", multiSelect: true, options: [{ label: "Mon" }, { label: "Tue" }, { label: "Wed" }] },
  ];
  const chat = talk(dataFolder());
  chat.type(script([{ tools: [{ name: "AskUserQuestion", input: { questions } }] }, { text: "Said: $LAST" }]));
  expect(await chat.says("A number, or your own words:")).toContain(
    "[Store] Which \\x1b[2Jdatabase?\n  1. sqlite\n  2. postgres  for many",
  );
  chat.type("9");
  chat.type("2");
  await chat.says("Numbers with commas");
  chat.type("1, 3");
  const text = await chat.says(/Said: .*\n[\s\S]*Completed/);
  expect(text).toContain(
    'Said: {"answers":{"Which \\x1b[2Jdatabase?":"postgres","Which days?":"Mon, Wed"}}'.replace("\\x1b", "\\u001b"),
  );
  chat.child.stdin?.end();
  expect((await chat.ended).code).toBe(0);
});

test("approvals are given and denied, and frontend tools are answered at the prompt", async () => {
  const chat = talk(dataFolder(), "--agent", agentFile);
  const deploy = { name: "deploy", input: { to: "production" } };
  chat.type(script([{ tools: [deploy] }, { text: "1: $LAST" }]));
  await chat.says("May this run? deploy");
  chat.type("perhaps");
  chat.type("yes");
  await chat.says("1: deployed to production");
  chat.type(script([{ tools: [deploy] }, { text: "2: $LAST" }]));
  await chat.says(/Completed[\s\S]*May this run\?/);
  chat.type("no, it is Friday");
  await chat.says("2: This call was not allowed. it is Friday");
  chat.type(script([{ tools: [{ name: "pick", input: { of: ["red"] } }] }, { text: "3: $LAST" }]));
  await chat.says("Run this tool yourself: pick");
  chat.type("red");
  await chat.says("3: red");
  chat.type("/exit");
  expect((await chat.ended).code).toBe(0);
});

test("/fork continues the chat in a copy of the session", async () => {
  const folder = dataFolder();
  const chat = talk(folder);
  chat.type(script([{ text: "One." }]));
  await chat.says("Completed");
  chat.type("/fork");
  await chat.says(/Now in session [0-9a-f-]{36}/);
  chat.type(script([{ text: "Two." }]));
  await chat.says(/Two\.\n[\s\S]*Completed[\s\S]*Completed/);
  chat.type("/exit");
  await chat.ended;
  const sessions = lines((await skein(folder, "sessions", "list", "--json")).out);
  expect(sessions.map(({ total_runs }) => total_runs)).toEqual([1, 1]);
});

test("chat --session asks the open question of a waiting session", async () => {
  const folder = dataFolder();
  const call = { name: "pick", input: { of: ["red"] } };
  const paused = await skein(
    folder,
    "run",
    script([{ tools: [call] }, { text: "Picked $LAST." }]),
    "--agent",
    agentFile,
  );
  const id = /session ([0-9a-f-]{36})/.exec(paused.err)?.[1] ?? "";
  const chat = talk(folder, "--agent", agentFile, "--session", id);
  await chat.says("Run this tool yourself: pick");
  chat.type("red");
  await chat.says("Picked red.");
  chat.type("/nonsense");
  await chat.says("Unknown command /nonsense.");
  chat.type("/help");
  await chat.says("/fork");
  chat.type("/exit");
  expect((await chat.ended).code).toBe(0);
});

test("each line from a pipe waits for the run of the previous line, and gets its own answer", async () => {
  const folder = dataFolder();
  const chat = talk(folder);
  const first = `One? ${script([{ text: "First.", delayMs: 1500 }])}`;
  const more = ["Second", "Third", "Fourth"].map((text) => `${text}? ${script([{ text: `${text}.` }])}`);
  chat.child.stdin?.end([first, "/fork", ...more, ""].join("\n"));
  const { code, out, err } = await chat.ended;
  expect({ code, out }).toEqual({ code: 0, out: "First.\nSecond.\nThird.\nFourth.\n" });
  expect(err.match(/^(> \/?\w+|Now in session|Completed)/gm)).toEqual([
    "> One",
    "Completed",
    "> /fork",
    "Now in session",
    "> Second",
    "Completed",
    "> Third",
    "Completed",
    "> Fourth",
    "Completed",
  ]);
  expect(err).toMatch(/Completed.*\n$/);
  expect(err).not.toMatch(/ERR_USE_AFTER_CLOSE|no session/);
  expect(lines((await skein(folder, "sessions", "list", "--json")).out)).toMatchObject([
    { total_runs: 3 },
    { total_runs: 1 },
  ]);
});

test("a line from a pipe answers the approval question of the previous line's run", async () => {
  const chat = talk(dataFolder(), "--agent", agentFile);
  const deploy = { name: "deploy", input: { to: "production" } };
  chat.child.stdin?.end(`${script([{ tools: [deploy] }, { text: "Said: $LAST" }])}\nyes\n`);
  expect(await chat.ended).toMatchObject({ code: 0, out: "Said: deployed to production\n" });
});

test("/cancel from a pipe cancels the run of the previous line", async () => {
  const chat = talk(dataFolder());
  chat.type(script([{ text: "First words.", chunk: 6, hang: { afterChunks: 1 } }]));
  await chat.says("First ");
  chat.type("/cancel");
  chat.child.stdin?.end();
  expect((await chat.ended).err).toContain("Cancelled");
});

test("a chat that ends with an open question prints the command to answer it", async () => {
  const chat = talk(dataFolder(), "--agent", agentFile);
  const deploy = { name: "deploy", input: { to: "production" } };
  chat.child.stdin?.end(`${script([{ tools: [deploy] }, { text: "Done." }])}\n`);
  const { code, err } = await chat.ended;
  expect(code).toBe(5);
  expect(err).toMatch(/skein sessions answer \S+ toolu_\S+ yes/);
  expect(err).toMatch(/Then continue the session: skein chat --session [0-9a-f-]{36} --agent \S+agent\.ts\n$/);
});
