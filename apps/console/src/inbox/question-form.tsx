import { useId, useState } from "react";
import { visible } from "../text/safe-text.ts";
import { useKeys } from "../ui/use-keys.ts";
import type { Answer } from "./await-card-data.ts";
import { type Question, answerText, questionsOf } from "./question.ts";

interface QuestionFormProps {
  readonly input: unknown;
  readonly isCurrent: boolean;
  readonly isSending: boolean;
  readonly onAnswer: Answer;
}

/** Questions with options to choose from. A free text is always possible. */
export function QuestionForm({ input, isCurrent, isSending, onAnswer }: QuestionFormProps) {
  const questions = questionsOf(input);
  const [answers, setAnswers] = useState<readonly string[]>(() => questions.map(() => ""));
  const set = (at: number, value: string): void =>
    setAnswers(answers.map((old, other) => (other === at ? value : old)));
  const [only] = questions;
  const choose = (at: number) => () => {
    const label = only?.options[at]?.label;
    if (label !== undefined && questions.length === 1) set(0, label);
  };
  const numbers = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [String(at + 1), choose(at)]));
  useKeys(numbers, isCurrent && !isSending);
  const isWhole = answers.every((answer) => answer.trim() !== "");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) onAnswer({ content: answerText(input, answers) });
      }}
    >
      <div className="ask-b">
        {questions.map((question, at) => (
          <OneQuestion
            key={at}
            question={question}
            isFirst={at === 0}
            value={answers[at] ?? ""}
            onValue={(value) => set(at, value)}
          />
        ))}
      </div>
      <div className="ask-f">
        <button type="submit" className="btn solid" disabled={!isWhole || isSending}>
          {isSending ? "Sending…" : "Answer"}
        </button>
      </div>
    </form>
  );
}

interface OneQuestionProps {
  readonly question: Question;
  readonly isFirst: boolean;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function OneQuestion({ question, isFirst, value, onValue }: OneQuestionProps) {
  const name = useId();
  const { options, multiSelect } = question;
  const chosen = multiSelect ? value.split(", ").filter((one) => one !== "") : [value];
  const isOwn = value !== "" && !chosen.every((one) => options.some(({ label }) => label === one));
  const toggle = (label: string): void => {
    if (!multiSelect) return onValue(label);
    const rest = chosen.filter((one) => one !== label && options.some((option) => option.label === one));
    onValue((chosen.includes(label) ? rest : [...rest, label]).join(", "));
  };
  return (
    <fieldset className="opts">
      <legend className={isFirst ? "sr" : "asked"}>{visible(question.question)}</legend>
      {options.map(({ label, description }, at) => (
        <label key={label} className={`opt ${chosen.includes(label) ? "on" : ""}`}>
          <input
            className="sr"
            type={multiSelect ? "checkbox" : "radio"}
            name={name}
            checked={chosen.includes(label)}
            onChange={() => toggle(label)}
          />
          <span className={multiSelect ? "ring square" : "ring"} />
          <span className="grow">
            {visible(label)}
            {description !== "" && <span className="lbl block">{visible(description)}</span>}
          </span>
          <kbd className="desk-only">{at + 1}</kbd>
        </label>
      ))}
      <label className="field own">
        <span className="sr">Own words</span>
        <input
          placeholder={options.length === 0 ? "Your answer" : "Or in your own words"}
          value={isOwn || options.length === 0 ? value : ""}
          onChange={(event) => onValue(event.target.value)}
        />
      </label>
    </fieldset>
  );
}
