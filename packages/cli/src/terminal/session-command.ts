import { join } from "node:path";
import type { SessionsDeps, Store } from "@skein/core";
import type { Config } from "skein/config";
import { forgetBeside, makeFolder, openStore } from "skein/stores";
import { type OpenedSessions, sessionsOfStore } from "../sessions/session-calls.ts";
import { type Call, type Command, type Options, defineCommand } from "./command.ts";
import { openExisting } from "./existing-store.ts";
import { UsageError } from "./exit-codes.ts";
import { sessionIdOf } from "./find-session.ts";
import { PLACE_OPTIONS, STORE_OPTION } from "./shared-options.ts";

type StoreCall = Call<typeof STORE_OPTION>;
type PlaceCall = Call<typeof PLACE_OPTIONS>;

/** Defines a command about sessions, in a store (`--store`) or on a server (`--server`). */
export function sessionCommand<const Given extends Options>({
  run,
  ...command
}: Omit<Command<Given>, "run"> & { run(call: Call<Given & typeof PLACE_OPTIONS>): Promise<number> }): Command {
  return defineCommand({
    ...command,
    options: { ...command.options, ...PLACE_OPTIONS },
    run: (call) =>
      keptAlive(async () => {
        const placed = call as unknown as Call<Given & typeof PLACE_OPTIONS>;
        const { server, store } = placed.values as PlaceCall["values"];
        if (server !== undefined && store !== undefined)
          throw new UsageError("--store cannot be used with --server: a server has its own store.");
        return run(placed);
      }),
  });
}

/** Defines a command about a store. It has no option `--server`. */
export function storeCommand<const Given extends Options>({
  run,
  ...command
}: Omit<Command<Given>, "run"> & { run(call: Call<Given & typeof STORE_OPTION>): Promise<number> }): Command {
  return defineCommand({
    ...command,
    options: { ...command.options, ...STORE_OPTION },
    run: (call) => keptAlive(() => run(call as unknown as Call<Given & typeof STORE_OPTION>)),
  });
}

/**
 * Keeps the process alive during `run`. Without the timer, Node would end a process that only waits for new events of a
 * store.
 */
async function keptAlive(run: () => Promise<number>): Promise<number> {
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    return await run();
  } finally {
    clearInterval(alive);
  }
}

/**
 * Returns the address of the store: from the option, from the environment, or of the sqlite file in the data folder.
 */
export function storeUrlFor({ values, config }: StoreCall): string {
  const given = values.store ?? config.storeUrl;
  if (given !== undefined) return given;
  makeFolder(config.dataDir);
  return usualStore(config);
}

function usualStore({ dataDir }: Config): string {
  return `sqlite:${join(dataDir, "skein.db")}`;
}

type Use<Result> = (opened: { readonly sessions: OpenedSessions }) => Promise<Result>;

/** Runs `use` with the sessions of a store or server. A store that the user named must exist. */
export async function withSessions<Result>(call: PlaceCall, use: Use<Result>): Promise<Result> {
  const { values, config } = call;
  if (values.server !== undefined) return use({ sessions: await serverSessions(call) });
  const opening = openExisting(values.store ?? config.storeUrl, usualStore(config));
  return withOpened(call, opening, (store) => use({ sessions: sessionsOfStore(store, forgetIn(call, store)) }));
}

/** Returns a function that removes a session's data outside the log, such as files and server records. */
export function forgetIn({ values, config }: StoreCall, { records }: Store): NonNullable<SessionsDeps["forget"]> {
  return async (session) => {
    // This package is loaded only here, because most commands delete nothing.
    const { forgetSessionRecords } = await import("@skein/server");
    await forgetBeside(values.store ?? config.storeUrl ?? usualStore(config), config)(session);
    await forgetSessionRecords(records, session.sessionId);
  };
}

/** Runs `use` like `withSessions`. If the store does not exist, it is created. */
export async function withNewSessions<Result>(call: PlaceCall, use: Use<Result>): Promise<Result> {
  if (call.values.server !== undefined) return use({ sessions: await serverSessions(call) });
  return withNewStore(call, (store) => use({ sessions: sessionsOfStore(store) }));
}

/** Runs `use` with the store. A store that the user named must exist. */
export async function withStore<Result>(call: StoreCall, use: (store: Store) => Promise<Result>): Promise<Result> {
  const { values, config } = call;
  return withOpened(call, openExisting(values.store ?? config.storeUrl, usualStore(config)), use);
}

/** Runs `use` with the store. If the store does not exist, it is created. */
export async function withNewStore<Result>(call: StoreCall, use: (store: Store) => Promise<Result>): Promise<Result> {
  return withOpened(call, openStore(storeUrlFor(call)), use);
}

async function withOpened<Result>(
  { screen }: StoreCall,
  opening: Promise<Store>,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening.finally(screen.progress("Opening the store"));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function serverSessions({ values, config }: PlaceCall): Promise<OpenedSessions> {
  // These files are loaded only here, because most commands work on a store.
  const { connectServer } = await import("../sessions/connect-server.ts");
  const { createServerSessions } = await import("../sessions/server-sessions.ts");
  return createServerSessions(connectServer(values.server ?? "", config).client);
}

/** Finds the session by the first word of the command, and runs `use` with it. */
export function withSession<Result>(
  call: PlaceCall,
  use: (opened: { readonly sessions: OpenedSessions; readonly id: string }) => Promise<Result>,
): Promise<Result> {
  const [word = ""] = call.words;
  return withSessions(call, async ({ sessions }) => use({ sessions, id: await sessionIdOf(sessions, word) }));
}
