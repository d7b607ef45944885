import type { IncomingHttpHeaders } from "node:http";
import type { Ids } from "./ids.ts";
import type { StopReason, Usage } from "./wire.ts";

/**
 * How a call ended: `answered` in full; `faulted` as its script requested; `rejected` with a 4xx by the simulator's own
 * checks; `aborted` because the client disconnected first. A call that has not ended is `open`.
 */
export type Outcome = "open" | "answered" | "faulted" | "rejected" | "aborted";

export type CallKind =
  | "messages"
  | "chat"
  | "responses"
  | "gemini"
  | "bedrock"
  | "vertex"
  | "count_tokens"
  | "models"
  | "files"
  | "other";

/** One call, in the order of arrival. */
export interface Call {
  /** The `request-id` that was sent to the client. */
  readonly id: string;
  readonly kind: CallKind;
  readonly method: string;
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Headers that identify callers: `anthropic-*`, `x-*`, `user-agent`, `idempotency-key`. API keys are left out. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string | null;
  readonly stream: boolean;
  /** The parsed body. Null if the call has no body, or if its body was dropped (`keepBodies`). */
  readonly request: unknown;
  readonly label: string | null;
  /** Which step of its script was played; null without a script. */
  readonly step: number | null;
  readonly outcome: Outcome;
  readonly status: number | null;
  readonly stopReason: StopReason | null;
  /** The usage of the answer; for an aborted or faulted call, the usage that the full answer would have had. */
  readonly usage: Usage | null;
  /** The message of the error that was sent. */
  readonly error: string | null;
  readonly durationMs: number | null;
}

export interface Totals {
  readonly calls: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Counts only answered calls. */
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly output_tokens: number;
  };
}

export interface CallFilter {
  readonly kind?: CallKind | undefined;
  readonly label?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly model?: string | undefined;
}

/** The calls that the simulator received. */
export interface Ledger {
  calls(filter?: CallFilter): readonly Call[];
  totals(): Totals;
  clear(): void;
}

export interface LedgerOptions {
  /** How many calls are remembered; the totals include all calls. Default: 10,000. */
  readonly keepCalls?: number;
  /** How many request bodies are remembered (the latest, at most 64 MB together). Default: 200. */
  readonly keepBodies?: number;
}

/** The ledger with its writing methods. Only the simulator uses them. */
export interface LedgerBook extends Ledger {
  open(call: Pick<Call, "kind" | "method" | "path"> & { readonly headers: IncomingHttpHeaders }): OpenCall;
  keepBody(call: OpenCall, body: unknown, bytes: number): void;
  settle(call: OpenCall, outcome: Outcome, status: number | null): void;
}

export type OpenCall = { -readonly [Key in keyof Call]: Call[Key] };

const MAXIMUM_BODY_BYTES = 64 * 1024 * 1024;

export function createLedger(
  { now, ids }: { readonly now: () => number; readonly ids: Ids },
  { keepCalls = 10_000, keepBodies = 200 }: LedgerOptions = {},
): LedgerBook {
  let calls: OpenCall[] = [];
  let bodies: { readonly call: OpenCall; readonly bytes: number }[] = [];
  let bodyBytes = 0;
  let totals = noTotals();

  function forgetBody(): void {
    const oldest = bodies.shift();
    if (!oldest) return;
    oldest.call.request = null;
    bodyBytes -= oldest.bytes;
  }

  return {
    open({ kind, method, path, headers }) {
      const call: OpenCall = {
        id: ids("req_"),
        kind,
        method,
        path,
        at: now(),
        headers: telling(headers),
        model: null,
        stream: false,
        request: null,
        label: null,
        step: null,
        outcome: "open",
        status: null,
        stopReason: null,
        usage: null,
        error: null,
        durationMs: null,
      };
      calls.push(call);
      // Old calls are removed in blocks, so that removal costs almost nothing per call.
      if (calls.length >= 2 * keepCalls + 1000) calls = calls.slice(-keepCalls);
      totals.calls += 1;
      totals.outcomes.open += 1;
      return call;
    },
    keepBody(call, body, bytes) {
      if (keepBodies === 0) return;
      call.request = body;
      bodies.push({ call, bytes });
      bodyBytes += bytes;
      while (bodies.length > keepBodies || (bodyBytes > MAXIMUM_BODY_BYTES && bodies.length > 1)) forgetBody();
    },
    settle(call, outcome, status) {
      totals.outcomes.open -= 1;
      totals.outcomes[outcome] += 1;
      call.outcome = outcome;
      call.status = status;
      call.durationMs = now() - call.at;
      if (outcome !== "answered" || !call.usage) return;
      totals.usage.input_tokens += call.usage.input_tokens;
      totals.usage.cache_creation_input_tokens += call.usage.cache_creation_input_tokens;
      totals.usage.cache_read_input_tokens += call.usage.cache_read_input_tokens;
      totals.usage.output_tokens += call.usage.output_tokens;
    },
    calls(filter = {}) {
      const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
      return calls
        .slice(-keepCalls)
        .filter((call) => wanted.every(([key, value]) => call[key as keyof CallFilter] === value));
    },
    totals: () => structuredClone(totals),
    clear() {
      const stillOpen = totals.outcomes.open;
      calls = calls.filter((call) => call.outcome === "open");
      bodies = bodies.filter(({ call }) => call.outcome === "open");
      bodyBytes = bodies.reduce((sum, body) => sum + body.bytes, 0);
      totals = noTotals();
      totals.calls = stillOpen;
      totals.outcomes.open = stillOpen;
    },
  };
}

interface MutableTotals {
  calls: number;
  outcomes: Record<Outcome, number>;
  usage: { -readonly [Key in keyof Totals["usage"]]: number };
}

function noTotals(): MutableTotals {
  return {
    calls: 0,
    outcomes: { open: 0, answered: 0, faulted: 0, rejected: 0, aborted: 0 },
    usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
  };
}

function telling(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name in headers) {
    if (name === "x-api-key" || name === "x-goog-api-key") continue;
    const isTelling =
      name.startsWith("x-") || name.startsWith("anthropic-") || name === "user-agent" || name === "idempotency-key";
    if (isTelling) kept[name] = String(headers[name]);
  }
  return kept;
}
