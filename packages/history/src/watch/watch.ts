import { watch as watchFolder, type FSWatcher } from "node:fs";
import type { LibraryConfig } from "../config.ts";
import { getProjectsPath } from "../sources/claude-code/discover/data-paths.ts";
import { discover } from "../sources/discover.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import { createTail, type Tail } from "./tail.ts";
import type { WatchEvent } from "./watch-event.ts";

export interface WatchOptions extends LibraryConfig {
  readonly signal?: AbortSignal;
  /**
   * Reads new data of agents other than Claude Code before each check. Needed for a configuration from `withSources`.
   */
  readonly refresh?: () => Promise<LibraryConfig>;
}

/** The time between checks. Most changes are reported immediately by the file system, and a check finds the rest. */
const lookEveryMs = 1000;
const settleMs = 10;

/** Yields new sessions and lines as they are written, until the signal aborts or the loop ends. */
export async function* watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent> {
  const queue: WatchEvent[] = [];
  const tails = new Map<string, Tail>();
  const state = { isClosed: false, wake: undefined as (() => void) | undefined, isDue: false };
  const { files, roots } = discover(options);
  for (const file of files) tails.set(file.path, createTail(file, "end"));

  const wake = (): void => state.wake?.();
  const soon = (): void => {
    if (state.isDue) return;
    state.isDue = true;
    // A line is often written in several pieces, so the check waits a little.
    setTimeout(wake, settleMs);
  };
  const watchers = roots.flatMap((root) => watcherOn(getProjectsPath(root), soon) ?? []);
  const stop = (): void => {
    state.isClosed = true;
    wake();
  };
  options.signal?.addEventListener("abort", stop);
  try {
    while (!state.isClosed && options.signal?.aborted !== true) {
      const started = performance.now();
      look(options.refresh ? await options.refresh() : options, tails, queue);
      const took = performance.now() - started;
      yield* queue.splice(0);
      if (state.isClosed || options.signal?.aborted) break;
      // After a slow check, the pause is longer. So checks that no change caused take at most a twentieth of the time.
      await sleep(Math.max(lookEveryMs, took * 20), state);
    }
  } finally {
    options.signal?.removeEventListener("abort", stop);
    for (const watcher of watchers) watcher.close();
  }
}

interface Sleeper {
  isDue: boolean;
  wake: (() => void) | undefined;
}

async function sleep(ms: number, state: Sleeper): Promise<void> {
  if (!state.isDue) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      state.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  state.wake = undefined;
  state.isDue = false;
}

function look(options: LibraryConfig, tails: Map<string, Tail>, queue: WatchEvent[]): void {
  const { files } = discover(options);
  const present = new Set<string>();
  for (const file of files) {
    present.add(file.path);
    let tail = tails.get(file.path);
    if (!tail) {
      queue.push({ type: "session", source: sourceOfRoot(file.root), file });
      tail = createTail(file, "start");
      tails.set(file.path, tail);
    }
    queue.push(...tail.read(file));
  }
  for (const [path, tail] of tails) {
    if (present.has(path)) continue;
    tails.delete(path);
    const file = tail.file();
    queue.push({ type: "removed", source: sourceOfRoot(file.root), file });
  }
}

/**
 * Watches a folder. Returns undefined if this is not possible, for example on some network drives. Changes are then
 * found by the regular checks.
 */
function watcherOn(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watchFolder(folder, { recursive: true }, onChange);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
