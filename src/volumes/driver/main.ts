import { runDriver } from './cli.ts';

export { runDriver } from './cli.ts';

// the entry point as a BOSH job: node driver.mjs --name nfsv3driver ...
if (import.meta.main) {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  try {
    process.exitCode = await runDriver(process.argv.slice(2), {
      environment: process.env,
      out: (text) => void process.stdout.write(text),
      signal: stopping.signal,
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
