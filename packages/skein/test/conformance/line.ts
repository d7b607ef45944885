/**
 * One statement of a specification, and how Skein implements it. Lines are plain data for the tests and for `npm run
 * conformance`.
 */
export interface Line {
  /** The place in the specification. */
  readonly at: string;
  /** The statement of the specification. */
  readonly what: string;
  readonly status: "there" | "departure" | "open";
  /** The reason of a departure, or the issue that completes an open line. */
  readonly note?: string;
  readonly check?: Check;
}

/** The lines of one specification. One part of Skein implements the specification. */
export interface ConformanceList {
  readonly part: string;
  /** The number of the specification. */
  readonly specification: string;
  readonly title: string;
  readonly lines: readonly Line[];
}

/** A column of a specified schema, with its type as information_schema names it. */
export interface ColumnCheck {
  readonly check: "column";
  readonly view: string;
  readonly column: string;
  readonly type: string;
  /** The length of a varchar, or the precision and scale of a numeric. */
  readonly size?: string;
  readonly default?: string;
  /** Every row has a value in the column. The check counts the values, because a view cannot declare NOT NULL. */
  readonly notNull?: boolean;
}

/** How a test checks a line. The checks before `schema` read real stores with the example sessions. */
export type Check =
  | ColumnCheck
  /** The column has exactly these values, each in at least one row. */
  | { readonly check: "values"; readonly view: string; readonly column: string; readonly values: readonly string[] }
  /** The ids in the column are UUID v7. */
  | { readonly check: "version 7"; readonly view: string; readonly column: string }
  /** The query returns rows, and uses an index. */
  | { readonly check: "index"; readonly query: string }
  | { readonly check: "query"; readonly query: string }
  /** PostgreSQL rejects the write with this SQLSTATE. */
  | { readonly check: "refused"; readonly write: string; readonly code: string }
  /** The first column of each row of the query is a JSON value that has this key, with a value of this type. */
  | { readonly check: "json"; readonly query: string; readonly key: string; readonly type: JsonType }
  /** The example session has this event. */
  | { readonly check: "event"; readonly type: string }
  | { readonly check: "action"; readonly action: string; readonly keys: readonly string[] }
  /** A line of the run's file has this key. */
  | { readonly check: "action line"; readonly key: string; readonly type: JsonType }
  /** Every document of this kind in the filesystem store has this key. */
  | {
      readonly check: "document";
      readonly document: DocumentKind;
      readonly key: string;
      readonly type: JsonType;
    }
  /** The filesystem store has a file whose path matches. */
  | { readonly check: "file"; readonly path: string }
  /** A schema of the protocol has this field, with this default. */
  | { readonly check: "schema"; readonly schema: string; readonly field: string; readonly default?: unknown }
  /**
   * A field of a request accepts and rejects these values, and has this default. Without a field, the values are whole
   * requests.
   */
  | {
      readonly check: "takes";
      readonly schema: string;
      readonly field?: string;
      readonly values: readonly unknown[];
      readonly refuses?: readonly unknown[];
      readonly default?: unknown;
    }
  /**
   * Every recorded answer of the Claude API with this shape has this key with a value of this type. The answers were
   * recorded with the real Claude Code.
   */
  | {
      readonly check: "said";
      readonly shape: string;
      readonly key: string;
      readonly type: LibraryType;
      /** At least these values occur. */
      readonly seen?: readonly unknown[];
      /** Only these values occur, because the specification lists all values. */
      readonly closed?: boolean;
      /** The key is optional, but at least one value has the key. */
      readonly some?: boolean;
    }
  | { readonly check: "draft"; readonly type: string }
  /** Every result of this shape from the history library has this key with a value of this type. */
  | { readonly check: "library"; readonly shape: string; readonly key: string; readonly type: LibraryType }
  /** A schema of the file format knows this field and accepts these values. */
  | {
      readonly check: "format";
      readonly schema: string;
      readonly field: string;
      readonly values: readonly unknown[];
    }
  /** A module exports this name. */
  | { readonly check: "export"; readonly module: string; readonly name: string; readonly value?: unknown }
  /** This test file has a test of this name. */
  | { readonly check: "test"; readonly file: string; readonly name: string };

export type DocumentKind = "agent_config" | "conversation_history" | "index.json";

export type JsonType = "string" | "number" | "boolean" | "array" | "object" | "null" | "any";

export type LibraryType = JsonType | "date" | "string or null";

export type Entry = Omit<Line, "at">;

export const there = (what: string, check: Check): Entry => ({ what, status: "there", check });

/** Makes a departure with its reason. The check tests what Skein has instead. */
export const departure = (what: string, note: string, check?: Check): Entry => ({
  what,
  status: "departure",
  note,
  ...(check && { check }),
});

/** Adds the place in the specification to each entry. */
export const section = (at: string, entries: readonly Entry[]): readonly Line[] =>
  entries.map((entry) => ({ at, ...entry }));

const VIEW_DEFAULT = "The view shows the default. Nobody inserts there, because rows are derived from the log.";

/** Makes a departure for an index. In Skein, an index of the table behind the view answers the query. */
export const index = (what: string, query: string): Entry =>
  departure(what, "An index of the table behind the view, with another name.", { check: "index", query });

const SQL_TYPES: Readonly<Record<string, string>> = {
  UUID: "uuid",
  TEXT: "text",
  INTEGER: "integer",
  JSONB: "jsonb",
  BOOLEAN: "boolean",
  FLOAT: "double precision",
  BIGSERIAL: "bigint",
  "TEXT[]": "ARRAY",
  TIMESTAMP: "timestamp with time zone",
};

/**
 * Makes an entry for each column of a CREATE TABLE statement. The text has one column per line: `max_steps INTEGER
 * DEFAULT 50`.
 */
export function columns(view: string, ddl: string): readonly Entry[] {
  return ddl
    .trim()
    .split("\n")
    .map((text) => {
      const what = text.trim().replace(/,$/, "");
      const [, column = "", type = "", size] = /^(\w+) ([A-Z]+(?:\[\])?)(?:\((\d+)\))?/.exec(what) ?? [];
      const fallback = /DEFAULT (.+)$/.exec(what)?.[1];
      const check: ColumnCheck = {
        check: "column",
        view,
        column,
        type: type === "VARCHAR" ? "character varying" : (SQL_TYPES[type] ?? type),
        ...(size !== undefined && { size }),
        ...(fallback !== undefined && { default: fallback.replace("::jsonb", "").toLowerCase() }),
        ...(/NOT NULL|PRIMARY KEY/.test(what) && { notNull: true }),
      };
      if (fallback !== undefined && type !== "TIMESTAMP") return departure(what, VIEW_DEFAULT, check);
      if (type !== "TIMESTAMP") return there(what, check);
      return departure(
        what,
        "timestamptz: a time without a zone means different instants on different machines.",
        check,
      );
    });
}

/** Makes an entry for each key of a document, with the type of the key's value. */
export function keys(document: DocumentKind, types: Readonly<Record<string, JsonType>>): readonly Entry[] {
  return Object.entries(types).map(([key, type]) => there(`"${key}"`, { check: "document", document, key, type }));
}
