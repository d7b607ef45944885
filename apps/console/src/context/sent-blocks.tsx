import { useState } from "react";
import { Link } from "wouter";
import type { Step } from "../session/view.ts";
import { CodeBox } from "../text/code-box.tsx";
import { Difference } from "../text/difference.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, smallMoney } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import type { SentBlock } from "./blocks.ts";
import { sentOf } from "./step-list.tsx";

const CACHE = { read: "From cache", written: "To cache", new: "New" } as const;
const SIGNS = { same: "", new: "+", changed: "~", gone: "−" } as const;
const WORDS = { same: "", new: "new", changed: "changed", gone: "gone" } as const;

/** The parts of a request as a map and as a list. */
export function SentBlocks({
  blocks,
  step,
  sessionId,
  hasBefore,
}: {
  blocks: readonly SentBlock[];
  step: Step;
  sessionId: string;
  hasBefore: boolean;
}) {
  const present = blocks.filter(({ change }) => change !== "gone");
  const all = Math.max(
    1,
    present.reduce((sum, { tokens }) => sum + tokens, 0),
  );
  const sent = sentOf(step);
  const read = step.usage?.cache_read_input_tokens ?? 0;
  const count = (change: SentBlock["change"]): number => blocks.filter((block) => block.change === change).length;
  return (
    <div className="ctx-main scroll">
      <div className="ctxhead">
        <div className="ctxsum">
          <span className="fig">{grouped(sent === 0 ? all : sent)}</span>
          <span className="lbl cut">
            {tokenWords(step, sent)} {visibleLine(step.model)}
          </span>
          {hasBefore && (
            <span className="ctxchange num">
              <span className="plus">+ {count("new")} new</span>
              {count("changed") > 0 && <span className="accent">~ {count("changed")} changed</span>}
              {count("gone") > 0 && <span className="minus">− {count("gone")} gone</span>}
            </span>
          )}
        </div>
        <div
          className="mapbar"
          role="img"
          aria-label={`${present.length} parts, ${grouped(read)} tokens of them read from the cache`}
        >
          {present.map((block) => (
            <span
              key={block.key}
              className={`bg-o-${block.origin}`}
              style={{ width: `${(block.tokens / all) * 100}%` }}
              title={visibleLine(block.title)}
            />
          ))}
        </div>
        <div className="cachebar">
          <span className="cacheline read" style={{ width: `${(read / Math.max(1, sent)) * 100}%` }}>
            {read > 0 && `Read from the cache, ${grouped(read)}`}
          </span>
          <span className="cacheline rest">{sent - read > 0 && `${grouped(sent - read)} new`}</span>
        </div>
      </div>
      <div className="blkrow lbl" aria-hidden="true">
        <span />
        <span />
        <span>Parts, in the order of the request</span>
        <span className="r">Cache</span>
        <span className="r">Tokens, about</span>
        <span className="r">{step.isSimulated ? "" : "Price"}</span>
        <span />
      </div>
      {blocks.map((block) => (
        <BlockRow key={block.key} block={block} isCounted={step.usage !== null} sessionId={sessionId} />
      ))}
    </div>
  );
}

/** What the sum of tokens is, before the name of the model. */
function tokenWords({ isSimulated }: Step, sent: number): string {
  if (isSimulated) return "simulated tokens, not sent to";
  return sent === 0 ? "tokens, about, for" : "tokens sent to";
}

function BlockRow({ block, isCounted, sessionId }: { block: SentBlock; isCounted: boolean; sessionId: string }) {
  const [isOpen, setOpen] = useState(block.change === "changed");
  const { change } = block;
  return (
    <div className={`blk ${change === "new" ? "new" : change === "gone" ? "gone" : change === "changed" ? "chg" : ""}`}>
      <button type="button" className="blk-h" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="sgn">
          {SIGNS[change]}
          <span className="sr">{WORDS[change]}</span>
        </span>
        <span className={`dot bg-o-${block.origin}`} />
        <span className="cut t">
          {visibleLine(block.title)} <span className="faint">{visibleLine(block.aside)}</span>
        </span>
        <span className="r c-cache">{change === "gone" || !isCounted ? "" : CACHE[block.cache]}</span>
        <span className="r">{change === "gone" ? `−${grouped(block.tokens)}` : grouped(block.tokens)}</span>
        <span className="r c-price">{block.micros > 0 ? smallMoney(block.micros) : ""}</span>
        <Icon name="chev" small className={isOpen ? "chev is-open" : "chev"} />
      </button>
      {isOpen && (
        <div className="body">
          {block.sequence !== null && (
            <p className="lbl from">
              From <Link href={`/sessions/${sessionId}?event=${block.sequence}`}>event {block.sequence}</Link> of the
              log
            </p>
          )}
          {block.before === undefined ? (
            <CodeBox code={block.text.slice(0, 60_000)} language={/^[[{]/.test(block.text) ? "json" : undefined} />
          ) : (
            <Difference before={block.before} after={block.text} />
          )}
        </div>
      )}
    </div>
  );
}
