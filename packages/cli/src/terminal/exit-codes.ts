/** Exit codes, the same for every command. In a file of their own, so that commands start fast. */
export const EXIT = {
  completed: 0,
  /** The command failed, also in part, or is not possible now. */
  failed: 1,
  usage: 2,
  notFound: 3,
  io: 4,
  waits: 5,
  cancelled: 130,
  terminated: 143,
} as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The end of a command that could not do what it was asked for: one sentence, and an exit code. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command was called wrongly. */
export class UsageError extends CommandError {
  override readonly name = "UsageError";

  constructor(message: string) {
    super(EXIT.usage, message);
  }
}

/** Something that was named is not there. */
export class MissingError extends CommandError {
  override readonly name = "MissingError";

  constructor(message: string) {
    super(EXIT.notFound, message);
  }
}

/** Claude Code has no files where they were looked for. */
export function dataMissing({ message }: Error): MissingError {
  return new MissingError(`${message}. --root FOLDER names another one.`);
}
