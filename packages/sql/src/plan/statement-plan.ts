/**
 * The plan of one statement says in which state the tables must be when the statement runs. Only `planStatement` makes
 * plans, and only `prepare-statement.ts` executes them.
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
  /** Whether the prepared statement may be reused for the same text while no file changes: all of its rows come from the copy. */
  readonly isReusable: boolean;
}

/** What must be known before a statement can be planned. */
export interface Known {
  /** How many statements DuckDB makes of this one. It makes several of a PIVOT, for example. */
  readonly parts: number;
  readonly explanation: Explanation;
  /** Whether the caller wants the rows of every file counted first, so that the reader does not fail on a bad line. */
  readonly counted: boolean;
}

/** DuckDB's own plan of a statement. It shows whether the statement reads line numbers or damage, and which files. */
export type Explanation =
  /** The explanation is not needed, because the statement reads no transcript in place. */
  | { readonly kind: "unneeded" }
  /** DuckDB only explains queries. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "explained"; readonly json: string };

/** The text in DuckDB's plan that shows that line numbers are read. */
const LINE_NUMBERS = new RegExp(`${NO_LINE}|first_row|first_line`);

export function planStatement(statement: Statement, { parts, explanation, counted }: Known): StatementPlan {
  const json = explanation.kind === "explained" ? explanation.json : "";
  // A statement that DuckDB does not explain may read anything.
  const isNumbered = explanation.kind === "unavailable" || LINE_NUMBERS.test(json);
  // DuckDB runs some statements in several parts. Only the last part is tried again after a bad line, so the rows are counted
  // first.
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

/** Whether a plan depends on DuckDB's explanation. A query over the copy starts faster without one. */
export function needsExplanation({ namesLines }: Statement, files: Files): boolean {
  return namesLines || scannedBytes(files) > 0;
}

/**
 * How the transcripts are shown while DuckDB explains a statement: without line numbers, so that a plan that needs them looks
 * different.
 */
export function formToExplain({ namesBranches, namesLines }: Statement, counted: boolean): TranscriptForm {
  return {
    rows: counted ? "counted" : "uncounted",
    branches: namesBranches,
    lines: namesLines,
    condition: null,
  };
}
