/** `npm run pack:local -- FOLDER`: installs the packages of this clone into another project, like a release. */
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packAll, runIn } from "./pack-packages.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run pack:local -- FOLDER

Builds and packs every package of this clone into FOLDER/skein-packages, and installs them in FOLDER from there: the library
(import "skein") and the command (npx skein). A folder without a package.json gets one. Do it again after a change.

Example:
  npm run pack:local -- ~/my-agent`;

const { values, positionals } = readOptions("pack:local", {
  allowPositionals: true,
  options: { help: { type: "boolean", short: "h" } },
});
const [given] = positionals;
const clone = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.env["INIT_CWD"] ?? ".", given ?? "");
if (values.help || given === undefined) {
  console.log(HELP);
  process.exitCode = values.help ? 0 : 2;
} else if (positionals.length > 1) wrong(`Expected one folder, but got ${positionals.length}.`);
else if (`${folder}${sep}`.startsWith(clone))
  wrong(`${folder} is in this clone. Give a folder outside of it, for example ~/my-agent.`);
else if (existsSync(folder) && !statSync(folder).isDirectory()) wrong(`${folder} is not a folder.`);
else install(folder);

function wrong(problem: string): void {
  console.error(problem);
  process.exitCode = 2;
}

function install(project: string): void {
  mkdirSync(project, { recursive: true });
  const manifest = join(project, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, `${JSON.stringify({ private: true, type: "module" }, null, 2)}\n`);
  const started = Date.now();
  console.error("1 of 2: building and packing every package; this takes one to three minutes …");
  const packed = packAll(join(project, "skein-packages"));
  console.error(`2 of 2: installing, after ${Math.round((Date.now() - started) / 1000)} s …`);
  const files = packed.map(({ file }) => `./${relative(project, file)}`);
  // zod is a peer dependency of the library, so the project must install it.
  runIn(project, "npm", "install", "--no-audit", "--no-fund", "zod@^4", ...files);
  console.log(
    `${packed.length} packages are installed in ${project}. There: import { createAgent } from "skein"; run a program with npx node PROGRAM.ts, and the command with npx skein --help. They need Node 22.18 or newer; npm install node@24 brings one into the folder, with warnings about the older one that runs npm.`,
  );
}
