import { type Content, blocksOf, textOf } from "@skein/protocol";
import { memo, useState } from "react";
import { serverNow } from "../api/server-clock.ts";
import { CodeBox } from "../text/code-box.tsx";
import { Difference } from "../text/difference.tsx";
import { editsOf, lineChanges } from "../text/line-changes.ts";
import { textValue, visible } from "../text/safe-text.ts";
import { TerminalBox } from "../text/terminal-box.tsx";
import { duration } from "../ui/amounts.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import { useNow } from "../ui/use-now.ts";
import { callWords, markOfCall } from "./call-words.ts";
import { Picture } from "./picture.tsx";
import { NestedAgent, Subagent } from "./subagent.tsx";
import type { Call } from "./view.ts";

/** Whether all calls are unfolded. If undefined, each call has its default state. */
export type CallsOpen = boolean | undefined;

interface CallViewProps {
  readonly call: Call;
  /** A counter. When it changes, the call renders again. */
  readonly version: number;
  readonly allOpen: CallsOpen;
  readonly isMarked: boolean;
}

/**
 * One call with its input and result, which can be folded. Commands, edits, subagents, waiting calls and calls without
 * success are unfolded at first.
 */
export const CallView = memo(function CallView({ call, allOpen, isMarked }: CallViewProps) {
  const [chosen, setChosen] = useState<boolean>();
  const opensItself = UNFOLDED.has(call.state) || isMarked || isShort(call);
  const isOpen = chosen ?? allOpen ?? opensItself;
  if (call.childSession !== null)
    return (
      <Subagent
        call={call}
        isOpen={chosen ?? allOpen ?? true}
        onToggle={() => setChosen(!(chosen ?? allOpen ?? true))}
      />
    );
  const { icon, name, about } = callWords(call.name, call.input);
  const { added, removed } = isEdit(call) ? lineChanges(call.input) : { added: 0, removed: 0 };
  return (
    <div className={`call ${isMarked ? "hit" : ""}`} id={`call-${call.id}`}>
      <button type="button" className="call-h" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
        <Icon name="chev" small className={isOpen ? "chev is-open" : "chev"} />
        <Icon name={icon} small />
        <b>{name}</b>
        <span className="arg cut">{about}</span>
        <span className="end">
          {added > 0 && <span className="plus">+{added}</span>}
          {removed > 0 && <span className="minus">−{removed}</span>}
          <CallTime call={call} />
          <StateMark {...markOfCall(call.state)} />
        </span>
      </button>
      {isOpen && <CallBody call={call} />}
      {call.nested.length > 0 && <NestedAgent call={call} />}
    </div>
  );
});

const UNFOLDED: ReadonlySet<Call["state"]> = new Set<Call["state"]>(["failed", "unknown", "denied", "cancelled"]);

function CallTime({ call }: { call: Call }) {
  const isRunning = call.state === "running" || call.state === "waiting";
  const now = useNow(1000, isRunning);
  if (isRunning && call.startedAt !== null) return <span>{duration(Math.max(0, now - call.startedAt))}</span>;
  return call.durationMs === null || hasNoTime(call) ? null : <span>{duration(call.durationMs)}</span>;
}

/** Whether the call did not run, or nobody knows how long it ran. */
function hasNoTime({ state, startedSequence }: Call): boolean {
  return state === "unknown" || state === "denied" || (state === "cancelled" && startedSequence === null);
}

function isEdit({ name }: Call): boolean {
  return /edit|write/i.test(name) && name !== "TodoWrite";
}

/**
 * Whether the call is a command or an edit, or waits. Such calls are unfolded at first, because people look for them.
 */
function isShort(call: Call): boolean {
  if (isEdit(call) || call.name === "Bash" || call.state === "waiting") return true;
  return false;
}

function CallBody({ call }: { call: Call }) {
  return (
    <div className="body">
      {!isInHead(call) && <InputView call={call} />}
      {call.wait && <WaitView call={call} />}
      {call.state === "unknown" && (
        <p className="note unknown">It is unknown whether this call took effect. The model was told so.</p>
      )}
      {call.result !== null && <ResultView call={call} result={call.result} />}
    </div>
  );
}

/** Whether the head of the call shows the whole input, because it is a short command. */
function isInHead({ name, input }: Call): boolean {
  const values = (input ?? {}) as Record<string, unknown>;
  const command = textValue(values["command"]);
  return name === "Bash" && Object.keys(values).length === 1 && command.length <= 60 && !command.includes("\n");
}

