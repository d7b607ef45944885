import type { Step } from "@skein/simulator";
import { type Outputs, type Story, tokens } from "../story.ts";

const AREAS = ["api", "web", "jobs", "mail", "billing", "search", "admin", "auth"] as const;

function step(at: number): Step {
  const area = AREAS[at % AREAS.length] ?? "api";
  const sent = 8000 + at * 620;
  if (at % 4 === 3)
    return {
      text: `\`${area}\` is done; its tests pass.`,
      tools: [{ name: "Bash", input: { command: `npm test -- ${area}` } }],
      usage: tokens(sent, 120, 0.94),
    };
  if (at % 4 === 0)
    return {
      tools: [
        { name: "Grep", input: { pattern: "moment\\(", path: `src/${area}` } },
        { name: "Read", input: { file_path: `src/${area}/dates.ts` } },
      ],
      usage: tokens(sent, 90, 0.94),
    };
  const edit = {
    file_path: `src/${area}/dates.ts`,
    old_string: `moment(at).format("YYYY-MM-DD")`,
    new_string: `formatDay(at)`,
  };
  return {
    text: at % 4 === 1 ? `The calls in \`${area}\` only format days.` : "",
    tools: [{ name: "Edit", input: edit }],
    usage: tokens(sent, 160, 0.95),
  };
}

/** A long session with many small steps. The page folds all steps except the last few. */
export const upgradeDates: Story = {
  agent: "Fixer",
  title: "Upgrade the date library",
  hoursAgo: 1,
  tags: ["lumen/web"],
  turns: [
    {
      prompt: "Replace moment by the date functions of the platform, folder by folder, tests after each.",
      steps: [
        ...Array.from({ length: 32 }, (_, at) => step(at)),
        {
          text: "All eight folders are free of moment. The bundle is 71 kB smaller.",
          usage: tokens(29_000, 200, 0.96),
        },
      ],
    },
  ],
};

export const longOutputs: Outputs = Object.fromEntries(
  AREAS.flatMap((area) => [
    [
      `Bash npm test -- ${area}`,
      { text: `\u001b[32m PASS \u001b[0m test/${area}\n  \u001b[2m${8 + area.length} passed\u001b[0m`, ms: 30 },
    ],
    [
      `Read src/${area}/dates.ts`,
      {
        text: `1\timport moment from "moment";\n2\texport const day = (at) => moment(at).format("YYYY-MM-DD");`,
        ms: 5,
      },
    ],
    [`Edit src/${area}/dates.ts`, { text: `Replaced 1 place in src/${area}/dates.ts.`, ms: 5 }],
  ]),
);
