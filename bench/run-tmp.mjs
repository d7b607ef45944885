import { enableCompileCache } from "node:module";
enableCompileCache();
const { withSources, listSessions, getUsage, searchSessions, buildIndex } = await import("@skein/history");
const [, , cacheFolder, call, ...dataPath] = process.argv;
const t0 = performance.now(),
  c0 = process.cpuUsage();
const { config } = await withSources({
  dataPath,
  cacheFolder,
  lines: call === "index" || call === "search" ? "all" : "as-needed",
});
const t1 = performance.now();
const c1 = process.cpuUsage(c0);
if (call === "list") await listSessions(config);
else if (call === "list-all") await listSessions({ ...config, limit: Infinity });
else if (call === "usage") await getUsage(config);
else if (call === "index") await buildIndex(config);
else await searchSessions("kaleidoscope", config);
const c2 = process.cpuUsage(c0);
console.log(
  call,
  "sources",
  ((c1.user + c1.system) / 1000).toFixed(0),
  "total cpu",
  ((c2.user + c2.system) / 1000).toFixed(0),
  "ms",
  (performance.now() - t0).toFixed(0),
  "MB",
  (process.resourceUsage().maxRSS / 1024).toFixed(0),
);
