import { startBroker } from '../start-broker.ts';
import { asyncConfig } from './test-broker.ts';

// A broker of its own process, whose file servers never answer: node asking-broker.ts FOLDER. It prints its
// URL.
const [, , folder = ''] = process.argv;
const { url } = await startBroker(
  asyncConfig(folder),
  () => undefined,
  () => new Promise(() => undefined),
);
process.stdout.write(`${url}\n`);
