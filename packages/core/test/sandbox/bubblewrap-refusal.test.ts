import { expect, test } from "vitest";
import { bubblewrapRefusal } from "../../src/sandbox/bubblewrap-refusal.ts";

/** Errors of bubblewrap 0.8 in containers of Docker and podman, on Ubuntu, and as root without a capability. */
test.each([
  ["bwrap: No permissions to create a new namespace, likely because …", "user.max_user_namespaces"],
  ["bwrap: Creating new namespace failed: Operation not permitted", "deploy/seccomp.json"],
  ["bwrap: Can't set hostname to session: Operation not permitted", "deploy/seccomp.json"],
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "unmask=ALL (podman)"],
  ["bwrap: Unexpected capabilities but not setuid, old file caps config?", "without added capabilities"],
  ["bwrap: setting up uid map: Permission denied", "AppArmor"],
  ["bwrap: setting up uid map: Operation not permitted", "ordinary user"],
  ["bwrap: Unknown option --disable-userns", "newer"],
])("an operator is told what to do about: %s", (error, advice) => {
  expect(bubblewrapRefusal(error)).toContain(advice);
  expect(bubblewrapRefusal(error)).toContain(` It said: ${error}`);
});

test("an unknown error of bubblewrap is quoted", () => {
  expect(bubblewrapRefusal("bwrap: something new")).toBe("bubblewrap did not run. It said: bwrap: something new");
  expect(bubblewrapRefusal("")).toBe("bubblewrap did not run.");
});
