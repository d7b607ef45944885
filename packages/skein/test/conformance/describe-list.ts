import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as protocol from "@skein/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SampleStores, openSampleStores } from "./sample-stores.ts";
import { claudeSamples } from "./claude-samples.ts";
import { librarySamples } from "./history-samples.ts";
import type { Check, ColumnCheck, ConformanceList, JsonType, LibraryType } from "./line.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/;

/** Tests a conformance list. Each line passes its check, is a departure with a reason, or is open. */
export function describeList(list: ConformanceList): void {
  describe(list.part, () => {
    let stores: SampleStores;
    beforeAll(async () => {
      if (list.lines.some(({ check }) => check && needsStores(check))) stores = await openSampleStores();
      if (list.lines.some(({ check }) => check?.check === "said")) await claudeSaid();
    }, 120_000);
    afterAll(() => stores?.close());

    test("the list has a check for each implemented line, a reason for each departure, and an issue for each open line", () => {
      for (const { at, what, status, note, check } of list.lines)
        expect(status === "there" ? check : note, `${at}: ${what}`).toBeTruthy();
    });

    for (const { at, what, check } of list.lines.filter((line) => line.check))
      test(`${at}: ${what}`, async () => runCheck(check as Check, stores));
  });
}

function needsStores({ check }: Check): boolean {
  return !["schema", "takes", "said", "draft", "library", "format", "export", "test"].includes(check);
}

/** Runs the check of a line. Throws if the code differs from the specification. */
export async function runCheck(check: Check, stores: SampleStores): Promise<void> {
  switch (check.check) {
    case "column":
      return checkColumn(check, stores);
    case "values": {
      const rows = await stores.query(`select distinct ${check.column} as value from ${check.view}`);
      return expect(new Set(rows.map(({ value }) => value))).toEqual(new Set(check.values));
    }
    case "version 7": {
      const rows = await stores.query(`select ${check.column} as id from ${check.view}`);
      expect(rows).not.toEqual([]);
      for (const { id } of rows) expect(id).toMatch(V7);
      return;
    }
    case "query":
      return expect(await stores.query(check.query)).not.toEqual([]);
    case "index": {
      expect(await stores.query(check.query)).not.toEqual([]);
      const plan = await stores.explain(check.query);
      expect(plan).toMatch(/Index/);
      return expect(plan).not.toMatch(/Seq Scan/);
    }
    case "refused":
      return expect(await stores.refusal(check.write)).toBe(check.code);
    case "json":
      return expectKey(
        (await stores.query(check.query)).map((row) => Object.values(row)[0]),
        check.key,
        check.type,
      );
    case "event":
      return expect(stores.events.map(({ event_type }) => event_type)).toContain(check.type);
    case "action":
      return checkAction(check.action, check.keys, stores);
    case "action line":
      return expectKey(await stores.actionLines(), check.key, check.type, true);
    case "document":
      return expectKey(await stores.document(check.document), check.key, check.type);
    case "file":
      return expect(stores.files.filter((path) => new RegExp(braced(check.path)).test(path))).not.toEqual([]);
    case "schema":
      return checkSchema(check);
    case "takes":
      return checkTakes(check);
    case "said":
      return checkSaid(check);
    case "draft": {
      const options = protocol.Draft.options.map<string>(({ shape }) => shape.event_type.value);
      expect(options).toContain(check.type);
      return expect(protocol.isFactType(check.type)).toBe(false);
    }
    case "library":
      return checkLibrary(check.shape, check.key, check.type);
    case "format":
      return checkFormat(check.schema, check.field, check.values);
    case "export":
      return expect(await import(check.module)).toHaveProperty(
        check.name,
        ...("value" in check ? ([check.value] as const) : []),
      );
    case "test":
      return expect(readFileSync(`${root}/${check.file}`, "utf8")).toContain(check.name);
  }
}

async function checkColumn(check: ColumnCheck, stores: SampleStores): Promise<void> {
  const { view, column, type, size } = check;
  const [schema, table] = view.split(".");
  const [found] = await stores.query(`select data_type, column_default,
      coalesce(character_maximum_length::text, numeric_precision || ',' || numeric_scale) as size
    from information_schema.columns
    where table_schema = '${schema}' and table_name = '${table}' and column_name = '${column}'`);
  expect(found, `${view} has no column ${column}.`).toBeDefined();
  expect(found?.["data_type"]).toBe(type);
  if (size !== undefined) expect(found?.["size"]).toBe(size);
  if (check.default !== undefined) expect(plain(found?.["column_default"])).toBe(plain(check.default));
  expect(stores.sqliteColumns(view), `sqlite shows no ${column}.`).toContain(column);
  if (!check.notNull) return;
  const [counted] = await stores.query(`select count(*)::int as rows, count(${column})::int as values from ${view}`);
  expect(counted?.["rows"]).toBeGreaterThan(0);
  expect(counted?.["values"]).toBe(counted?.["rows"]);
}

/** Removes the cast and the quotes from a default. */
function plain(text: unknown): string {
  return String(text)
    .replace(/::[\w ]+$/, "")
    .replaceAll("'", "")
    .toLowerCase();
}

