import type { Api } from "../api/api.ts";
import { type SessionView, touch } from "./view.ts";

/** Asks the parent of a fork which calls have an unknown effect. The log of the fork does not say this. */
export async function unknownCallsOfParent(api: Api, view: SessionView): Promise<ReadonlySet<string>> {
  const parent = view.head?.parent;
  if (!parent) return new Set();
  // The request fails if the parent was deleted.
  const effects = await api.effects(parent.session_id).catch(() => []);
  return new Set(effects.filter(({ outcome }) => outcome === "unknown").map(({ tool_use_id }) => tool_use_id));
}

/** Shows the effect of a copied call as unknown if it is unknown in the parent. */
export function markUnknown(view: SessionView, ids: ReadonlySet<string>): void {
  for (const id of ids) {
    const call = view.calls.get(id);
    if (call?.step.purpose !== "copied" || (call.state !== "failed" && call.state !== "cancelled")) continue;
    call.state = "unknown";
    touch(call.step);
  }
}
