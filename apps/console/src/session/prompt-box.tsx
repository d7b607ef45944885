import type { ContentBlock } from "@skein/protocol";
import { type ClipboardEvent, useRef, useState } from "react";
import type { MessageMode, Model } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { useProblem } from "../api/use-problem.ts";
import { Icon } from "../ui/icon.tsx";
import { type Attachment, attachmentOf } from "./attachment.ts";
import { AttachmentChips } from "./attachment-chips.tsx";
import { ModelSelect } from "./model-select.tsx";
import { Queue } from "./queue.tsx";
import type { Queued } from "./view.ts";
import { messageKey } from "../ui/message-key.ts";

const MODES: readonly (readonly [mode: MessageMode, word: string, about: string])[] = [
  ["queue", "Queue", "Sent when this run is over"],
  ["steer", "Steer", "Read before the next step"],
  ["interrupt", "Interrupt", "Stops this run and takes its place"],
];

interface PromptBoxProps {
  readonly sessionId: string;
  readonly agentName: string;
  readonly isRunning: boolean;
  readonly queue: readonly Queued[];
  readonly models: readonly Model[];
  readonly model: string;
  readonly onSent: () => void;
}

/** The input for a message: text, images, files, and the effect of the message on a run in progress. */
export function PromptBox({ sessionId, agentName, isRunning, queue, models, model, onSent }: PromptBoxProps) {
  const api = useApi();
  const [text, setText] = useState("");
  const [mode, setMode] = useState<MessageMode>("queue");
  const [modelId, setModelId] = useState("");
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const { problem, showError, clear } = useProblem();
  const [isSending, setSending] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  // A message keeps its idempotency key until it is edited, so that a retry after a lost HTTP response stores it once.
  const tried = useRef({ message: "", key: "" });

  async function attach(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      const read = await attachmentOf(file);
      if (typeof read === "string") showError(new Error(read));
      else setAttachments((before) => [...before, read]);
    }
  }

  async function send(): Promise<void> {
    const said = text.trim();
    if ((said === "" && attachments.length === 0) || isSending) return;
    setSending(true);
    clear();
    const blocks: ContentBlock[] = [
      ...attachments.map(({ block }) => block),
      ...(said === "" ? [] : [{ type: "text", text: said }]),
    ];
    const body = {
      content: attachments.length === 0 ? { text: said } : blocks,
      mode: isRunning ? mode : "queue",
      ...(modelId !== "" && { modelId }),
    };
    const message = JSON.stringify(body);
    if (tried.current.message !== message) tried.current = { message, key: messageKey() };
    try {
      await api.say(sessionId, { ...body, idempotencyKey: tried.current.key });
      tried.current = { message: "", key: "" };
      setText("");
      setAttachments([]);
      if (area.current) area.current.style.height = "";
      onSent();
    } catch (error) {
      showError(error);
    } finally {
      setSending(false);
    }
  }

  const paste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  };

  return (
    <form
      className="pbox"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer.files);
      }}
    >
      <Queue queue={queue} sessionId={sessionId} />
      <AttachmentChips
        attachments={attachments}
        onRemove={(at) => setAttachments(attachments.filter((_, other) => other !== at))}
      />
      <textarea
        ref={area}
        id="prompt"
        rows={1}
        aria-label={`Write to ${agentName}`}
        placeholder={`Write to ${agentName}`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          event.target.style.height = "auto";
          event.target.style.height = `${Math.min(event.target.scrollHeight, 220)}px`;
        }}
        onPaste={paste}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void send();
          }
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <div className="pbar">
        <input
          ref={picker}
          type="file"
          hidden
          multiple
          aria-label="Files"
          onChange={(event) => void attach(event.target.files ?? [])}
        />
        <button
          type="button"
          className="btn quiet icon"
          aria-label="Attach a file"
          onClick={() => picker.current?.click()}
        >
          <Icon name="clip" />
        </button>
        {isRunning && (
          <span className="seg" role="group" aria-label="What the message does to the run">
            {MODES.map(([value, word]) => (
              <button key={value} type="button" aria-pressed={mode === value} onClick={() => setMode(value)}>
                {word}
              </button>
            ))}
          </span>
        )}
        <span className="lbl cut grow tip-line" role={problem === undefined ? undefined : "alert"}>
          {problem === undefined ? (
            isRunning && MODES.find(([value]) => value === mode)?.[2]
          ) : (
            <span className="say-failed">{problem}</span>
          )}
        </span>
        <ModelSelect models={models} model={model} value={modelId} onValue={setModelId} />
        <button
          type="submit"
          className="btn solid icon"
          aria-label="Send"
          disabled={isSending || (text.trim() === "" && attachments.length === 0)}
        >
          <Icon name="up" />
        </button>
      </div>
    </form>
  );
}
