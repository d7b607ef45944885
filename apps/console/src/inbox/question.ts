import { textValue } from "../text/safe-text.ts";

/** A question in the format of the tool AskUserQuestion. */
export interface Question {
  readonly question: string;
  readonly header: string;
  readonly multiSelect: boolean;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}

/** Returns the questions in the input of a call. An input in another format gives one question without options. */
export function questionsOf(input: unknown): readonly Question[] {
  const values = (input ?? {}) as Record<string, unknown>;
  const list = values["questions"];
  if (Array.isArray(list) && list.length > 0)
    return list.map((one) => questionOf((one ?? {}) as Record<string, unknown>));
  const plain = [values["question"], values["prompt"], values["message"], values["text"]].find(
    (value) => typeof value === "string",
  );
  return [
    {
      question: typeof plain === "string" ? plain : "What is your answer?",
      header: "",
      multiSelect: false,
      options: [],
    },
  ];
}

function questionOf(one: Record<string, unknown>): Question {
  const options = Array.isArray(one["options"]) ? one["options"] : [];
  return {
    question: textValue(one["question"]),
    header: typeof one["header"] === "string" ? one["header"] : "",
    multiSelect: one["multiSelect"] === true,
    options: options.map((option: Record<string, unknown>) => ({
      label: textValue(option["label"]),
      description: typeof option["description"] === "string" ? option["description"] : "",
    })),
  };
}

/**
 * Returns the answer in the format for the model. Questions of AskUserQuestion need the format of Claude Code. Other
 * answers are plain text.
 */
export function answerText(input: unknown, answers: readonly string[]): string {
  const questions = questionsOf(input);
  if (!Array.isArray((input as Record<string, unknown> | null)?.["questions"])) return answers.join("\n");
  return JSON.stringify({
    answers: Object.fromEntries(questions.map(({ question }, at) => [question, answers[at] ?? ""])),
  });
}
