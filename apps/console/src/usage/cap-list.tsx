import type { Cap } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money, percent, plural } from "../ui/amounts.ts";
import { clock } from "../ui/times.ts";

const KINDS: Readonly<Record<Cap["of"], string>> = { key: "Key", agent: "Agent", tenant: "Tenant" };

/** Each cap with its use: concurrent runs, and dollars spent today. */
export function CapList({ caps }: { readonly caps: readonly Cap[] }) {
  return (
    <ul className="caps">
      {caps.map((cap) => (
        <li key={`${cap.of} ${cap.name}`}>
          <span className="cap-name">
            <span className="faint">{KINDS[cap.of]}</span> <b>{visibleLine(cap.name)}</b>
          </span>
          {cap.runs && <RunsCap runs={cap.runs} />}
          {cap.spend && <SpendCap spend={cap.spend} />}
        </li>
      ))}
    </ul>
  );
}

function RunsCap({ runs: { limit, under_way, waiting } }: { readonly runs: NonNullable<Cap["runs"]> }) {
  return (
    <Meter used={under_way} limit={limit} name="Runs at once">
      {grouped(under_way)} of {grouped(limit)}
      {waiting > 0 && `, ${plural(waiting, "run waits", "runs wait")}`}
    </Meter>
  );
}

function SpendCap({ spend }: { readonly spend: NonNullable<Cap["spend"]> }) {
  const { limit_usd, spent_usd, reserved_usd, ask_at_percent, is_allowed, resets_at } = spend;
  const asks =
    ask_at_percent === null
      ? "Nobody is asked before the limit is reached."
      : is_allowed
        ? "A person has allowed the rest of the limit for today."
        : `At ${ask_at_percent} % of the limit, a run stops and asks a person.`;
  return (
    <>
      <Meter used={spent_usd + reserved_usd} limit={limit_usd} name="Spent today">
        {money(spent_usd * 1e6)} of {money(limit_usd * 1e6)}
        {reserved_usd > 0 && `, ${money(reserved_usd * 1e6)} reserved`}
      </Meter>
      <span className="lbl">
        {asks} The day ends at {clock(resets_at)}.
      </span>
    </>
  );
}

interface MeterProps {
  readonly used: number;
  readonly limit: number;
  readonly name: string;
  readonly children: React.ReactNode;
}

/** Above this share, the bar has the warning colour. */
const NEARLY = 0.8;

function Meter({ used, limit, name, children }: MeterProps) {
  const part = limit <= 0 ? 1 : Math.min(1, used / limit);
  return (
    <span className="cap">
      <span className="cap-h">
        <span className="muted">{name}</span>
        <span className="num">{children}</span>
      </span>
      <span
        className={part >= NEARLY ? "meter is-near" : "meter"}
        role="img"
        aria-label={`${name}: ${percent(used, limit)} used`}
      >
        <i style={{ width: `${part * 100}%` }} />
      </span>
    </span>
  );
}
