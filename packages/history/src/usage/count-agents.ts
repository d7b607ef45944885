/** Counts the usage of agents other than Claude Code. Each source counts its sessions without translating them. */
import type { FacetStore, SavedFacet } from "../facets/facet.ts";
import { createPause } from "../scan/pause.ts";
import { usageFacet, type FileUsage } from "../sources/claude-code/usage/file-usage.ts";
import type { Belongs } from "../sources/mirror/find-sessions.ts";
import type { Mirror } from "../sources/mirror/mirror-root.ts";
import type { Unit } from "../sources/port/source.ts";
import { holdingDatabases } from "../sources/port/sqlite.ts";
import type { CallCounter } from "./count-calls.ts";
import type { UsageOptions } from "./usage-options.ts";

/** The saved usage of sessions. If a source counts differently, increase the number in `version`. */
const agentUsage = { name: "agent-usage", version: usageFacet.version * 100 + 2 };
const maxUnsavedBytes = 1024 * 1024;

interface CountOptions {
  readonly options: UsageOptions;
  readonly store: FacetStore;
  readonly counter: CallCounter;
}

interface Unreadable {
  readonly path: string;
  readonly reason: string;
}

/** Counts the usage of other agents. Returns the sessions that could not be read. */
export async function countAgents(
  mirrors: readonly Mirror[],
  { options, store, counter }: CountOptions,
): Promise<readonly Unreadable[]> {
  const unreadable: Unreadable[] = [];
  const pause = createPause(options.signal);
  const usages = createUsages(store);
  for (const mirror of mirrors) {
    const belongs = new Map<string, Belongs>();
    const placed = new Map<string, ReturnType<CallCounter["add"]>>();
    const take = (id: string, usage: FileUsage): void => {
      belongs.set(id, { cwd: usage.cwds[0] ?? null, parentId: usage.sessionId || null });
      placed.set(id, counter.add(usage));
    };
    await holdingDatabases(async () => {
      for (const [done, unit] of mirror.units.entries()) {
        const { usage, isNew, error } = usages.of(mirror, unit);
        if (usage) take(unit.id, usage);
        if (error !== undefined) unreadable.push({ path: unit.path, reason: error });
        if (isNew) options.onProgress?.(done + 1, mirror.units.length);
        await pause();
      }
    });
    for (const id of mirror.kept.keys()) {
      const before = usages.before(mirror, id);
      if (before) take(id, before);
    }
    for (const [id, place] of placed) place(mirror.fileFor(id, belongs));
  }
  usages.save();
  return unreadable;
}

interface Counted {
  readonly usage?: FileUsage;
  readonly isNew: boolean;
  readonly error?: string;
}

interface Usages {
  of(mirror: Mirror, unit: Unit): Counted;
  /** Returns the counts from the last time that the session could be read. */
  before(mirror: Mirror, id: string): FileUsage | undefined;
  save(): void;
}

function createUsages(store: FacetStore): Usages {
  let unsaved: SavedFacet[] = [];
  let unsavedBytes = 0;
  const known = store.load(agentUsage);
  const keyOf = ({ folder }: Mirror, id: string): string => `${folder}\0${id}`;
  const save = (): void => {
    if (unsaved.length > 0) store.save(agentUsage, unsaved);
    unsaved = [];
    unsavedBytes = 0;
  };
  const before = (mirror: Mirror, id: string): FileUsage | undefined => {
    const saved = known.get(keyOf(mirror, id));
    return saved && usageFacet.decode(saved.data);
  };
  return {
    save,
    before,
    of(mirror, unit) {
      const path = keyOf(mirror, unit.id);
      const saved = known.size === 0 ? undefined : known.get(path);
      if (saved?.check === unit.stamp) return { usage: usageFacet.decode(saved.data), isNew: false };
      try {
        const usage = mirror.usage(unit);
        if (store.keeps) {
          const data = usageFacet.encode(usage);
          unsaved.push({ path, size: 0, mtimeMs: 0, inode: 0, offset: 0, check: unit.stamp, data });
          unsavedBytes += data.length;
          if (unsavedBytes > maxUnsavedBytes) save();
        }
        return { usage, isNew: true };
      } catch (error) {
        // The earlier counts are used. Their stamp is outdated, so the next call tries again.
        const earlier = before(mirror, unit.id);
        return { ...(earlier && { usage: earlier }), isNew: true, error: String(error) };
      }
    },
  };
}
