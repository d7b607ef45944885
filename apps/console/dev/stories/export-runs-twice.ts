import { type Outputs, type Story, tokens } from "../story.ts";

const before = `  const lock = await db.get("SELECT * FROM locks WHERE job = ?", job);
  if (lock && lock.expires_at > Date.now()) return false;
  await db.run("REPLACE INTO locks VALUES (?, ?, ?)", job, me, Date.now() + 60_000);
  return true;`;
const after = `  const { changes } = await db.run(
    \`INSERT INTO locks VALUES (?, ?, now() + 60)
     ON CONFLICT (job) DO UPDATE SET holder = excluded.holder
     WHERE locks.expires_at < now()\`, job, me);
  return changes === 1;`;

const lockTest = `import { test, expect } from "vitest";
import { takeLock } from "../../src/jobs/lock.ts";

test("takes a free lock", async () => {
  expect(await takeLock(await freshDb(), "export", "a")).toBe(true);
});

test("only one of two workers takes the lock", async () => {
  const db = await freshDb();
  const taken = await Promise.all(["a", "b"].map((worker) => takeLock(db, "export", worker)));
  expect(taken.filter(Boolean)).toHaveLength(1);
});
`;

/**
 * The session of the screenshots. The agent finds a bug, writes a failing test and fixes the bug, and a subagent checks
 * the fix. One tool call is cut off, because its worker is killed.
 */
export const exportRunsTwice: Story = {
  agent: "Fixer",
  title: "Nightly export runs twice",
  tags: ["lumen/api"],
  turns: [
    {
      prompt: "The nightly export sometimes runs twice. Find out why and fix it, with a test that fails first.",
      steps: [
        {
          thinking:
            "Two runs of the same job: either the scheduler fires twice or the lock does not hold. I look at the job and its lock first.",
          text: "I look at the job and at how it takes its lock.",
          tools: [
            { name: "Read", input: { file_path: "src/jobs/export.ts" } },
            { name: "Bash", input: { command: "git log --oneline -20 src/jobs" } },
          ],
          usage: tokens(9100, 380, 0.62),
          delayMs: 1360,
        },
        {
          text: "The export asks `takeLock` before it starts. That is the place to look.",
          tools: [{ name: "Read", input: { file_path: "src/jobs/lock.ts" } }],
          usage: tokens(12_400, 210, 0.88),
          delayMs: 1020,
        },
        {
          text: "Before I change anything I check what the last night did.",
          tools: [{ name: "Bash", input: { command: "npm run export -- --dry" } }],
          usage: tokens(14_900, 190, 0.91),
          delayMs: 980,
        },
        {
          text: "That call was cut off, so I do not rely on it. The schedule itself is fine: one entry, every night at 02:30.",
          tools: [{ name: "Grep", input: { pattern: "schedule:", path: "deploy" } }],
          usage: tokens(16_800, 260, 0.92),
          delayMs: 1120,
        },
        {
          thinking:
            "takeLock reads the row and then writes it. Between both, another worker can read the same row. That is the race. A test with two workers at once shows it.",
          text: "The cause is in `lock.ts`: it reads the lock, **then** writes it. Two workers can both read before either writes. First a test that shows it.",
          tools: [
            { name: "Write", input: { file_path: "test/jobs/lock.test.ts", content: lockTest } },
            { name: "Bash", input: { command: "npm test -- lock" } },
          ],
          usage: tokens(18_200, 640, 0.94),
          delayMs: 1880,
        },
        {
          text: "Now the fix: one statement that takes the lock only if nobody holds it, so there is no moment between reading and writing.",
          tools: [{ name: "Edit", input: { file_path: "src/jobs/lock.ts", old_string: before, new_string: after } }],
          usage: tokens(20_100, 1120, 0.93),
          delayMs: 2840,
        },
        {
          tools: [
            { name: "Bash", input: { command: "npm test -- lock --run" } },
            { name: "test-runner", input: { prompt: "Run the lock test 200 times under load" } },
          ],
          usage: tokens(22_800, 410, 0.83),
          delayMs: 1420,
        },
        {
          text: `The export ran twice because taking the lock was two statements with a gap between them. It is one statement now, and the new test failed before the change and passed 200 times after it.

| | before | after |
|---|---|---|
| statements | 2 | 1 |
| workers that took the lock | 2 of 2 | 1 of 2 |

One thing is open: the call in step 3, \`npm run export -- --dry\`, was cut off when its worker died. A dry run writes nothing, but the log does not prove that it ended. I would look at \`exports/\` before tonight, and then:

1. merge the change,
2. watch the first night with \`npm run export -- --explain\`,
3. drop the second schedule that somebody added as a precaution.`,
          usage: tokens(24_600, 520, 0.95),
          // The text stops in the middle of a sentence, so that a screenshot shows a run in progress.
          chunk: 8,
          chunkDelayMs: 20,
          hang: { afterChunks: 58 },
        },
      ],
    },
  ],
};

