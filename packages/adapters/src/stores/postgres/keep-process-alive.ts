/** Keeps the process alive until the promise settles. Idle connections alone let the process end. */
export async function keepAliveUntil(ending: Promise<unknown>): Promise<void> {
  const staying = setInterval(() => {}, 60_000);
  try {
    await ending;
  } finally {
    clearInterval(staying);
  }
}
