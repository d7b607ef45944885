import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Sandbox, bubblewrapRefusal } from "@skein/core";

const PROOF_MS = 10_000;
const DONE = "looked everywhere";

/** Runs a program in the sandbox that tries forbidden actions. Returns why the sandbox does not work, or undefined. */
export async function proveWalls(sandbox: Sandbox): Promise<string | undefined> {
  const outside = mkdtempSync(join(tmpdir(), "skein-walls-"));
  const inside = mkdtempSync(join(outside, "inside-"));
  const secret = join(outside, "secret");
  writeFileSync(secret, "secret", { mode: 0o600 });
  try {
    const proof = sandbox.start({
      command: "/bin/bash",
      args: ["--noprofile", "--norc", "-c", LOOK, "look", secret],
      cwd: inside,
      env: { PATH: "/usr/bin:/bin" },
      places: [{ path: inside, access: "write" }],
      goodForMs: PROOF_MS,
    });
    const [found, errors] = await Promise.all([text(proof.stdout), text(proof.stderr), proof.ended]);
    if (!found.includes(DONE)) return `The sandbox cannot be started: ${bubblewrapRefusal(errors.trim())}`;
    const holes = found.split("\n").filter((line) => line !== "" && line !== DONE);
    if (holes.length === 0) return undefined;
    return `The sandbox does not work on this machine: a program inside ${holes.join(", ")}.`;
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
}

/**
 * Prints a line for each hole in the sandbox. The test only checks whether a file could be written. It changes nothing,
 * even if a wall is missing.
 */
const LOOK = `
[ -e "$1" ] && echo "reads files outside"
[ -w /usr ] && echo "writes to the system"
[ -w /proc/sys/kernel/core_pattern ] && echo "changes the kernel"
[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 8 ] && echo "sees other processes"
[ "$(tr -d ' ' < /proc/net/dev | grep -c ':')" -gt 1 ] && echo "has a network"
unshare -U true 2>/dev/null && echo "makes namespaces"
for path in /proc/[0-9]*/fd/*; do
  number=\${path##*/}
  if [ "$number" -gt 9 ] && [ "$number" != 255 ] && [ -d "$path/." ]; then echo "has a folder of the server open"; fi
done
echo "${DONE}"
`;
