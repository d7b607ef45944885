/**
 * Keeps the last report until a file changes. For a repeated request, Skein only checks whether the files have changed.
 */
import { createHash } from "node:crypto";
import { PRICES_VERSION } from "@skein/protocol/prices";
import type { DataFile } from "../model/data-file.ts";
import type { Mirror } from "../sources/mirror/mirror-root.ts";
import type { FacetStore } from "../facets/facet.ts";
import { usageFacet } from "../sources/claude-code/usage/file-usage.ts";
import type { SessionUsage, UsageReport } from "./usage-report.ts";

/** The report without the parts that depend on the current time. */
export type SavedReport = Omit<UsageReport, "activeBlock">;

const snapshot = { name: "usage-report", version: 10 };

/** Returns a hash of everything that changes a report without filters. */
export function fingerprint(files: readonly DataFile[], mirrors: readonly Mirror[], timeZone: string): string {
  const hash = createHash("sha256");
  hash.update(`${PRICES_VERSION}\n${timeZone}\n${usageFacet.version}\n`);
  for (const { path, size, mtimeMs, inode } of files) hash.update(`${path}\0${size}\0${mtimeMs}\0${inode}\n`);
  for (const { folder, units, kept } of mirrors) {
    for (const { id, stamp } of units) hash.update(`${folder}\0${id}\0${stamp}\n`);
    for (const [id, stamp] of kept) hash.update(`${folder}\0${id}\0${stamp}\0kept\n`);
  }
  return hash.digest("hex");
}

/**
 * Loads the saved report, or returns undefined if something changed. The first line is the report without sessions, and
 * the second line the sessions.
 */
export function loadReport(store: FacetStore, roots: readonly string[], check: string): SavedReport | undefined {
  const row = store.load(snapshot).get(roots.join("\0"));
  if (row?.check !== check) return undefined;
  const [rest = "", sessions = ""] = Buffer.from(row.data).toString().split("\n");
  return { ...(JSON.parse(rest, revive) as SavedReport), bySession: sessionsIn(sessions) };
}

export function saveReport(store: FacetStore, roots: readonly string[], check: string, report: SavedReport): void {
  const rest: SavedReport = { ...report, bySession: [] };
  const data = Buffer.from(`${JSON.stringify(rest)}\n${rowsOf(report.bySession)}`);
  store.save(snapshot, [{ path: roots.join("\0"), size: 0, mtimeMs: 0, inode: 0, offset: 0, check, data }]);
}

/** Returns the sessions as rows of values. With the names of the fields in each row, the text would be twice as long. */
function rowsOf(sessions: readonly SessionUsage[]): string {
  return JSON.stringify([Object.keys(sessions[0] ?? {}), ...sessions.map((session) => Object.values(session))]);
}

function sessionsIn(text: string): readonly SessionUsage[] {
  const [fields, ...rows] = JSON.parse(text) as [string[], ...unknown[][]];
  return rows.map((values) => {
    const session = Object.fromEntries(fields.map((field, at) => [field, revive(field, values[at])]));
    return session as unknown as SessionUsage;
  });
}

function revive(key: string, value: unknown): unknown {
  return key.endsWith("At") && typeof value === "string" ? new Date(value) : value;
}
