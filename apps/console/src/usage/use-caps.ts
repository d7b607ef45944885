import { useQuery } from "@tanstack/react-query";
import type { Cap } from "../api/api.ts";
import { useApi, useMe } from "../api/context.tsx";

/** At most this many keys are asked for their caps, because each key needs a request. */
const MOST_KEYS = 30;
/** How often the use of caps is refreshed. */
const AGAIN_MS = 10_000;

/** Returns the caps of the current key. If this key may see all keys, also returns their caps. */
export function useCaps(): readonly Cap[] {
  const api = useApi();
  const { data: me } = useMe();
  const isAdmin = me?.key.scopes.includes("admin") === true;
  const policies = useQuery({
    queryKey: ["policy", "caps", isAdmin],
    queryFn: async () => {
      if (!isAdmin) return [await api.policy()];
      const keys = (await api.keys()).filter(({ state }) => state === "valid").slice(0, MOST_KEYS);
      return await Promise.all([api.policy(), ...keys.map(({ id }) => api.policyOfKey(id))]);
    },
    enabled: me !== undefined,
    refetchInterval: AGAIN_MS,
    retry: false,
  });
  const caps = (policies.data ?? []).flatMap((policy) => policy.caps);
  return [...new Map(caps.map((cap) => [`${cap.of} ${cap.name}`, cap])).values()];
}
