/** The usage of other agents' sessions. Their sources count it, so no lines are made for it. */
import type { FacetStore, SavedFacet } from "../facets/facet.ts";
import type { DataFile } from "../model/data-file.ts";
import { createPause } from "../scan/pause.ts";
import { usageFacet, type FileUsage } from "../sources/claude-code/usage/file-usage.ts";
import { holdingDatabases } from "../sources/port/sqlite.ts";
import type { UsageOptions } from "./usage-options.ts";

/** Raise it when a source counts in another way. */
const agentUsage = { name: "agent-usage", version: usageFacet.version * 100 + 1 };
const maxUnsaved = 200;

interface CountOptions {
  readonly options: UsageOptions;
  readonly store: FacetStore;
  readonly onState: (file: DataFile, usage: FileUsage) => void;
}

/** Answers the sessions that could not be read. */
export async function countAgents(
  files: readonly DataFile[],
  { options, store, onState }: CountOptions,
): Promise<readonly { readonly file: DataFile; readonly error: Error }[]> {
  const others = files.filter(({ origin }) => origin);
  if (others.length === 0) return [];
  const failed: { file: DataFile; error: Error }[] = [];
  const pause = createPause(options.signal);
  const known = store.load(agentUsage);
  let unsaved: SavedFacet[] = [];
  const save = (): void => {
    if (unsaved.length > 0) store.save(agentUsage, unsaved);
    unsaved = [];
  };
  await holdingDatabases(async () => {
    for (const [done, file] of others.entries()) {
      const { path, root, origin } = file;
      const saved = known.get(path);
      try {
        if (saved?.check === origin?.stamp && saved) onState(file, usageFacet.decode(saved.data));
        else {
          const usage = options.mirrors?.get(root)?.usage(path) ?? usageFacet.start();
          onState(file, usage);
          const data = store.keeps ? usageFacet.encode(usage) : new Uint8Array();
          unsaved.push({ path, size: 0, mtimeMs: 0, inode: 0, offset: 0, check: origin?.stamp ?? "", data });
          if (unsaved.length >= maxUnsaved) save();
          options.onProgress?.(done + 1, others.length);
        }
      } catch (error) {
        failed.push({ file, error: error instanceof Error ? error : new Error(String(error)) });
      }
      await pause();
    }
  });
  save();
  return failed;
}
