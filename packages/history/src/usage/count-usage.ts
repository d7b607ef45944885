import { PRICES_VERSION } from "@skein/protocol/prices";
import type { DataFile } from "../model/data-file.ts";
import { discoverOwn } from "../sources/discover.ts";
import { WorkspaceNotFoundError } from "../errors.ts";
import { foldFiles } from "../facets/fold-files.ts";
import { isSamePath } from "../model/same-path.ts";
import { withStore } from "../facets/with-store.ts";
import { createBlockCounter } from "./blocks.ts";
import { createCallCounter, type CallCounter, type Owner } from "./count-calls.ts";
import { createDayOf, createMondayOf, localTimeZone } from "./calendar.ts";
import { usageFacet, type FileUsage } from "../sources/claude-code/usage/file-usage.ts";
import type { UsageOptions } from "./usage-options.ts";
import { forecastOf } from "./burn-rate.ts";
import { fingerprint, loadReport, saveReport, type SavedReport } from "./report-snapshot.ts";
import { createSplitTallies, createTallies, createTally, type PricedCall } from "./tally.ts";
import type { SourceName } from "../sources/port/source.ts";
import type { SessionUsage, UsageReport } from "./usage-report.ts";

/** The sources of other agents are loaded only if there are any. */
const agents = async () => await import("./count-agents.ts");

/** Computes the report of `getUsage`. */
export async function countUsage(options: UsageOptions): Promise<UsageReport> {
  return await withStore(options, async (store) => {
    const { files, roots } = discoverOwn(options);
    const mirrors = roots.flatMap((root) => options.mirrors?.get(root) ?? []);
    const { workspace, since, until, signal, onProgress } = options;
    const timeZone = options.timeZone ?? localTimeZone();
    const isWhole = workspace === undefined && since === undefined && until === undefined && store.keeps;
    const check = isWhole ? fingerprint(files, mirrors, timeZone) : "";
    const known = isWhole ? loadReport(store, roots, check) : undefined;
    const now = options.now ?? new Date();
    const withForecast = (saved: SavedReport): UsageReport => ({
      ...saved,
      activeBlock: forecastOf(saved.blocks, now),
    });
    if (known) return withForecast(known);
    const counter = createCallCounter();
    const onState = (file: DataFile, state: FileUsage): void => counter.add(state)(file);
    const { failed } = await foldFiles(usageFacet, files, { store, signal, onProgress, onState });
    const unreadable = [
      ...failed.map(({ file, error }) => ({ path: file.path, reason: error.message })),
      ...(mirrors.length === 0 ? [] : await (await agents()).countAgents(mirrors, { options, store, counter })),
    ];
    const made: SavedReport = { ...report(counter, { ...options, timeZone }), unreadable };
    if (isWhole && unreadable.length === 0) saveReport(store, roots, check, made);
    return withForecast(made);
  });
}

type Options = UsageOptions & { readonly timeZone: string };

function report(counter: CallCounter, options: Options): Omit<SavedReport, "unreadable"> {
  const { timeZone } = options;
  const dayOf = createDayOf(timeZone);
  const mondayOf = createMondayOf();
  const totals = createTally();
  const days = createSplitTallies();
  const weeks = createSplitTallies();
  const months = createSplitTallies();
  const models = createTallies<string>();
  const sessions = createTallies<Owner>();
  const projects = createTallies<string>();
  const sources = createTallies<SourceName>();
  const spans = new Map<Owner, Span>();
  const unpriced = new Set<string>();
  const blocks = createBlockCounter();
  let count = 0;
  const isChosen = chooser(options);
  counter.count((call, owner) => {
    if (!isChosen(call, owner)) return;
    blocks.add(call);
    count += 1;
    totals.add(call);
    const day = dayOf(call.time);
    days.add(day, call);
    weeks.add(mondayOf(day), call);
    months.add(day.slice(0, 7), call);
    models.for(call.model).add(call);
    projects.for(owner.projectPath).add(call);
    sources.for(owner.source).add(call);
    sessions.for(owner).add(call);
    noteSpan(spans, owner, call);
    if (call.costPicos === undefined) unpriced.add(call.model);
  });
  if (options.workspace !== undefined && count === 0) throw new WorkspaceNotFoundError(options.workspace);
  const bySession = sessions.entries().map(([owner, sum]): SessionUsage => {
    const { first, last, models: used } = spans.get(owner) ?? { first: 0, last: 0, models: [] };
    return { ...owner, firstActivityAt: new Date(first), lastActivityAt: new Date(last), models: [...used], ...sum };
  });
  return {
    totals: totals.totals(),
    byDay: inOrder(days.entries()).map(([date, sum]) => ({ date, ...sum })),
    byWeek: inOrder(weeks.entries()).map(([week, sum]) => ({ week, ...sum })),
    byMonth: inOrder(months.entries()).map(([month, sum]) => ({ month, ...sum })),
    byModel: models
      .entries()
      .map(([model, sum]) => ({ model, isPriced: !unpriced.has(model), ...sum }))
      .sort(byCost),
    byProject: projects
      .entries()
      .map(([projectPath, sum]) => ({ projectPath, ...sum }))
      .sort(byCost),
    bySource: sources
      .entries()
      .map(([source, sum]) => ({ source, ...sum }))
      .sort(byCost),
    bySession: bySession.sort((a, b) => Number(b.lastActivityAt) - Number(a.lastActivityAt)),
    blocks: blocks.blocks(),
    unpricedModels: [...unpriced].sort(),
    pricesVersion: PRICES_VERSION,
    timeZone,
  };
}

function chooser({ workspace, since, until }: UsageOptions): (call: PricedCall, owner: Owner) => boolean {
  const first = since === undefined ? Number.NEGATIVE_INFINITY : Number(since);
  const end = until === undefined ? Number.POSITIVE_INFINITY : Number(until);
  const known = new Map<string, boolean>();
  return ({ time }, { projectPath }) => {
    if (time < first || time >= end) return false;
    if (workspace === undefined) return true;
    const isSame = known.get(projectPath) ?? isSamePath(projectPath, workspace);
    known.set(projectPath, isSame);
    return isSame;
  };
}

/** When a session made its first and its last call, and with which models. */
interface Span {
  first: number;
  last: number;
  readonly models: Set<string>;
}

function noteSpan(spans: Map<Owner, Span>, owner: Owner, { time, model }: PricedCall): void {
  const span = spans.get(owner);
  if (!span) {
    spans.set(owner, { first: time, last: time, models: new Set([model]) });
    return;
  }
  if (time < span.first) span.first = time;
  if (time > span.last) span.last = time;
  span.models.add(model);
}

function inOrder<Sum>(entries: readonly [string, Sum][]): readonly [string, Sum][] {
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function byCost(
  a: { costMicros: number; inputTokens: number },
  b: { costMicros: number; inputTokens: number },
): number {
  return b.costMicros - a.costMicros || b.inputTokens - a.inputTokens;
}
