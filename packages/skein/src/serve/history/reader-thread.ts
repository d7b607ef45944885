import { Worker } from "node:worker_threads";
import { KnownError } from "@skein/protocol";
import type { FromReader, Method, ReaderOptions, ToReader } from "./messages.ts";

type Changed = Extract<FromReader, { kind: "changed" }>;

/** The thread that reads the files of coding agents, so that large files do not block the server. */
export interface ReaderThread {
  ask(method: Method, input: readonly unknown[], signal: AbortSignal): Promise<string | Uint8Array>;
  watch(listener: (change: Changed) => void): () => void;
  close(): Promise<void>;
}

interface Asked {
  readonly resolve: (value: string | Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** A file that needs more memory than this crashes only the thread. */
const MEMORY_MB = 2048;

/** Starts the thread at the first question, and again after a crash. */
export function createReaderThread(options: ReaderOptions, { memoryMb = MEMORY_MB } = {}): ReaderThread {
  const asked = new Map<number, Asked>();
  const listeners = new Set<(change: Changed) => void>();
  let worker: Worker | undefined;
  let last = 0;
  let isClosed = false;

  const tell = (message: ToReader): void => started().postMessage(message);

  function started(): Worker {
    if (worker) return worker;
    const isSource = import.meta.url.endsWith(".ts");
    const made = new Worker(new URL(isSource ? "./reader.ts" : "./reader.js", import.meta.url), {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    made.unref();
    made.on("message", take);
    made.on("error", (error) => lost(made, error));
    made.on("exit", () => lost(made, new Error("The reader of Claude Code's files ended.")));
    worker = made;
    if (listeners.size > 0) made.postMessage({ kind: "watch", isOn: true } satisfies ToReader);
    return made;
  }

  function lost(which: Worker, error: unknown): void {
    if (worker !== which) return;
    worker = undefined;
    const isMemory = (error as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY";
    const reason = isMemory ? outOfMemory() : error;
    for (const { reject } of asked.values()) reject(reason);
    asked.clear();
    if (!isClosed && listeners.size > 0) setTimeout(() => !isClosed && listeners.size > 0 && started(), 1000).unref();
  }

  /** If several questions were waiting, any of them may be the one that needed too much memory. */
  function outOfMemory(): KnownError {
    if (asked.size === 1) return new KnownError("too_large", `The answer needs more than ${memoryMb} MB of memory.`);
    return new KnownError(
      "closed",
      `One of ${asked.size} requests needed more than ${memoryMb} MB of memory, and all of them were stopped. Send the request again.`,
    );
  }

  function take(message: FromReader): void {
    if (message.kind === "changed") {
      for (const listener of listeners) listener(message);
      return;
    }
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if (message.kind === "answer") waiting?.resolve(message.value);
    else if (message.code === "bug") waiting?.reject(new Error(message.message));
    else waiting?.reject(new KnownError(message.code, message.message));
  }

  return {
    ask(method, input, signal) {
      if (isClosed) return Promise.reject(new KnownError("closed", "The server is stopping."));
      const id = (last += 1);
      return new Promise((resolve, reject) => {
        asked.set(id, { resolve, reject });
        signal.addEventListener(
          "abort",
          () => {
            if (!asked.delete(id)) return;
            tell({ kind: "stop", id });
            reject(new KnownError("closed", "The client has disconnected."));
          },
          { once: true },
        );
        tell({ kind: "ask", id, method, input });
      });
    },
    watch(listener) {
      listeners.add(listener);
      if (listeners.size === 1) tell({ kind: "watch", isOn: true });
      return () => {
        if (listeners.delete(listener) && listeners.size === 0 && worker) tell({ kind: "watch", isOn: false });
      };
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}
