import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadPart } from "../src/optional-parts.ts";

/** An optional part, a module of its package, and the error if the package is not installed. */
const MISSING = [
  ["postgres", "pg", "PostgreSQL stores need the package pg: npm install pg"],
  ["redis", "@redis/client", "A Redis bus needs the package @redis/client: npm install @redis/client"],
  [
    "restate",
    "@restatedev/restate-sdk",
    "The Restate engine needs the package @restatedev/restate-sdk: npm install @restatedev/restate-sdk",
  ],
  [
    "telemetry",
    "@opentelemetry/api",
    "OpenTelemetry needs the package @opentelemetry/api: npm install @opentelemetry/{api,resources,sdk-trace,sdk-metrics,sdk-logs,exporter-trace-otlp-http,exporter-metrics-otlp-http,exporter-logs-otlp-http}",
  ],
  ["server", "@skein/server", "createServer needs the package @skein/server: npm install @skein/server"],
  ["sql", "@skein/sql/sandbox", "SQL needs the package @skein/sql: npm install @skein/sql"],
  ["history", "@skein/history", "Claude Code's files need the package @skein/history: npm install @skein/history"],
  [
    "bedrock",
    "@anthropic-ai/bedrock-sdk",
    "Models on Bedrock need the package @anthropic-ai/bedrock-sdk: npm install @anthropic-ai/bedrock-sdk",
  ],
  [
    "vertex",
    "@anthropic-ai/vertex-sdk",
    "Models on Vertex AI need the package @anthropic-ai/vertex-sdk: npm install @anthropic-ai/vertex-sdk",
  ],
] as const;

let folder: string;
/** The errors of loading the parts, by the name of the missing module. */
let said: Readonly<Record<string, { readonly code: string; readonly message: string }>>;

// The parts are loaded in a separate process, because Vitest resolves modules differently from Node.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "skein-parts-"));
  const attempts = [...MISSING, ["postgres", "no-such-package"] as const].map(([part, imported], at) => {
    writeFileSync(join(folder, `part-${at}.mjs`), `import ${JSON.stringify(imported)};\n`);
    return [part, imported, `./part-${at}.mjs`];
  });
  const program = join(folder, "program.mjs");
  writeFileSync(
    program,
    `import { optionalPart } from ${JSON.stringify(new URL("../src/optional-parts.ts", import.meta.url).href)};
const said = {};
for (const [part, imported, file] of ${JSON.stringify(attempts)})
  await optionalPart(part, () => import(file)).catch(({ code, message }) => (said[imported] = { code, message }));
console.log(JSON.stringify(said));
`,
  );
  const conditions = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];
  said = JSON.parse(execFileSync(process.execPath, [...conditions, program], { encoding: "utf8" })) as typeof said;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(MISSING)(
  "if the package of the optional part %s is not installed, the error says what to install",
  (_, imported, sentence) => {
    expect(said[imported]).toEqual({ code: "not_installed", message: sentence });
  },
);

test("if a module other than the part's package is missing, Node's error is thrown", () => {
  expect(said["no-such-package"]).toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
});

test.each(Object.entries(loadPart))("the part %s loads where its package is installed", async (_, load) => {
  expect(Object.keys(await load())).not.toEqual([]);
});
