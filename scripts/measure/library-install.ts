/**
 * Measures the size of the installed library. Packs the packages, installs only `skein` in an empty folder, and runs an
 * agent there with sqlite and the simulated model. Prints `{"megabytes": n}`.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installIn, packAll, packedWithDependencies, runIn } from "../pack-packages.ts";

/** Packages that users install only with an optional part. */
const OPTIONAL = [
  "@duckdb",
  "apache-arrow",
  "fastify",
  "@redis",
  "pg",
  "@modelcontextprotocol",
  "@anthropic-ai/claude-agent-sdk",
  "@skein/server",
  "@skein/sql",
  "@skein/history",
  "@skein/cli",
];

const PROGRAM = `import { connectMcpServer, createAgent, createServer, openStore } from "skein";

const agent = createAgent({ store: "sqlite:" + process.argv[2] });
const { finalAnswer, error } = await agent.run("How much is 2+2?");
await agent.close();

const sentence = (work) => work.then(() => "no error", ({ message }) => message);
const missing = [
  await sentence(openStore("postgres://somebody@127.0.0.1:1/nothing")),
  await sentence(connectMcpServer({ name: "none", command: "true" })),
  await sentence(createServer({ port: 0, store: "memory:", data: "data" })),
];
console.log(JSON.stringify({ finalAnswer, error, missing }));
`;

/** The installation of the library without its optional parts. */
export interface LibraryInstall {
  readonly megabytes: number;
  readonly finalAnswer: string;
  /** The error texts for parts that are used but not installed. */
  readonly missing: readonly string[];
}

/** Installs the packed library in a folder, which must not exist yet, and runs an agent there. */
export function measureLibraryInstall(packed: string, folder: string): LibraryInstall {
  installIn(folder, packedWithDependencies(packed, "skein"));
  const unwanted = OPTIONAL.filter((name) => existsSync(join(folder, "node_modules", name)));
  if (unwanted.length > 0)
    throw new Error(`The library installs ${unwanted.join(", ")}: these packages belong to optional parts.`);
  writeFileSync(join(folder, "agent.js"), PROGRAM);
  const answer = JSON.parse(runIn(folder, process.execPath, "agent.js", join(folder, "skein.db"))) as Omit<
    LibraryInstall,
    "megabytes"
  > & { readonly error: unknown };
  if (answer.error !== null) throw new Error(`The agent failed: ${JSON.stringify(answer.error)}`);
  for (const sentence of answer.missing)
    if (!/ the package (\S+): npm install \1$/.test(sentence))
      throw new Error(`The error about a missing part must say what to install, but it said: ${sentence}`);
  const megabytes = Number.parseInt(runIn(folder, "du", "-sm", "node_modules"), 10);
  return { megabytes, finalAnswer: answer.finalAnswer, missing: answer.missing };
}

if (import.meta.main) {
  const place = mkdtempSync(join(tmpdir(), "skein-library-"));
  try {
    packAll(join(place, "packed"));
    const { megabytes } = measureLibraryInstall(join(place, "packed"), join(place, "user"));
    console.log(JSON.stringify({ megabytes }));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
