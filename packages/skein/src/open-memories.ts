import { join } from "node:path";
import type { FullTextMemory } from "@skein/adapters/memories/full-text";
import type { AgentMemory } from "@skein/core";
import type { RegisteredAgent } from "./host.ts";
import { placeOf } from "./store-address.ts";
import { loadPart } from "./optional-parts.ts";

/** The agent memories of this process: what agents remember across sessions. */
export interface OpenMemories {
  readonly named: (type: string) => AgentMemory | undefined;
  readonly all: readonly AgentMemory[];
  close(): Promise<void>;
}

/** Opens the agent memories of these agents. Full-text memories are in the same place as the sessions. */
export async function openMemories(agents: readonly RegisteredAgent[], storeUrl: string): Promise<OpenMemories> {
  return openMemoriesNamed(
    new Set(agents.flatMap(({ agent, memory }) => (memory ? [] : [agent.config.memory_store_type]))),
    storeUrl,
  );
}

export async function openMemoriesNamed(wanted: ReadonlySet<string>, storeUrl: string): Promise<OpenMemories> {
  const open = new Map<string, AgentMemory>();
  let close = async (): Promise<void> => {};
  if (wanted.has("placeholder")) {
    const { createPlaceholderMemory } = await import("@skein/adapters/memories/placeholder");
    open.set("placeholder", createPlaceholderMemory());
  }
  if (wanted.has("full_text")) {
    const memory = await fullTextMemory(storeUrl);
    open.set("full_text", memory);
    close = () => memory.close();
  }
  return { named: (type) => open.get(type), all: [...open.values()], close };
}

/** Returns the file with the full-text memories of a store. Returns undefined if no file has them. */
export function memoryFileOf(storeUrl: string): string | undefined {
  const { scheme, place } = placeOf(storeUrl);
  if (scheme === "sqlite") return `${place}.memory`;
  return scheme === "file" ? join(place, "memory.db") : undefined;
}

export async function fullTextMemory(storeUrl: string): Promise<FullTextMemory> {
  if (/^postgres(ql)?$/.test(placeOf(storeUrl).scheme)) {
    const { createPostgresMemory } = await loadPart.postgresMemory();
    return createPostgresMemory({ url: storeUrl });
  }
  const { createFullTextMemory } = await import("@skein/adapters/memories/full-text");
  const file = memoryFileOf(storeUrl);
  return createFullTextMemory(file === undefined ? {} : { file });
}
