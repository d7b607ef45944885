import { useRef, useState } from "react";
import { Link } from "wouter";
import { useApi, useChanged } from "../api/context.tsx";
import { useProblem } from "../api/use-problem.ts";
import { callWords } from "../session/call-words.ts";
import { InputView } from "../session/call-view.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { briefDuration } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { StateIcon } from "../ui/status.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useNow } from "../ui/use-now.ts";
import type { Answer, AwaitCardData } from "./await-card-data.ts";
import { ChangeInput } from "./change-input.tsx";
import { QuestionForm } from "./question-form.tsx";
import { ResultForm } from "./result-form.tsx";

interface AwaitCardProps {
  readonly wait: AwaitCardData;
  /** Whether this card reacts to keyboard shortcuts. */
  readonly isCurrent: boolean;
  readonly isInSession?: boolean;
  readonly onAnswered?: () => void;
}

const KINDS = { approval: "Approval", question: "Question", frontend_tool: "Your tool" } as const;

/** One question, approval or frontend tool, answered in place. The card shows in full what a person approves. */
export function AwaitCard({ wait, isCurrent, isInSession = false, onAnswered }: AwaitCardProps) {
  const api = useApi();
  const changed = useChanged();
  const now = useNow(1000);
  const [said, setSaid] = useState<string>();
  const [isSending, setSending] = useState(false);
  const { problem, showError, clear } = useProblem();

  const send = async (given: Parameters<Answer>[0]): Promise<void> => {
    setSending(true);
    clear();
    try {
      const { disposition } = await api.answer(wait, given);
      const word = given.isError ? "Denied" : wordFor(wait.kind);
      setSaid(disposition === "accepted" ? word : "Somebody else has already answered this");
      onAnswered?.();
      changed();
    } catch (error) {
      showError(error);
    } finally {
      setSending(false);
    }
  };
  const answer: Answer = (given) => {
    if (!isSending && said === undefined) void send(given);
  };

  if (said !== undefined)
    return (
      <div className="card ask is-said" role="status">
        <div className="ask-h">
          <span className="st done">
            <StateIcon state="done" />
          </span>
          <h3>{said}</h3>
          <span className="muted cut grow">{visibleLine(wait.title)}</span>
        </div>
      </div>
    );

  return (
    <article className={`card ask ${isCurrent ? "is-current" : ""}`} data-await={wait.toolUseId}>
      <div className="ask-h">
        <StateIcon state="waiting" />
        <div className="grow">
          <h3>{headline(wait)}</h3>
          <div className="meta">
            <span>{KINDS[wait.kind]}</span>
            <span>{visibleLine(wait.agentName)}</span>
            {!isInSession && <span className="cut">{visibleLine(wait.title)}</span>}
            <span className="waiting">waits {briefDuration(now - wait.openedAt)}</span>
            {wait.expiresAt !== null && <span>until {new Date(wait.expiresAt).toLocaleString("en-GB")}</span>}
          </div>
        </div>
        {!isInSession && (
          <Link className="btn quiet" href={`/sessions/${wait.sessionId}`}>
            <span className="desk-only">Open session</span>
            <span className="sr">Open the session {visibleLine(wait.title)}</span>
            <Icon name="chev" small />
          </Link>
        )}
      </div>
      {wait.kind === "approval" && (
        <ApprovalBody wait={wait} isCurrent={isCurrent} isSending={isSending} onAnswer={answer} />
      )}
      {wait.kind === "question" && (
        <QuestionForm input={wait.input} isCurrent={isCurrent} isSending={isSending} onAnswer={answer} />
      )}
      {wait.kind === "frontend_tool" && <ResultForm wait={wait} isSending={isSending} onAnswer={answer} />}
      {problem !== undefined && (
        <p role="alert" className="say-failed ask-problem">
          {problem}
        </p>
      )}
    </article>
  );
}

