import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runAgainst } from "../../bench/compare/against.ts";
import { linesOf } from "../../bench/compare/bench-output.ts";
import { type Compared, compare } from "../../bench/compare/ratios.ts";
import { PATIENCE_MS } from "../patience.ts";

const line = (value: number, unit = "ms") => ({ what: "a turn", store: "sqlite", value, unit });

describe("the ratio of a line", () => {
  test("the ratio of a benchmark's line is the median of its rounds, with the lowest and the highest ratio", () => {
    const rounds = [1.2, 1, 4].map((value) => ({ earlier: [line(1)], now: [line(value)] }));
    expect(compare(rounds)).toMatchObject([{ earlier: 1, now: 1.2, ratio: 1.2, lowest: 1, highest: 4 }]);
  });

  test("the ratio of a rate is above 1 if the rate has halved", () => {
    expect(compare([{ earlier: [line(10, "/s")], now: [line(5, "/s")] }])).toMatchObject([{ ratio: 2 }]);
  });

  test("a benchmark's line has no ratio if a commit lacks the line or has a negative figure", () => {
    expect(compare([{ earlier: [], now: [line(1)] }])).toEqual([]);
    expect(compare([{ earlier: [line(-1)], now: [line(1)] }])).toEqual([]);
  });
});

describe("the output of a benchmark", () => {
  test("the JSON of a benchmark is found after other output", () => {
    expect(linesOf(`a word\n${JSON.stringify([line(3)])}\n`)).toEqual([line(3)]);
  });

  test("the table of the history benchmark is parsed, because earlier commits do not have its option --json", () => {
    const output = [
      "400 transcripts, 400 MB, Node 24.21.0",
      "",
      "                             ms   max MB  goal",
      "usage: cold, whole process  812      140  ≤ 900 ms, 150 MB",
      "usage: again                4.5           ≤ 50 ms  MISSED",
      "usage: ccusage                -           ",
    ].join("\n");
    expect(linesOf(output)).toEqual([
      { what: "usage: cold, whole process", store: "", value: 812, unit: "ms" },
      { what: "usage: cold, whole process, memory", store: "", value: 140, unit: "MB" },
      { what: "usage: again", store: "", value: 4.5, unit: "ms" },
    ]);
  });
});

describe("two commits of a repository", () => {
  let folder: string;
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: folder, encoding: "utf8" });

  /**
   * A repository with two commits. The benchmark prints its arguments, with 10 ms at the first and 20 ms at the second.
   */
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-bench-against-test-")));
    git("init", "--quiet", "--initial-branch=main");
    mkdirSync(join(folder, "node_modules"));
    writeFileSync(join(folder, ".gitignore"), "node_modules\n");
    for (const value of [10, 20]) {
      const program = `console.log(JSON.stringify([{ what: process.argv.slice(2).join(" "), store: "", value: ${value}, unit: "ms" }]))`;
      writeFileSync(join(folder, "bench.js"), program);
      writeFileSync(
        join(folder, "package.json"),
        JSON.stringify({ name: "small", scripts: { bench: "node bench.js" } }),
      );
      git("add", "--all");
      git("-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message=x");
    }
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("two commits run alternately with the same options, and a slower line fails the comparison", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const passed = await runAgainst("turn", ["--against", "HEAD~1", "--rounds=2", "--quick", "--json"], folder);
    const [output] = log.mock.lastCall as [string];
    log.mockRestore();
    expect(passed).toBe(false);
    expect(JSON.parse(output) as Compared[]).toEqual([
      { what: "turn --quick --json", store: "", unit: "ms", earlier: 10, now: 20, ratio: 2, lowest: 2, highest: 2 },
    ]);
    expect(git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  test("a comparison fails if the two commits have no line in common", async () => {
    writeFileSync(
      join(folder, "bench.js"),
      `console.log('[{ "what": "renamed", "store": "", "value": 1, "unit": "ms" }]')`,
    );
    const running = runAgainst("turn", ["--against", "HEAD", "--rounds", "1"], folder);
    await expect(running).rejects.toThrow("No line of the benchmark has a figure both here and at HEAD");
    expect(git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  test("an interrupt ends the benchmark with a sentence and removes the checkout", async () => {
    writeFileSync(join(folder, "bench.js"), "setInterval(() => {}, 1000);");
    git("-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "--quiet", "--all", "--message=hangs");
    const running = runAgainst("turn", ["--against", "HEAD"], folder);
    running.catch(() => undefined);
    await vi.waitFor(() => expect(git("worktree", "list").trim().split("\n")).toHaveLength(2), PATIENCE_MS);
    process.emit("SIGTERM");
    await expect(running).rejects.toThrow("Interrupted.");
    expect(git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  test("an unknown commit is named in the error", async () => {
    await expect(runAgainst("turn", ["--against", "nowhere"], folder)).rejects.toThrow(
      'There is no commit "nowhere" in this clone.',
    );
  });

  test.each([
    ["--rounds", "0"],
    ["--limit", "no"],
  ])("%s %s is rejected", async (option, value) => {
    await expect(runAgainst("turn", ["--against", "HEAD", option, value], folder)).rejects.toThrow(`${option} needs`);
  });
});
