import { runBroker } from './cli.ts';

export { runMigrate } from './cli.ts';
export { runBroker } from './cli.ts';

// the entry point as a Cloud Foundry app: node broker.mjs, with BROKER_CONFIG
if (import.meta.main) {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  try {
    process.exitCode = await runBroker(process.argv.slice(2), {
      environment: process.env,
      out: (text) => void process.stdout.write(text),
      signal: stopping.signal,
      isTerminal: false,
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
