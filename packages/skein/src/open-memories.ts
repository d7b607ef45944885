import type { MemoryStore } from "@skein/core";
import type { RegisteredAgent } from "./host.ts";

/** The memories that agents of this process name in their data. */
export interface OpenMemories {
  readonly named: (type: string) => MemoryStore | undefined;
  close(): void;
}

/** Opens what is named: full-text memories beside a sqlite store, else for as long as the process lasts. */
export async function openMemories(agents: readonly RegisteredAgent[], storeUrl: string): Promise<OpenMemories> {
  return openMemoriesNamed(
    new Set(agents.flatMap(({ agent, memory }) => (memory ? [] : [agent.config.memory_store_type]))),
    storeUrl,
  );
}

export async function openMemoriesNamed(wanted: ReadonlySet<string>, storeUrl: string): Promise<OpenMemories> {
  const open = new Map<string, MemoryStore>();
  let close = (): void => {};
  if (wanted.has("placeholder")) {
    const { createPlaceholderMemory } = await import("@skein/adapters/memories/placeholder");
    open.set("placeholder", createPlaceholderMemory());
  }
  if (wanted.has("full_text")) {
    const { createFullTextMemory } = await import("@skein/adapters/memories/full-text");
    const file = /^sqlite:(?:\/\/)?(.+)$/.exec(storeUrl)?.[1];
    const memory = createFullTextMemory(file === undefined ? {} : { file: `${file}.memory` });
    open.set("full_text", memory);
    close = () => memory.close();
  }
  return { named: (type) => open.get(type), close };
}
