/**
 * Keeps the process alive until the promise settles. Idle connections do not keep it alive, so that a program with nothing
 * left to do can end.
 */
export async function keepAliveUntil(ending: Promise<unknown>): Promise<void> {
  const staying = setInterval(() => {}, 60_000);
  try {
    await ending;
  } finally {
    clearInterval(staying);
  }
}
