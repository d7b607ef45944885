/** `npm run package`: installs the packages in empty folders, as they would be published, and tries them there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EXPECTED_OUTPUT } from "../examples/test/expected-output.ts";
import { measureLibraryInstall } from "./measure/library-install.ts";
import { installIn, packAll, packedWithDependencies, runIn, userEnvironment } from "./pack-packages.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run package -- [options]

Builds every package, packs it, and installs the packed files in empty folders as users would: the library alone, with
its size and its errors about parts that are not installed; and the command with everything: every example as it is,
the types (with tsc), SQL, and the server from its start to SIGTERM.

  --out FOLDER      keeps the packed files there (default: they are removed)
  --packed FOLDER   takes the files that were packed there, and builds nothing

Examples:
  npm run package
  npm run package -- --out packed`;

const root = fileURLToPath(new URL("..", import.meta.url));

async function main(): Promise<void> {
  const { values } = readOptions("package", {
    options: { out: { type: "string" }, packed: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return console.log(HELP);
  const place = mkdtempSync(join(tmpdir(), "skein-package-"));
  try {
    const packed = resolve(values.packed ?? values.out ?? join(place, "packed"));
    if (values.packed === undefined) say("built and packed", `${packAll(packed).length} packages`);
    const { megabytes, finalAnswer, missing } = measureLibraryInstall(packed, join(place, "library"));
    say("the library alone", `${megabytes} MB, answers ${finalAnswer}`);
    for (const sentence of missing) say("a part that is not installed", sentence);
    say("a server without SQL", serverAlone(join(place, "server"), packed));
    await tryOut(install(join(place, "user"), packed));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const SERVER = `import { createServer } from "skein";
const { url, key, close } = await createServer({ port: 0, store: "memory:", data: "data" });
const headers = { authorization: "Bearer " + key.key, "content-type": "application/json" };
const answer = await fetch(url + "/v1/sql", { method: "POST", headers, body: JSON.stringify({ sql: "SELECT 1" }) });
console.log(answer.status, (await answer.json()).error.message);
await close();
`;

/**
 * Tries the server without `@skein/sql` and `@skein/history`. The answer to a request for SQL must say what to install.
 */
function serverAlone(folder: string, packed: string): string {
  const files = ["skein", "@skein/server"].flatMap((name) => packedWithDependencies(packed, name));
  installIn(folder, [...new Set(files)]);
  writeFileSync(join(folder, "server.js"), SERVER);
  const said = runIn(folder, process.execPath, "server.js").trim();
  if (said !== "503 SQL needs the package @skein/sql: npm install @skein/sql") throw new Error(said);
  return said;
}

/** The oldest version of zod with the types that our declarations use. We use a newer version. */
const OLDEST_ZOD = "4.5.0";

/** Installs the packed files and their dependencies, with an old zod, and TypeScript for the type check. */
function install(folder: string, packed: string): string {
  const files = packedWithDependencies(packed, "@skein/cli");
  // A user may have an older zod than ours. The types must not mix the two versions.
  installIn(folder, [...files, `zod@${OLDEST_ZOD}`, "typescript", "@types/node"]);
  say("installed", `${files.length} files, ${readdirSync(join(folder, "node_modules")).length} folders`);
  return folder;
}

async function tryOut(folder: string): Promise<void> {
  for (const [name, sentences] of Object.entries(EXPECTED_OUTPUT)) tryExample(folder, name, sentences);
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, skipLibCheck: false };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["tools.ts"] }));
  runIn(folder, join(folder, "node_modules/.bin/tsc"), "-p", ".");
  say("its types are right", `tsc, with zod ${OLDEST_ZOD}`);
  const skein = join(folder, "node_modules/@skein/cli/bin/skein.js");
  say("skein run", runIn(folder, process.execPath, skein, "run", "How much is 2+2?").trim());
  say("skein sql", runIn(folder, process.execPath, skein, "sql", "--json", "select 42 as answer").trim());
  tryFolderExamples(folder, skein);
  await serve(folder, skein);
}

/** Runs the examples that are folders. Their files must work unchanged in a user's project. */
function tryFolderExamples(folder: string, skein: string): void {
  for (const name of ["nightly-report", "support-agent", "my-year"])
    cpSync(join(root, "examples", name), join(folder, name), { recursive: true });
  const day = "2026-11-17";
  const report = runIn(join(folder, "nightly-report"), process.execPath, "report.ts", "orders.csv", "reports", day);
  say("an example runs", `nightly-report: ${report.trim()}`);
  writeFileSync(join(folder, "support-agent/ask.ts"), ASK_SUPPORT);
  const answer = runIn(join(folder, "support-agent"), process.execPath, "ask.ts").trim();
  if (!answer.includes("wool, 10 balls")) throw new Error(`The example support-agent answered: ${answer}`);
  say("an example runs", `support-agent: ${answer}`);
  mkdirSync(join(folder, ".claude/projects"), { recursive: true });
  const year = runIn(folder, process.execPath, skein, "sql", "--file", "my-year/year.sql");
  say("an example runs", `my-year: ${year.split("\n").length} lines`);
}

/** A program that prompts the agent of the example, as a customer would. */
const ASK_SUPPORT = `import { openStore } from "skein";
import { createSupportAgent } from "./agent.ts";
const agent = createSupportAgent(await openStore("memory:"), ".");
console.log((await agent.run('Use find_order with "A17".')).finalAnswer);
await agent.close();
`;

function tryExample(folder: string, name: string, sentences: readonly RegExp[]): void {
  const files = [`${name}.ts`, name].filter((path) => existsSync(join(root, "examples", path)));
  for (const path of files) cpSync(join(root, "examples", path), join(folder, path), { recursive: true });
  const said = runIn(folder, process.execPath, `${name}.ts`);
  const missing = sentences.filter((sentence) => !sentence.test(said));
  if (missing.length > 0) throw new Error(`The example ${name} should have printed ${missing.join(" and ")}: ${said}`);
  say("an example runs", name);
}

async function serve(folder: string, skein: string): Promise<void> {
  const env = userEnvironment(folder);
  const server = spawn(process.execPath, [skein, "serve", "--port", "0"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(server, "exit");
  try {
    let url: string | undefined;
    for await (const line of createInterface(server.stdout)) if ((url = /http:\S+/.exec(line)?.[0])) break;
    const health = await fetch(`${url}/health`, { signal: AbortSignal.timeout(10_000) });
    say("skein serve", `/health ${health.status} ${await health.text()}`);
    const page = await (await fetch(`${url}/`, { signal: AbortSignal.timeout(10_000) })).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1];
    const asset = await fetch(`${url}${script}`, { signal: AbortSignal.timeout(10_000) });
    if (script === undefined || asset.status !== 200) throw new Error("The server does not contain the console.");
    say("the console", `${script} ${asset.status}`);
  } finally {
    server.kill("SIGTERM");
  }
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`The server ended with ${code} after SIGTERM.`);
}

function say(what: string, text: string): void {
  console.log(`ok  ${what}: ${text}`);
}

await main();