/** The prompt and the work of the subagent. */
export const runLockTests: Story = {
  agent: "test-runner",
  turns: [
    {
      prompt: "Run the lock test 200 times under load",
      steps: [
        {
          tools: [{ name: "Bash", input: { command: "npm test -- lock --repeat 100" } }],
          usage: tokens(4200, 90, 0.4),
          delayMs: 780,
        },
        {
          tools: [{ name: "Bash", input: { command: "npm test -- lock --repeat 100 --workers 8" } }],
          usage: tokens(4900, 80, 0.8),
          delayMs: 760,
        },
        { text: "200 of 200 runs passed; the slowest took 31 ms.", usage: tokens(5200, 40, 0.9) },
      ],
    },
  ],
};

export const exportOutputs: Outputs = {
  "Read src/jobs/export.ts": {
    text: '1\timport { takeLock } from "./lock.ts";\n2\timport { rowsSince } from "../db/rows.ts";\n3\t\n4\texport async function nightlyExport(db, me) {\n5\t  if (!(await takeLock(db, "export", me))) return;\n6\t  const rows = await rowsSince(db, yesterday());\n7\t  await upload(rows);\n8\t}',
    ms: 60,
  },
  "Bash git log --oneline -20 src/jobs": {
    text: "\u001b[33m4be2c1a\u001b[0m Export: keep the last 30 files\n\u001b[33m91fd0e7\u001b[0m Locks live in the database, not in a file\n\u001b[33m0a77c3d\u001b[0m Export runs every night",
    ms: 240,
  },
  "Read src/jobs/lock.ts": {
    text: `21\texport async function takeLock(db: Db, job: string, me: string) {\n${before
      .split("\n")
      .map((line, at) => `${22 + at}\t${line}`)
      .join("\n")}\n26\t}`,
    ms: 50,
  },
  "Bash npm run export -- --dry": { text: "", ms: 60_000 },
  "Grep schedule:": { text: 'deploy/cron.yaml:14:  schedule: "30 2 * * *"', ms: 80 },
  "Write test/jobs/lock.test.ts": { text: "Wrote 541 bytes to test/jobs/lock.test.ts.", ms: 70 },
  "Bash npm test -- lock": {
    text: "\u001b[31m FAIL \u001b[0m test/jobs/lock.test.ts\n  \u001b[32m✓\u001b[0m takes a free lock \u001b[2m(4 ms)\u001b[0m\n  \u001b[31m✕ only one of two workers takes the lock\u001b[0m \u001b[2m(11 ms)\u001b[0m\n    expected \u001b[32m1\u001b[0m holder, got \u001b[31m2\u001b[0m\n\nExit code 1",
    ms: 1300,
    fails: true,
  },
  "Edit src/jobs/lock.ts": { text: "Replaced 1 place in src/jobs/lock.ts.", ms: 90 },
  "Bash npm test -- lock --run": {
    text: "\u001b[32m PASS \u001b[0m test/jobs/lock.test.ts\n\u001b[2m  2 passed, 0 failed in 0.9 s\u001b[0m",
    ms: 900,
  },
  "Bash npm test -- lock --repeat 100": { text: "\u001b[32m100 passed\u001b[0m", ms: 1500 },
  "Bash npm test -- lock --repeat 100 --workers 8": {
    text: "\u001b[32m100 passed\u001b[0m, the slowest 31 ms",
    ms: 1900,
  },
};
