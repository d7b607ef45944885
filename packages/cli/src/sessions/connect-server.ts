import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, type ClientOptions, createClient } from "@skein/client";
import type { Config } from "skein/config";
import { CommandError, EXIT, UsageError } from "../terminal/exit-codes.ts";

export interface ConnectedServer {
  readonly client: Client;
  readonly reach: ClientOptions;
}

/**
 * Creates a client of a server. The API key comes from SKEIN_API_KEY. Without this variable, the client uses the key in
 * the data folder if the server is on this machine, and no key otherwise.
 */
export function connectServer(address: string, { apiKey, dataDir }: Config): ConnectedServer {
  const url = addressOf(address);
  const key = apiKey ?? (isLocal(url) ? ownKey(dataDir) : undefined);
  const reach: ClientOptions = { url: url.href, ...(key !== undefined && { apiKey: key }), fetch: reaching(url) };
  return { client: createClient(reach), reach };
}

function addressOf(address: string): URL {
  const url = URL.parse(address);
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new UsageError(`--server takes an address such as http://127.0.0.1:7433, not "${address}".`);
  return url;
}

function isLocal({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Reads the key that `skein serve` made at its first start. */
function ownKey(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, "admin-key"), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Returns a `fetch` whose errors contain the address of the server. */
function reaching({ origin }: URL): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (init?.signal?.aborted) throw error;
      const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } };
      const why = cause?.code ?? cause?.message ?? String(error);
      throw new CommandError(
        EXIT.io,
        `No server answers at ${origin} (${why}). Check the address, or start a server with "skein serve".`,
      );
    }
  };
}