function wordFor(kind: AwaitCardData["kind"]): string {
  return kind === "approval" ? "Approved" : "Answered";
}

function headline(wait: AwaitCardData): string {
  const { name, about } = callWords(wait.name, wait.input);
  if (wait.kind === "question") return about === "" ? "A question" : about;
  if (wait.kind === "frontend_tool") return `Run ${name} yourself`;
  if (isAboutMoney(wait)) return "Spend more today?";
  if (wait.name === "Bash") return "Run a command?";
  if (isEdit(wait)) return `Change ${about}?`;
  return `Let ${name} run?`;
}

/** Whether the server asks for approval because a daily spending cap is nearly reached. */
function isAboutMoney({ name, toolUseId }: AwaitCardData): boolean {
  return name === "spend" && toolUseId.startsWith("spend_");
}

/** Whether the call changes a file, which can be undone. */
function isEdit({ name }: AwaitCardData): boolean {
  return /^(Edit|Write|MultiEdit)$/.test(name);
}

function hasValues(input: unknown): boolean {
  return typeof input === "object" && input !== null && !Array.isArray(input) && Object.keys(input).length > 0;
}

interface ApprovalBodyProps {
  readonly wait: AwaitCardData;
  readonly isCurrent: boolean;
  readonly isSending: boolean;
  readonly onAnswer: Answer;
}

function ApprovalBody({ wait, isCurrent, isSending, onAnswer }: ApprovalBodyProps) {
  const [isDenying, setDenying] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const [reason, setReason] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  const approve = (): void => onAnswer({ content: "yes" });
  const deny = (): void =>
    onAnswer({ content: reason.trim() === "" ? "Denied by the user." : reason.trim(), isError: true });
  // An action that cannot be undone needs two key presses. The first press focuses the button, and Enter activates it.
  const byKey = (): void => (isEdit(wait) ? approve() : button.current?.focus());
  const change = (): void => setChanging(true);
  useKeys({ a: byKey, d: () => setDenying(true), e: change }, isCurrent && !isSending && !isChanging);
  const { icon, name } = callWords(wait.name, wait.input);
  if (isChanging)
    return (
      <ChangeInput input={wait.input} isSending={isSending} onAnswer={onAnswer} onBack={() => setChanging(false)} />
    );
  return (
    <>
      <div className="ask-b">
        {isAboutMoney(wait) ? (
          <p>{callWords(wait.name, wait.input).about}</p>
        ) : (
          <div className="code ask-what">
            <div className="code-h">
              <Icon name={icon} small />
              <code>{name}</code>
            </div>
            <InputView call={wait} isWhole />
          </div>
        )}
      </div>
      <div className="ask-f">
        {isDenying ? (
          <>
            <p className="lbl whole" role="status">
              The call still waits. It is denied only when you press Deny again.
            </p>
            <label className="field grow reason">
              <span className="sr">Reason for the denial</span>
              <input
                autoFocus
                placeholder="Reason for the model (optional)"
                value={reason}
                onChange={(event) => setReason(event.target.value)}
                onKeyDown={(event) => event.key === "Enter" && deny()}
              />
            </label>
            <button type="button" className="btn" disabled={isSending} onClick={deny}>
              Deny
            </button>
            <button type="button" className="btn quiet" onClick={() => setDenying(false)}>
              Back
            </button>
          </>
        ) : (
          <>
            <button ref={button} type="button" className="btn solid" disabled={isSending} onClick={approve}>
              {isSending ? "Sending…" : "Approve"}
              {isCurrent && <kbd>A</kbd>}
            </button>
            <button type="button" className="btn" disabled={isSending} onClick={() => setDenying(true)}>
              Deny
              {isCurrent && <kbd>D</kbd>}
            </button>
            {hasValues(wait.input) && !isAboutMoney(wait) && (
              <button type="button" className="btn quiet" disabled={isSending} onClick={change}>
                Change the input…
              </button>
            )}
          </>
        )}
      </div>
    </>
  );
}
