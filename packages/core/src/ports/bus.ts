/**
 * What carries words between the machines that share a store.
 *
 * Nothing on it is a fact. What is said may be lost, late or doubled, and whoever hears it decides nothing by it: the log
 * and its leases do. A bus that is gone makes answers later, never different. So no verb waits, and none throws.
 */
export interface Bus {
  /** Which machine this is among the others. */
  readonly instance: string;
  /** Says something to whoever listens to a channel on another machine. It is carried as JSON. */
  say(channel: string, words: unknown): void;
  /** Hears what other machines say there. What they say must be checked like anything from outside. */
  listen(channel: string, listener: (words: unknown) => void): () => void;
  /** Shows something to people who look at the bus. Never read back. */
  show(shown: Shown): void;
  /** Whether it works now. Rejects with the reason if it does not. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** What is shown of a session: three structures of the Claude API. */
export type Shown =
  | { readonly kind: "session"; readonly session: ShownSession }
  /** Somebody follows the session on this machine, or nobody does any more. */
  | { readonly kind: "connected" | "disconnected"; readonly sessionId: string }
  /** This machine drives the session, or does not any more. */
  | { readonly kind: "locked" | "unlocked"; readonly sessionId: string };

interface ShownSession {
  readonly id: string;
  readonly status: "active" | "completed" | "error";
  readonly model: string;
  readonly created_at: string;
  readonly last_activity: string;
}
