import { homedir } from "node:os";
import { join } from "node:path";

/** Everything that comes from the environment, read once. Nothing below this file looks at `process.env`. */
export interface Config {
  /** `memory:`, `sqlite:FILE`, `file:FOLDER` or `postgres://…`. */
  readonly storeUrl: string | undefined;
  readonly dataDir: string;
  readonly anthropicApiKey: string | undefined;
  readonly anthropicBaseUrl: string | undefined;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return Object.freeze({
    storeUrl: env["SKEIN_STORE_URL"] || undefined,
    dataDir: env["SKEIN_DATA_DIR"] || join(homedir(), ".skein"),
    anthropicApiKey: env["ANTHROPIC_API_KEY"] || undefined,
    anthropicBaseUrl: env["ANTHROPIC_BASE_URL"] || undefined,
  });
}
