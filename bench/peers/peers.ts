/**
 * A program that is measured: Skein, bare `fetch`, or another library, set up as its documentation says, with its own
 * store if it has one.
 */

export interface Peer {
  readonly name: string;
  /** Whether its documentation promises that a session survives a crash. */
  readonly isDurable: boolean;
  /** The npm packages to install, first the one whose version is shown; empty for Skein and fetch. */
  readonly packages: readonly string[];
  /** The name of its file in the folder `programs`, without `.mjs`. */
  readonly program: string;
  readonly env?: Readonly<Record<string, string>>;
}

const MASTRA = ["@mastra/core", "@mastra/libsql", "@mastra/memory", "@ai-sdk/anthropic", "zod"];

export const PEERS: readonly Peer[] = [
  { name: "Skein, sqlite", isDurable: true, packages: [], program: "skein" },
  { name: "Flue, sqlite", isDurable: true, packages: ["@flue/runtime", "valibot"], program: "flue" },
  { name: "Mastra, durable, libSQL", isDurable: true, packages: MASTRA, program: "mastra", env: { DURABLE: "1" } },
  { name: "Skein, in memory", isDurable: false, packages: [], program: "skein", env: { STORE: "memory" } },
  { name: "Mastra, memory in libSQL", isDurable: false, packages: MASTRA, program: "mastra" },
  { name: "AI SDK", isDurable: false, packages: ["ai", "@ai-sdk/anthropic", "zod"], program: "ai-sdk" },
  { name: "bare fetch, no library", isDurable: false, packages: [], program: "fetch" },
];
