import { isAmong } from "@skein/core";
import type { ResolvedOptions } from "./options.ts";

/** Aliases for a family of models. */
const FAMILIES = ["sonnet", "opus", "haiku"];
/** Names that only Claude Code can resolve. */
const UNKNOWN = /^(?:default|best|opusplan)/;
/** Claude Code itself calls the smallest family, for titles and summaries. */
const SMALL = "haiku";

/**
 * Why a session may not call a model through the broker, as a sentence; undefined if it may. A session may call the
 * models that it named and the small models that Claude Code uses by itself, if the policy of its key allows them.
 */
export function modelRefusal(
  {
    rules,
    model: named,
    fallback_model,
    agents,
  }: Pick<ResolvedOptions, "rules" | "model" | "fallback_model" | "agents">,
  { model, current }: { readonly model: string; readonly current: string | undefined },
): string | undefined {
  const chosen = [
    current ?? named ?? "default",
    fallback_model,
    ...Object.values(agents ?? {}).map((each) => each.model),
  ];
  const own = chosen.flatMap((name) => (name && name !== "inherit" ? [name] : []));
  if (rules?.models && !fits(rules.models, model))
    return `The policy of this server does not let this session use the model "${model}". It may use: ${rules.models.join(", ")}.`;
  if (fits([...own, SMALL], model)) return undefined;
  return `This session uses ${own.join(", ")}, and not the model "${model}".`;
}

function fits(names: readonly string[], model: string): boolean {
  const plain = (name: string): string => name.replace(/\[1m\]$/, "");
  return names.some((name) => {
    const given = plain(name);
    if (UNKNOWN.test(given)) return true;
    return FAMILIES.includes(given) ? model.includes(given) : isAmong([given], model) || model.startsWith(`${given}-`);
  });
}
