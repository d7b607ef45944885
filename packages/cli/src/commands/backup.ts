import type { Moved } from "@skein/core";
import { type BackedUp, backup as backupStore, isStore, placeOf, restore as restoreStore } from "skein/stores";
import { counted } from "../terminal/counts.ts";
import { defineCommand } from "../terminal/command.ts";
import { EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { shellQuoted } from "../terminal/shell-quoted.ts";
import { storeUrlFor } from "../terminal/session-command.ts";
import { JSON_OPTION, STORE_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";

/** `skein backup`: copies a store to a folder. */
export const backup = defineCommand({
  name: "backup",
  words: "FOLDER",
  summary: "Back up a store into a new folder. Servers may use the store during the backup.",
  options: { ...STORE_OPTION, json: JSON_OPTION },
  examples: ["skein backup ./backup", "skein backup /mnt/skein-1116 --store postgres://localhost/skein"],
  notes:
    "The backup has sessions, agents, keys, webhooks, memories, and generated files that are kept beside the sessions. The store is not changed. `skein restore` restores it into any kind of store.",
  async run(call) {
    const { words, values, screen } = call;
    const url = storeUrlFor(call);
    refuseMemory(url);
    if (!(await isStore(url))) throw new MissingError(`There is no store at ${placeOf(url).place}. Check the address.`);
    let so: Moved | undefined;
    const done = screen.progress(() => (so ? `Copied ${so.sessions} sessions` : "Copying the store"));
    const made = await backupStore(url, words[0] ?? "", (now) => (so = now)).finally(done);
    if (values.json) screen.json(made);
    else
      screen.out(
        `The backup in ${visible(made.folder)} has ${counted(made.sessions, "session")}. To use it: skein restore ${shellQuoted(visible(made.folder))} --store STORE\n`,
      );
    return EXIT.completed;
  },
});

/** `skein restore`: makes a store from a backup. */
export const restore = defineCommand({
  name: "restore",
  words: "FOLDER",
  summary: "Restore a backup into a new or empty store.",
  options: { ...STORE_OPTION, json: JSON_OPTION },
  examples: [
    "skein restore ./backup --store sqlite:./skein.db",
    "skein restore ./backup --store postgres://localhost/new",
  ],
  notes:
    "Unfinished runs continue as soon as a server uses the store. Never run servers on the old store and the restored store at the same time: runs would happen twice.",
  async run(call) {
    const { words, values, screen } = call;
    const url = storeUrlFor(call);
    refuseMemory(url);
    let so: Moved | undefined;
    const done = screen.progress(() => (so ? `Restored ${so.sessions} sessions` : "Restoring the backup"));
    const brought: BackedUp = await restoreStore(words[0] ?? "", url, (now) => (so = now)).finally(done);
    if (values.json) screen.json(brought);
    else screen.out(`The store has ${counted(brought.sessions, "session")}.\n`);
    return EXIT.completed;
  },
});

function refuseMemory(url: string): void {
  if (placeOf(url).scheme === "memory")
    throw new UsageError("A store in memory (memory:) cannot be backed up, and a backup cannot be restored into it.");
}
