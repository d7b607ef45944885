/** Keeps the last report until a file changes, so that a repeated request only has to check the folders. */
import { createHash } from "node:crypto";
import { PRICES_VERSION } from "@skein/protocol/prices";
import type { DataFile } from "../model/data-file.ts";
import type { Mirror } from "../sources/mirror/mirror-root.ts";
import type { FacetStore } from "../facets/facet.ts";
import { usageFacet } from "../sources/claude-code/usage/file-usage.ts";
import type { UsageReport } from "./usage-report.ts";

/** The report without the parts that depend on the current time. */
export type SavedReport = Omit<UsageReport, "activeBlock">;

const snapshot = { name: "usage-report", version: 8 };

/** Everything that a report without filters depends on. */
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

export function loadReport(store: FacetStore, roots: readonly string[], check: string): SavedReport | undefined {
  const row = store.load(snapshot).get(roots.join("\0"));
  if (row?.check !== check) return undefined;
  return JSON.parse(Buffer.from(row.data).toString(), revive) as SavedReport;
}

export function saveReport(store: FacetStore, roots: readonly string[], check: string, report: SavedReport): void {
  const data = Buffer.from(JSON.stringify(report));
  store.save(snapshot, [{ path: roots.join("\0"), size: 0, mtimeMs: 0, inode: 0, offset: 0, check, data }]);
}

function revive(key: string, value: unknown): unknown {
  return key.endsWith("At") && typeof value === "string" ? new Date(value) : value;
}
