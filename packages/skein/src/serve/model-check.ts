/** The result of checking the key with the model's API. */
export type ModelCheck =
  | { readonly outcome: "taken" }
  | { readonly outcome: "refused"; readonly status: number }
  /** The API answered with a status other than 200, 401 and 403, for example because it has no list of models. */
  | { readonly outcome: "untried"; readonly status: number }
  | { readonly outcome: "unreachable"; readonly why: string };

const ANTHROPIC = "https://api.anthropic.com";
const TIMEOUT_MS = 10_000;

/** Checks the key by listing one model, which is free and needs a valid key. */
export async function checkModel({
  apiKey,
  authToken,
  baseUrl = ANTHROPIC,
}: {
  readonly apiKey: string;
  readonly authToken?: string | undefined;
  readonly baseUrl?: string | undefined;
}): Promise<ModelCheck> {
  const key = authToken === undefined ? { "x-api-key": apiKey } : { authorization: `Bearer ${authToken}` };
  const headers = { ...key, "anthropic-version": "2023-06-01" };
  let status: number;
  try {
    const url = `${baseUrl.replace(/\/+$/, "")}/v1/models?limit=1`;
    const answer = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    await answer.body?.cancel();
    ({ status } = answer);
  } catch (error) {
    return { outcome: "unreachable", why: reasonOf(error) };
  }
  if (status === 200) return { outcome: "taken" };
  return status === 401 || status === 403 ? { outcome: "refused", status } : { outcome: "untried", status };
}

/** Returns the reason of a failed request, such as ECONNREFUSED. The reason contains no data of the request. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  if (name === "TimeoutError") return `no answer within ${TIMEOUT_MS / 1000} s`;
  return cause?.code ?? name ?? "unknown";
}
