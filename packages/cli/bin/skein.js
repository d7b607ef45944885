#!/usr/bin/env node
// Only names that Node 20 has: a static import of a missing one would fail before the check below can say its sentence.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const inClone = existsSync(new URL("../src/main.ts", import.meta.url));
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  const help = inClone
    ? 'In a clone, first type "npm install", which brings Node 24. Then use "npx skein …" or "npm start".'
    : "Install a newer one from https://nodejs.org, or bring one into this folder: npm install node@24";
  console.error(`skein needs Node 22.18 or newer, and this is ${process.version}. ${help}`);
  process.exit(1);
}

// In a clone the sources run as they are, without a build. Worker threads see them only if the flag is on the process itself.
if (inClone && !process.execArgv.includes("--conditions=@skein/source")) {
  const file = fileURLToPath(import.meta.url);
  const flags = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", ...process.execArgv, file];
  const args = [...flags, ...process.argv.slice(2)];
  // A process cannot become another one on Windows.
  if (process.platform === "win32") {
    const { spawnSync } = await import("node:child_process");
    process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
  }
  process.execve(process.execPath, [process.execPath, ...args]);
}

// V8 is tuned for servers: it lets 128 MB of garbage pile up before it collects it. With these settings, counting 10,000
// sessions for the first time takes 150 to 185 MB instead of 290, in about the same time.
if (process.argv[2] === "history") {
  const { setFlagsFromString } = await import("node:v8");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=40");
}

(await import("node:module")).enableCompileCache?.();
// Not the package's own entry, which would load the server and every client before a command is chosen.
const { main } = await import(inClone ? "../src/main.ts" : "../dist/main.js");
process.exitCode = await main(process.argv.slice(2));
// A tool that ignores its abort signal must not keep the command from ending.
setInterval(() => process.stdout.writableLength === 0 && process.exit(), 500).unref();
