import { createRandom } from "../kill/random.ts";
import { json, problemsOf } from "./check-answer.ts";
import { curlOf } from "./curl.ts";
import { describe } from "./description.ts";
import { createKnownThings } from "./known-things.ts";
import { type FuzzRequest, type RequestSource, makeRequest } from "./requests.ts";
import { type FuzzAnswer, createSending } from "./send.ts";
import type { ServedKeys } from "./start-server.ts";
import { makeWorld } from "./world.ts";

export interface CampaignOptions {
  readonly url: string;
  readonly keys: ServedKeys;
  readonly requests: number;
  /** Sends only the request with this index. */
  readonly only?: number | undefined;
  readonly seed: number;
  readonly atOnce?: number;
  readonly progress?: (text: string) => void;
  /** Whether the campaign must end early, for example because the server has ended. */
  readonly isOver?: () => boolean;
}

/** A wrong answer, with the request that reproduces it. */
interface Failure {
  readonly index: number;
  readonly operation: string;
  readonly problem: string;
  readonly curl: string;
}

export interface Campaign {
  sent: number;
  seconds: number;
  readonly byStatus: Map<number, number>;
  /** Operations that succeeded at least once. */
  readonly succeeded: Set<string>;
  readonly operations: readonly string[];
  /** Contains each problem of an operation only once. */
  readonly failures: Failure[];
  failed: number;
  slowest: { readonly ms: number; readonly what: string };
}

const PROGRESS_MS = 3000;
const FEW_SESSIONS = 6;

export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { url, keys, only, requests: wanted, seed, atOnce = 12, progress = () => {}, isOver = () => false } = options;
  const description = await describe(url, keys.admin);
  const source: RequestSource = { description, keys, known: createKnownThings(), foreign: createKnownThings() };
  await makeWorld({ url, key: keys.admin, known: source.known });
  if (keys.foreign !== undefined) await makeWorld({ url, key: keys.foreign, known: source.foreign });
  const sending = createSending(url, keys);
  const { operations } = description;
  const campaign: Campaign = {
    sent: 0,
    seconds: 0,
    byStatus: new Map(),
    succeeded: new Set(),
    operations: operations.map(({ id }) => id),
    failures: [],
    failed: 0,
    slowest: { ms: 0, what: "" },
  };
  const began = performance.now();
  let told = began;
  let next = only ?? 0;
  const requests = only === undefined ? wanted : only + 1;
  let refilling: Promise<void> | undefined;

  function fail(request: FuzzRequest, problem: string): void {
    campaign.failed += 1;
    const operation = request.operation?.id ?? "(none)";
    const shape = (text: string): string => text.replaceAll(/[0-9a-f-]{36}|\d+/g, "#").slice(0, 80);
    if (campaign.failures.some((one) => one.operation === operation && shape(one.problem) === shape(problem))) return;
    campaign.failures.push({ index: request.index, operation, problem, curl: curlOf(request, url) });
    progress(`Request ${request.index}, ${operation}: ${problem}`);
  }

  async function one(index: number): Promise<void> {
    const random = createRandom(seed * 1_000_003 + index);
    const request = makeRequest(index, random, source);
    const answer = await sending.send(request);
    note(request, answer);
    for (const problem of problemsOf(request, answer, description)) fail(request, problem);
    const isSuccess = answer.status >= 200 && answer.status < 300;
    if (isSuccess && request.headers["idempotency-key"] !== undefined && random.chance(0.5)) {
      const again = await sending.send(request);
      // The streams are not compared, because only their beginnings are read, up to a point that depends on timing.
      const isStream = answer.headers["content-type"]?.includes("text/event-stream") ?? false;
      const same = again.status === answer.status && (isStream || isSame(answer.text, again.text));
      if (!same)
        fail(
          request,
          `the repeated request with the same Idempotency-Key got a different answer: ${again.status} ${again.text.slice(0, 200)}`,
        );
    }
  }

  function note(request: FuzzRequest, answer: FuzzAnswer): void {
    const { operation, path, method } = request;
    const { status, ms } = answer;
    campaign.sent += 1;
    campaign.byStatus.set(status, (campaign.byStatus.get(status) ?? 0) + 1);
    if (ms > campaign.slowest.ms)
      campaign.slowest = { ms, what: `${request.index} ${method} ${operation?.path ?? path}` };
    if (status < 200 || status >= 300) return;
    if (operation) campaign.succeeded.add(operation.id);
    if (request.sender !== "admin" || request.foreign) return;
    if (status === 204) source.known.forget(/sessions\/([^/?]+)/.exec(path)?.[1] ?? "");
    else if (String(answer.headers["content-type"]).startsWith("application/json"))
      source.known.learn(path, json(answer.text));
  }

  async function refill(): Promise<void> {
    if (source.known.sessions.length >= FEW_SESSIONS) return;
    // This may fail, because another request can archive the new agent or delete a new session. The next call retries.
    refilling ??= makeWorld({ url, key: keys.admin, known: source.known })
      .catch(() => {})
      .finally(() => (refilling = undefined));
    await refilling;
  }

  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < requests && !isOver()) {
        await refill();
        await one(next++);
        const now = performance.now();
        if (now - told < PROGRESS_MS) continue;
        told = now;
        progress(
          `${campaign.sent.toLocaleString("en")} of ${requests.toLocaleString("en")} requests, ${campaign.failed} failed`,
        );
      }
    }),
  );
  sending.close();
  campaign.seconds = (performance.now() - began) / 1000;
  return campaign;
}

/**
 * Whether two answers to a repeated request are equal. A secret is shown only once, so it may be null in the second
 * answer.
 */
function isSame(first: string, again: string): boolean {
  if (first === again) return true;
  try {
    const [before, after] = [JSON.parse(first), JSON.parse(again)] as [
      Record<string, unknown>,
      Record<string, unknown>,
    ];
    const shownOnce = Object.keys(after).filter((name) => after[name] === null && typeof before[name] === "string");
    return JSON.stringify({ ...before, ...Object.fromEntries(shownOnce.map((name) => [name, null])) }) === again;
  } catch {
    return false;
  }
}
