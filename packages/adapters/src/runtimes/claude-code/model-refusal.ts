import { isAmong } from "@skein/core";
import type { ResolvedOptions } from "./options.ts";

/** Names of model families. */
const FAMILIES = ["sonnet", "opus", "haiku"];
/** Aliases whose model only Claude Code knows. */
const UNKNOWN = /^(?:default|best|opusplan)/;
/** The family that Claude Code uses for titles and summaries. */
const SMALL = "haiku";

/**
 * Returns why a session may not call a model through the model broker, or undefined if it may. A session may call its
 * named models and Claude Code's small models, if the policy of its key allows them. If the current model has a
 * separate address, Claude Code uses this model for everything, so the small models are not allowed.
 */
export function modelRefusal(
  {
    rules,
    model: named,
    fallback_model,
    agents,
  }: Pick<ResolvedOptions, "rules" | "model" | "fallback_model" | "agents">,
  {
    model,
    current,
    isOwn = false,
  }: { readonly model: string; readonly current: string | undefined; readonly isOwn?: boolean },
): string | undefined {
  const chosen = [
    current ?? named ?? "default",
    fallback_model,
    ...Object.values(agents ?? {}).map((each) => each.model),
  ];
  const own = chosen.flatMap((name) => (name && name !== "inherit" ? [name] : []));
  if (rules?.models && !fits(rules.models, model))
    return `The policy of this server does not let this session use the model "${model}". It may use: ${rules.models.join(", ")}.`;
  if (fits(isOwn ? own : [...own, SMALL], model)) return undefined;
  return `This session cannot use the model "${model}". It uses only: ${own.join(", ")}.`;
}

function fits(names: readonly string[], model: string): boolean {
  const plain = (name: string): string => name.replace(/\[1m\]$/, "");
  return names.some((name) => {
    const given = plain(name);
    if (UNKNOWN.test(given)) return true;
    return FAMILIES.includes(given) ? model.includes(given) : isAmong([given], model) || model.startsWith(`${given}-`);
  });
}
