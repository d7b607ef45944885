import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Systems give higher ports to outgoing connections (Linux from 32768, others from 49152). So no outgoing connection can
 * take one of these ports between the check and the use of the port.
 */
const [LOWEST, HIGHEST] = [15_000, 32_000];
/** The ports that were handed out. None is handed out twice, because a process may stop and later use its port again. */
const given = new Set<number>();

/** Returns a free port of this machine. Another process may take the port before it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
  } catch {
    return false;
  }
  probe.close();
  await once(probe, "close");
  return true;
}
