import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import { type Client, createClient } from "@skein/client";
import { openStore } from "skein";
import { createAgents } from "./agents.ts";
import { type Platform, startPlatform } from "./platform.ts";
import { type ScriptedModel, startScriptedModel } from "./scripted-model.ts";
import { FINISHED, OUTPUTS, PAST, RUNNING, SUBAGENTS, WAITING, exportRunsTwice } from "./stories/index.ts";
import { writeClaudeSessions } from "./stories/claude-code.ts";
import type { Story } from "./story.ts";

const CONFIG = join(import.meta.dirname, "skein.config.ts");
const HOUR_MS = 3_600_000;
/** The step of the main session that is still streaming after `seed` returns. */
const LAST_STEP = exportRunsTwice.turns[0]?.steps.length ?? 0;

/** A running server with example sessions, and the model that it calls. */
export interface SeededWorld {
  platform: Platform;
  readonly model: ScriptedModel;
  /** The session of the screenshots. Its last step is still being streamed. */
  readonly main: string;
  /** A finished session that has forks. */
  readonly forked: string;
  readonly long: string;
  close(): Promise<void>;
}

/**
 * Makes realistic sessions. Agents run on a real store with the simulator as their model. Past sessions use a clock
 * that is set back. One worker is killed in the middle of a tool call.
 */
export async function seed({
  data,
  past = PAST.length,
  port = 0,
}: {
  data: string;
  past?: number;
  port?: number;
}): Promise<SeededWorld> {
  const model = await startScriptedModel();
  for (const story of [...PAST, ...FINISHED, ...WAITING, ...RUNNING, ...SUBAGENTS, exportRunsTwice])
    for (const { prompt, steps } of story.turns) model.plays(prompt, steps);
  await seedPast({
    data,
    model,
    stories: [...PAST.slice(0, past), ...FINISHED.filter(({ hoursAgo }) => hoursAgo !== undefined)],
  });
  // The data folder is the HOME of the platform, so Claude Code would store its sessions in this folder.
  writeClaudeSessions(join(data, ".claude"));
  let platform = await startPlatform({ data, modelUrl: model.url, config: CONFIG, port });
  const client = createClient({ url: platform.url, apiKey: platform.key });
  for (const story of WAITING) await tell(client, story);
  const main = await tell(client, exportRunsTwice, { isAwaited: false });
  // The third step runs a command that takes a minute. The worker is killed while this command runs.
  await until(async () =>
    (await client.listEffects({ params: { session_id: main } })).data.some(
      ({ input, outcome }) => outcome === "running" && commandOf(input) === "npm run export -- --dry",
    ),
  );
  await platform.kill();
  platform = await startPlatform({ data, modelUrl: model.url, config: CONFIG, port: platform.port });
  for (const story of RUNNING) await tell(client, story, { isAwaited: false });
  await until(async () => {
    const { data: events } = await client.listEvents({ params: { session_id: main }, query: { limit: 1000 } });
    return events.some(({ event_type, data: fact }) => event_type === "step.started" && fact["step"] === LAST_STEP);
  });
  const later = "Also add a line to the changelog.";
  await client.postMessage({ params: { session_id: main }, body: { role: "user", content: { text: later } } });
  const sessions = (await client.listSessions({ query: { limit: 200 } })).data;
  const named = (title: string): string => sessions.find((one) => one.title === title)?.id ?? main;
  const forked = named("Explain the retry rules of the queue");
  await forks(client, model, forked);
  await client.addModel({ body: { name: "claude-opus-5-5", is_default: false } });
  await client.addModel({ body: { name: "claude-haiku-5-5", is_default: false } });
  const world: SeededWorld = {
    platform,
    model,
    main,
    forked,
    long: named("Upgrade the date library"),
    async close() {
      await world.platform.stop();
      await model.close();
    },
  };
  return world;
}

/** Runs the finished sessions of the past in this process, on a store whose clock is set back. */
async function seedPast({
  data,
  model,
  stories,
}: {
  data: string;
  model: ScriptedModel;
  stories: readonly Story[];
}): Promise<void> {
  let ago = 0;
  const store = await openStore(`sqlite:${join(data, "skein.db")}`, { now: () => Date.now() - ago });
  for (const story of stories.toSorted((one, other) => (other.hoursAgo ?? 0) - (one.hoursAgo ?? 0))) {
    ago = (story.hoursAgo ?? 0) * HOUR_MS;
    // Only the agent of this story is used. The workers of other agents would follow the real clock, not the clock of
    // the store.
    const agent = createAgents(OUTPUTS, { store, baseUrl: model.url, apiKey: "simulated" }).find(
      ({ name }) => name === story.agent,
    );
    if (!agent) throw new Error(`No agent ${story.agent}.`);
    let sessionId: string | undefined;
    for (const { prompt, picture } of story.turns) {
      const content =
        picture === undefined
          ? prompt
          : [
              { type: "image", source: { type: "base64", media_type: "image/png", data: picture } },
              { type: "text", text: prompt },
            ];
      const signal = prompt.startsWith("Summarise the tickets") ? AbortSignal.timeout(300) : undefined;
      const result = await agent.run(content, {
        ...(sessionId !== undefined && { sessionId }),
        ...(signal && { signal }),
      });
      ({ sessionId } = result);
    }
    if (sessionId !== undefined && story.title !== undefined)
      await (
        await agent.sessions()
      ).edit(sessionId, { title: story.title, ...(story.tags && { tags: [...story.tags] }) });
    await agent.close();
  }
  await store.close();
}

/**
 * Opens a session over HTTP and sends the prompts of the story. Unless `isAwaited` is false, waits after each prompt
 * until its run has ended or waits for a person.
 */
async function tell(client: Client, story: Story, { isAwaited = true } = {}): Promise<string> {
  const { data: agents } = await client.listAgents({ query: { limit: 200 } });
  const agent = agents.find(({ name }) => name === story.agent);
  if (!agent) throw new Error(`No agent ${story.agent}.`);
  const session = await client.createSession({
    body: { agent_id: agent.id, title: story.title ?? null, tags: [...(story.tags ?? [])] },
  });
  for (const { prompt } of story.turns) {
    await client.postMessage({ params: { session_id: session.id }, body: { role: "user", content: { text: prompt } } });
    if (isAwaited)
      await until(async () => (await client.getSession({ params: { session_id: session.id } })).activity !== "running");
  }
  return session.id;
}

/** Makes three forks: two forks of a session, and one fork of a fork. */
async function forks(client: Client, model: ScriptedModel, id: string): Promise<void> {
  const messages = (await client.listMessages({ params: { session_id: id }, query: { format: "blocks" } })).data;
  const at = messages[1]?.id;
  const fork = (from: string, title: string) =>
    client.forkSession({
      params: { session_id: from },
      body: { title, ...(at !== undefined && from === id && { message_id: at }) },
    });
  const first = await fork(id, "The same with an advisory lock");
  await fork(id, "Ask for the history first");
  await fork(first.id, "Shorter, for the handbook");
  model.plays("And with an advisory lock?", [
    { text: "`pg_try_advisory_lock` answers at once and is given back with the connection. No row, no expiry." },
  ]);
  await client.postMessage({
    params: { session_id: first.id },
    body: { role: "user", content: { text: "And with an advisory lock?" } },
  });
}

function commandOf(input: unknown): unknown {
  return (input as { command?: unknown } | null)?.command;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isSo().catch(() => false)) return;
    await delay(50);
  }
  throw new Error("A condition of the seed did not become true within 30 s.");
}
