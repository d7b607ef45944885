import { type Story, tokens } from "../story.ts";

const TITLES = [
  "Why is the login test flaky?",
  "Remove the old feature flags",
  "Tidy the shell configuration",
  "Find the slow query on the orders page",
  "Review the permission changes",
  "Move the images out of the repository",
  "Translate the help pages to Portuguese",
  "Draft release notes 4.1",
  "Rotate the storage credentials",
  "Explain the cache headers",
  "Split the settings module",
  "Check the licences of all dependencies",
  "Name the columns of the ledger",
  "Answer the questions of the auditors",
  "Rewrite the welcome mail",
  "Why did the build take 14 minutes?",
] as const;

const AGENTS = ["Fixer", "Helper", "Research", "Support", "Reports"] as const;

/**
 * Returns short sessions of the last weeks, fewer on two days of each week, for the calendar, the charts and the list.
 */
export function past(weeks: number): readonly Story[] {
  const stories: Story[] = [];
  for (let day = 2; day < weeks * 7; day++) {
    const weekday = (16 - day) % 7;
    const isWeekend = Math.abs(weekday) === 1 || Math.abs(weekday) === 2;
    const count = isWeekend ? day % 2 : 1 + ((day * 7) % 4);
    for (let at = 0; at < count; at++) {
      const number = stories.length;
      const title = TITLES[(number * 5) % TITLES.length] ?? "";
      const sent = 400_000 + ((number * 7919) % 1_600_000);
      stories.push({
        agent: AGENTS[number % AGENTS.length] ?? "Fixer",
        title,
        hoursAgo: day * 24 - at * 2,
        turns: [
          {
            prompt: `${title} (${number})`,
            steps: [
              {
                text: "Done, with a note in the pull request.",
                usage: tokens(sent, 4000 + ((number * 577) % 40_000), 0.86),
              },
            ],
          },
        ],
      });
    }
  }
  return stories;
}
