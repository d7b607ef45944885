import { useState } from "react";
import { type Model, type ModelTrial, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { duration } from "../ui/amounts.ts";
import type { State } from "../ui/state.ts";
import { StateWord } from "../ui/status.tsx";

interface ModelRowProps {
  readonly model: Model;
  readonly isAdmin: boolean;
  readonly onDefault: () => void;
  readonly onRemove: () => void;
}

type Trial = "none" | "asked" | "running" | { readonly trials: readonly ModelTrial[] } | { readonly problem: string };

/**
 * Shows the address of a model, the place of its API key, and a test. The test costs money, so it only runs on request.
 */
export function ModelRow({ model, isAdmin, onDefault, onRemove }: ModelRowProps) {
  const api = useApi();
  const [trial, setTrial] = useState<Trial>("none");
  const [isSure, setSure] = useState(false);
  const test = async (): Promise<void> => {
    setTrial("running");
    try {
      setTrial({ trials: (await api.testModel(model.id)).data });
    } catch (error) {
      setTrial({ problem: sentenceOf(error) });
    }
  };
  return (
    <li>
      <div className="setitem keyrow modelrow">
        <span className="grow facts">
          <code className="strong">{visibleLine(model.name)}</code>
          <span className="lbl block">{reachedBy(model)}</span>
        </span>
        {model.is_default && <span className="chip">default</span>}
        {isAdmin && (
          <>
            {!model.is_default && (
              <button type="button" className="btn quiet" onClick={onDefault}>
                Make default
              </button>
            )}
            <button
              type="button"
              className="btn quiet"
              disabled={trial === "running"}
              onClick={() => (trial === "asked" ? void test() : setTrial("asked"))}
            >
              {trial === "running" ? "Testing…" : trial === "asked" ? "Make nine small calls?" : "Test"}
            </button>
            <button type="button" className="btn quiet" onClick={() => (isSure ? onRemove() : setSure(true))}>
              {isSure ? "Really remove?" : "Remove"}
            </button>
          </>
        )}
      </div>
      {typeof trial === "object" && "problem" in trial && (
        <p className="say-failed pad" role="alert">
          {trial.problem}
        </p>
      )}
      {typeof trial === "object" && "trials" in trial && (
        <ul className="deliveries trials" aria-label={`Test of ${visibleLine(model.name)}`}>
          {trial.trials.map(({ ability, outcome, ms, detail }) => (
            <li key={ability}>
              <span className="trial-name">
                <StateWord state={STATES[outcome]} word={ability} />
              </span>
              <span className="grow cut faint" title={detail}>
                {NOT_TRIED[outcome] ?? visibleLine(detail)}
              </span>
              {ms > 0 && <span className="faint num">{duration(ms)}</span>}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const STATES: Readonly<Record<ModelTrial["outcome"], State>> = {
  works: "done",
  fails: "failed",
  "turned off": "idle",
  "not tried": "idle",
};

const NOT_TRIED: Partial<Record<ModelTrial["outcome"], string>> = {
  "turned off": "Not tried: the settings say that the model lacks this ability",
  "not tried": "Not tried: the model does not answer",
};

const KEYS: Readonly<Record<NonNullable<Model["key"]>, string>> = {
  stored: "key stored encrypted on this server",
  environment: "key from the server’s environment",
  none: "without a key",
};

/** The abilities that the model lacks according to its settings. */
function lacking(abilities: object): string {
  const names = Object.entries(abilities).flatMap(([name, has]) => (has === false ? [name.replaceAll("_", " ")] : []));
  return names.length === 0 ? "" : `without ${names.join(", ")}`;
}

/** Says how the model is reached. A reader who may not see the model's settings gets the name of the provider. */
function reachedBy({ provider, settings, key }: Model): string {
  const parts = [
    settings?.adapter ?? provider,
    settings?.url,
    settings?.model_name && `as ${settings.model_name}`,
    key && KEYS[key],
    lacking(settings?.abilities ?? {}),
  ];
  return parts
    .filter((part) => part !== undefined && part !== null && part !== "")
    .map((part) => visibleLine(String(part)))
    .join(" · ");
}
