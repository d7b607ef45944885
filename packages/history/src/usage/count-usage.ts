import { PRICES_VERSION } from "@skein/protocol/prices";
import type { DataFile } from "../model/data-file.ts";
import { discoverOwn } from "../sources/discover.ts";
import { WorkspaceNotFoundError } from "../errors.ts";
import { foldFiles } from "../facets/fold-files.ts";
import { isSamePath } from "../model/same-path.ts";
import { withStore } from "../facets/with-store.ts";
import { createBlockCounter, hourOf } from "./blocks.ts";
import { createCallRuns, type CallRun } from "./call-runs.ts";
import { createCallCounter, type CallCounter, type Owner } from "./count-calls.ts";
import { createDayOf, createMondayOf, localTimeZone } from "./calendar.ts";
import { usageFacet, type FileUsage } from "../sources/claude-code/usage/file-usage.ts";
import type { UsageOptions } from "./usage-options.ts";
import { forecastOf } from "./burn-rate.ts";
import { fingerprint, loadReport, saveReport, type SavedReport } from "./report-snapshot.ts";
import {
  addTally,
  createSplitTallies,
  createTallies,
  newTally,
  totalsOf,
  type PricedCall,
  type Tally,
} from "./tally.ts";
import type { SourceName } from "../sources/port/source.ts";
import type { SessionUsage, UsageReport } from "./usage-report.ts";

/** Loads the code for agents other than Claude Code, which is needed only if this machine has data of such agents. */
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
  const totals = newTally();
  const days = createSplitTallies();
  const weeks = createSplitTallies();
  const months = createSplitTallies();
  const models = createTallies<string>();
  const sessions = new Map<Owner, SessionSums>();
  const projects = createTallies<string>();
  const sources = createTallies<SourceName>();
  const unpriced = new Set<string>();
  const blocks = createBlockCounter();
  const isChosen = chooser(options);
  const runs = createCallRuns((run) => {
    const { owner, model, day, tally } = run;
    blocks.add(run);
    addTally(totals, tally);
    days.add(day, model, tally);
    weeks.add(mondayOf(day), model, tally);
    months.add(day.slice(0, 7), model, tally);
    models.add(model, tally);
    projects.add(owner.projectPath, tally);
    sources.add(owner.source, tally);
    addToSession(sessions, run);
    if (tally.unpricedCalls > 0) unpriced.add(model);
  });
  const owners = counter.count((call, owner) => {
    if (isChosen(call, owner)) runs.add(call, owner, dayOf(call.time), hourOf(call.time));
  });
  runs.end();
  const { workspace } = options;
  if (workspace !== undefined && !owners.some(({ projectPath }) => isSamePath(projectPath, workspace)))
    throw new WorkspaceNotFoundError(workspace);
  const bySession = [...sessions].map(([owner, { first, last, models: used, tally }]): SessionUsage => {
    const times = { firstActivityAt: new Date(first), lastActivityAt: new Date(last) };
    return { ...owner, ...times, models: used, ...totalsOf(tally) };
  });
  return {
    totals: totalsOf(totals),
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

/** The sums of a session, its models, and the times of its first and last call. */
interface SessionSums {
  first: number;
  last: number;
  readonly models: string[];
  readonly tally: Tally;
}

function addToSession(sessions: Map<Owner, SessionSums>, { owner, model, first, last, tally }: CallRun): void {
  let session = sessions.get(owner);
  if (!session) sessions.set(owner, (session = { first, last, models: [], tally: newTally() }));
  if (first < session.first) session.first = first;
  if (last > session.last) session.last = last;
  if (!session.models.includes(model)) session.models.push(model);
  addTally(session.tally, tally);
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