function WaitView({ call }: { call: Call }) {
  const { wait } = call;
  if (!wait || wait.kind === "subagent") return null;
  if (wait.closedAt === null && wait.answer === null)
    return (
      <p className="note waiting">
        Waits for{" "}
        {wait.kind === "approval"
          ? "an approval"
          : wait.kind === "question"
            ? "an answer"
            : "the result of a frontend tool"}
        .
      </p>
    );
  const waited = duration((wait.closedAt ?? serverNow()) - wait.openedAt);
  const changed = wait.kind === "approval" && isChangedInput(wait.answer?.content);
  const words = {
    answered: changed
      ? "Approved with another input"
      : call.state === "denied" || wait.answer?.isError
        ? "Denied"
        : "Answered",
    timed_out: "Nobody answered in time",
    cancelled: "Withdrawn",
  }[wait.resolution ?? "answered"];
  return (
    <p className="note">
      {words} after {waited}
      {wait.answer && !changed && <> · {visible(textOf(wait.answer.content)).slice(0, 300)}</>}
    </p>
  );
}

/** Whether the approval changed the input of the call. */
function isChangedInput(content: Content | undefined): boolean {
  return content !== undefined && textOf(content).includes('"updatedInput"');
}

/** Shows the input of a call: the diff of an edit, the command of a shell, or the values of another call. */
export function InputView({ call, isWhole = false }: { call: Pick<Call, "name" | "input">; isWhole?: boolean }) {
  const values = (call.input ?? {}) as Record<string, unknown>;
  const edits = editsOf(values);
  const path = textValue(values["file_path"] ?? values["path"]);
  if (edits.length > 0 && path !== "")
    return (
      <>
        {edits.map(({ before, after }, at) => (
          <Difference key={at} before={before} after={after} path={path} isWhole={isWhole} />
        ))}
        <OtherValues values={values} shown={EDIT_VALUES} />
      </>
    );
  if (typeof values["command"] === "string")
    return (
      <>
        <div className="cmd">
          <pre>
            <span className="faint">$ </span>
            <Words text={visible(values["command"])} />
          </pre>
          <CopyButton text={values["command"]} className="code-copy" />
        </div>
        <OtherValues values={values} shown={["command"]} />
      </>
    );
  return <Values values={values} isWhole={isWhole} />;
}

/**
 * Text that the browser breaks only at spaces, so that `--to` does not become `-` and `-to`. Words that are longer than
 * the line still break.
 */
function Words({ text }: { text: string }) {
  return text.split(/(\s+)/).map((part, at) =>
    at % 2 === 0 && part.includes("-") ? (
      <span key={at} className="word">
        {part}
      </span>
    ) : (
      part
    ),
  );
}

const EDIT_VALUES =
  "file_path path notebook_path old_string new_string old_str new_str content file_text new_source edits".split(" ");

/**
 * The values of a call that `InputView` leaves out, such as a folder or "replace all". A person must see the whole call
 * before approving it.
 */
function OtherValues({ values, shown }: { values: Record<string, unknown>; shown: readonly string[] }) {
  const others = Object.entries(values).filter(([name]) => !shown.includes(name));
  return others.length === 0 ? null : <Values values={Object.fromEntries(others)} isWhole />;
}

/** Shows up to 12 plain values as a list of names and values. Shows more values, or nested values, as JSON. */
function Values({ values, isWhole = false }: { values: unknown; isWhole?: boolean }) {
  if (typeof values !== "object" || values === null || Array.isArray(values) || Object.keys(values).length === 0)
    return values === null || (typeof values === "object" && Object.keys(values).length === 0) ? null : (
      <CodeBox code={JSON.stringify(values, null, 2)} language="json" />
    );
  const entries = Object.entries(values as Record<string, unknown>);
  const isFlat = entries.length <= 12 && entries.every(([, value]) => typeof value !== "object" || value === null);
  if (!isFlat) return <CodeBox code={JSON.stringify(values, null, 2)} language="json" />;
  return (
    <dl className="kv values">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd>{isWhole ? visible(String(value)) : visible(String(value)).slice(0, 2000)}</dd>
        </div>
      ))}
    </dl>
  );
}

function ResultView({ call, result }: { call: Call; result: Content }) {
  const pictures = blocksOf(result).filter(({ type }) => type === "image");
  const text = textOf(result);
  if (isEdit(call) && call.state === "done") return null;
  return (
    <>
      {text !== "" && <TerminalBox output={text} />}
      {pictures.map((block, at) => (
        <Picture key={at} source={block["source"]} />
      ))}
    </>
  );
}
