/** The output of `skein doctor` and `skein serve` about Redis. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Redis, noRedis, startRedis } from "../../../../scripts/redis.ts";
import { dataFolder, start } from "../../../cli/test/skein.ts";

describe.skipIf(noRedis)("skein doctor", { timeout: 120_000 }, () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  async function doctor(address: string): Promise<string> {
    const { child, ended } = start(dataFolder(), ["doctor"], { SKEIN_REDIS_URL: address, SKEIN_PORT: "0" });
    child.stdin?.end();
    return (await ended).out;
  }

  test("skein doctor says whether Redis answers, and does not print its password", async () => {
    expect(await doctor(redis.url)).toMatch(/^ok +redis +Answers/m);
    const away = await doctor("redis://:walnut@127.0.0.1:1");
    expect(away).toMatch(/^wrong +redis +Redis does not answer/m);
    expect(away).not.toContain("walnut");
  });

  test("skein doctor and skein serve reject an invalid address, and do not print it", async () => {
    expect(await doctor("http://walnut@example.com")).toMatch(/^wrong +settings +SKEIN_REDIS_URL is not an address/m);
    const { child, ended } = start(dataFolder(), ["serve", "--port", "0"], { SKEIN_REDIS_URL: "walnut" });
    child.stdin?.end();
    const { code, out, err } = await ended;
    expect([code, `${out}${err}`.includes("SKEIN_REDIS_URL"), `${out}${err}`.includes("walnut")]).toEqual([
      2,
      true,
      false,
    ]);
  });
});
