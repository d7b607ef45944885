import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox, SandboxedEnd, SandboxedProgram, SandboxWalls } from "../ports/sandbox.ts";

const SOON = { timeout: 15_000, interval: 20 };

/**
 * A wall (one kind of isolation, such as files or network) that a sandbox does not have. Its tests are left out, and
 * the reason is printed in their place.
 */
export interface MissingWall {
  readonly wall: Exclude<keyof SandboxWalls, "driver" | "summary" | "limits">;
  readonly reason: string;
}

/** Tests the rules of every sandbox. A missing wall needs a reason, and the sandbox must report it in `walls`. */
export function describeSandbox(
  name: string,
  open: () => Promise<Sandbox>,
  { missing = [] }: { readonly missing?: readonly MissingWall[] } = {},
): void {
  describe(`${name}: sandbox contract`, () => {
    let sandbox: Sandbox;
    /** A folder that programs cannot see. It contains a folder that they can see. */
    let outside = "";
    let cwd = "";
    beforeAll(async () => {
      sandbox = await open();
      outside = mkdtempSync(join(tmpdir(), "skein-sandbox-"));
      cwd = join(outside, "work");
      mkdirSync(cwd);
      writeFileSync(join(outside, "secret"), "secret of the server");
    });
    afterAll(() => rmSync(outside, { recursive: true, force: true }));

    const shell = (script: string, more: Partial<SandboxedProgram> = {}): ReturnType<Sandbox["start"]> =>
      sandbox.start({
        command: "/bin/bash",
        args: ["--noprofile", "--norc", "-c", script],
        cwd,
        env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
        places: [{ path: cwd, access: "write" }],
        ...more,
      });
    async function run(script: string, more?: Partial<SandboxedProgram>): Promise<Finished> {
      const started = shell(script, more);
      started.stdin.end();
      const [out, err, end] = await Promise.all([text(started.stdout), text(started.stderr), started.ended]);
      return { out, err, ...end };
    }

    test("the sandbox reports the walls that the test expects", () => {
      const { files, network, processes, kernelCalls } = sandbox.walls;
      const stands = { files, network, processes, kernelCalls };
      const expected = Object.fromEntries(
        Object.keys(stands).map((wall) => [wall, !missing.some((each) => each.wall === wall)]),
      );
      expect(stands).toEqual(expected);
      expect(sandbox.walls.summary).toMatch(/\.$/);
      expect(sandbox.walls.limits).toMatch(/^Limits: .*\.$/);
    });

    test("a program gets its input, and the server gets its output, errors and exit code", async () => {
      const started = shell("cat; echo problem >&2; exit 7");
      started.stdin.end("hello");
      expect(await Promise.all([text(started.stdout), text(started.stderr)])).toEqual(["hello", "problem\n"]);
      expect(await started.ended).toEqual({ code: 7, signal: null });
    });

    test("a program gets only the given folder and variables, and no variable of the server", async () => {
      const { out } = await run("pwd; env | cut -d= -f1 | sort | tr '\\n' ' '", {
        env: { PATH: "/usr/bin:/bin", OWN: "1" },
      });
      const [folder, names = ""] = out.split("\n");
      expect(folder).toBe(cwd);
      expect(names.split(" ").filter((each) => !["", "_", "SHLVL", "PWD", "OLDPWD"].includes(each))).toEqual([
        "OWN",
        "PATH",
      ]);
    });

    test("a program that does not exist has exit code 127, and a folder that does not exist is an error with a sentence", async () => {
      expect(await shell("", { command: "/no/such/program", args: [] }).ended).toMatchObject({ code: 127 });
      if (!sandbox.walls.files) return;
      expect(() => shell("", { places: [{ path: "/no/such/place", access: "read" }] })).toThrow(
        "/no/such/place does not exist",
      );
    });

    test("a program does not start if its folder was chosen and then replaced by a link", async () => {
      if (!sandbox.walls.files) return;
      const chosen = join(outside, "chosen");
      mkdirSync(chosen);
      const { dev, ino } = statSync(chosen, { bigint: true });
      const more = { cwd: chosen, places: [{ path: chosen, access: "write", identity: `${dev}:${ino}` } as const] };
      expect(await run("echo began", more)).toMatchObject({ out: "began\n", code: 0 });
      rmSync(chosen, { recursive: true });
      symlinkSync(outside, chosen);
      const { out, err, code } = await run("echo began; cat secret", more);
      rmSync(chosen);
      expect([out, err, code]).toEqual(["", expect.stringContaining("was replaced by another one"), 125]);
    });

    test("a signal reaches the program, which can handle it", async () => {
      const started = shell("trap 'echo told; exit 3' TERM; echo up; while :; do sleep 0.02; done");
      const said = heard(started.stdout);
      await expect.poll(said, SOON).toContain("up");
      started.kill("SIGTERM");
      expect(await started.ended).toMatchObject({ code: 3 });
      expect(said()).toContain("told");
    });

    test("SIGKILL ends the program and everything that it started", async () => {
      const beat = join(cwd, "beat");
      const started = shell(`while :; do date +%N > ${beat}; sleep 0.02; done & trap '' TERM; wait`);
      await expect.poll(() => existsSync(beat), SOON).toBe(true);
      started.kill("SIGKILL");
      await started.ended;
      await silent(beat);
    });

    test("a program is ended when the time that it may run is over", async () => {
      const started = shell("while :; do sleep 0.02; done", { goodForMs: 60_000 });
      started.allow(50);
      expect((await started.ended).code).not.toBe(0);
    });

    test("a program cannot exceed its limits of file size and of memory per process", async () => {
      const large = await run("head -c 3000000 /dev/zero > large; echo $?; stat -c %s large", {
        limits: { fileBytes: 1024 * 1024 },
      });
      expect(large.out.trim().split("\n").at(-1)).toBe(String(1024 * 1024));
      const greedy = await run("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}", {
        limits: { memoryBytes: 64 * 1024 * 1024 },
      });
      expect(greedy.out.trim()).not.toBe("300000000");
    });

    const without = (wall: MissingWall["wall"]): string | undefined =>
      missing.find((each) => each.wall === wall)?.reason;
    const walled = (wall: MissingWall["wall"], what: string, check: () => Promise<void>): void =>
      test(what, async ({ skip }) => {
        const reason = without(wall);
        if (reason !== undefined) skip(reason);
        await check();
      });

    describe("files", () => {
      walled("files", "a program reads and writes only the files and folders that it was given", async () => {
        const readable = join(outside, "readable");
        mkdirSync(readable, { recursive: true });
        writeFileSync(join(readable, "file"), "may be read");
        const { out } = await run(
          `echo mine > own; cat own; cat ${readable}/file; echo; echo x > ${readable}/file; cat ${outside}/secret; ls ${outside} | sort | tr '\\n' ' '`,
          {
            places: [
              { path: cwd, access: "write" },
              { path: readable, access: "read" },
            ],
          },
        );
        expect(out).toBe("mine\nmay be read\nreadable work ");
        expect(readFileSync(join(readable, "file"), "utf8")).toBe("may be read");
        expect(readFileSync(join(cwd, "own"), "utf8")).toBe("mine\n");
      });

      walled("files", "a given file or folder can have another path inside the sandbox", async () => {
        const { out } = await run("cat /run/given; ls /run", {
          places: [
            { path: cwd, access: "write" },
            { path: join(outside, "secret"), access: "read", inside: "/run/given" },
          ],
        });
        expect(out).toBe("secret of the servergiven\n");
      });

      walled("files", "links that point out of a given folder cannot be followed", async () => {
        const link = join(cwd, "link");
        symlinkSync(join(outside, "secret"), link);
        const { out } = await run(
          "cat link; cat ../secret; ln own hard 2>/dev/null; cat /proc/self/cwd/../secret; echo done",
        );
        expect(out).toBe("done\n");
        rmSync(link);
      });

      walled("files", "the system is read-only and has no secrets", async () => {
        const { out } = await run(
          "for path in /usr /etc / /bin /dev /proc/sys/kernel/core_pattern; do [ -w $path ] && echo may write $path; done; for path in /etc/shadow /root /home /var /run/docker.sock /sys; do [ -e $path ] && echo sees $path; done; echo done",
        );
        expect(out).toBe("done\n");
      });

      walled(
        "files",
        "a program has its own temporary folder with a size limit, and cannot write to the server's",
        async () => {
          const mark = `skein-mark-${process.pid}`;
          await run(`echo x > /tmp/${mark}`);
          expect(existsSync(join("/tmp", mark))).toBe(false);
          expect(
            (
              await run("df --output=size -B1 /tmp | tail -1", {
                limits: { temporaryBytes: 8 * 1024 * 1024 },
              })
            ).out,
          ).toMatch(/^\s*8388608\n$/);
        },
      );
    });

    walled("processes", "a program sees no process but its own, and cannot signal others", async () => {
      const { out } = await run(
        `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} 2>/dev/null && echo reached; cat /proc/1/environ | tr '\\0' '\\n' | grep -v ^PATH= | grep -v ^_ ; echo done`,
      );
      const [count, ...rest] = out.split("\n").filter((line) => !/^(PWD|SHLVL|OLDPWD)=/.test(line));
      expect([Number(count) < 10, ...rest]).toEqual([true, "done", ""]);
    });

    walled("processes", "processes that leave the program's group end with the program", async () => {
      const beat = join(cwd, "daemon");
      await run(
        `setsid -f bash -c "trap '' TERM HUP; while :; do date +%N > ${beat}; sleep 0.02; done"; while [ ! -e ${beat} ]; do sleep 0.01; done`,
      );
      await silent(beat);
    });

    walled(
      "processes",
      "a program that has too many processes, or uses too much memory or CPU time in all of them, is stopped",
      async () => {
        const many = await run("for i in $(seq 60); do sleep 60 & done; wait", { limits: { processes: 30 } });
        expect(many.limit).toMatch(/^it had (\d+ processes|more than \d+ processes and threads), and may have 30/);
        const greedy = "x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 60; true";
        const large = await run(`(${greedy}) & (${greedy}) & wait`, { limits: { totalMemoryBytes: 80 * 1024 * 1024 } });
        expect(large.limit).toMatch(
          /^its processes used (\d+ MiB of memory, and may use 80 MiB|more than 80 MiB of memory, which is all that they may use)$/,
        );
        const busy = await run("(while :; do :; done) & (while :; do :; done) & wait", { limits: { cpuSeconds: 1 } });
        expect(busy.limit).toMatch(/^its processes used \d+ s of CPU time, and may use 1 s$/);
      },
    );

    walled("network", "a program reaches no address of this machine, and has a loopback of its own", async () => {
      let reached = 0;
      const server = createServer(() => (reached += 1));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const abstract = createServer(() => (reached += 1));
      await new Promise<void>((resolve) => abstract.listen(`\0skein-${process.pid}`, resolve));
      const { port } = server.address() as { port: number };
      const { out } = await run(
        `( : <> /dev/tcp/127.0.0.1/${port} ) 2>/dev/null && echo reached; tr -d ' ' < /proc/net/dev | grep -o '^[a-z0-9]*:'; grep -c skein-${process.pid} /proc/net/unix; echo done`,
      );
      server.close();
      abstract.close();
      expect([out, reached]).toEqual(["lo:\n0\ndone\n", 0]);
    });

    walled("kernelCalls", "a program cannot make a namespace, a set-user-id file or a device", async () => {
      const file = join(cwd, "program");
      writeFileSync(file, "");
      chmodSync(file, 0o755);
      const { out } = await run(
        "unshare -U true && echo namespace; chmod u+s program && echo setuid; mknod device c 1 3 && echo device; mount -t tmpfs none /tmp && echo mount; echo done",
      );
      expect(out).toBe("done\n");
    });
  });
}

interface Finished extends SandboxedEnd {
  readonly out: string;
  readonly err: string;
}

function heard(stream: NodeJS.ReadableStream): () => string {
  let all = "";
  stream.on("data", (piece) => (all += String(piece)));
  return () => all;
}

/** Waits until no process writes to a file any longer. */
async function silent(file: string): Promise<void> {
  let before = "";
  await expect
    .poll(
      () => {
        const now = readFileSync(file, "utf8");
        const isSame = now === before;
        before = now;
        return isSame;
      },
      { timeout: 15_000, interval: 300 },
    )
    .toBe(true);
}
