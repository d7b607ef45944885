/** `npm run package`: the packages as they would be published, installed in an empty folder and tried there. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `npm run package -- [options]

Builds every package, packs it, installs the packed files in an empty folder as a user would, and tries them there: an
example as it is, the types that it is checked with, the command, SQL, and the server from its start to SIGTERM.

  --out FOLDER    keeps the packed files there (default: they are removed)

Examples:
  npm run package
  npm run package -- --out packed`;

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name));

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { out: { type: "string" }, help: { type: "boolean", short: "h" } } });
  if (values.help) return console.log(HELP);
  const place = mkdtempSync(join(tmpdir(), "skein-package-"));
  try {
    const packed = values.out === undefined ? join(place, "packed") : resolve(values.out);
    mkdirSync(packed, { recursive: true });
    build(packed);
    await tryOut(install(join(place, "user"), packed));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function build(packed: string): void {
  run(root, join(root, "node_modules/.bin/tsc"), "-b", "--force");
  for (const folder of packages) run(folder, "npm", "pack", "--silent", "--pack-destination", packed);
  say("built and packed", `${packages.length} packages`);
}

/** A folder with nothing but the packed files and what its own program needs. */
function install(folder: string, packed: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const files = readdirSync(packed).map((name) => join(packed, name));
  run(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", ...files, "zod", "typescript", "@types/node");
  say("installed", `${files.length} files, ${readdirSync(join(folder, "node_modules")).length} folders`);
  return folder;
}

async function tryOut(folder: string): Promise<void> {
  copyFileSync(join(root, "examples/tools.ts"), join(folder, "tools.ts"));
  say("an example runs", run(folder, process.execPath, "tools.ts").split("\n")[0] ?? "");
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["tools.ts"] }));
  run(folder, join(folder, "node_modules/.bin/tsc"), "-p", ".");
  say("its types are right", "tsc");
  const skein = join(folder, "node_modules/@skein/cli/bin/skein.js");
  say("skein run", run(folder, process.execPath, skein, "run", "How much is 2+2?").trim());
  say("skein sql", run(folder, process.execPath, skein, "sql", "--json", "select 42 as answer").trim());
  await serve(folder, skein);
}

async function serve(folder: string, skein: string): Promise<void> {
  const env = environment(folder);
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
  } finally {
    server.kill("SIGTERM");
  }
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`The server ended with ${code} after SIGTERM.`);
}

function environment(folder: string): NodeJS.ProcessEnv {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  return { PATH: path, HOME: folder, SKEIN_DATA_DIR: join(folder, "data") };
}

function run(folder: string, command: string, ...args: readonly string[]): string {
  const env = command === "npm" ? process.env : environment(folder);
  return execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function say(what: string, text: string): void {
  console.log(`ok  ${what}: ${text}`);
}

await main();
