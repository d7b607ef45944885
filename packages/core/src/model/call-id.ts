/** Ids that every provider accepts. */
const FITS = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Returns the id of a tool call for the log. This is the id from the provider if every provider accepts it. If not, the
 * id is a hash.
 */
export function callIdOf(providerId: string): string {
  return FITS.test(providerId) ? providerId : `c_${hashOf(providerId)}`;
}

/**
 * Gives each call of an answer an id that is new in the session. Some servers number the calls of each answer from the
 * start, so their ids repeat.
 */
export function createCallIds(usedIds: ReadonlySet<string> = new Set()): (providerId: string) => string {
  const given = new Set<string>();
  return (providerId) => {
    const wanted = callIdOf(providerId);
    const isRepeated = usedIds.has(wanted) || given.has(wanted);
    const id = isRepeated ? callIdOf(`${wanted} ${usedIds.size} ${given.size}`) : wanted;
    given.add(id);
    return id;
  };
}

/**
 * Hashes a text to 106 bits (two rounds of cyrb53). Every process gets the same hash, and no module of Node is needed.
 */
function hashOf(text: string): string {
  return [0, 0x9e3779b9].map((seed) => cyrb53(text, seed).toString(16).padStart(14, "0")).join("");
}

function cyrb53(text: string, seed: number): number {
  let [high, low] = [0xdeadbeef ^ seed, 0x41c6ce57 ^ seed];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
