import { type Story, tokens } from "../story.ts";

/** Sessions that keep running. */
export const running: readonly Story[] = [
  {
    agent: "Helper",
    title: "Draft release notes 4.2",
    turns: [
      {
        prompt: "Write the release notes of 4.2 from the last 14 commits.",
        steps: [
          {
            text: "## 4.2\n\nThe nightly export takes its lock in one statement. Dates are formatted by the platform; moment is gone.",
            chunk: 8,
            chunkDelayMs: 20,
            hang: { afterChunks: 10 },
            usage: tokens(5200, 300, 0.6),
          },
        ],
      },
    ],
  },
  {
    agent: "Research",
    title: "Which regions need a second zone?",
    turns: [
      {
        prompt: "Which of our regions should get a second zone first?",
        steps: [{ thinking: "Traffic and past outages decide.", text: "Frankfurt first", hang: { afterChunks: 1 } }],
      },
    ],
  },
];
