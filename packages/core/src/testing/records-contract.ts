import { createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import type { Records } from "../ports/records.ts";
import { naughtyText } from "./naughty-text.ts";

/** Tests every rule of the `Records` port. `records` is called once per test, on an open store. */
export function describeRecords(name: string, records: () => Records): void {
  const ids = createIds();
  const note = (id: string, value: unknown, more: object = {}) => ({ tenant: "a", kind: "note", id, value, ...more });

  describe(`${name}: records`, () => {
    test("a record is returned as it was written, and each write increases its version", async () => {
      const id = ids();
      const value = { text: naughtyText, nested: { b: 1, a: [null, 1.5] } };
      const [first] = await records().put([note(id, value, { expect: 0 })]);
      expect(first).toMatchObject({ version: 1, value });
      expect(await records().get("a", "note", id)).toEqual(first);
      const [second] = await records().put([note(id, "changed", { expect: 1 })]);
      expect(second).toMatchObject({ version: 2, value: "changed" });
      expect(await records().get("a", "note", id)).toEqual(second);
    });

    test("several records are written together or not at all, and a write that expects another version is rejected", async () => {
      const [first, second] = [ids(), ids()];
      await records().put([note(first, 1)]);
      const stale = records().put([note(second, 2, { expect: 0 }), note(first, 2, { expect: 7 })]);
      await expect(stale).rejects.toMatchObject({ code: "conflict" });
      expect(await records().get("a", "note", second)).toBeUndefined();
      await expect(records().put([note(first, 2, { expect: 0 })])).rejects.toMatchObject({ code: "already_exists" });
    });

    test("if many writers expect the same version of a record, exactly one succeeds", async () => {
      const id = ids();
      await records().put([note(id, 0)]);
      const tries = Array.from({ length: 8 }, (_, i) => records().put([note(id, i, { expect: 1 })]));
      const won = (await Promise.allSettled(tries)).filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
    });

    test("records are listed by kind, tenant and field, newest first, page by page", async () => {
      const kind = `kind-${ids()}`;
      const made = Array.from({ length: 5 }, () => ids());
      for (const [i, id] of made.entries())
        await records().put([{ tenant: "a", kind, id, value: i, fields: { tag: i % 2 ? ["odd", "x"] : ["even"] } }]);
      await records().put([{ tenant: "b", kind, id: ids(), value: "theirs" }]);
      const first = await records().list({ tenant: "a", kind, limit: 3 });
      const rest = await records().list({ tenant: "a", kind, limit: 3, cursor: first.cursor ?? "" });
      expect([...first.items, ...rest.items].map(({ value }) => value)).toEqual([4, 3, 2, 1, 0]);
      expect(rest.cursor).toBeNull();
      const odd = await records().list({ tenant: "a", kind, field: { name: "tag", value: "odd" } });
      expect(odd.items.map(({ value }) => value)).toEqual([3, 1]);
    });

    test("a scan returns all records of all tenants", async () => {
      const kind = `kind-${ids()}`;
      const puts = Array.from({ length: 501 }, (_, i) => ({ tenant: i % 2 ? "a" : "b", kind, id: ids(), value: i }));
      await records().put(puts);
      const values: unknown[] = [];
      for await (const record of records().scan()) if (record.kind === kind) values.push(record.value);
      expect(values.toSorted((a, b) => Number(a) - Number(b))).toEqual(puts.map(({ value }) => value));
    });

    test("a tenant can neither read nor delete records of another tenant", async () => {
      const id = ids();
      await records().put([note(id, 1)]);
      expect(await records().get("b", "note", id)).toBeUndefined();
      expect(await records().delete("b", "note", id)).toBe(false);
      expect(await records().delete("a", "note", id)).toBe(true);
      expect(await records().get("a", "note", id)).toBeUndefined();
    });
  });
}
