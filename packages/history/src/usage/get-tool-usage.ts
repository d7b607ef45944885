import type { LibraryConfig } from "../config.ts";
import { foldFiles } from "../facets/fold-files.ts";
import { withStore } from "../facets/with-store.ts";
import { isSamePath } from "../model/same-path.ts";
import { discover } from "../sources/discover.ts";
import { toolCallsFacet } from "../sources/claude-code/usage/tool-calls.ts";

export interface ToolUsage {
  readonly name: string;
  /** The number of calls. A call counts once, even if a resume or a fork wrote it again. */
  readonly calls: number;
  readonly failed: number;
}

/** Returns how often each tool was called in all sessions. The most frequent tool comes first. */
export async function getToolUsage(config: LibraryConfig = {}): Promise<readonly ToolUsage[]> {
  return await withStore(config, async (store) => {
    const { files } = discover(config);
    const calls = new Map<string, string>();
    const failed = new Set<string>();
    const first = config.since === undefined ? Number.NEGATIVE_INFINITY : Number(config.since);
    const end = config.until === undefined ? Number.POSITIVE_INFINITY : Number(config.until);
    await foldFiles(toolCallsFacet, files, {
      store,
      signal: config.signal,
      onState(_, state) {
        if (config.workspace !== undefined && !isSamePath(state.cwd ?? "", config.workspace)) return;
        for (const [id, { name, time }] of state.calls) if (time >= first && time < end) calls.set(id, name);
        for (const id of state.failed) failed.add(id);
      },
    });
    const tools = new Map<string, { calls: number; failed: number }>();
    for (const [id, name] of calls) {
      const tool = tools.get(name) ?? { calls: 0, failed: 0 };
      tools.set(name, tool);
      tool.calls += 1;
      if (failed.has(id)) tool.failed += 1;
    }
    return [...tools].map(([name, tool]) => ({ name, ...tool })).sort((a, b) => b.calls - a.calls);
  });
}
