import { type Outputs, type Story, tokens } from "../story.ts";

/** A small image (a bar chart, 64 × 40) as the result of a tool. */
const chart =
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAoCAIAAADBrGu2AAAAk0lEQVR4nO3XsQ2AMAxEUSMxACPQMQAjUDECG7AdI1BRMQIjUDECA1AhRVEIsXHsIPl1r/MvLIFSvffQ0F0dMDtjwMwZMGMGzJgBM2PAjBkwc8aAGTNg5owBM2PAjBkwcwbMmAEzZ8CMGTBzxoAZM2DmjAEzY8CMGTBzBsyYATNnwIwZMHMGzJgBM2fAjBn4eW8BH2M2QyYpf8PqAAAAAElFTkSuQmCC";

/** Finished sessions: answers with code and tables, a failure, a retry, an image, a cancelled run, a compaction. */
export const finished: readonly Story[] = [
  {
    agent: "Helper",
    title: "Explain the retry rules of the queue",
    hoursAgo: 2,
    turns: [
      {
        prompt: "How does our queue decide when to try a job again?",
        steps: [
          {
            thinking: "The rules are in queue.ts. I summarise them and show the formula.",
            text: `A job is tried again after a pause that doubles each time, with some chance in it so that jobs that failed together do not come back together:

\`\`\`ts
/** Milliseconds until attempt n + 1. */
export function pause(attempt: number, random = Math.random): number {
  const most = Math.min(BASE_MS * 2 ** attempt, LONGEST_MS);
  return most * (0.5 + random() / 2); // half of it is certain
}
\`\`\`

- **5 attempts**, then the job goes to the dead letters.
- A \`Retry-After\` header wins over the formula.
- Errors that will not change (\`400\`, \`404\`, \`422\`) are not tried again.

> The pause is kept in the row, so a restart does not shorten it.`,
            usage: tokens(3800, 620, 0.5),
          },
        ],
      },
      {
        prompt: "And where do I see the dead letters?",
        steps: [
          {
            text: "`npm run queue -- dead` lists them; `npm run queue -- retry ID` puts one back.",
            usage: tokens(4600, 60, 0.9),
          },
        ],
      },
    ],
  },
  {
    agent: "Fixer",
    title: "Import the October bank file",
    hoursAgo: 3,
    turns: [
      {
        prompt: "Import bank-2026-10.csv and match it with our invoices.",
        steps: [
          { tools: [{ name: "Bash", input: { command: "head -3 bank-2026-10.csv" } }], usage: tokens(5100, 80, 0.7) },
          {
            text: "The file has semicolons and a comma as decimal point.",
            error: {
              status: 400,
              type: "invalid_request_error",
              message: "prompt is too long: 214032 tokens > 200000 maximum",
            },
          },
        ],
      },
    ],
  },
  {
    agent: "Research",
    title: "Compare three queue libraries",
    hoursAgo: 20,
    turns: [
      {
        prompt: "Compare graphile-worker, pg-boss and BullMQ for our size. One page, with a recommendation.",
        steps: [
          {
            error: { status: 529, type: "overloaded_error", message: "Overloaded", times: 1 },
            thinking: "Three libraries; what matters here is that we already run PostgreSQL and have no Redis.",
            text: `## Recommendation

**graphile-worker.** It needs nothing that we do not run already, and a job is committed together with the row that caused it.

| | graphile-worker | pg-boss | BullMQ |
|---|---|---|---|
| needs | PostgreSQL | PostgreSQL | Redis |
| job and data in one transaction | yes | yes | no |
| jobs per second (theirs) | 10,000 | 1,500 | 20,000 |
| cron with missed runs | yes | yes | partly |

We send about 4 jobs a second at most. All three are fast enough; only two cannot lose a job between the database and the queue.`,
            usage: tokens(9800, 900, 0.6),
          },
        ],
      },
    ],
  },
  {
    agent: "Reports",
    title: "Chart of sign-ups by week",
    hoursAgo: 26,
    turns: [
      {
        prompt: "Draw the sign-ups of the last eight weeks.",
        picture: chart,
        steps: [
          {
            tools: [{ name: "draw_chart", input: { title: "Sign-ups by week", weeks: 8 } }],
            usage: tokens(2600, 90, 0.3),
          },
          {
            text: "The last three weeks are above the five before them; week 45 is the best so far.",
            usage: tokens(4400, 60, 0.7),
          },
        ],
      },
    ],
  },
  {
    agent: "Support",
    title: "Summarise 400 support tickets",
    hoursAgo: 30,
    turns: [{ prompt: "Summarise the tickets of this week by cause.", steps: [{ hang: true }] }],
  },
  {
    agent: "Archivist",
    title: "Write the runbook for a full disk",
    hoursAgo: 52,
    turns: [
      {
        prompt: "Write a runbook: the disk of a database server is full. Look at how we did it last time.",
        steps: [
          {
            tools: [{ name: "Read", input: { file_path: "incidents/2026-03-disk.md" } }],
            usage: tokens(6000, 80, 0.5),
          },
          {
            tools: [{ name: "Read", input: { file_path: "incidents/2026-07-disk.md" } }],
            usage: tokens(9000, 80, 0.6),
          },
          {
            text: "Both times the cause was a replication slot that nobody read. The runbook begins there.",
            usage: tokens(9400, 240, 0.7),
          },
        ],
      },
      {
        prompt: "Shorter, please, and as a checklist.",
        steps: [
          {
            text: "- [ ] `df -h`: which volume\n- [x] `pg_replication_slots`: is one inactive?\n- [ ] drop it only after asking its owner",
            usage: tokens(9900, 160, 0.9),
          },
        ],
      },
    ],
  },
];

export const finishedOutputs: Outputs = {
  "Bash head -3 bank-2026-10.csv": {
    text: "date;amount;text\n02.10.2026;-49,00;LUMEN SUBSCRIPTION\n05.10.2026;1.249,00;INV 20411",
    ms: 120,
  },
  "draw_chart Sign-ups by week": { text: "Drawn.", ms: 400, picture: chart },
  "Read incidents/2026-03-disk.md": {
    text: `# 12 March\n${"The slot of the old replica kept 212 GB of WAL. ".repeat(60)}`,
    ms: 50,
  },
  "Read incidents/2026-07-disk.md": {
    text: `# 3 July\n${"The slot of the reporting job kept 188 GB of WAL. ".repeat(60)}`,
    ms: 50,
  },
};
