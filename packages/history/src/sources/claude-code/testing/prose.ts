import type { Random } from "./random.ts";

const common =
  "the a to of and in is file that this function with for test code line error return value from module state check read write parse string object".split(
    " ",
  );
const ordinary =
  "session message parser buffer offset stream handler config route schema index search token cache branch commit server client socket timer queue worker thread memory record field column table query result export import promise async callback option default header footer layout button render update delete insert select create remove replace merge split".split(
    " ",
  );
const rare =
  "worktree kaleidoscope juniper obelisk marzipan quasar thimble zeppelin harbinger labyrinth porcupine saxophone tangerine umbrella vortex walrus xylophone yonder albatross bandicoot".split(
    " ",
  );

/** Rare words that occur only in some sessions. */
export function topics(random: Random): readonly string[] {
  return [random.pick(rare), random.pick(rare)];
}

/** Words with the frequencies of real text: mostly a few common words, and sometimes a topic of the session. */
export function prose(random: Random, words: number, about: readonly string[]): string {
  const out: string[] = [];
  for (let i = 0; i < words; i += 1) {
    const chance = random.next();
    if (chance < 0.55) out.push(random.pick(common));
    else if (chance < 0.997 || about.length === 0) out.push(random.pick(ordinary));
    else out.push(random.pick(about));
    if (i % 12 === 11) out.push("\n");
  }
  return out.join(" ");
}

let pool: string[] | undefined;

/** Long tool output, assembled from a pool of lines so that hundreds of megabytes take seconds. */
export function toolOutput(random: Random, length: number, poolRandom: () => Random): string {
  if (!pool) {
    const own = poolRandom();
    pool = Array.from(
      { length: 400 },
      (_, i) => `${i}\tconst ${own.pick(ordinary)}_${own.hex(4)} = "${prose(own, 60, [])}";\n`,
    );
  }
  let text = "";
  while (text.length < length) text += random.pick(pool);
  return text.slice(0, length);
}
