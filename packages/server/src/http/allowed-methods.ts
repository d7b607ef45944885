/** Returns the methods that an address accepts, for the 405 response. */
export function allowedMethods(routes: readonly { method: string; path: string }[], url: string): readonly string[] {
  const parts = (url.split("?", 1)[0] ?? "").split("/");
  const matching = routes.filter(({ path }) => fits(path.split("/"), parts));
  return [...new Set(matching.map(({ method }) => method))];
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  if (pattern.length !== parts.length) return false;
  return pattern.every((part, at) => (part.startsWith(":") ? parts[at] !== "" : part === parts[at]));
}
