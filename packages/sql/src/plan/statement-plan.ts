/**
 * The plan of one statement: everything that has to be true of the tables when it runs. `planStatement` is the only place
 * that decides it, and `prepare-statement.ts` the only place that carries it out.
 */
import { type Files, scannedBytes } from "../transcripts/files.ts";
import { NO_LINE } from "../tables/scan.ts";
import type { TranscriptForm } from "../transcripts/transcripts.ts";
import { fileCondition } from "./file-condition.ts";
import type { Statement } from "./statement.ts";

export interface StatementPlan {
  readonly statement: Statement;
  /** How the transcripts are shown while the statement runs. */
  readonly form: TranscriptForm;
  /** The prepared statement may serve the same text again while no file changes: all of its rows come from the copy. */
  readonly isReusable: boolean;
}

/** What must be known before a statement can be planned. */
export interface Known {
  /** DuckDB makes several statements of some, such as PIVOT. */
  readonly parts: number;
  readonly explanation: Explanation;
  /** Whether the caller wants the rows of every file counted first: then no line is left that the reader fails on. */
  readonly counted: boolean;
}

/** DuckDB's own plan of a statement, which tells whether it reads line numbers, damage, and which files. */
export type Explanation =
  /** Not asked for, because the statement reads no transcript in place. */
  | { readonly kind: "unneeded" }
  /** DuckDB explains only questions. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "explained"; readonly json: string };

/** What a plan by DuckDB contains when it reads line numbers. */
const LINE_NUMBERS = new RegExp(`${NO_LINE}|first_row|first_line`);

export function planStatement(statement: Statement, { parts, explanation, counted }: Known): StatementPlan {
  const json = explanation.kind === "explained" ? explanation.json : "";
  // A statement that DuckDB does not explain may read anything.
  const isNumbered = explanation.kind === "unavailable" || LINE_NUMBERS.test(json);
  // The first parts of a statement are not repeated when they fail on a bad line.
  const isCounted = counted || parts > 1 || /damage/.test(json);
  return {
    statement,
    form: {
      rows: isNumbered ? "numbered" : isCounted ? "counted" : "uncounted",
      branches: statement.namesBranches,
      lines: statement.namesLines,
      condition: explanation.kind === "explained" ? fileCondition(json, statement.sql) : null,
    },
    isReusable: explanation.kind === "unneeded" && statement.loads.length === 0 && !statement.namesBranches,
  };
}

/** Whether a plan depends on DuckDB's explanation. Without one, a question over the copy starts sooner. */
export function needsExplanation({ namesLines }: Statement, files: Files): boolean {
  return namesLines || scannedBytes(files) > 0;
}

/** How the transcripts are shown while DuckDB explains a statement: without line numbers, so that a plan that needs them differs. */
export function formToExplain({ namesBranches, namesLines }: Statement, counted: boolean): TranscriptForm {
  return {
    rows: counted ? "counted" : "uncounted",
    branches: namesBranches,
    lines: namesLines,
    condition: null,
  };
}
