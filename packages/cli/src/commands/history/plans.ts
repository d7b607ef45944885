import { listPlans, type PlanFile } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT, MissingError } from "../../terminal/exit-codes.ts";
import { pageOf } from "./page.ts";
import { styledText } from "../../terminal/styled.ts";
import { visible } from "../../terminal/visible-text.ts";
import { shorten } from "../../terminal/width.ts";
import { table } from "../../terminal/table.ts";
import { counted } from "../../terminal/counts.ts";
import { shortTime } from "../../terminal/times.ts";

export const plans = historyCommand({
  name: "history plans",
  summary: "Plans of Claude Code, newest first",
  shares: ["root", "since", "until", "limit", "offset", "json", "archive", "pager"],
  words: "[NAME]",
  usesPager: true,
  examples: [
    ["skein history plans", "All plans"],
    ["skein history plans fix-auth-race", "The plan whose name begins with fix-auth-race"],
    ["skein history plans --json", "All plans with their phases and items, as JSON"],
  ],
  async run({ screen, values, words, library }) {
    const all = (await listPlans(library)).filter(({ modifiedAt }) => {
      return (
        (library.since === undefined || modifiedAt >= library.since) &&
        (library.until === undefined || modifiedAt < library.until)
      );
    });
    const [name] = words;
    if (name !== undefined) {
      const plan = all.find((found) => found.name === name) ?? all.find((found) => found.name.startsWith(name));
      if (!plan) throw new MissingError(`There is no plan whose name begins with ${name}.`);
      if (values.json) await screen.json(plan);
      else await screen.data(screen.isTerminal ? visible(plan.content) : plan.content);
      return EXIT.completed;
    }
    const page = pageOf(all, library);
    if (values.json) await screen.json(page);
    else if (all.length === 0) await screen.print(styledText`No plans.`);
    else {
      const rows = page.data.map((plan) => [
        shortTime(plan.modifiedAt),
        progressOf(plan),
        plan.name,
        shorten(plan.title ?? "", 80),
      ]);
      await screen.print(
        ...table(
          [{ title: "CHANGED" }, { title: "DONE" }, { title: "NAME" }, { title: "TITLE" }],
          rows,
          screen.columns,
        ),
      );
      if (page.pagination.hasMore)
        await screen.print(screen.paint.dim(styledText`${counted(all.length, "plan")} in all; --limit all shows them`));
    }
    return EXIT.completed;
  },
});

function progressOf({ phases }: PlanFile): string {
  const items = phases.flatMap((phase) => phase.items);
  return items.length === 0 ? "" : `${items.filter(({ done }) => done).length}/${items.length}`;
}
