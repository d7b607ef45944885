import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import { type GatePlaces, openHosts } from "@skein/adapters/sandboxes/host-gate";
import { removeFolder } from "@skein/adapters/sandboxes/remove-folder";
import { type SandboxLimits, type Store, type Workplace, agentHosts, commonHosts } from "@skein/core";
import type { AgentConfig } from "@skein/protocol";
import type { ServerPolicy } from "./policy.ts";

interface SessionPlace {
  readonly tenant: string;
  readonly sessionId: string;
}

/** The folder and the sandbox for the programs of each session with the runtime `loop`. */
export interface Workplaces {
  of(session: SessionPlace & { readonly agent?: AgentConfig | null }): Promise<Workplace>;
  /** Removes the folder of a session. */
  remove(session: SessionPlace): Promise<void>;
  close(): void;
}

interface WorkplacesDeps {
  readonly dataDir: string;
  readonly rules: Pick<ServerPolicy, "strictestSandbox" | "commonHosts">;
  /** Addresses that programs may call in addition to public addresses. */
  readonly places?: GatePlaces;
  /** Limits from Claude Code's settings, which apply to every program that a model controls. */
  readonly limits: { readonly memoryBytes: number } & Omit<SandboxLimits, "memoryBytes" | "totalMemoryBytes">;
  readonly store: Pick<Store, "get">;
  readonly report: (error: unknown) => void;
  readonly open?: typeof openSandbox;
  /** Called if a session may not start programs, because the required sandbox is missing. */
  readonly refused?: (session: SessionPlace, problem: string) => Promise<void>;
}

/** The time between two searches for folders of deleted sessions. Another server may have deleted these sessions. */
const SWEEP_MS = 3600 * 1000;

export function createWorkplaces(deps: WorkplacesDeps): Workplaces {
  const { dataDir, rules, limits, store, report, open = openSandbox } = deps;
  const { memoryBytes: totalMemoryBytes, ...others } = limits;
  const root = join(dataDir, "work");
  const folderOf = ({ tenant, sessionId }: SessionPlace): string => join(root, tenant, sessionId);
  const remove = (session: SessionPlace): Promise<void> => removeFolder(folderOf(session));

  function hostsOf(agent: AgentConfig | null | undefined): readonly string[] {
    const asked = agent && agentHosts(agent);
    return asked ? commonHosts(rules.commonHosts(), asked) : rules.commonHosts();
  }

  async function sweep(): Promise<void> {
    for (const tenant of existsSync(root) ? readdirSync(root) : [])
      for (const sessionId of readdirSync(join(root, tenant)))
        if (!(await store.get(sessionId, { tenant }))) await remove({ tenant, sessionId });
  }
  const timer = setInterval(() => void sweep().catch(report), SWEEP_MS).unref();

  return {
    async of(session) {
      const folder = folderOf(session);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const place = { folder, limits: { ...others, totalMemoryBytes } };
      const { mode, because } = await rules.strictestSandbox();
      if (mode === "off") return { ...place, sandbox: undefined };
      const found = await open();
      if ("sandbox" in found) {
        const hosts = hostsOf(session.agent);
        return { ...place, sandbox: found.sandbox, openHosts: () => openHosts(hosts, deps.places) };
      }
      if (mode === "preferred") return { ...place, sandbox: undefined };
      const refusal = `Bash is off on this server: a sandbox is required, because ${because}. ${found.problem}`;
      const onRefused = async (): Promise<void> => deps.refused?.(session, found.problem).catch(report);
      return { ...place, sandbox: undefined, refusal, onRefused };
    },
    remove,
    close: () => clearInterval(timer),
  };
}
