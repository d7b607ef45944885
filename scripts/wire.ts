/**
 * `npm run wire`: runs checks of streams and connections that are too slow for tests or need other programs, such as
 * proxies and browsers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServed } from "./fuzz/start-server.ts";
import { inBrowser, whyNoBrowser } from "./wire/browser.ts";
import { type Finding, idle, idleConnections, keyTiming, live, revoked } from "./wire/checks.ts";
import { type Proxy, isInstalled, startProxy } from "./wire/proxy.ts";
import { readOptions } from "./read-options.ts";

const PARTS = ["live", "idle", "connections", "revoked", "timing", "browser"] as const;
const HELP = `npm run wire -- [options]

Starts a server, and reads its streams with Node's fetch directly, and through nginx and haproxy with Debian's default
settings and compression.
A program that is not installed is skipped, and a sentence says so. Ends with 1 if a check failed.

  --part NAME      ${PARTS.join(", ")}; may be given more than once (default: all)
  --minutes N      how long streams are idle (default: 6)
  --requests N     how many requests with wrong keys are timed (default: 100,000)
  --connections N  how many idle connections are open (default: 2,000)
  --json           the findings as JSON

  live         events and drafts arrive as soon as they exist, and the stream continues after a cut
  idle         a stream on which nothing happens stays open, with a comment at least every 15 s
  connections  idle connections do not block other clients
  revoked      the stream of a key ends within 5 s after the key is revoked
  timing       a rejection takes equally long whether the first or the last letter of the key is wrong
  browser      Chromium's EventSource gets the same events as a request for the list of events

Examples:
  npm run wire
  npm run wire -- --part live --part idle --minutes 1`;

async function main(): Promise<void> {
  const { values } = readOptions("wire", {
    options: {
      part: { type: "string", multiple: true, default: [...PARTS] },
      minutes: { type: "string", default: "6" },
      requests: { type: "string", default: "100000" },
      connections: { type: "string", default: "2000" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const unknown = values.part.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined) throw new Error(`There is no part "${unknown}". There are: ${PARTS.join(", ")}.`);
  const wants = (part: (typeof PARTS)[number]): boolean => values.part.includes(part);
  const folder = mkdtempSync(join(tmpdir(), "skein-wire-"));
  const storeUrl = `sqlite:${join(folder, "skein.db")}`;
  const served = await startServed({ storeUrl, dataDir: join(folder, "data") });
  const proxies: Proxy[] = [];
  const findings: Finding[] = [];
  try {
    for (const name of ["nginx", "haproxy"] as const)
      if ((wants("live") || wants("idle")) && isInstalled(name))
        proxies.push(await startProxy(name, served.url, folder));
      else if (wants("live") || wants("idle")) console.error(`${name} is not installed, so it is skipped.`);
    const ways = [{ name: "fetch", url: served.url }, ...proxies];
    if (wants("live")) for (const { name, url } of ways) findings.push(await live(served, name, url));
    if (wants("connections")) findings.push(await idleConnections(served, Number(values.connections)));
    if (wants("revoked")) findings.push(await revoked(served, storeUrl));
    if (wants("timing")) findings.push(await keyTiming(served, Number(values.requests)));
    if (wants("browser")) {
      const missing = whyNoBrowser();
      if (missing === undefined) findings.push(await inBrowser(served, folder));
      else console.error(missing);
    }
    if (wants("idle")) findings.push(...(await idle(served, ways, Number(values.minutes))));
  } finally {
    for (const proxy of proxies) await proxy.close();
    await served.close();
    rmSync(folder, { recursive: true, force: true });
  }
  if (values.json) console.log(JSON.stringify(findings));
  else for (const { what, passed, says } of findings) console.log(`${passed ? "ok    " : "FAILED"}  ${what}: ${says}`);
  if (findings.some(({ passed }) => !passed)) process.exitCode = 1;
}

await main();
