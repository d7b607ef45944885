import { createInterface } from "node:readline/promises";
import { UsageError } from "./exit-codes.ts";

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Asks a person "[y/N]". Without a terminal, throws a usage error with the text `withoutPerson`. */
export async function isConfirmed(
  question: string,
  withoutPerson: string,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  if (!input.isTTY || !output.isTTY) throw new UsageError(withoutPerson);
  const questions = createInterface({ input, output });
  // Ctrl-D and Ctrl-C close the question. An empty answer means no.
  const left = new Promise<string>((resolve) => questions.once("close", () => resolve("")));
  questions.once("SIGINT", () => questions.close());
  try {
    const answer = await Promise.race([questions.question(`${question} [y/N] `), left]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    questions.close();
  }
}
