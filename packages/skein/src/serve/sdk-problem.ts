import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packageOf, whatToInstall } from "../optional-parts.ts";

interface SdkPlace {
  /** Another program than the one that comes with the SDK. */
  readonly executable?: string | undefined;
  readonly from?: string;
}

/**
 * Why Claude Code cannot run here, as a sentence; undefined if it can. The SDK is located but not loaded, because it is
 * large and many servers never need it. Its program is a separate package for each platform, which npm leaves out with
 * `--omit=optional`.
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
