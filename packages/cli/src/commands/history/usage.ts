import type { LibraryConfig } from "@skein/history";
import { burnRateOf, getUsage, type UsageReport, type UsageTotals } from "@skein/history/usage";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { oneOf } from "../../terminal/option-kinds.ts";
import { pageOf } from "./page.ts";
import { shortenPath, shortIds } from "./short-names.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Paint, type Piece, type Styled, styledText, wrap } from "../../terminal/styled.ts";
import { table } from "../../terminal/table.ts";
import { count, counted, shortCount } from "../../terminal/counts.ts";
import { duration, hours, shortTime } from "../../terminal/times.ts";

const views = ["day", "week", "month", "model", "project", "source", "session", "block"] as const;

export const usage = historyCommand({
  name: "history usage",
  summary: "Tokens and cost, each model call counted once",
  lines: "as-needed",
  usesPager: true,
  options: {
    by: {
      takes: "VIEW",
      several: true,
      kind: oneOf(...views),
      about:
        "day, week, month, model, project, source (the agent), session or block (5 hours, an estimate); may be given several times, for one table each",
    },
    breakdown: { short: "b", about: "Also show each model of a day, week or month" },
    timezone: {
      takes: "ZONE",
      about: "The time zone of the days, for example UTC or Europe/Berlin (default: this machine's)",
    },
  },
  examples: [
    ["skein history usage --since 30d", "The last 30 days, by day and by model"],
    ["skein history usage --by month --breakdown", "The cost of each month, and of each model in the month"],
    ["skein history usage --by block --limit 5", "Five-hour blocks, with burn rate and projection of the active block"],
    ["skein history usage --by project --by session", "Tokens and cost of each project and session"],
    ["skein history usage --by source", "What each agent used"],
    [
      "skein history usage --json",
      "totals, byDay, byWeek, byMonth, byModel, byProject, bySource, bySession and blocks",
    ],
  ],
  async run({ screen, values, library }) {
    const report = await getUsage({
      ...library,
      ...(values.timezone === undefined ? {} : { timeZone: values.timezone }),
      onProgress: (done, total) => {
        if (done % 50 === 0) screen.progress(styledText`Counting: ${done} of ${total} files`);
      },
    });
    screen.progress(undefined);
    // People with several agents first want to know which agent used what.
    const usual = report.bySource.length > 1 ? (["day", "source", "model"] as const) : (["day", "model"] as const);
    const shown = values.by ?? usual;
    if (values.json) await screen.json(report);
    else {
      for (const view of shown) {
        await screen.print(...viewLines(view, report, screen, { ...library, isSplit: values.breakdown }), styledText``);
        if (view === "block")
          await screen.print(...forecastLines(report.activeBlock, screen), ...blockRemarks(screen), styledText``);
      }
      await screen.print(...remarks(report, screen));
    }
    return report.unreadable.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

type View = (typeof views)[number];

/** Views that are sorted by time, with the newest row last. If a view has too many rows, it shows the last rows. */
const ENDS_WITH_NEWEST: ReadonlySet<View> = new Set(["day", "week", "month", "block"]);

function viewLines(
  view: View,
  report: UsageReport,
  screen: StyledScreen,
  page: LibraryConfig & { readonly isSplit: boolean },
): readonly Styled[] {
  const { paint } = screen;
  const all = rowsOf(view, report, screen);
  const { limit = all.length } = page;
  const rows = ENDS_WITH_NEWEST.has(view)
    ? pageOf(all.toReversed(), { ...page, limit }).data.toReversed()
    : pageOf(all, { ...page, limit }).data;
  const lines = (form: NumberForm): readonly Styled[] => {
    const cells = rows.flatMap(([name, totals]) => [
      [name, ...numbers(totals, form, paint)],
      // The totals of a session have the names of its models, but no totals by model.
      ...(page.isSplit && view !== "session" && "models" in totals
        ? (totals as UsageReport["byDay"][number]).models.map((part) =>
            [styledText`  ${modelName(part.model)}`, ...numbers(part, form, paint)].map((cell) => paint.dim(cell)),
          )
        : []),
    ]);
    const total = [paint.bold("Total"), ...numbers(report.totals, form, paint).map((text) => paint.bold(text))];
    const columns = [
      { title: view === "source" ? "AGENT" : view.toUpperCase() },
      ...form.titles.map((title) => ({ title, align: "right" as const })),
    ];
    const made = table(columns, [...cells, total], screen.columns);
    // A table with wrapped columns is hard to read, so a narrow terminal gets shorter numbers.
    return form === whole && made.length > cells.length + 2 ? lines(short) : made;
  };
  return lines(whole);
}

/** The format of numbers: in full, or shorter for a narrow terminal. */
interface NumberForm {
  readonly titles: readonly string[];
  readonly count: (value: number) => string;
}

const whole: NumberForm = { titles: ["INPUT", "OUTPUT", "CACHE WRITE", "CACHE READ", "CALLS", "COST USD"], count };
const short: NumberForm = { titles: ["INPUT", "OUTPUT", "WRITTEN", "READ", "CALLS", "COST USD"], count: shortCount };

function rowsOf(
  view: View,
  report: UsageReport,
  { paint, columns }: StyledScreen,
): readonly (readonly [Piece, UsageTotals])[] {
  const width = Math.max(24, Math.min(60, columns - 80));
  switch (view) {
    case "day":
      return report.byDay.map((day) => [day.date, day]);
    case "week":
      return report.byWeek.map((week) => [week.week, week]);
    case "month":
      return report.byMonth.map((month) => [month.month, month]);
    case "model":
      return report.byModel.map((model) => [modelName(model.model), model]);
    case "project":
      return report.byProject.map((project) => [shortenPath(project.projectPath, width), project]);
    case "source":
      return report.bySource.map((source) => [source.source, source]);
    case "session": {
      const idOf = shortIds(report.bySession.map(({ sessionId }) => sessionId));
      // A narrow terminal has no room for the project on the line of the numbers.
      const projectOf = (path: string): string => (columns < 100 ? "" : ` ${shortenPath(path, columns - 88)}`);
      return report.bySession.map((session) => {
        const own =
          session.costStateUsd === null ? "" : paint.dim(` Claude Code says ${costText(session.costStateUsd, "$")}`);
        return [
          styledText`${idOf(session.sessionId)} ${paint.dim(shortTime(session.lastActivityAt))}${session.source === "claude-code" ? "" : ` ${session.source}`}${projectOf(session.projectPath)}${own}`,
          session,
        ];
      });
    }
    case "block":
      return report.blocks
        .filter(({ isGap }) => !isGap)
        .map((block) => {
          const rate = burnRateOf(block);
          const note = rate ? ` (${costText(rate.costUsdPerHour, "$")}/h)` : "";
          return [styledText`${shortTime(block.startsAt)}${paint.dim(note)}`, block];
        });
  }
}

/** The short name of a model keeps the date, so that two versions of a model get two rows. */
function modelName(model: string): string {
  return model.replace(/^claude-/, "");
}

/** Returns the lines about the active block: its burn rate, and its projected tokens and cost. */
function forecastLines(forecast: UsageReport["activeBlock"], { paint }: StyledScreen): readonly Styled[] {
  if (!forecast) return [paint.dim("No block is active.")];
  const { block, remainingMinutes, burnRate, projection } = forecast;
  return [
    styledText`Active block: ${costText(block.costUsd, "$")} since ${shortTime(block.startsAt)}, ${hours(remainingMinutes)} left`,
    ...(burnRate && projection
      ? [
          styledText`Burn rate:    ${count(Math.round(burnRate.tokensPerMinute))} tokens/min, ${costText(burnRate.costUsdPerHour, "$")}/h, in the ${duration(activityOf(block))} from its first to its last call`,
          styledText`Projection:   ${count(projection.totalTokens)} tokens, ${costText(projection.costUsd, "$")} at its end, if this rate continues until then`,
        ]
      : []),
  ];
}

function activityOf({ firstActivityAt, lastActivityAt }: UsageReport["blocks"][number]): number {
  return Number(lastActivityAt) - Number(firstActivityAt);
}

/** Returns what is estimated about blocks. */
function blockRemarks({ paint, columns }: StyledScreen): readonly Styled[] {
  const note =
    "Blocks are an estimate of the five hours for which a plan has a limit: a block begins at the full hour of its first call. $/h is the cost from the first to the last call of a block.";
  return wrap(note, columns).map(paint.dim);
}

/** Writes a cost after a sign. A cost below half a cent is not shown as zero. */
function costText(usd: number, sign: "$" | ""): string {
  return usd > 0 && usd < 0.005 ? `<${sign}0.01` : `${sign}${usd.toFixed(2)}`;
}

function numbers(totals: UsageTotals, { count: text }: NumberForm, paint: Paint): readonly Piece[] {
  return [
    text(totals.inputTokens),
    text(totals.outputTokens),
    text(totals.cacheCreationInputTokens),
    text(totals.cacheReadInputTokens),
    text(totals.calls),
    totals.calls > 0 && totals.unpricedCalls === totals.calls ? paint.yellow("no price") : costText(totals.costUsd, ""),
  ];
}

function remarks(report: UsageReport, { paint, columns }: StyledScreen): readonly Styled[] {
  const note = `Prices of ${report.pricesVersion}; days of ${report.timeZone}. Calls that are in no transcript (titles, web searches) are not counted.`;
  const lines = wrap(note, columns).map(paint.dim);
  const { unpricedModels, unreadable } = report;
  if (unpricedModels.length > 0)
    lines.push(
      ...wrap(
        `The costs do not include these models, whose prices are unknown: ${unpricedModels.join(", ")}`,
        columns,
      ).map(paint.yellow),
    );
  if (unreadable.length > 0)
    lines.push(paint.red(styledText`The totals lack ${counted(unreadable.length, "file")} that could not be read.`));
  return lines;
}
