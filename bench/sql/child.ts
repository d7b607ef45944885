/**
 * One process of the benchmark: asks one question and prints how long it took and how much memory the process had.
 *
 *     node child.ts bare|cold|warm QUESTION FOLDER CACHE
 */
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { createSql } from "@skein/sql";
import { QUESTIONS } from "./questions.ts";

const [how, at, folder = "", cacheFolder = ""] = process.argv.slice(2);
const question = QUESTIONS[Number(at)];
if (!question) throw new Error("Which question?");
const { bare, ours } = question;

const times: number[] = [];
async function timed(work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  times.push(performance.now() - start);
}

if (how === "bare") {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
  const files = `'${join(folder, "projects/**/*.jsonl").replaceAll("'", "''")}'`;
  await timed(() => connection.runAndReadAll(bare.replaceAll("FILES", files)));
} else {
  const sql = await createSql({ roots: [folder], threads: 2, cacheFolder: how === "cold" ? null : cacheFolder });
  // The tables are made before the first question; what the files hold is not known yet.
  await sql.tables();
  for (let n = 0; n < (how === "cold" ? 1 : 6); n += 1) await timed(() => sql.run(ours));
  if (how === "warm" && sql.scannedBytes() > 0) throw new Error("The copy does not have everything.");
  sql.close();
}
// Warm is the same question again, so not the first time it is asked.
const ms = how === "warm" ? Math.min(...times.slice(1)) : Math.min(...times);
console.log(JSON.stringify({ ms, megabytes: process.resourceUsage().maxRSS / 1024 }));
