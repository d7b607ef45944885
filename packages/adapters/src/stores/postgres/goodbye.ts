/** Idle connections keep no process, so that a program with nothing left to do can end. Whoever waits for their end, stays. */
export async function goodbye(ending: Promise<unknown>): Promise<void> {
  const staying = setInterval(() => {}, 60_000);
  try {
    await ending;
  } finally {
    clearInterval(staying);
  }
}
