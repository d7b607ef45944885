import type { Screen } from "./screen.ts";
import { safeJson } from "./styled.ts";

export async function printJson(screen: Screen, value: unknown): Promise<void> {
  await screen.data(`${safeJson(value, 2)}\n`);
}
