/**
 * `npm run bench -- models`: a turn with each model adapter, compared with bare `fetch` and the AI SDK's ToolLoopAgent.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ADAPTERS as ALL_ADAPTERS, type AdapterName } from "../scripts/kill/loop-models.ts";
import { startSimulator } from "./loop/simulator.ts";
import type { Peer } from "./peers/peers.ts";
import { installPeer, measurePeer } from "./peers/session.ts";
import { type Result, median, printed } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

/**
 * `bedrock` and `vertex` are left out: they share the code of `anthropic`, and the AI SDK has other packages for them.
 */
const ADAPTERS = ALL_ADAPTERS.filter((name) => name !== "bedrock" && name !== "vertex");

export const summary =
  "a turn with each adapter of a model, durable on sqlite, compared with bare fetch and the AI SDK's ToolLoopAgent";

const HELP = `npm run bench -- models [options]

One new session and one turn with one tool call (two model calls) against the same simulator: Skein durable on sqlite,
bare fetch, and the AI SDK's ToolLoopAgent with the provider package for the same API. Each runs in its own process, one
after the other. First one session at a time, then 32 at once. Ends with 1 if a goal was missed. About 3 minutes.

  --only NAME    anthropic, openai, openai-compatible or ai-sdk; may be given more than once (default: all)
  --rounds N     the number of rounds; the median is printed (default: 3)
  --in FOLDER    installs the AI SDK there, unless it is installed there already (default: a temporary folder)
  --quick        one round with fewer sessions
  --json         the results as JSON

Examples:
  npm run bench -- models
  npm run bench -- models --only openai --quick`;

const PACKAGES = ["ai", "@ai-sdk/anthropic", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/google", "zod"];
/** Each program first makes this number of turns that are not measured, so that its code is compiled. */
const WARM_TURNS = "150";

/** The measured programs: Skein, ToolLoopAgent and fetch. */
const SIDES = { ours: "skein", theirs: "ai-sdk", bare: "fetch" } as const;
type Side = keyof typeof SIDES;

/** For each round: the milliseconds of a single turn, its processor time, and sessions per second with 32 at once. */
type Figures = Record<Side, Record<"alone" | "processor" | "together", number[]>>;

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- models", {
    args: [...args],
    options: {
      only: { type: "string", multiple: true, default: [...ADAPTERS] },
      rounds: { type: "string", default: "3" },
      in: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const place = values.in === undefined ? mkdtempSync(join(tmpdir(), "skein-models-")) : resolve(values.in);
  mkdirSync(place, { recursive: true });
  const simulator = await startSimulator();
  const results: Result[] = [];
  try {
    const adapters = ADAPTERS.filter((adapter) => values.only.includes(adapter));
    const version = installPeer(place, peerOf("theirs", "anthropic"));
    console.error(`ai ${version}, load ${loadavg()[0]?.toFixed(1)}`);
    const figures = new Map(adapters.map((adapter) => [adapter, noFigures()]));
    for (let round = 0; round < (values.quick ? 1 : Number(values.rounds)); round++)
      for (const [adapter, measured] of figures)
        await measureRound(adapter, measured, { place, simulator: simulator.url, isQuick: values.quick });
    for (const [adapter, measured] of figures) results.push(...resultsOf(adapter, measured));
  } finally {
    await simulator.close();
    if (values.in === undefined) rmSync(place, { recursive: true, force: true });
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

function noFigures(): Figures {
  const none = () => ({ alone: [], processor: [], together: [] });
  return { ours: none(), theirs: none(), bare: none() };
}

function peerOf(side: Side, adapter: AdapterName): Peer {
  const packages = side === "theirs" ? PACKAGES : [];
  const env = { ADAPTER: adapter, WARM: WARM_TURNS };
  return { name: `${side} ${adapter}`, isDurable: side === "ours", packages, program: SIDES[side], env };
}

async function measureRound(
  adapter: AdapterName,
  figures: Figures,
  { place, simulator, isQuick }: { readonly place: string; readonly simulator: string; readonly isQuick: boolean },
): Promise<void> {
  for (const side of Object.keys(SIDES) as Side[]) {
    const where = { peer: peerOf(side, adapter), place, simulator };
    const alone = await measurePeer(where, isQuick ? 60 : 200, 1);
    const together = await measurePeer(where, isQuick ? 160 : 640, 32);
    figures[side].alone.push(median(alone.times));
    figures[side].processor.push(alone.processorMs / alone.times.length);
    figures[side].together.push(together.times.length / together.seconds);
  }
  const [ours, theirs] = [figures.ours.alone.at(-1) ?? 0, figures.theirs.alone.at(-1) ?? 0];
  console.error(`measured: ${adapter}, ${ours.toFixed(1)} ms beside ${theirs.toFixed(1)} ms`);
}

/**
 * The highest ratio of a turn's time, and the lowest ratio of sessions per second, to those of ToolLoopAgent. With
 * `ai-sdk`, Skein runs the code of the AI SDK in addition to its own.
 */
const GOALS = { own: { alone: 1.3, together: 1.5 }, "ai-sdk": { alone: 1.6, together: 1.2 } } as const;

function resultsOf(adapter: AdapterName, { ours, theirs, bare }: Figures): readonly Result[] {
  const goal = GOALS[adapter === "ai-sdk" ? "ai-sdk" : "own"];
  const ratio = (figure: "alone" | "together"): number =>
    median(ours[figure].map((value, round) => value / (theirs[figure][round] ?? value)));
  const [slower, more] = [ratio("alone"), ratio("together")];
  const overhead = median(ours.alone) - median(bare.alone);
  return [
    {
      what: `${adapter}: a turn over ToolLoopAgent's, p50`,
      store: "sqlite",
      value: slower,
      unit: "×",
      goal: `≤ ${goal.alone} ×`,
      passed: slower <= goal.alone,
      note: `${median(ours.alone).toFixed(2)} ms and ${median(theirs.alone).toFixed(2)} ms, of the processor ${median(ours.processor).toFixed(2)} and ${median(theirs.processor).toFixed(2)}; ${overhead.toFixed(2)} ms over fetch`,
    },
    {
      what: `${adapter}: sessions/s over ToolLoopAgent's at 32`,
      store: "sqlite",
      value: more,
      unit: "×",
      goal: `≥ ${goal.together} ×`,
      passed: more >= goal.together,
      note: `${Math.round(median(ours.together))} and ${Math.round(median(theirs.together))} /s; fetch ${Math.round(median(bare.together))}`,
    },
  ];
}
