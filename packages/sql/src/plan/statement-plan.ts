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
  /**
   * Whether later queries with the same text may reuse the prepared statement while no file changes. True if all rows
   * come from the cached copy of the transcripts.
   */
  readonly isReusable: boolean;
}

/** What must be known before a statement can be planned. */
export interface Known {
  /**
   * The number of statements that DuckDB makes from this statement. From a PIVOT, for example, DuckDB makes several
   * statements.
   */
  readonly parts: number;
  readonly explanation: Explanation;
  /** Whether the rows of every file are counted first, so that the reader does not fail on a bad line. */
  readonly counted: boolean;
}

/**
 * DuckDB's plan of a statement. It shows which files the statement reads, and whether it reads line numbers or the
 * column `damage`.
 */
export type Explanation =
  /** The statement needs no explanation, because it reads only the copy of the transcripts. */
  | { readonly kind: "unneeded" }
  /** DuckDB cannot explain the statement. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "explained"; readonly json: string };

/** Matches DuckDB's plan of a statement that reads line numbers. */
const LINE_NUMBERS = new RegExp(`${NO_LINE}|first_row|first_line`);

export function planStatement(statement: Statement, { parts, explanation, counted }: Known): StatementPlan {
  const json = explanation.kind === "explained" ? explanation.json : "";
  // A statement that DuckDB does not explain may read anything.
  const isNumbered = explanation.kind === "unavailable" || LINE_NUMBERS.test(json);
  // DuckDB runs some statements in several parts. Only the last part is tried again after a bad line, so the rows are
  // counted first.
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

/**
 * Whether DuckDB must explain the statement before it can be planned. A query that reads only the copy starts faster
 * without an explanation.
 */
export function needsExplanation({ namesLines }: Statement, files: Files): boolean {
  return namesLines || scannedBytes(files) > 0;
}

/**
 * Returns the form of the transcripts while DuckDB explains a statement. The form has no line numbers, so DuckDB's plan
 * shows `NO_LINE` if the statement reads them.
 */
export function formToExplain({ namesBranches, namesLines }: Statement, counted: boolean): TranscriptForm {
  return {
    rows: counted ? "counted" : "uncounted",
    branches: namesBranches,
    lines: namesLines,
    condition: null,
  };
}
