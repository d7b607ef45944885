import type { Api, Session } from "./api.ts";

/** First prompts are requested together, because a page shows many sessions at once. */
const PAUSE_MS = 20;
/** The largest number of ids in one request. */
const AT_ONCE = 100;

/** The first prompts of sessions, which name the sessions without a title. */
export interface FirstPrompts {
  /** Returns undefined until the prompt has arrived, and null if there is no prompt. */
  of(session: Pick<Session, "id">, api: Pick<Api, "firstPrompts">): string | null | undefined;
  subscribe(changed: () => void): () => void;
  version(): number;
}

/** Requests each first prompt once. */
export function createFirstPrompts(): FirstPrompts {
  /** Has undefined for an id that is requested. */
  const known = new Map<string, string | null | undefined>();
  const wanted: string[] = [];
  const listeners = new Set<() => void>();
  let version = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function ask(api: Pick<Api, "firstPrompts">): Promise<void> {
    timer = undefined;
    const ids = wanted.splice(0, AT_ONCE);
    if (wanted.length > 0) timer = setTimeout(() => void ask(api), PAUSE_MS);
    try {
      const found = await api.firstPrompts(ids);
      for (const id of ids) known.set(id, found.get(id) ?? null);
    } catch {
      // If the request fails, the ids are shown.
      for (const id of ids) known.set(id, null);
    }
    version += 1;
    for (const listener of listeners) listener();
  }

  return {
    of({ id }, api) {
      if (!known.has(id)) {
        known.set(id, undefined);
        wanted.push(id);
        timer ??= setTimeout(() => void ask(api), PAUSE_MS);
      }
      return known.get(id);
    },
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    version: () => version,
  };
}
