/**
 * This process makes a few appends and ends normally. A test makes one of its system calls fail.
 *
 * Its argument is { store, place } as JSON. Like `writer.ts`, it writes a journal. Every failure must be a known error.
 */
import { createIds, isKnownError } from "@skein/protocol";
import { TENANT, createFacts } from "./facts.ts";
import { openStore } from "./open-store.ts";
import { createJournalWriter } from "./journal-writer.ts";
import type { WriterTask } from "./writer.ts";

export type ShortRunTask = Pick<WriterTask, "store" | "place">;

const { store: name, place } = JSON.parse(process.argv[2] ?? "{}") as ShortRunTask;
const { tell, appended } = createJournalWriter();
const ids = createIds();
const facts = createFacts(ids);

try {
  const store = await openStore(name, place);
  tell({ is: "ready", openMs: 0 });
  const target = ids();
  const made = await appended(store, { kind: "create", target, events: [facts.created(target)], expect: 0 });
  const prompt = (text: string) =>
    appended(store, { kind: "prompt", target, events: [facts.prompt(`${target} ${text}`)] }, { tenant: TENANT });
  if (made) {
    for (let i = 0; i < 4; i++) await prompt(`one ${i}`);
    await Promise.all(Array.from({ length: 4 }, (_, i) => prompt(`beside others ${i}`)));
    await prompt("last");
  }
  await store.close();
} catch (error) {
  if (!isKnownError(error)) tell({ is: "wrong", sentence: `Unexpected error: ${(error as Error).stack}` });
}
