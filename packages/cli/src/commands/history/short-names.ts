/** Ids, paths and models as tables show them. */
import { homedir } from "node:os";

/**
 * Shortens an id so that the short id still finds the session. The short id keeps a prefix such as `ses_`, and the whole
 * time of a UUID v7.
 */
export function shortId(id: string): string {
  const kind = /^(?:ses(?:sion)?_|T-)/.exec(id)?.[0].length ?? 0;
  const own = id.slice(kind);
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[1-5]/.test(own)) return id.slice(0, kind + 8);
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(own)) return id.slice(0, kind + 13);
  return kind === 4 ? id.slice(0, kind + 9) : id.slice(0, 44);
}

/** Shortens these ids like `shortId`. If two of these ids begin alike, their short forms are long enough to differ. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const sorted = ids.toSorted();
  const needed = new Map<string, number>();
  for (const [at, id] of sorted.entries())
    for (const other of [sorted[at - 1], sorted[at + 1]])
      if (other !== undefined && other !== id)
        needed.set(id, Math.max(needed.get(id) ?? 0, commonLength(id, other) + 1));
  return (id) => id.slice(0, Math.max(shortId(id).length, needed.get(id) ?? 0));
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Shortens a long path at its beginning, because the end says more. */
export function shortenPath(path: string, columns: number): string {
  const home = homedir();
  const short = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  return short.length <= columns || !Number.isFinite(columns) ? short : `…${short.slice(-(columns - 1))}`;
}

export function shortModel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}
