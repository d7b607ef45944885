/** Errors of bubblewrap if the operating system or the container does not let it work, with advice for an operator. */
const REFUSALS: readonly (readonly [says: RegExp, advice: string])[] = [
  [
    /No permissions to create( a)? new namespace|creating new namespace/i,
    "this system does not allow user namespaces. Set user.max_user_namespaces above 0; in a container, use a seccomp profile that allows them, such as deploy/seccomp.json",
  ],
  [
    /Can't set hostname/i,
    "the seccomp profile of this container does not allow bubblewrap. Use a profile that does, such as deploy/seccomp.json",
  ],
  [
    /setting up uid map: Permission denied|RTM_NEWADDR/i,
    "AppArmor does not allow bubblewrap to make user namespaces. On Ubuntu 23.10 and later, add an AppArmor profile for bwrap with the rule userns",
  ],
  [
    /Can't mount proc/i,
    "this container hides parts of /proc. Start it with systempaths=unconfined (Docker) or unmask=ALL (podman)",
  ],
  [
    /Unexpected capabilities/i,
    "the server has capabilities that bubblewrap rejects. Start the container without added capabilities",
  ],
  [/uid map/i, "root has no CAP_SETFCAP here. Run the server as an ordinary user"],
  [/Unknown option --disable-userns/i, "bubblewrap is older than 0.8. Install a newer one"],
];

/**
 * Explains why bubblewrap did not run, with advice for an operator, as part of a sentence. `errors` is its error
 * output.
 */
export function bubblewrapRefusal(errors: string): string {
  const advice = REFUSALS.find(([says]) => says.test(errors))?.[1] ?? "bubblewrap did not run";
  return `${advice}.${errors === "" ? "" : ` It said: ${errors.slice(0, 300)}`}`;
}
