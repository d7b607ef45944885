/** Spreads TCP connections over several ports, like a load balancer in front of workers. */
import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

export interface Balancer {
  readonly port: number;
  add(port: number): void;
  remove(port: number): void;
  /** Cuts every connection that is open now. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a balancer that sends each new connection to the next port that accepts it. */
export async function startBalancer(): Promise<Balancer> {
  const ports: number[] = [];
  const open = new Set<Socket>();
  let turn = 0;

  function pass(client: Socket, tries = ports.length): void {
    const port = ports[(turn += 1) % Math.max(ports.length, 1)];
    if (port === undefined || tries <= 0) return void client.destroy();
    const server = connect(port, "127.0.0.1");
    open.add(server);
    server.once("connect", () => {
      client.pipe(server).pipe(client);
      server.on("close", () => client.destroy());
      client.on("close", () => server.destroy());
    });
    server.on("close", () => open.delete(server));
    server.on("error", () => {
      if (server.connecting || server.bytesRead + server.bytesWritten === 0) pass(client, tries - 1);
    });
  }

  const balancer = createServer((client) => {
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => {});
    pass(client);
  });
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  return {
    port: (balancer.address() as AddressInfo).port,
    add: (port) => void ports.push(port),
    remove: (port) => void ports.splice(ports.indexOf(port), 1),
    cut: () => open.forEach((socket) => socket.destroy()),
    async close() {
      const closed = once(balancer, "close");
      balancer.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
