/** Keeps the process alive until the promise settles. Idle connections do not keep it alive. */
export async function keepAliveUntil(ending: Promise<unknown>): Promise<void> {
  const staying = setInterval(() => {}, 60_000);
  try {
    await ending;
  } finally {
    clearInterval(staying);
  }
}
