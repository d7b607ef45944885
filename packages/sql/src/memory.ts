/** Few statements hold more than their limit and cannot put it aside: those get this many times as much, once, rather than fail. */
export const MORE_ROOM = 10;

export function isFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Out of Memory");
}
