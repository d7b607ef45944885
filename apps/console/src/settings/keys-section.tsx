import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, type KeyScope, sentenceOf } from "../api/api.ts";
import { useApi, useMe } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { fullTime, when } from "../ui/times.ts";
import { NewKey } from "./new-key.tsx";
import { PolicySentences } from "./policy-section.tsx";

/** The API keys of the tenant. An admin can create, rotate and revoke keys, and see the rights of a key. */
export function KeysSection() {
  const api = useApi();
  const queries = useQueryClient();
  const { data: me } = useMe();
  const isAdmin = me?.key.scopes.includes("admin") === true;
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => api.keys(), enabled: isAdmin });
  const [made, setMade] = useState<{ readonly name: string; readonly key: string }>();
  const [problem, setProblem] = useState<string>();
  if (!isAdmin) return null;
  const attempt = async (work: () => Promise<{ name: string; key: string | null } | undefined>): Promise<void> => {
    setProblem(undefined);
    try {
      const shown = await work();
      setMade(shown?.key ? { name: shown.name, key: shown.key } : undefined);
      await queries.invalidateQueries({ queryKey: ["keys"] });
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const all = keys.data ?? [];
  return (
    <section className="wide">
      <div className="h">
        <h2>Keys</h2> <span className="n">{all.filter(({ state }) => state === "valid").length}</span>
      </div>
      <div className="card">
        {keys.isError && <p className="pad lbl">{sentenceOf(keys.error)}</p>}
        {keys.data?.length === 0 && (
          <p className="pad lbl">
            No keys were created. You are logged in with the key from the server’s environment or with its printed link.
          </p>
        )}
        <ul className="lastlist">
          {all.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              isOwn={key.id === me.key.id}
              onRotate={() => void attempt(() => api.rotateKey(key.id))}
              onRevoke={() => void attempt(() => api.revokeKey(key.id))}
            />
          ))}
        </ul>
        {made && (
          <p className="pad made-key" role="status">
            The key “{visibleLine(made.name)}”, shown once: <code>{made.key}</code>{" "}
            <CopyButton text={made.key} label="Copy the key" />
          </p>
        )}
        {problem !== undefined && (
          <p className="say-failed pad" role="alert">
            {problem}
          </p>
        )}
        <NewKey onMake={(input) => void attempt(() => api.createKey(input))} />
      </div>
    </section>
  );
}

interface KeyRowProps {
  readonly apiKey: ApiKey;
  /** Whether this is the key of the current login. */
  readonly isOwn: boolean;
  readonly onRotate: () => void;
  readonly onRevoke: () => void;
}

function KeyRow({ apiKey, isOwn, onRotate, onRevoke }: KeyRowProps) {
  const api = useApi();
  const [isOpen, setOpen] = useState(false);
  const [isSure, setSure] = useState(false);
  const { id, name, owner, scopes, state, last_used_at, expires_at } = apiKey;
  const policy = useQuery({
    queryKey: ["policy", id],
    queryFn: () => api.policyOfKey(id),
    enabled: isOpen && state === "valid",
  });
  const isValid = state === "valid";
  return (
    <li>
      <div className="setitem keyrow">
        <span className="grow">
          <span className={isValid ? "strong" : "strong faint"}>{visibleLine(name)}</span>{" "}
          <code className="faint">{id.slice(0, 12)}</code>
          <span className="lbl block">
            {scopes.map(scopeWord).join(", ")}
            {owner !== null && <> · {visibleLine(owner)}</>} ·{" "}
            {last_used_at === null ? "never used" : `used ${when(last_used_at)}`}
            {expires_at !== null && (
              <>
                {" "}
                · {state === "expired" ? "expired" : "expires"} {fullTime(expires_at)}
              </>
            )}
          </span>
        </span>
        {isOwn && <span className="chip">this login</span>}
        {!isValid && <span className="chip">{state}</span>}
        {isValid && (
          <>
            <button type="button" className="btn quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              What it may do
            </button>
            <button type="button" className="btn quiet" title="The old key stays valid for an hour" onClick={onRotate}>
              Replace
            </button>
            <button type="button" className="btn quiet" onClick={() => (isSure ? onRevoke() : setSure(true))}>
              {isSure ? (isOwn ? "Revoke and log out?" : "Really revoke?") : "Revoke"}
            </button>
          </>
        )}
      </div>
      {isOpen && policy.data && <PolicySentences sentences={policy.data.sentences} />}
      {isOpen && policy.isError && <p className="pad lbl">{sentenceOf(policy.error)}</p>}
    </li>
  );
}

const WORDS: Readonly<Record<KeyScope, string>> = {
  read: "read",
  run: "run agents and answer",
  sql: "run SQL queries",
  admin: "everything",
};

function scopeWord(scope: KeyScope): string {
  return WORDS[scope];
}
