import type { JsonObject } from "../../content.ts";
import type { FactData } from "../../event.ts";
import type { QuestionEventData } from "./responses.ts";

type Opened = FactData<"await.opened">["awaits"][number];

/** Returns the question for a person, or undefined if the session waits for a subagent. */
export function questionData(opened: Opened, sessionId: string): QuestionEventData | undefined {
  const { tool_use_id, kind, name, input, about } = opened;
  if (kind === "subagent") return undefined;
  const questions = questionsIn(input);
  return {
    tool_use_id,
    question: kind === "question" ? wordsOf(input, questions) : approvalWords(name, about),
    session_id: sessionId,
    kind,
    tool_name: name,
    input,
    ...about,
    ...(name === "ExitPlanMode" && { plan: planIn(input) }),
    ...(questions.length > 0 && { questions, options: questions[0]?.["options"] ?? [] }),
  };
}

function approvalWords(name: string, about: JsonObject | undefined): string {
  if (name === "ExitPlanMode") return "May this plan be carried out?";
  const title = about?.["title"];
  return typeof title === "string" ? title : `May ${name} run?`;
}

function planIn(input: unknown): string | null {
  const { plan } = (input ?? {}) as { plan?: unknown };
  return typeof plan === "string" ? plan : null;
}

/**
 * Returns the text of the question. Claude Code's input has a list `questions`. The example in the specification has a
 * single `question`.
 */
function wordsOf(input: unknown, questions: readonly JsonObject[]): string {
  const words = questions.map(({ question }) => question).filter((question) => typeof question === "string");
  if (words.length > 0) return words.join("\n");
  const { question } = (input ?? {}) as { question?: unknown };
  return typeof question === "string" ? question : JSON.stringify(input);
}

function questionsIn(input: unknown): readonly JsonObject[] {
  const { questions } = (input ?? {}) as { questions?: unknown };
  return Array.isArray(questions) ? (questions as readonly JsonObject[]) : [];
}
