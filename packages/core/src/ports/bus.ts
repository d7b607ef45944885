/**
 * Carries messages between the machines that share a store. A message may be lost, late or delivered twice. So a
 * listener must not base a decision on a message: only the log and its leases count. Without a bus, readers on other
 * machines see the same events later. `say`, `listen` and `show` do not wait and do not throw.
 */
export interface Bus {
  /** The name of this machine. It is unique on the bus. */
  readonly instance: string;
  /** Sends a message, as JSON, to every listener of a channel on other machines. */
  say(channel: string, words: unknown): void;
  /**
   * Calls back for each message of another machine on a channel. Returns a function that unsubscribes. Check each
   * message before you use it.
   */
  listen(channel: string, listener: (words: unknown) => void): () => void;
  /** Writes something for people who look at the bus. Skein never reads it back. */
  show(shown: Shown): void;
  /** Resolves if the bus works now, and rejects with the reason if it does not. */
  check(): Promise<void>;
  /** Closes the connections. Messages after that are dropped. */
  close(): Promise<void>;
}

/** The data of a session that people see on the bus, in the structures of the Claude API. */
export type Shown =
  | { readonly kind: "session"; readonly session: ShownSession }
  /** Whether somebody follows the session on this machine. */
  | { readonly kind: "connected" | "disconnected"; readonly sessionId: string }
  /** Whether this machine drives (runs) the session. */
  | { readonly kind: "locked" | "unlocked"; readonly sessionId: string }
  /** The session was deleted: its entries on the bus are removed. */
  | { readonly kind: "deleted"; readonly sessionId: string };

interface ShownSession {
  readonly id: string;
  readonly status: "active" | "completed" | "error";
  readonly model: string;
  readonly created_at: string;
  readonly last_activity: string;
}
