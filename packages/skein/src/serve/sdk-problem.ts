import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packageOf, whatToInstall } from "../optional-parts.ts";

interface SdkPlace {
  /** A program that replaces the SDK's Claude Code program. */
  readonly executable?: string | undefined;
  readonly from?: string;
}

/**
 * Returns a sentence about why Claude Code cannot run here, or undefined if it can run. Finds the SDK but does not load
 * it, because the SDK is large and many servers never need it. The SDK's program is a separate package for each
 * platform. npm leaves out this package with `--omit=optional`.
 */
export function sdkProblem({ executable, from = import.meta.url }: SdkPlace = {}): string | undefined {
  const sdk = packageOf("claudeCode");
  const folders = createRequire(from).resolve.paths(sdk) ?? [];
  const found = folders.map((path) => join(path, sdk)).find((path) => existsSync(join(path, "package.json")));
  if (found === undefined) return whatToInstall("claudeCode");
  const platform = `${process.platform}-${process.arch}`;
  const programs = ["", "-musl"].map((libc) => join(`${sdk}-${platform}${libc}`, "package.json"));
  const places = [...folders, join(found, "node_modules")];
  const isThere = places.some((path) => programs.some((program) => existsSync(join(path, program))));
  if (executable !== undefined || isThere) return undefined;
  return `Claude Code's program for ${platform} is not installed: npm install ${sdk} --include=optional`;
}
