import { join } from "node:path";
import { vi } from "vitest";
import { main } from "../src/main.ts";
import type { Ended } from "./skein.ts";

/**
 * `skein` in this process, which costs a tenth of a process of its own. For commands that neither read standard input nor
 * have a terminal. Its settings are those of `folder` alone.
 */
export async function skeinHere(folder: string, ...args: readonly string[]): Promise<Ended> {
  const settings = { HOME: folder, SKEIN_DATA_DIR: join(folder, "data"), XDG_CACHE_HOME: join(folder, "cache") };
  const unset = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "SKEIN_API_KEY", "SKEIN_STORE_URL", "CLAUDE_CONFIG_DIR"];
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  for (const name of unset) vi.stubEnv(name, undefined);
  let out = "";
  let err = "";
  const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += String(text);
    return true;
  });
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += String(text);
    return true;
  });
  try {
    return { code: await main(args), out, err };
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
    vi.unstubAllEnvs();
  }
}
