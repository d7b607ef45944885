import { spawn, spawnSync } from "node:child_process";
import { script } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { bin, dataFolder, environmentOf } from "./skein.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

/** Types `typed` after the output has `seen`. The replies are made in order. */
type Replies = readonly (readonly [seen: string, typed: string])[];

/** Runs `skein` on a terminal. Returns the exit code and the output. */
async function onTerminal(
  args: readonly string[],
  { env = {}, replies = [] }: { readonly env?: Readonly<Record<string, string>>; readonly replies?: Replies } = {},
): Promise<{ code: number | null; seen: string }> {
  const folder = dataFolder();
  const line = [process.execPath, bin, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: { ...environmentOf(folder), TERM: "xterm", ...env },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let seen = "";
  const waiting = [...replies];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
    const [next] = waiting;
    if (!next || !seen.includes(next[0])) return;
    waiting.shift();
    child.stdin.write(next[1]);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, seen };
}

/** The control sequences of Skein and readline, such as colours and the cleared progress line. */
// oxlint-disable-next-line no-control-regex
const OURS = /\u001B\[(?:\d+m|K|\d*[GJ]|\?2004[hl]|[1-9]?\d*D)/g;
// oxlint-disable-next-line no-control-regex
const ACTS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u200b]/;
const attack = "a\u001B]52;c;ZXZpbA==\u0007b\u009B2Jc\u202Ed\u200Be\u001B]0;no end";

test.skipIf(!hasScript)("on a terminal there are colours, but no control characters of the model", async () => {
  const { code, seen } = await onTerminal(["run", script([{ text: attack, chunk: 1 }])]);
  expect(code).toBe(0);
  expect(seen).toContain("\u001B[32mCompleted\u001B[0m");
  expect(seen.replaceAll(OURS, "")).not.toMatch(ACTS);
  expect(seen).toContain("a\\x1b]52;c;ZXZpbA==\\x07b\\x9b2Jc\\u202ed\\u200be\\x1b]0;no end");
});

test.skipIf(!hasScript)(
  "cancelling a question of several lines does not erase the text above the question",
  async () => {
    const questions = [{ question: "Which?", options: [{ label: "a" }, { label: "b" }] }];
    const prompt = script([{ tools: [{ name: "AskUserQuestion", input: { questions } }] }]);
    const { code, seen } = await onTerminal(["chat"], {
      replies: [
        ["> ", `${prompt}\r`],
        ["your own words: ", "\u0003"],
        ["Cancelled", "/exit\r"],
      ],
    });
    expect(code).toBe(0);
    expect(seen).toMatch(/your own words: [^\n]*\n[^]*Cancelled/);
    // oxlint-disable-next-line no-control-regex
    expect(seen).not.toMatch(/\u001B\[\d*A/);
  },
);

test.skipIf(!hasScript)("with NO_COLOR there are no colours", async () => {
  const { seen } = await onTerminal(["run", script([{ text: "Plain." }])], { env: { NO_COLOR: "1" } });
  expect(seen).not.toContain("\u001B[");
  expect(seen).toContain("Completed");
});

test.skipIf(!hasScript)("an operation that takes longer than a second shows progress", async () => {
  const { seen } = await onTerminal(["run", script([{ text: "Late.", delayMs: 1600 }])]);
  expect(seen).toMatch(/Waiting for the model \(1 s\)/);
  expect(seen).toContain("Late.");
});

test.skipIf(!hasScript)("skein chat asks questions and shows answers on a terminal", async () => {
  const question = { question: `Which ${attack}?`, options: [{ label: "one" }, { label: "two" }] };
  const prompt = script([
    { tools: [{ name: "AskUserQuestion", input: { questions: [question] } }] },
    { text: "Thanks." },
  ]);
  const { code, seen } = await onTerminal(["chat"], {
    replies: [
      ["> ", `${prompt}\r`],
      ["your own words", "2\r"],
      ["Completed", "/exit\r"],
    ],
  });
  expect(code).toBe(0);
  expect(seen).toContain("Which a\\x1b]52");
  expect(seen.replaceAll(OURS, "")).not.toMatch(ACTS);
});
