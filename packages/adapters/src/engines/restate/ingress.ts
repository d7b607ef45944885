/**
 * A request to check whether a session is due (has work to do), and to work on it. If several wake-ups have the same
 * key, Restate ignores all but the first for some minutes.
 */
export interface WakeUp {
  readonly sessionId: string;
  /** Differs from the keys of the session's earlier wake-ups. Example: the last sequence. */
  readonly key: string;
  /** Delays the drive by this time. Default: 0. */
  readonly delayMs?: number;
}

export interface IngressDeps {
  /**
   * The addresses of the cluster's ingresses, the HTTP servers that accept requests. If an ingress does not answer, the
   * next ingress is asked.
   */
  readonly urls: readonly string[];
  readonly service: string;
  /** The bearer token for an ingress behind a gateway that requires one. */
  readonly token?: string | undefined;
  readonly fetch?: typeof fetch;
}

/** Where wake-ups are sent. */
export interface Ingress {
  /** Resolves when Restate has stored the wake-up durably. Rejects if no ingress accepted it. */
  send(wakeUp: WakeUp): Promise<void>;
  /** Resolves if an ingress answers. */
  check(): Promise<void>;
}

/** If an ingress needs longer than this, the next ingress is asked. */
const ANSWER_MS = 1500;

export function createIngress({ urls, service, token, fetch: send = fetch }: IngressDeps): Ingress {
  /** The index of the ingress that answered most recently. */
  let best = 0;

  async function sendTo(url: string, { sessionId, key, delayMs = 0 }: WakeUp): Promise<void> {
    const path = `${url}/${service}/${encodeURIComponent(sessionId)}/drive/send`;
    const answer = await send(delayMs > 0 ? `${path}?delay=${Math.ceil(delayMs)}ms` : path, {
      method: "POST",
      headers: {
        "idempotency-key": `${sessionId}:${key}`,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = await answer.text();
    if (!answer.ok)
      throw new Error(`Restate at ${url} refused a wake-up with status ${answer.status}: ${text.slice(0, 300)}`);
  }

  /** Asks the ingresses in turn until one answers. */
  async function any(ask: (url: string) => Promise<void>): Promise<void> {
    let problem: unknown;
    for (let n = 0; n < urls.length; n++) {
      const place = (best + n) % urls.length;
      try {
        await ask(urls[place] ?? "");
        best = place;
        return;
      } catch (error) {
        problem = error;
      }
    }
    const { message, cause } = problem as Error;
    const why = cause instanceof Error && cause.message !== "" ? `${message} (${cause.message})` : message;
    throw new Error(
      `No ingress of Restate answers at ${urls.join(", ")}: ${why}. Sessions wait, and their wake-ups are sent again until an ingress answers. Check SKEIN_RESTATE_URL.`,
      { cause: problem },
    );
  }

  return {
    send: (wakeUp) => any((url) => sendTo(url, wakeUp)),
    check: () =>
      any(async (url) => {
        const answer = await send(`${url}/restate/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
        await answer.body?.cancel();
        if (!answer.ok) throw new Error(`Restate at ${url} answered ${answer.status}.`);
      }),
  };
}
