/**
 * A process of the benchmark. It makes a call several times, and prints the times and the memory of the process.
 *
 * node child.ts FOLDER CACHE CALL [once|indexed]
 */
import { enableCompileCache } from "node:module";
import type { LibraryConfig } from "@skein/history";
import { peakMegabytes } from "../memory.ts";

enableCompileCache();
const history = await import("@skein/history");
const [dataPath = "", cacheFolder = "", what = "", only] = process.argv.slice(2);
const none: LibraryConfig = { dataPath, cacheFolder: null };
// The titles are kept in memory, like in a long-running process such as a server.
const kept: LibraryConfig = { dataPath, cacheFolder, titles: history.createTitles() };

async function call(config: LibraryConfig): Promise<unknown> {
  if (what.startsWith("search-")) return await history.searchSessions(what.slice("search-".length), config);
  if (what === "usage") return await history.getUsage(config);
  if (what === "list") return await history.listSessions(config);
  if (what === "list-all") return await history.listSessions({ ...config, limit: Infinity });
  if (what === "index") return await history.buildIndex({ ...config, cacheFolder });
  let bytes = 0;
  for await (const { content } of history.exportAllSessions("html", config)) bytes += content.length;
  return bytes;
}

const processor: number[] = [];
async function timed(config: LibraryConfig): Promise<number> {
  const start = performance.now();
  const before = process.cpuUsage();
  await call(config);
  const { user, system } = process.cpuUsage(before);
  processor.push((user + system) / 1000);
  return performance.now() - start;
}

const first = await timed(only === "indexed" ? kept : none);
const mb = peakMegabytes();
let cold = 0;
let again = 0;
if (only === undefined && what !== "export") {
  cold = await timed(none);
  if (what.startsWith("search-")) await history.buildIndex(kept);
  for (let n = 0; n < 2; n += 1) await timed(kept);
  again = Math.min(await timed(kept), await timed(kept));
}
const cpu = { first: processor[0], cold: processor[1] ?? 0, again: Math.min(...processor.slice(-2)) };
console.log(JSON.stringify({ first, cold, again, mb, cpu }));
