import { contextTokens, getUsage } from "@skein/history";
import { basename } from "node:path";
import { text } from "node:stream/consumers";
import { isatty } from "node:tty";
import { z } from "zod";
import { historyCommand } from "./command.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { count } from "../../terminal/counts.ts";
import { type Styled, joined, styledText } from "../../terminal/styled.ts";
import { hours } from "../../terminal/times.ts";

/** The fields of Claude Code's status line input that this command reads. */
const Given = z.looseObject({
  session_id: z.string().optional(),
  transcript_path: z.string().optional(),
  cwd: z.string().optional(),
  model: z.looseObject({ display_name: z.string().optional() }).optional(),
  workspace: z.looseObject({ current_dir: z.string().optional() }).optional(),
  context_window: z.looseObject({ context_window_size: z.number().optional() }).optional(),
});

const usualContext = 200_000;

export const statusline = historyCommand({
  name: "history statusline",
  summary: "One line for Claude Code's status line: model, cost, burn rate, context",
  lines: "as-needed",
  shares: ["root", "source", "json", "cache"],
  examples: [
    [
      "skein history statusline < status.json",
      'As Claude Code calls it, with "statusLine": {"type": "command", "command": "skein history statusline"} in ~/.claude/settings.json',
    ],
  ],
  async run({ screen, values, library }) {
    if (isatty(0)) throw new UsageError("Claude Code calls this command and writes JSON to its standard input.");
    const given = read(await text(process.stdin));
    const now = new Date();
    const report = await getUsage({ ...library, now });
    const today = report.byDay.find(({ date }) => date === dayOf(now, report.timeZone));
    const session = report.bySession.find(({ sessionId }) => sessionId === given.session_id);
    const context = tokensOf(given.transcript_path);
    const most = given.context_window?.context_window_size ?? usualContext;
    const status = {
      model: given.model?.display_name ?? null,
      folder: basename(given.workspace?.current_dir ?? given.cwd ?? ""),
      sessionCostUsd: session?.costUsd ?? 0,
      todayCostUsd: today?.costUsd ?? 0,
      activeBlock: report.activeBlock,
      contextTokens: context,
      contextShare: context === null ? null : context / most,
    };
    if (values.json) {
      await screen.json(status);
      return EXIT.completed;
    }
    const { paint } = screen;
    const parts: Styled[] = [];
    if (status.model !== null)
      parts.push(styledText`${paint.cyan(status.model)}${status.folder === "" ? "" : ` in ${status.folder}`}`);
    parts.push(styledText`${usd(status.sessionCostUsd)} session, ${usd(status.todayCostUsd)} today`);
    const { activeBlock } = report;
    if (activeBlock) {
      parts.push(styledText`${usd(activeBlock.block.costUsd)} block (${hours(activeBlock.remainingMinutes)} left)`);
      if (activeBlock.burnRate) parts.push(styledText`${usd(activeBlock.burnRate.costUsdPerHour)}/h`);
    }
    if (context !== null) {
      const share = Math.round((context / most) * 100);
      const shown = `${count(context)} tokens (${share} %)`;
      parts.push(share >= 80 ? paint.red(shown) : share >= 50 ? paint.yellow(shown) : styledText`${shown}`);
    }
    await screen.print(joined(parts, " | "));
    return EXIT.completed;
  },
});

function read(input: string): z.infer<typeof Given> {
  try {
    return Given.parse(JSON.parse(input));
  } catch {
    throw new UsageError("The standard input is not the JSON that Claude Code gives to a status line.");
  }
}

function tokensOf(path: string | undefined): number | null {
  try {
    return path === undefined ? null : contextTokens(path);
  } catch {
    // A new session has no transcript yet.
    return null;
  }
}

function dayOf(date: Date, timeZone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(date);
}

function usd(value: number): string {
  return `$${value.toFixed(2)}`;
}
