/** Exit codes of the commands for sessions. Apart from what knows the errors behind them, for commands that must start soon. */
export const EXIT = {
  completed: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  io: 4,
  waits: 5,
  cancelled: 130,
  terminated: 143,
} as const;

/** The command was called wrongly: one sentence, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Something that was named is not there: one sentence, and exit code 3. */
export class MissingError extends Error {
  override readonly name = "MissingError";
}
