import { readdirSync } from "node:fs";
import { join } from "node:path";
import { exportTables } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { folder, open, write } from "./sql.ts";

test.each(["out.duckdb", "new/out"])(
  "an interrupted export to %s leaves no file",
  { timeout: 120_000 },
  async (name) => {
    const root = folder();
    const line = { type: "user", uuid: "u", message: { role: "user", content: "x".repeat(500) } };
    write(
      root,
      "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl",
      Array.from({ length: 60_000 }, () => line),
    );
    const sql = await open(root);
    const place = folder();
    const target = join(place, name);
    const written = (): readonly string[] => readdirSync(place, { recursive: true, encoding: "utf8" });
    const stopping = setInterval(
      () => written().some((path) => /\.(duckdb|parquet)$/.test(path)) && sql.interrupt(),
      1,
    );
    onTestFinished(() => clearInterval(stopping));
    await expect(exportTables(sql, target)).rejects.toThrow("INTERRUPT");
    expect(written()).toEqual([]);
  },
);
