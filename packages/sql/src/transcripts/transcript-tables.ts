/**
 * The tables and variables that the views over transcripts read: the list of files, and the lines that JavaScript read.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { FileBranch } from "@skein/history";
import { type Rows, loadRows } from "../database/load-rows.ts";
import { literals, plainPath } from "../database/quote.ts";
import { READ_PIECES } from "../tables/pieces.ts";
import { scanSql } from "../tables/schema.ts";
import { FILE_COLUMNS, fileRows } from "./file-rows.ts";
import { type Files, type KnownFile, isCounted, scannedFiles } from "./files.ts";
import type { ShortFiles } from "./short-files.ts";

export interface TranscriptTablesDeps {
  readonly connection: DuckDBConnection;
  /** A folder for temporary files, which the caller removes. */
  readonly folder: string;
  readonly shortFiles: ShortFiles;
}

export interface TranscriptTables {
  /** Replaces the content of all tables. Afterwards all files are read, and no branches are shown. */
  replace(files: Files): Promise<void>;
  /** Makes the views that read transcripts in place, if they do not exist. */
  makeScan(): Promise<void>;
  /** Sets whether the views of `makeScan` number lines. Does nothing before they exist. */
  number(numbered: boolean): Promise<void>;
  showBranches(files: Files): Promise<void>;
  /** Fills `scan.objects` with the JSON of the lines. */
  showLines(files: Files): Promise<void>;
  /** Restricts the scan to files that match the condition. With null, all files are read. */
  restrict(files: Files, condition: string | null): Promise<void>;
}

export function createTranscriptTables({ connection, folder, shortFiles }: TranscriptTablesDeps): TranscriptTables {
  const emptyFile = join(folder, "empty.jsonl");
  writeFileSync(emptyFile, "");
  /** Whether the views of `makeScan` number lines. Undefined before they exist. */
  let isNumbered: boolean | undefined;
  let areBranchesShown = false;
  let areLinesShown = false;
  let restriction: string | null = null;

  return {
    async replace(files) {
      areBranchesShown = false;
      restriction = null;
      await showFiles(files, null);
      await showAllFiles(files);
      await connection.run(`SET VARIABLE skein_tolerant = ${isCounted(files)}`);
      await loadRows(
        connection,
        "skein.skipped",
        { file: "VARCHAR", kind: "VARCHAR", message: "VARCHAR" },
        files.unread.map((each) => ({ ...each })),
      );
      await showDamage(files);
      await load("branch", []);
    },
    async makeScan() {
      if (isNumbered !== undefined) return;
      const { promptFunction } = await import("./prompt-function.ts");
      connection.registerScalarFunction(promptFunction());
      await makeViews(false);
    },
    async number(numbered) {
      if (isNumbered !== undefined && isNumbered !== numbered) await makeViews(numbered);
    },
    async showBranches(files) {
      if (areBranchesShown) return;
      const { branchesOf } = await import("@skein/history");
      const rows = scannedFiles(files).flatMap((each, place) =>
        each.file.kind === "session" ? branchRows(place, branchesOf(pathOf(each), new Date(each.file.mtimeMs))) : [],
      );
      await load("branch", rows);
      areBranchesShown = true;
    },
    async showLines(files) {
      if (areLinesShown) return;
      areLinesShown = true;
      await showAllFiles(files);
    },
    async restrict(files, condition) {
      if (condition === restriction) return;
      await showFiles(files, condition === null ? null : await placesWhere(condition));
      restriction = condition;
    },
  };

  async function makeViews(numbered: boolean): Promise<void> {
    await connection.run(scanSql({ numbered }));
    isNumbered = numbered;
  }

  async function showFiles(files: Files, wanted: ReadonlySet<number> | null): Promise<void> {
    // An empty file replaces each unwanted file, so that the other files keep their places.
    const paths = scannedFiles(files).map((each, at) => (wanted?.has(at) === false ? emptyFile : pathOf(each)));
    await setPaths("skein_files", paths);
    await loadRows(connection, "skein.files", FILE_COLUMNS, fileRows(files, wanted));
  }

  async function showAllFiles({ known }: Files): Promise<void> {
    await setPaths("skein_all_files", areLinesShown ? known.map(pathOf) : []);
  }

  async function showDamage(files: Files): Promise<void> {
    const scanned = scannedFiles(files);
    // The module is imported only if there is damage, so that a query starts faster.
    const { damagedLines } = scanned.some(({ count }) => count?.isDamaged)
      ? await import("./damaged-lines.ts")
      : { damagedLines: () => [] };
    const damaged = scanned.flatMap((each, place) =>
      each.count?.isDamaged === true ? damagedLines(pathOf(each)).map((line) => ({ place, ...line })) : [],
    );
    const long = scanned.flatMap(({ file, count }, place) =>
      count?.isLong === true ? (shortFiles.of(file)?.damage ?? []).map((line) => ({ place, ...line })) : [],
    );
    await load(
      "repaired",
      damaged.flatMap(({ place, line, values }) => values.map((json) => ({ place, line, json }))),
    );
    await load(
      "damage",
      [...damaged, ...long].map(({ place, line, kind, message }) => ({ place, line, kind, message })),
    );
  }

  async function load(piece: keyof typeof READ_PIECES, rows: Rows): Promise<void> {
    await loadRows(connection, `scan.${piece}`, READ_PIECES[piece], rows);
  }

  /** Sets a variable to a list of files. An empty list gets one empty file, because DuckDB rejects an empty list. */
  async function setPaths(variable: string, paths: readonly string[]): Promise<void> {
    const list = paths.length === 0 ? [emptyFile] : paths;
    await connection.run(`SET VARIABLE ${variable} = ${literals(list.map(plainPath))}`);
  }

  async function placesWhere(condition: string): Promise<ReadonlySet<number>> {
    const reader = await connection.runAndReadAll(`SELECT place FROM skein.files WHERE place >= 0 AND (${condition})`);
    return new Set(reader.getRows().map(([place]) => Number(place)));
  }

  /** Returns the path that DuckDB reads for a transcript. */
  function pathOf({ file, count }: KnownFile): string {
    return (count?.isLong === true ? shortFiles.of(file)?.path : undefined) ?? file.path;
  }
}

function branchRows(place: number, branches: readonly FileBranch[]): Rows {
  return branches.map(({ atUuid, childUuids, prompts, firstAt, lastAt }) => ({
    place,
    at_uuid: atUuid,
    child_uuids: childUuids,
    prompts,
    first_at: firstAt,
    last_at: lastAt,
  }));
}
