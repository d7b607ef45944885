import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeCorpus } from "../src/sources/claude-code/testing/corpus.ts";

/**
 * The share, the median size and the ninth decile of the size of each line type. They were measured in 104 transcripts
 * of Claude Code 1.0 to 2.1 (12 MB).
 */
const real: Readonly<Record<string, readonly [share: number, median: number, high: number]>> = {
  "assistant tool_use": [0.31, 1040, 2359],
  "user tool_result": [0.31, 1939, 15_769],
  "assistant text": [0.19, 907, 1628],
  "assistant thinking": [0.05, 1418, 3576],
  "user prompt": [0.05, 501, 1664],
  system: [0.04, 504, 623],
};

test("the generated corpus has lines, files and writing systems like real data, and reports its bytes", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-corpus-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { bytes } = writeCorpus({ folder, files: 120, bytes: 12_000_000 });
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  const texts = names.map((name) => readFileSync(join(folder, name), "utf8"));
  expect(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBe(bytes);
  const lengths = new Map<string, number[]>();
  let lines = 0;
  for (const line of texts.flatMap((text) => text.trimEnd().split("\n"))) {
    const { type, message } = JSON.parse(line) as { type: string; message?: { content: string | { type: string }[] } };
    const content = message?.content;
    const kind = content === undefined ? type : `${type} ${typeof content === "string" ? "prompt" : content[0]?.type}`;
    lengths.set(kind, [...(lengths.get(kind) ?? []), Buffer.byteLength(line)]);
    lines += 1;
  }
  for (const [kind, [share, median, high]] of Object.entries(real)) {
    const found = (lengths.get(kind) ?? []).toSorted((a, b) => a - b);
    expect(found.length / lines, kind).toSatisfy(isNear(share));
    expect(found[Math.floor(found.length * 0.5)], kind).toSatisfy(isNear(median));
    expect(found[Math.floor(found.length * 0.9)], kind).toSatisfy(isNear(high));
  }
  const sizes = texts.map((text) => text.length).toSorted((a, b) => a - b);
  const average = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  expect((sizes[60] ?? 0) / average).toBeLessThan(0.5);
  expect((sizes.at(-1) ?? 0) / average).toBeGreaterThan(4);
  for (const script of [/\p{Script=Hiragana}/u, /\p{Script=Cyrillic}/u, /\p{Script=Hangul}/u, /ñ/])
    expect(texts.some((text) => script.test(text))).toBe(true);
});

function isNear(expected: number): (found: number | undefined) => boolean {
  return (found = 0) => found > expected / 2.6 && found < expected * 2.6;
}
