/**
 * A line of a conformance list: one thing that a specification says, and what became of it.
 *
 * Plain data, so that the tests run its check and `npm run conformance` prints it from the same place.
 */
export interface Line {
  /** Where in the specification. */
  readonly at: string;
  /** What the specification says there. */
  readonly what: string;
  readonly status: "there" | "departure" | "open";
  /** The reason of a departure, or the issue that completes an open line. */
  readonly note?: string;
  readonly check?: Check;
}

/** A part of Skein, and the specification that it came from, line by line. */
export interface ConformanceList {
  readonly part: string;
  /** The number of the document. */
  readonly specification: string;
  /** What the document is. */
  readonly title: string;
  readonly lines: readonly Line[];
}

/** A column of a specified schema, as information_schema names its type. */
export interface ColumnCheck {
  readonly check: "column";
  readonly view: string;
  readonly column: string;
  readonly type: string;
  /** Characters of a varchar; precision and scale of a numeric. */
  readonly size?: string;
  readonly default?: string;
  /** Holds a value in every row: a view cannot say NOT NULL. */
  readonly notNull?: boolean;
}

/** What a test does to see that a line is there. All but the last four look at real stores with a played session in them. */
export type Check =
  | ColumnCheck
  /** The column has these values and no others; each was seen. */
  | { readonly check: "values"; readonly view: string; readonly column: string; readonly values: readonly string[] }
  /** Ids of ours are UUID v7. */
  | { readonly check: "version 7"; readonly view: string; readonly column: string }
  /** The query runs, finds something, and finds it through an index. */
  | { readonly check: "index"; readonly query: string }
  | { readonly check: "query"; readonly query: string }
  /** PostgreSQL refuses the write, with this SQLSTATE. */
  | { readonly check: "refused"; readonly write: string; readonly code: string }
  /** A JSON value has this key, with a value of this type. */
  | { readonly check: "json"; readonly query: string; readonly key: string; readonly type: JsonType }
  /** The played session has this event. */
  | { readonly check: "event"; readonly type: string }
  | { readonly check: "action"; readonly action: string; readonly keys: readonly string[] }
  /** A line of the run's file has this key. */
  | { readonly check: "action line"; readonly key: string; readonly type: JsonType }
  /** A document of the filesystem store has this key. */
  | {
      readonly check: "document";
      readonly document: DocumentKind;
      readonly key: string;
      readonly type: JsonType;
    }
  /** The filesystem store made a file whose path matches. */
  | { readonly check: "file"; readonly path: string }
  /** A schema of the protocol has this field, with this default. */
  | { readonly check: "schema"; readonly schema: string; readonly field: string; readonly default?: unknown }
  /** A field of a request takes these values and refuses those; left out it has this default. Without a field: the schema as a whole. */
  | {
      readonly check: "takes";
      readonly schema: string;
      readonly field?: string;
      readonly values: readonly unknown[];
      readonly refuses?: readonly unknown[];
      readonly default?: unknown;
    }
  /** What the Claude API really said, with the real Claude Code behind it, has this key and a value of this type there. */
  | {
      readonly check: "said";
      readonly shape: string;
      readonly key: string;
      readonly type: LibraryType;
      /** Values that were seen, at least these. */
      readonly seen?: readonly unknown[];
      /** No others were: the specification's list is closed. */
      readonly closed?: boolean;
      /** Some have it, where it is optional. */
      readonly some?: boolean;
    }
  | { readonly check: "draft"; readonly type: string }
  /** What Claude Code's library answers has this key; "date" and "string?" are types too. */
  | { readonly check: "library"; readonly shape: string; readonly key: string; readonly type: LibraryType }
  /** A schema of the file format knows this field and takes these values. */
  | {
      readonly check: "format";
      readonly schema: string;
      readonly field: string;
      readonly values: readonly unknown[];
    }
  /** A module exports this name. */
  | { readonly check: "export"; readonly module: string; readonly name: string; readonly value?: unknown }
  /** A test of the repository is about it: this file has a test of this name. */
  | { readonly check: "test"; readonly file: string; readonly name: string };

export type DocumentKind = "agent_config" | "conversation_history" | "index.json";

export type JsonType = "string" | "number" | "boolean" | "array" | "object" | "null" | "any";

export type LibraryType = JsonType | "date" | "string or null";

export type Entry = Omit<Line, "at">;

export const there = (what: string, check: Check): Entry => ({ what, status: "there", check });

/** A departure with its reason; with a check, for what is there instead. */
export const departure = (what: string, note: string, check?: Check): Entry => ({
  what,
  status: "departure",
  note,
  ...(check && { check }),
});

/** Entries with their place in the specification. */
export const section = (at: string, entries: readonly Entry[]): readonly Line[] =>
  entries.map((entry) => ({ at, ...entry }));

const VIEW_DEFAULT = "The view says the default, and nobody inserts there: rows are derived from the log.";

/** An index that a specification names; here its query is answered through one of the table behind the view. */
export const index = (what: string, query: string): Entry =>
  departure(what, "An index of the table behind the view, under another name.", { check: "index", query });

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

/** Columns as a specified CREATE TABLE has them, one per line: `max_steps INTEGER DEFAULT 50`. */
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
      return departure(what, "timestamptz: a time without a zone means another instant on another machine.", check);
    });
}

/** Keys of a document, each with the type of its value. */
export function keys(document: DocumentKind, types: Readonly<Record<string, JsonType>>): readonly Entry[] {
  return Object.entries(types).map(([key, type]) => there(`"${key}"`, { check: "document", document, key, type }));
}
