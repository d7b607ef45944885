import { type Content, blocksOf, isToolUse, textOf } from "@skein/protocol";
import { Link } from "wouter";
import { visibleLine } from "../text/safe-text.ts";
import { duration, money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import { useNow } from "../ui/use-now.ts";
import { callWords, markOfCall } from "./call-words.ts";
import { useLiveSession } from "./live-session.ts";
import type { Call, NestedMessage, Step } from "./view.ts";

/** Shows a call that a subagent works on, and the progress of the subagent in its session. */
export function Subagent({ call, isOpen, onToggle }: { call: Call; isOpen: boolean; onToggle: () => void }) {
  const { about } = callWords(call.name, call.input);
  const isRunning = call.endedAt === null;
  const now = useNow(1000, isRunning);
  const took = call.startedAt === null ? null : (call.endedAt ?? now) - call.startedAt;
  return (
    <div className="sub" id={`call-${call.id}`}>
      <button type="button" className="sub-h" aria-expanded={isOpen} onClick={onToggle}>
        <Icon name="chev" small className={isOpen ? "chev is-open" : "chev"} />
        <Icon name="agents" small />
        <b>{visibleLine(call.name)}</b>
        <span className="muted cut">{about}</span>
        <span className="end">
          {took !== null && <span>{duration(took)}</span>}
          <StateMark {...markOfCall(call.state)} />
        </span>
      </button>
      {isOpen && call.childSession !== null && (
        <ChildSteps key={String(isRunning)} sessionId={call.childSession} isOver={!isRunning} />
      )}
    </div>
  );
}

function ChildSteps({ sessionId, isOver }: { sessionId: string; isOver: boolean }) {
  const { view, phase } = useLiveSession(sessionId, isOver);
  if (phase === "failed" || phase === "deleted") return <p className="note">The session of this subagent is gone.</p>;
  return (
    <ol>
      {view.steps.map((step) => (
        <ChildStep key={step.key} step={step} />
      ))}
      <li>
        <Link className="link" href={`/sessions/${sessionId}`}>
          Open its session
        </Link>
        <span className="end">{view.costMicros > 0 && money(view.costMicros)}</span>
      </li>
    </ol>
  );
}

function ChildStep({ step }: { step: Step }) {
  const text = visibleLine(textOf(step.content as Content)).slice(0, 400);
  return (
    <>
      {text !== "" && (
        <li>
          <Icon name="ask" small />
          <span className="cut">{text}</span>
        </li>
      )}
      {step.calls.map((call) => {
        const { icon, about, name } = callWords(call.name, call.input);
        return (
          <li key={call.id}>
            <Icon name={icon} small />
            <code className="cut">{about === "" ? name : about}</code>
            <span className="end">{call.durationMs !== null && duration(call.durationMs)}</span>
            <StateMark {...markOfCall(call.state)} />
          </li>
        );
      })}
    </>
  );
}

/** Shows the messages and calls of a subagent inside Claude Code. Skein has no session for such a subagent. */
export function NestedAgent({ call }: { call: Call }) {
  return (
    <div className="sub nested">
      <ol>{call.nested.flatMap((message) => nestedLines(message))}</ol>
    </div>
  );
}

function nestedLines(message: NestedMessage) {
  return blocksOf(message.content).map((block, at) => {
    const key = `${message.id}-${at}`;
    if (isToolUse(block)) {
      const { icon, about, name } = callWords(block.name, block.input);
      return (
        <li key={key}>
          <Icon name={icon} small />
          <code className="cut">{about === "" ? name : about}</code>
        </li>
      );
    }
    if (block.type !== "text" || message.role === "user") return null;
    return (
      <li key={key}>
        <Icon name="ask" small />
        <span className="cut">{visibleLine(String(block["text"])).slice(0, 400)}</span>
      </li>
    );
  });
}
