import { type KnownError, isKnownError } from "@skein/protocol";
import type { RequestContext } from "../request-context.ts";

/** How long each part may take to report its state, so that `/health` and `/ready` answer within a second. */
const ANSWER_MS = 900;
const LEAST_MS = 100;

/** The state of one part that the server depends on. */
export interface PartHealth {
  readonly name: string;
  readonly status: "ok" | "failed";
  readonly latency_ms: number;
  readonly detail: string;
}

/** Sentences for `/health`, by the error code of the store. */
const STORE_SAYS: Readonly<Partial<Record<KnownError["code"], string>>> = {
  disk_full: "The disk of the store is full.",
  read_only: "The store cannot be written.",
  store_corrupt: "The store is damaged.",
};
const SILENT = "The store does not answer.";

/** The state of the store, with the kind of the store or a sentence about what is wrong. */
export async function storeHealth({ shared: { deps, checkStore }, reply }: RequestContext): Promise<PartHealth> {
  const began = performance.now();
  const problem = await inTime(checkStore(), timeLeft(reply)).then(
    () => undefined,
    (error: unknown) => (isKnownError(error) ? (STORE_SAYS[error.code] ?? SILENT) : SILENT),
  );
  const kind = deps.description.store.split(":")[0] ?? "";
  return {
    name: "store",
    status: problem === undefined ? "ok" : "failed",
    latency_ms: performance.now() - began,
    detail: problem ?? kind,
  };
}

/** Returns the state of the bus between machines, or an empty list without a bus. */
export async function busHealth({ shared: { deps }, reply }: RequestContext): Promise<readonly PartHealth[]> {
  if (!deps.bus) return [];
  const silent = "Redis does not answer: drafts of other machines are not shown.";
  return [await partHealth({ name: "redis", check: deps.bus.check(), does: "drafts between machines", silent }, reply)];
}

/** Returns the state of an engine outside this process, or an empty list without such an engine. */
export async function engineHealth({ shared: { deps }, reply }: RequestContext): Promise<readonly PartHealth[]> {
  if (!deps.engineCheck) return [];
  const silent = "No Restate server answers: workers find waiting sessions by themselves, about 2 s late.";
  return [
    await partHealth(
      { name: "restate", check: deps.engineCheck(), does: "starts the runs of sessions", silent },
      reply,
    ),
  ];
}

/**
 * The state of a part outside this process. If the part does not answer, the sentence leaves out the part's address,
 * because every caller with a key may read the sentence.
 */
async function partHealth(
  part: { readonly name: string; readonly check: Promise<unknown>; readonly does: string; readonly silent: string },
  reply: RequestContext["reply"],
): Promise<PartHealth> {
  const began = performance.now();
  const isUp = await inTime(part.check, timeLeft(reply)).then(
    () => true,
    () => false,
  );
  const latency_ms = performance.now() - began;
  return { name: part.name, status: isUp ? "ok" : "failed", latency_ms, detail: isUp ? part.does : part.silent };
}

/** The state of the file store, if it can be checked. */
export async function filesHealth({ shared: { checkFiles }, reply }: RequestContext): Promise<readonly PartHealth[]> {
  if (!checkFiles) return [];
  const began = performance.now();
  const problem = await inTime(checkFiles(), timeLeft(reply)).then(
    () => undefined,
    (error: unknown) => (isKnownError(error) ? error.message : "The storage of files does not answer."),
  );
  const status = problem === undefined ? "ok" : "failed";
  return [
    { name: "files", status, latency_ms: performance.now() - began, detail: problem ?? "generated files, large texts" },
  ];
}

/** The state of the sandbox around programs that a model can control. */
export async function wallsHealth({ shared: { deps }, reply }: RequestContext): Promise<readonly PartHealth[]> {
  if (!deps.walls) return [];
  const began = performance.now();
  const { isKept, says } = await inTime(deps.walls(), timeLeft(reply)).catch(() => ({
    isKept: true,
    says: "The sandbox is still being tested.",
  }));
  const latency_ms = performance.now() - began;
  return [{ name: "sandbox", status: isKept ? "ok" : "failed", latency_ms, detail: says }];
}

/** Returns a failed part if sessions wait because no worker can run them. Otherwise returns an empty list. */
export async function queueHealth({ shared, reply }: RequestContext): Promise<readonly PartHealth[]> {
  const began = performance.now();
  const waiting = await inTime(shared.unserved(), timeLeft(reply)).catch(() => []);
  const [first] = waiting;
  if (!first) return [];
  const others = waiting.length === 1 ? "1 session waits" : `${waiting.length} sessions wait`;
  return [
    {
      name: "sessions",
      status: "failed",
      latency_ms: performance.now() - began,
      detail: `${others}. Session ${first.sessionId}: ${first.missing}`,
    },
  ];
}

/** How long a part may still take. */
function timeLeft({ elapsedTime }: RequestContext["reply"]): number {
  return Math.max(LEAST_MS, ANSWER_MS - elapsedTime);
}

/** Returns the result of `work`. Rejects if the work takes longer than `mostMs`. */
export async function inTime<Result>(work: Promise<Result>, mostMs: number): Promise<Result> {
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error("No answer in time.")), mostMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(late);
  }
}
