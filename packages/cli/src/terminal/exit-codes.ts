/** Exit codes, the same for every command. This file imports nothing, so that commands start quickly. */
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

/** The meanings of the exit codes, for the help. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  completed: "done",
  failed: "failed, or done only in part",
  usage: "called wrongly",
  notFound: "no such session, file or store",
  io: "a file, a store or the network failed",
  waits: "the run waits for an answer",
  cancelled: "stopped (Ctrl-C)",
  terminated: "terminated (SIGTERM)",
};

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The error of a failed command. It has a sentence for people and an exit code. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The words or options of a command are wrong. */
export class UsageError extends CommandError {
  override readonly name = "UsageError";

  constructor(message: string) {
    super(EXIT.usage, message);
  }
}

/** A named session, file or store does not exist. */
export class MissingError extends CommandError {
  override readonly name = "MissingError";

  constructor(message: string) {
    super(EXIT.notFound, message);
  }
}

/**
 * Returns the error for missing files of Claude Code. With `everywhere`, the message says that no other agent has data.
 */
export function dataMissing({ message }: Error, everywhere = false): MissingError {
  const others = everywhere ? ", and no data of another agent in its usual place" : "";
  return new MissingError(`${message}${others}. Use --root FOLDER for another place.`);
}
