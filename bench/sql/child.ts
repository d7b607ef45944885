/**
 * One process of the benchmark: asks one question and prints how long it took and how much memory the process had.
 *
 *     node child.ts bare|cold|warm QUESTION CACHE FOLDER…
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSql } from "@skein/sql";
import { peakMegabytes } from "../memory.ts";
import { QUESTIONS, QUESTIONS_OF_ALL } from "./questions.ts";

const [how, at, cacheFolder = "", ...folders] = process.argv.slice(2);
const question = [...QUESTIONS, ...QUESTIONS_OF_ALL][Number(at)];
if (!question) throw new Error("The argument QUESTION is not the number of a question, starting at 0.");
const { bare, ours } = question;

const times: number[] = [];
const processor: number[] = [];
async function timed(work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  times.push(performance.now() - start);
  const { user, system } = process.cpuUsage(before);
  processor.push((user + system) / 1000);
}

// The hand-written query needs no tables, so its database has no data.
const nothing = mkdtempSync(join(tmpdir(), "skein-bench-bare-"));
const sql = await createSql({
  roots: how === "bare" ? [nothing] : folders,
  threads: 2,
  cacheFolder: how === "warm" ? cacheFolder : null,
});
// Making the tables is not measured. It does not read the content of the files.
await sql.tables();
const files = `[${folders.map((folder) => `'${join(folder, "projects/**/*.jsonl").replaceAll("'", "''")}'`).join(", ")}]`;
const statement = how === "bare" ? bare.replaceAll("FILES", files) : ours;
for (let n = 0; n < (how === "warm" ? 6 : 1); n += 1) await timed(() => sql.run(statement));
if (how === "warm" && sql.scannedBytes() > 0) throw new Error("The copy of the transcripts is not complete.");
sql.close();
rmSync(nothing, { recursive: true });

// A question is warm if this process has asked it before, so the first time is left out.
const least = (values: readonly number[]): number => Math.min(...(how === "warm" ? values.slice(1) : values));
const megabytes = peakMegabytes();
console.log(JSON.stringify({ ms: least(times), processorMs: least(processor), megabytes }));
