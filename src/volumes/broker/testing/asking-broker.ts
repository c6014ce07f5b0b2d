import { startBroker } from '../start-broker.ts';
import { asyncConfig } from './test-broker.ts';

// Runs a broker in its own process, whose file servers never respond: node asking-broker.ts FOLDER. Prints
// its URL.
const [, , folder = ''] = process.argv;
const { url } = await startBroker(
  asyncConfig(folder),
  () => undefined,
  () => new Promise(() => undefined),
);
process.stdout.write(`${url}\n`);
