import { tables } from "./0001-tables.ts";
import { append } from "./0002-append.ts";
import { verbs } from "./0003-verbs.ts";
import { sessionLists } from "./0004-session-lists.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** In order. One that was released is never changed: what is wrong with it is put right by the next. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: "tables", sql: tables },
  { number: 2, name: "append", sql: append },
  { number: 3, name: "verbs", sql: verbs },
  { number: 4, name: "session lists", sql: sessionLists },
];
