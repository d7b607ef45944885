/**
 * This process runs several concurrent writers until it is killed. Each writer records its operations and their
 * answers.
 *
 * Its argument is { store, place, seed, writers } as JSON. It writes to file descriptor 3 synchronously, so that every
 * record is in the pipe when the process dies.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Lease, Store } from "@skein/core";
import { type Random, createRandom } from "./random.ts";
import { createJournalWriter } from "./journal-writer.ts";
import { createIds, isKnownError } from "@skein/protocol";
import { TENANT, createFacts } from "./facts.ts";
import { type Place, type StoreName, openStore } from "./open-store.ts";

export interface WriterTask {
  readonly store: StoreName;
  readonly place: Place;
  readonly seed: number;
  readonly writers: number;
}

const { store: storeName, place, seed, writers } = JSON.parse(process.argv[2] ?? "{}") as WriterTask;
const LEASE_MS = 60_000;
/** The length of a text that is too long to be stored inside its row. */
const LARGE = 300_000;

const { tell, asked, appended } = createJournalWriter();
const ids = createIds();
const facts = createFacts(ids);

/** Runs a writer, which creates sessions and also prompts the shared sessions. */
async function write(store: Store, shared: readonly string[], random: Random, name: string): Promise<never> {
  const own: string[] = [];
  let count = 0;
  const record = { id: ids(), version: 0 };
  const text = (): string => `${name} ${(count += 1)}`;

  async function create(): Promise<void> {
    const target = ids();
    const key = { id: `create ${text()}`, fingerprint: "create" };
    if (await appended(store, { kind: "create", target, events: [facts.created(text())], expect: 0, key }))
      own.push(target);
  }

  async function prompt(target: string): Promise<void> {
    const content = random.chance(0.01) ? `${text()} ${"x".repeat(LARGE)}` : `${text()} ${"x".repeat(random.int(900))}`;
    const key = { id: `prompt ${text()}`, fingerprint: content.slice(0, 40) };
    const event = facts.prompt(content);
    const options = { tenant: TENANT, dueAt: Date.now() };
    const first = await appended(store, { kind: "prompt", target, events: [event], key }, options);
    if (!first || random.chance(0.9)) return;
    const again = await store.append(target, [facts.prompt(content)], { ...options, key }).catch(() => undefined);
    if (again && (!again.repeated || again.events[0]?.id !== event.id))
      tell({
        is: "wrong",
        sentence: `The key "${key.id}" was used twice, and the second append returned ${again.events[0]?.id}.`,
      });
  }

  async function drive(target: string): Promise<void> {
    const event = facts.prompt(text());
    if (!(await appended(store, { kind: "prompt", target, events: [event] }, { tenant: TENANT, dueAt: Date.now() })))
      return;
    const lease = await leased(store, target, name);
    if (!lease) return;
    const begun = await appended(store, { kind: "drive", target, events: facts.started(event), lease });
    if (!begun) return void own.splice(own.indexOf(target), 1);
    const expect = begun.events.at(-1)?.sequence ?? 0;
    const said = { kind: "drive", target, events: facts.finished(event), lease, expect } as const;
    if (!(await appended(store, said, { release: { dueAt: null } }))) own.splice(own.indexOf(target), 1);
  }

  async function remove(): Promise<void> {
    const target = own.shift();
    if (target !== undefined)
      await asked(
        { kind: "delete", target },
        () => store.delete(target),
        () => ({}),
      );
  }

  async function put(): Promise<void> {
    const value = random.int(1_000_000);
    const { id, version } = record;
    const puts = [{ tenant: TENANT, kind: "note", id, value, fields: { writer: name }, expect: version }];
    const kept = await asked(
      { kind: "record", target: id, value, expect: version },
      () => store.records.put(puts),
      ([stored]) => ({ version: stored?.version ?? 0 }),
    );
    if (kept?.[0]) record.version = kept[0].version;
    else Object.assign(record, { id: ids(), version: 0 });
  }

  for (;;) {
    const dice = random.next();
    const mine = own.length > 0 ? random.pick(own) : undefined;
    if (mine === undefined || dice < 0.12) await create();
    else if (dice < 0.45) await prompt(random.pick(shared));
    else if (dice < 0.65) await prompt(mine);
    else if (dice < 0.7)
      await appended(store, { kind: "edit", target: mine, events: [facts.edited(text())] }, { tenant: TENANT });
    else if (dice < 0.85) await drive(mine);
    else if (dice < 0.95) await put();
    else await remove();
    await sleep(random.int(6));
  }
}

async function leased(store: Store, sessionId: string, owner: string): Promise<Lease | undefined> {
  try {
    const claimed = await store.claim({ owner, leaseMs: LEASE_MS, sessionId });
    if (claimed.kind === "leased") return claimed.lease;
    tell({
      is: "wrong",
      sentence: `Only one writer works on session ${sessionId}, but its claim returned ${claimed.kind}.`,
    });
  } catch (error) {
    if (!isKnownError(error)) throw error;
  }
  return undefined;
}

const started = performance.now();
const store = await openStore(storeName, place);
tell({ is: "ready", openMs: performance.now() - started });
const random = createRandom(seed);
// All writers prompt the shared sessions. Some come from earlier processes, others are new.
const earlier = (await store.list({ tenant: TENANT, limit: 4 })).items.map(({ id }) => id);
const shared = [...earlier];
// A creation may fail, because the database server is killed too. Then the loop tries again.
while (shared.length < earlier.length + 4) {
  const target = ids();
  // If the answer to a creation is lost, the session may still be stored. Each title contains the id, so that the
  // session of the retry has a different title.
  const events = [facts.created(`shared ${target}`)];
  if (await appended(store, { kind: "create", target, events, expect: 0 })) shared.push(target);
  else await sleep(50);
}
try {
  await Promise.all(
    Array.from({ length: writers }, (_, writer) =>
      write(store, shared, createRandom(seed * 1000 + writer), `writer ${seed}-${writer}-${random.int(1e9)}`),
    ),
  );
} catch (error) {
  tell({ is: "wrong", sentence: `The writing process failed with an unexpected error: ${(error as Error).stack}` });
  process.exitCode = 1;
  await store.close();
}
