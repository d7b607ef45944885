import type { AgentMemory, FileStore, Store } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { AgentOptions } from "./agent-interface.ts";

/**
 * The required methods of each interface that a program can implement. The compiler reports a required method that is
 * missing here.
 */
const MEMORY: Readonly<Record<Exclude<keyof AgentMemory, "type" | "forget">, true>> = {
  retrieve: true,
  update: true,
  beforeCompaction: true,
  afterCompaction: true,
};
const FILES: Readonly<Record<Exclude<keyof FileStore, "deleteSession" | "sessions" | "check">, true>> = {
  put: true,
  get: true,
};
const STORE: Readonly<Record<Exclude<keyof Store, "check" | "records">, true>> = {
  append: true,
  read: true,
  follow: true,
  scan: true,
  claim: true,
  due: true,
  renew: true,
  release: true,
  owners: true,
  free: true,
  onNews: true,
  poke: true,
  get: true,
  list: true,
  count: true,
  usage: true,
  toolUsage: true,
  search: true,
  messages: true,
  runs: true,
  awaits: true,
  openAwaits: true,
  changed: true,
  summaries: true,
  checkpoints: true,
  readSnapshot: true,
  writeSnapshot: true,
  delete: true,
  close: true,
};
const RECORDS: Readonly<Record<keyof Store["records"], true>> = {
  get: true,
  put: true,
  list: true,
  scan: true,
  delete: true,
};

/** Rejects a custom memory, store or file store that lacks a method. */
export function checkPartShapes({ memory, store, files, memory_store_type }: AgentOptions): void {
  if (memory !== undefined) {
    checkMethods("memory", memory, MEMORY);
    const { type } = memory;
    if (typeof type !== "string" || type === "" || type.length > 50)
      refuse('"memory" needs a type: a name for it, of 1 to 50 characters.');
    if (memory_store_type !== undefined && memory_store_type !== type)
      refuse(
        `"memory" is of the type "${type}" and memory_store_type is ${JSON.stringify(memory_store_type)}. Leave memory_store_type out.`,
      );
  }
  if (store !== undefined && typeof store !== "string") {
    checkMethods("store", store, STORE, "an address like sqlite:FILE, or an open store");
    checkMethods("store.records", store.records, RECORDS);
  }
  if (files !== undefined && typeof files !== "string")
    checkMethods("files", files, FILES, "a folder, s3://BUCKET/PREFIX, or an open file store");
}

function checkMethods(
  name: string,
  given: unknown,
  methods: Readonly<Record<string, true>>,
  expected = "an object",
): void {
  if (given instanceof Promise) refuse(`"${name}" is a promise. Write ${name}: await …`);
  if (typeof given !== "object" || given === null) refuse(`"${name}" must be ${expected}.`);
  const missing = Object.keys(methods).filter(
    (method) => typeof (given as Record<string, unknown>)[method] !== "function",
  );
  if (missing.length > 0) refuse(`"${name}" must be ${expected}: it has no method ${missing.slice(0, 5).join(", ")}.`);
}

function refuse(sentence: string): never {
  throw new KnownError("invalid", sentence);
}
