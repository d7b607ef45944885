import { getUsage, type UsageReport, type UsageTotals } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { oneOf } from "../../terminal/kinds.ts";
import { shortenPath } from "./list.ts";
import { printJson } from "./print-json.ts";
import type { Screen } from "./screen.ts";
import { type Piece, type Styled, t } from "./styled.ts";
import { table } from "./table.ts";
import { count, counted, shortTime } from "./times.ts";
import { shortModel } from "./transcript-view.ts";

const views = ["day", "model", "project", "session", "block"] as const;

export const usage = historyCommand({
  name: "history usage",
  summary: "Tokens and cost, each model call counted once",
  usesPager: true,
  options: {
    by: {
      takes: "VIEW",
      several: true,
      kind: oneOf(...views),
      about: "day, model, project, session or block (5 hours, an estimate); may be given several times",
    },
    timezone: {
      takes: "ZONE",
      about: "Whose days to use, for example UTC or Europe/Berlin; this machine's if not given",
    },
  },
  examples: [
    ["skein history usage --since 30d", "The last 30 days, by day and by model"],
    ["skein history usage --by project --by session", "Where it went"],
    ["skein history usage --json", "totals, byDay, byModel, byProject, bySession and blocks"],
  ],
  async run({ screen, values, library }) {
    const shown = values.by ?? (["day", "model"] as const);
    const report = await getUsage({
      ...library,
      ...(values.timezone === undefined ? {} : { timeZone: values.timezone }),
      onProgress: (done, total) => {
        if (done % 50 === 0) screen.progress(t`Counting: ${done} of ${total} files`);
      },
    });
    screen.progress(undefined);
    if (values.json) await printJson(screen, report);
    else {
      const limit = library.limit ?? Number.POSITIVE_INFINITY;
      for (const view of shown) await screen.print(...viewLines(view, report, screen, limit), t``);
      await screen.print(...remarks(report, screen));
    }
    return report.unreadable.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

type View = (typeof views)[number];

function viewLines(view: View, report: UsageReport, screen: Screen, limit: number): readonly Styled[] {
  const { paint } = screen;
  const rows = rowsOf(view, report, screen).slice(-limit);
  const columns = [
    { title: view.toUpperCase() },
    { title: "INPUT", align: "right" as const },
    { title: "OUTPUT", align: "right" as const },
    { title: "CACHE WRITE", align: "right" as const },
    { title: "CACHE READ", align: "right" as const },
    { title: "CALLS", align: "right" as const },
    { title: "COST USD", align: "right" as const },
  ];
  const cells = rows.map(([name, totals]) => [name, ...numbers(totals)]);
  const total = [paint.bold("Total"), ...numbers(report.totals).map((text) => paint.bold(text))];
  return table(columns, [...cells, total], screen.columns);
}

function rowsOf(
  view: View,
  report: UsageReport,
  { paint, columns }: Screen,
): readonly (readonly [Piece, UsageTotals])[] {
  const width = Math.max(24, Math.min(60, columns - 80));
  switch (view) {
    case "day":
      return report.byDay.map((day) => [day.date, day]);
    case "model":
      return report.byModel.map((model) => [
        model.isPriced ? shortModel(model.model) : t`${shortModel(model.model)} ${paint.yellow("(unpriced)")}`,
        model,
      ]);
    case "project":
      return report.byProject.map((project) => [shortenPath(project.projectPath, width), project]);
    case "session":
      return report.bySession.map((session) => {
        const own =
          session.costStateUsd === null ? "" : paint.dim(` Claude Code says $${session.costStateUsd.toFixed(2)}`);
        return [t`${session.sessionId.slice(0, 8)} ${paint.dim(shortTime(session.lastActivityAt))}${own}`, session];
      });
    case "block":
      return report.blocks
        .filter(({ isGap }) => !isGap)
        .map((block) => [t`${shortTime(block.startsAt)} ${paint.dim("(estimate)")}`, block]);
  }
}

function numbers(totals: UsageTotals): readonly string[] {
  return [
    count(totals.inputTokens),
    count(totals.outputTokens),
    count(totals.cacheCreationInputTokens),
    count(totals.cacheReadInputTokens),
    count(totals.calls),
    totals.costUsd.toFixed(2),
  ];
}

function remarks(report: UsageReport, { paint }: Screen): readonly Styled[] {
  const lines = [
    paint.dim(
      t`Prices of ${report.pricesVersion}; days of ${report.timeZone}. Calls that are in no transcript (titles, web searches) are not in it.`,
    ),
  ];
  const { unpricedModels, unreadable } = report;
  if (unpricedModels.length > 0)
    lines.push(paint.yellow(t`Without a price, so in no cost: ${unpricedModels.join(", ")}`));
  if (unreadable.length > 0)
    lines.push(paint.red(t`${counted(unreadable.length, "file")} could not be read: the totals lack them.`));
  return lines;
}
