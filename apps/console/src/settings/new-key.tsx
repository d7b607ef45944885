import { useState } from "react";
import type { KeyScope, NewApiKey } from "../api/api.ts";
import { Field } from "../ui/field.tsx";
import { serverNow } from "../api/server-clock.ts";

/** The purposes of a key, each with its scopes. */
const KINDS: readonly (readonly [scopes: readonly KeyScope[], word: string])[] = [
  [["read"], "Read"],
  [["run"], "Run and answer"],
  [["run", "sql"], "Run, answer, query with SQL"],
  [["admin"], "Everything"],
];

const DAY_MS = 86_400_000;
const LIVES: readonly (readonly [days: number, word: string])[] = [
  [0, "Does not expire"],
  [1, "Expires in a day"],
  [30, "Expires in 30 days"],
  [365, "Expires in a year"],
];

/** The form for a new key. */
export function NewKey({ onMake }: { onMake: (input: NewApiKey) => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState(1);
  const [days, setDays] = useState(0);
  const make = (): void => {
    const expires_at = days === 0 ? null : new Date(serverNow() + days * DAY_MS).toISOString();
    onMake({ name: name.trim(), scopes: [...(KINDS[kind]?.[0] ?? [])], expires_at });
    setName("");
  };
  return (
    <form
      className="setform fields"
      onSubmit={(event) => {
        event.preventDefault();
        make();
      }}
    >
      <Field label="Name of a new key">
        <input className="input" value={name} onChange={({ target }) => setName(target.value)} />
      </Field>
      <Field label="What it may do">
        <select className="select" value={kind} onChange={({ target }) => setKind(Number(target.value))}>
          {KINDS.map(([, word], at) => (
            <option key={word} value={at}>
              {word}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Expiry">
        <select className="select" value={days} onChange={({ target }) => setDays(Number(target.value))}>
          {LIVES.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      </Field>
      <button type="submit" className="btn" disabled={name.trim() === ""}>
        Make
      </button>
    </form>
  );
}
