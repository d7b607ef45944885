import type { Await } from "@skein/protocol";
import { z } from "zod";
import type { Screen } from "./screen.ts";
import { visible, visibleLine } from "./visible-text.ts";
import { shorten } from "./width.ts";

/** One question to a person, and the function that reads the typed answer. */
export interface Ask {
  readonly text: string;
  /** Reads the typed line. If it returns undefined, the person is asked again. */
  readonly read: (line: string) => Answer | undefined;
}

interface Answer {
  readonly content: string;
  readonly isError?: boolean;
  /** Whether later calls of the same tool may run without a question. */
  readonly isForAll?: boolean;
}

/** The part of AskUserQuestion's input that the person sees. */
const Questions = z.object({
  questions: z
    .array(
      z.object({
        question: z.string(),
        header: z.string().optional(),
        multiSelect: z.boolean().default(false),
        options: z.array(z.object({ label: z.string(), description: z.string().optional() })).default([]),
      }),
    )
    .min(1),
});
type Question = z.infer<typeof Questions>["questions"][number];

/**
 * Returns the questions to ask a person for an await (an approval, a question or a tool result that a session waits
 * for). Only AskUserQuestion can have several questions.
 */
export function asksFor(screen: Screen, wait: Await): readonly Ask[] {
  const { note: paint } = screen.paint;
  const call = shorten(`${wait.name} ${JSON.stringify(wait.input)}`, 300);
  if (wait.kind === "approval")
    return [
      {
        text: `${paint.yellow(`May this run? ${call}`)}\n[y]es, [a]lways ${visibleLine(wait.name)}, or [n]o and why: `,
        read: readApproval,
      },
    ];
  if (wait.kind === "frontend_tool")
    return [
      { text: `${paint.yellow(`Run this tool yourself: ${call}`)}\nIts result: `, read: (line) => ({ content: line }) },
    ];
  const structured = Questions.safeParse(wait.input);
  if (structured.success) return structured.data.questions.map((question) => asked(screen, question));
  return [{ text: `${paint.yellow(visible(plainQuestion(wait.input) ?? call))}\n`, read: notEmpty }];
}

/** Returns the questions in the input of a tool call as one text, or undefined if the input has no known form. */
export function questionIn(input: unknown): string | undefined {
  const structured = Questions.safeParse(input);
  if (!structured.success) return plainQuestion(input);
  return structured.data.questions
    .map(({ question, options }) =>
      options.length === 0 ? question : `${question} (${options.map(({ label }) => label).join(", ")})`,
    )
    .join(" ");
}

/**
 * Returns a person's answers as the content of the tool result. For AskUserQuestion, the format is Claude Code's JSON.
 */
export function contentOf(wait: Await, answers: readonly string[]): string {
  const structured = Questions.safeParse(wait.input);
  if (wait.kind !== "question" || !structured.success) return answers.join("\n");
  const entries = structured.data.questions.map(({ question }, at) => [question, answers[at] ?? ""] as const);
  return JSON.stringify({ answers: Object.fromEntries(entries) });
}

function asked(screen: Screen, { question, header, multiSelect, options }: Question): Ask {
  const { note: paint } = screen.paint;
  const lines = options.map(
    ({ label, description }, at) =>
      `  ${at + 1}. ${visibleLine(label)}${description === undefined ? "" : paint.dim(`  ${visibleLine(description)}`)}`,
  );
  const how =
    options.length === 0
      ? ""
      : multiSelect
        ? "Numbers with commas, or your own words: "
        : "A number, or your own words: ";
  const title = header === undefined ? "" : `[${visibleLine(header)}] `;
  return {
    text: [paint.yellow(title + visible(question)), ...lines, how].join("\n"),
    read: (line) =>
      chosen(
        line.trim(),
        options.map(({ label }) => label),
        multiSelect,
      ),
  };
}

function chosen(line: string, labels: readonly string[], several: boolean): { content: string } | undefined {
  if (line === "") return undefined;
  const parts = several ? line.split(",").map((part) => part.trim()) : [line];
  if (!parts.every((part) => /^\d+$/.test(part)) || labels.length === 0) return { content: line };
  const found = parts.map((part) => labels[Number(part) - 1]);
  return found.every((label) => label !== undefined) ? { content: found.join(", ") } : undefined;
}

function readApproval(line: string): Answer | undefined {
  if (/^\s*y(es)?\s*$/i.test(line)) return { content: "yes" };
  if (/^\s*a(lways)?\b/i.test(line)) return { content: "yes", isForAll: true };
  const denied = /^\s*no?\b[\s,.:]*(.*)$/i.exec(line);
  return denied ? { content: denied[1] ?? "", isError: true } : undefined;
}

function notEmpty(line: string): { content: string } | undefined {
  return line.trim() === "" ? undefined : { content: line };
}

/** Finds the question of a tool other than AskUserQuestion, in a field with a usual name. */
function plainQuestion(input: unknown): string | undefined {
  const { question, prompt, message, text } = (input ?? {}) as Record<string, unknown>;
  const found = [question, prompt, message, text].find((value) => typeof value === "string");
  return typeof found === "string" ? found : undefined;
}