async function checkAction(action: string, keys: readonly string[], stores: SampleStores): Promise<void> {
  expect(protocol.ACTION_TYPES).toContain(action);
  const rows = await stores.query(`select action_data from agent.agent_runs where action_type = '${action}'`);
  expect(rows, `No ${action} in agent.agent_runs.`).not.toEqual([]);
  const lines = await stores.actionLines();
  expect(lines.map((line) => line["action_type"])).toContain(action);
  const data = rows.map((row) => row["action_data"] as object);
  for (const key of keys)
    expect(
      data.some((each) => Object.hasOwn(each, key)),
      `${action} has no ${key}.`,
    ).toBe(true);
}

function checkSchema({ schema, field, ...rest }: Extract<Check, { check: "schema" }>): void {
  const shape = (protocol as unknown as Record<string, { shape: Record<string, { parse(value: unknown): unknown }> }>)[
    schema
  ]?.shape;
  expect(shape, `${schema} is no schema of the protocol.`).toBeDefined();
  expect(shape).toHaveProperty(field);
  if ("default" in rest) expect(shape?.[field]?.parse(undefined)).toEqual(rest.default);
}

type Parsing = { safeParse(value: unknown): { success: boolean; data?: unknown } };

function checkTakes({ schema, field, values, refuses = [], ...rest }: Extract<Check, { check: "takes" }>): void {
  const whole = (protocol as unknown as Record<string, Parsing & { shape?: Record<string, Parsing> }>)[schema];
  const part = field === undefined ? whole : whole?.shape?.[field];
  expect(part, `${schema} has no ${field}.`).toBeDefined();
  for (const value of values) expect(part?.safeParse(value), JSON.stringify(value)).toMatchObject({ success: true });
  for (const value of refuses) expect(part?.safeParse(value), JSON.stringify(value)).toMatchObject({ success: false });
  if ("default" in rest) expect(part?.safeParse(undefined)).toEqual({ success: true, data: rest.default });
}

let said: ReturnType<typeof claudeSamples> | undefined;

/** Returns answers of the Claude API. They are recorded once for all lines. */
export function claudeSaid(): ReturnType<typeof claudeSamples> {
  return (said ??= claudeSamples());
}

async function checkSaid({
  shape,
  key,
  type,
  seen = [],
  closed = false,
  some = false,
}: Extract<Check, { check: "said" }>): Promise<void> {
  const found = (await claudeSaid())[shape] ?? [];
  expect(found, `No answer of the API is a ${shape}.`).not.toEqual([]);
  const having = found.filter((value) => Object.hasOwn(value, key));
  if (some) expect(having, `${shape} never has ${key}.`).not.toEqual([]);
  else expect(having.length, `${shape} does not always have ${key}.`).toBe(found.length);
  const values = having.map((value) => value[key]);
  for (const value of values) {
    if (type === "string or null") expect(["string", "null"]).toContain(typeName(value));
    else if (type !== "any") expect(typeName(value), `${shape}.${key}`).toBe(type);
  }
  for (const value of seen) expect(values, `${shape}.${key}`).toContainEqual(value);
  if (closed) for (const value of values) expect(seen, `${shape}.${key}`).toContainEqual(value);
}

let samples: ReturnType<typeof librarySamples> | undefined;

async function checkLibrary(shape: string, key: string, type: LibraryType): Promise<void> {
  const found = (await (samples ??= librarySamples()))[shape] ?? [];
  expect(found, `No result of the library is a ${shape}.`).not.toEqual([]);
  for (const value of found) {
    expect(value).toHaveProperty(key);
    const given = (value as Record<string, unknown>)[key];
    if (type === "date") expect(given).toBeInstanceOf(Date);
    else if (type === "string or null") expect(["string", "null"]).toContain(typeName(given));
    else if (type !== "any") expect(typeName(given), `${shape}.${key}`).toBe(type);
  }
}

async function checkFormat(schema: string, field: string, values: readonly unknown[]): Promise<void> {
  const { schemas } = await import("@skein/history/format");
  let at = (schemas as unknown as Record<string, Schema>)[schema];
  expect(at, `There is no ${schema} in the format.`).toBeDefined();
  for (const key of field === "" ? [] : field.split(".")) {
    const inner = unwrapped(at);
    at = key === "*" ? inner?.valueType : inner?.shape?.[key];
    expect(at, `${schema} knows no ${field}.`).toBeDefined();
  }
  for (const value of values)
    expect(at?.safeParse(value), JSON.stringify(value)).toMatchObject({ success: true, data: value });
}

interface Schema {
  readonly shape?: Record<string, Schema>;
  readonly valueType?: Schema;
  readonly unwrap?: () => Schema;
  safeParse(value: unknown): { readonly success: boolean; readonly data?: unknown };
}

function unwrapped(schema: Schema | undefined): Schema | undefined {
  return schema?.unwrap && !schema.shape ? unwrapped(schema.unwrap()) : schema;
}

/** Expects the key in every value, with the given type. With `some`, one value with the key is enough. */
function expectKey(values: readonly unknown[], key: string, type: JsonType, some = false): void {
  expect(values).not.toEqual([]);
  const having = values.filter((value) => Object.hasOwn(value as object, key));
  if (some) expect(having).not.toEqual([]);
  else expect(having.length).toBe(values.length);
  if (type === "any") return;
  for (const value of having) expect(typeName((value as Record<string, unknown>)[key]), key).toBe(type);
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Escapes {agent} and {run}, because a regular expression reads braces as a count. */
function braced(path: string): string {
  return path.replaceAll("{agent}", "\\{agent\\}").replaceAll("{run}", "\\{run\\}");
}
