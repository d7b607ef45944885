/** What the tests need running: for now nothing; PostgreSQL comes with its store. */
export async function setup(): Promise<void> {}
