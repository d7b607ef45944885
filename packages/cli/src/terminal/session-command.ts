import { join } from "node:path";
import { type Sessions, type Store, createSessions } from "@skein/core";
import type { Config } from "skein/config";
import { makeFolder, openStore } from "skein/stores";
import { type Call, type Command, type Options, defineCommand } from "./command.ts";
import { openExisting } from "./existing-store.ts";
import { sessionIdOf } from "./find-session.ts";
import { STORE_OPTION } from "./shared-options.ts";

type StoreCall = Call<typeof STORE_OPTION>;

/** How long something that was started may go on after its command has ended. */
const LINGER_MS = 500;

/** A command about sessions: it has `--store`, lives while its store is followed, and ends although a tool does not. */
export function sessionCommand<const Given extends Options>({
  run,
  ...command
}: Omit<Command<Given>, "run"> & { run(call: Call<Given & typeof STORE_OPTION>): Promise<number> }): Command {
  return defineCommand({
    ...command,
    options: { ...command.options, ...STORE_OPTION },
    async run(call) {
      // Following a store alone keeps no process alive.
      const alive = setInterval(() => {}, 2 ** 30);
      try {
        return await run(call as unknown as Call<Given & typeof STORE_OPTION>);
      } finally {
        clearInterval(alive);
        // A tool that does not listen to its signal must not keep the command from ending.
        setTimeout(() => process.exit(), LINGER_MS).unref();
      }
    },
  });
}

/** The store that a command works on: the option's, the environment's, or the one in the data folder. */
export function storeUrlFor({ values, config }: StoreCall): string {
  const given = values.store ?? config.storeUrl;
  if (given !== undefined) return given;
  makeFolder(config.dataDir);
  return usualStore(config);
}

function usualStore({ dataDir }: Config): string {
  return `sqlite:${join(dataDir, "skein.db")}`;
}

interface Opened {
  readonly sessions: Sessions;
  readonly store: Store;
}

/** Looks into a store without driving anything in it. */
export function withStore<Result>(call: StoreCall, use: (opened: Opened) => Promise<Result>): Promise<Result> {
  const { values, config } = call;
  return withOpened(call, openExisting(values.store ?? config.storeUrl, usualStore(config)), use);
}

/** The same for what brings something into it, and makes it if it is not there. */
export async function withNewStore<Result>(call: StoreCall, use: (opened: Opened) => Promise<Result>): Promise<Result> {
  return withOpened(call, openStore(storeUrlFor(call)), use);
}

async function withOpened<Result>(
  { screen }: StoreCall,
  opening: Promise<Store>,
  use: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const store = await opening.finally(screen.progress("Opening the store"));
  try {
    return await use({ sessions: createSessions({ store }), store });
  } finally {
    await store.close();
  }
}

/** Looks into a store for the session that the first word names. */
export function withSession<Result>(
  call: StoreCall,
  use: (opened: Opened & { readonly id: string }) => Promise<Result>,
): Promise<Result> {
  const [word = ""] = call.words;
  return withStore(call, async (opened) => use({ ...opened, id: await sessionIdOf(opened.sessions, word) }));
}
