/** Checks the packed files with publint and are-the-types-wrong. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Packed, runIn } from "../pack-packages.ts";

/** These tools are installed only during a release, because they bring another TypeScript. */
const TOOLS = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"] as const;

/** Throws if a tool finds a broken package. Returns one line per tool. */
export function checkPacked(folder: string, packed: readonly Packed[]): readonly string[] {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "release-tools", private: true }));
  runIn(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", ...TOOLS);
  const bin = (name: string): string => join(folder, "node_modules/.bin", name);
  const complaints = packed.flatMap((one) => [
    ...complaint(bin("publint"), ["run", one.file, "--level", "warning", "--strict"], one),
    // `@skein/cli` is only a command, so it has no exports to check.
    ...(one.name === "@skein/cli" ? [] : complaint(bin("attw"), [one.file, "--profile", "esm-only"], one)),
  ]);
  if (complaints.length > 0) throw new Error(complaints.join("\n"));
  return TOOLS.map((tool) => `${tool}: no complaint about ${packed.length} packages`);
}

function complaint(command: string, args: readonly string[], { name }: Packed): readonly string[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: "utf8" });
  return status === 0 ? [] : [`${name}: ${command} ended with ${status}\n${stdout}${stderr}`];
}
